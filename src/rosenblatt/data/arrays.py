"""A whole file of numbers as arrays, for `certify`, `verify`, `trace` and the lab."""

from __future__ import annotations

import io
from contextlib import suppress
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rosenblatt.data.arrow_tables import Chunk, check_chunk
from rosenblatt.data.cells import label_strings, to_numbers, trimmed_strings
from rosenblatt.data.column_kinds import Column
from rosenblatt.data.open import reader_of
from rosenblatt.data.parallel import in_order
from rosenblatt.data.readers import Piece, Reader
from rosenblatt.data.schema import label_name
from rosenblatt.data.sparse_lines import read_sparse
from rosenblatt.errors import DataError

_MOST_BITS = 31
_MOST_COLUMNS = 1 << 22  # each has a name, and a weight in a certificate


class Arrays(NamedTuple):
    """Rows of numbers with their labels and names.

    Attributes
    ----------
    X : array or sparse matrix
        Integers are exact (int64, or objects if some do not fit a double); decimal fractions are
        the nearest doubles.
    y : array
        Integers if all labels are, else floats if all are numbers, else strings.
    columns : tuple of str
        The names of the columns of X, or their numbers from 1.
    label : str
        The label column; empty for svmlight.
    header : bool
        Whether the file names its columns.
    row_names : tuple of str or None
        The first column, if it names the rows.
    """

    X: Any
    y: np.ndarray
    columns: tuple[str, ...]
    label: str
    header: bool
    row_names: tuple[str, ...] | None = None


def read_arrays(
    paths: Any,
    label: str | int | None = None,
    *,
    format: str | None = None,
    header: bool | None = None,
    row_names: bool = False,
    most_cells: int | None = None,
    name: str = "<stream>",
) -> Arrays:
    """Read all rows of files, or of a table in memory, as numbers with labels.

    Formats, headers and labels are detected as by :func:`open`. Other values than numbers, and
    missing values, are errors.

    Parameters
    ----------
    paths : str, path, several of them, a binary file or a table
        What to read.
    label : str or int, optional
        The label column: its name, or its number counted from 1, negative from the end. By default
        the column named ``label``.
    format, header : optional
        As for :func:`open`.
    row_names : bool
        Whether a first column that is not numbers holds names of the rows.
    most_cells : int, optional
        The most cells that a file may have.
    name : str
        The name of a binary file in messages.

    Returns
    -------
    Arrays

    Raises
    ------
    DataError
        Naming file, line and column of the first value that is not a number.

    Examples
    --------
    >>> read_arrays({"a": [1, 2], "b": [0.5, 3.0], "label": ["no", "yes"]}).X.tolist()
    [[1.0, 0.5], [2.0, 3.0]]
    """
    reader = reader_of(paths, format, header, False, name=name)
    if reader.format == "svmlight":
        return _svmlight(reader, most_cells)
    if reader.format == "vw":
        message = "vw files hold features by name, not a table"
        raise DataError(message, path=reader.files[0])
    return _table(reader, label, row_names, most_cells)


def _table(
    reader: Reader, label: str | int | None, row_names: bool, most_cells: int | None
) -> Arrays:
    head, path = reader.head(), reader.files[0]
    chosen = label_name(label, head.column_names, path)
    others = [column for column in head.column_names if column != chosen]
    first, name_column = head.column_names[0], None
    if row_names and first != chosen and len(to_numbers(head[first])[1]):
        name_column = others.pop(0)
    if not others:
        raise DataError("expected at least one column of numbers beside the label", path=path)

    def read(piece: Piece) -> tuple[list[np.ndarray], list[str], list[str]]:
        chunk = piece()
        assert isinstance(chunk, Chunk)
        check_chunk(chunk, tuple(Column(name, "number") for name in others), chosen, skip=False)
        numbers = [_numbers(chunk, name) for name in others]
        labels = label_strings(chunk.table[chosen]).to_pylist()
        if name_column is None:
            return numbers, labels, []
        return numbers, labels, trimmed_strings(chunk.table[name_column]).fill_null("").to_pylist()

    parts, rows = [], 0
    wanted = [*others, chosen, *([name_column] if name_column else [])]
    for part in in_order(reader.pieces(wanted), read):
        parts.append(part)
        rows += len(part[1])
        _check_size(rows, len(others), most_cells, path)
    numbers, labels, names = zip(*parts, strict=True)
    return Arrays(
        _stack([np.concatenate(column) for column in zip(*numbers, strict=True)]),
        _plain_labels(list(chain.from_iterable(labels))),
        tuple(others),
        chosen,
        reader.header is not False,
        None if name_column is None else tuple(chain.from_iterable(names)),
    )


def _check_size(rows: int, columns: int, most_cells: int | None, path: str) -> None:
    if most_cells is not None and rows * columns > most_cells:
        message = f"the file has more than {most_cells:,} cells: too many to go through"
        raise DataError(f"{message} step by step", path=path)


def _numbers(chunk: Chunk, name: str) -> np.ndarray:
    """A column of numbers, exact if integers; DataError if a value is missing or none."""
    column = chunk.table[name]
    kind = column.type
    if pa.types.is_nested(kind) or pa.types.is_temporal(kind):
        raise DataError(f"expected numbers, found {kind}", path=chunk.path, column=name)
    numbers, _ = to_numbers(column)
    absent = np.flatnonzero(np.isnan(numbers))
    if len(absent):
        line = chunk.line_of(int(absent[0]))
        message = "expected a number, found nothing, or one that is not finite"
        raise DataError(message, path=chunk.path, line=line, column=name)
    if pa.types.is_floating(kind) or not np.array_equal(numbers, np.floor(numbers)):
        return numbers
    if pa.types.is_boolean(kind):
        return numbers.astype(np.int64)
    whole = column if pa.types.is_integer(kind) else trimmed_strings(column)
    try:
        return pc.cast(whole, pa.int64()).to_numpy(zero_copy_only=False)
    except pa.ArrowInvalid:
        with suppress(ValueError):  # 1e3 is not written as an integer
            return np.array([int(value) for value in whole.to_pylist()], dtype=object)
    return numbers


def _stack(columns: list[np.ndarray]) -> np.ndarray:
    """Columns as one array, of objects if it has both fractions and integers beyond 2**53."""
    kinds = {column.dtype.kind for column in columns}
    large = any(
        c.dtype.kind == "i" and np.abs(c.astype(float)).max(initial=0) >= 2**53 for c in columns
    )
    if "f" in kinds and large:
        columns = [c.astype(object) for c in columns]
    return np.column_stack(columns)


def _plain_labels(labels: list[str]) -> np.ndarray:
    """Labels as integers if all of them are, else as floats if all are, else as strings."""
    for kind in (int, float):
        try:
            return np.array([kind(label) for label in labels])
        except (ValueError, OverflowError):
            continue
    return np.array(labels)


def _svmlight(reader: Reader, most_cells: int | None) -> Arrays:
    """All lines, by scikit-learn as doubles; the kernel, which reads float32, names errors."""
    from sklearn.datasets import load_svmlight_file

    blocks = list(reader.blocks())
    if not blocks:
        raise DataError("the file has no rows", path=reader.files[0])
    try:
        X, y = load_svmlight_file(io.BytesIO(b"".join(block.data for block in blocks)))
    except (ValueError, OverflowError) as error:
        for block in blocks:
            read_sparse(block, "svmlight", _MOST_BITS, skip=False)
        raise DataError(f"expected svmlight lines: {error}", path=reader.files[0]) from None
    rows, width = X.shape
    if width > _MOST_COLUMNS:
        message = f"feature {width:,} is beyond the {_MOST_COLUMNS:,} columns of a table"
        raise DataError(f"{message}: number the features in use from 1", path=reader.files[0])
    _check_size(rows, width, most_cells, reader.files[0])
    columns = tuple(str(j + 1) for j in range(width))
    return Arrays(X, y.astype(np.int64) if np.all(y == np.floor(y)) else y, columns, "", False)
