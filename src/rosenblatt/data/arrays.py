"""A whole file of numbers as arrays, for `certify`, `verify`, `trace` and the lab."""

from __future__ import annotations

import io
import json
import re
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from functools import partial
from itertools import chain
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rosenblatt.data.arrow_tables import Chunk, check_chunk
from rosenblatt.data.bytes import Block
from rosenblatt.data.cells import label_strings, plain_strings, to_numbers, trimmed_strings
from rosenblatt.data.columns import Column
from rosenblatt.data.in_order import in_order
from rosenblatt.data.open import label_name, reader_of
from rosenblatt.data.readers import Piece, Reader
from rosenblatt.data.sparse_lines import plain_number, read_sparse
from rosenblatt.errors import DataError, shown

_MOST_BITS = 31
_MOST_UNPACKED, _MOST_PACKED = 16 << 20, 100  # bytes, and the ratio beyond that
_MOST_FRACTIONS = 1 << 20
_MOST_COLUMNS = 1 << 22  # each has a name, and a weight in a certificate
# Doubles hold all integers below this one.
_LARGE = 2**53
_INTEGER = re.compile("[+-]?[0-9]+")
# Numbers of more characters or digits of the exponent would fill the memory as fractions.
_DECIMAL = re.compile("[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?0*[0-9]{1,3})?")
_LONGEST = 1000
_LONG_VALUE = re.compile(rb":([+-]?[0-9]{16,})(?=[\s#]|$)")


class Arrays(NamedTuple):
    """Rows of numbers with their labels and names.

    Attributes
    ----------
    X : array or sparse matrix
        Integers are exact (int64, or objects if some do not fit a double); decimals are the nearest
        doubles, or with `exact` fractions if some are not doubles.
    y : array
        Labels are text, as for :func:`open`: `1`, `01` and `1.0` are three classes. They are
        integers or floats here only if the text of all labels can be told from these.
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
    exact: bool = False,
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
    exact : bool
        Whether decimals in text, and Arrow's decimals, are the numbers that stand there. Those of
        svmlight files are the nearest doubles in any case.

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
    return _table(reader, label, row_names, most_cells, exact)


def _table(
    reader: Reader, label: str | int | None, row_names: bool, most_cells: int | None, exact: bool
) -> Arrays:
    head, path = reader.head(), reader.files[0]
    chosen = label_name(label, head.column_names, path)
    others = [column for column in head.column_names if column != chosen]
    first, name_column = head.column_names[0], None
    if row_names and first != chosen and len(to_numbers(head[first])[1]):
        name_column = others.pop(0)
    if not others:
        raise DataError("expected at least one column of numbers beside the label", path=path)

    def read(piece: Piece) -> tuple[list[np.ndarray], list[str], list[str], int]:
        chunk = piece()
        assert isinstance(chunk, Chunk)
        check_chunk(chunk, tuple(Column(name, "number") for name in others), chosen, skip=False)
        numbers, fractions = [], 0
        for name in others:
            numbers.append(_numbers(chunk, name, exact))
            fractions += len(numbers[-1]) if numbers[-1].dtype == object else 0
            _check_fractions(fractions, chunk.path)
        labels = label_strings(chunk.table[chosen]).to_pylist()
        names = []
        if name_column is not None:
            names = trimmed_strings(chunk.table[name_column]).fill_null("").to_pylist()
        return numbers, labels, names, chunk.size + sum(map(len, names))

    parts, rows, size, fractions = [], 0, 0, 0
    columns = [*others, chosen, *([name_column] if name_column else [])]
    with reader.unchanged():
        for part in in_order(reader.pieces(columns), read):
            parts.append(part)
            rows, size = rows + len(part[1]), size + part[3]
            _check_size(rows, len(others), most_cells, path)
            _check_packing(reader, size)
            fractions += sum(array.size for array in part[0] if array.dtype == object)
            _check_fractions(fractions, path)
    blocks, labels, names, _ = zip(*parts, strict=True)
    numbers = [np.concatenate(_as_one_type(column)) for column in zip(*blocks, strict=True)]
    if reader.format == "jsonl":
        numbers = _exact_json(reader, others, numbers, exact)
    return Arrays(
        np.column_stack(_as_one_type(numbers)),
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


def _check_fractions(count: int, path: str) -> None:
    if count > _MOST_FRACTIONS:
        raise DataError(
            f"there are more than {_MOST_FRACTIONS:,} decimals that are no doubles, and a proof "
            "about so many fractions takes too long: write a Parquet file, which holds doubles",
            path=path,
        )


def _check_packing(reader: Reader, unpacked: int) -> None:
    """DataError if the rows read, all kept in memory, are far more than the bytes of the files."""
    sizes = [Path(path).stat().st_size for path in reader.files if Path(path).is_file()]
    if unpacked > max(_MOST_UNPACKED, _MOST_PACKED * sum(sizes)) and len(sizes) == len(
        reader.files
    ):
        message = f"unpacks to more than {_MOST_PACKED} times its size, and all rows are kept in "
        raise DataError(
            message + "memory; write it as a plain text file first", path=reader.files[0]
        )


def _numbers(chunk: Chunk, name: str, exact: bool) -> np.ndarray:
    """A column of numbers; DataError if a value is missing or none."""
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
    if pa.types.is_floating(kind):
        return numbers
    if pa.types.is_boolean(kind):
        return numbers.astype(np.int64)
    cells = column if pa.types.is_integer(kind) else trimmed_strings(column)
    if np.array_equal(numbers, np.floor(numbers)):
        with suppress(pa.ArrowInvalid):  # 1e3 is not written as an integer
            return pc.cast(cells, pa.int64()).to_numpy(zero_copy_only=False)
    # Arrow's doubles of its decimals are not the nearest ones.
    if not exact and not pa.types.is_decimal(kind) and np.abs(numbers).max(initial=0) < _LARGE:
        return numbers
    spelled = plain_strings(cells).dictionary_encode()
    values = []
    for code, text in enumerate(spelled.dictionary.to_pylist()):
        if pa.types.is_decimal(kind) and "." in text:
            text = text.rstrip("0").rstrip(".")  # 7.00 is a whole number there
        try:
            values.append(_number(text, exact))
        except ValueError as error:
            line = chunk.line_of(pc.index(spelled.indices, code).as_py())
            raise DataError(str(error), path=chunk.path, line=line, column=name) from None
    return _narrowest(values)[spelled.indices.to_numpy(zero_copy_only=False)]


def _number(text: str, exact: bool) -> int | float | Fraction:
    """The number that a text spells, if `exact`; else integers exactly, and the nearest doubles.

    >>> _number("0.1", exact=True), _number("0.1", exact=False), _number("1e1", exact=True)
    (Fraction(1, 10), 0.1, 10)
    """
    if len(text) > _LONGEST or not _DECIMAL.fullmatch(text):
        raise ValueError(
            f"expected a number of at most {_LONGEST:,} characters whose exponent is below 1000, "
            f"found {shown(text)}"
        )
    if not exact and not _INTEGER.fullmatch(text):
        return float(text)
    numerator, denominator = Decimal(text).as_integer_ratio()
    return numerator if denominator == 1 else Fraction(numerator, denominator)


def _narrowest(values: list[Any]) -> np.ndarray:
    """Numbers as an array: of int64, else of doubles, else of objects."""
    if all(type(value) is int for value in values):
        fits = all(-(2**63) <= value < 2**63 for value in values)
        return np.array(values, dtype=np.int64 if fits else object)
    exact = all(value == float(value) for value in values)
    return np.array(values, dtype=float if exact else object)


def _as_one_type(arrays: Any) -> list[np.ndarray]:
    """The same arrays, as objects if there are both floats and integers beyond 2**53."""
    integers = (array.astype(float) for array in arrays if array.dtype.kind == "i")
    large = any(np.abs(array).max(initial=0) >= _LARGE for array in integers)
    if large and any(array.dtype.kind == "f" for array in arrays):
        return [array.astype(object) for array in arrays]
    return list(arrays)


def _exact_json(
    reader: Reader, names: list[str], columns: list[np.ndarray], exact: bool
) -> list[np.ndarray]:
    """The columns of JSON lines with the numbers that Arrow made doubles of as they stand there.

    These are decimals, if `exact`; integers beside decimals, and integers not of 64 bits.
    """
    floats = [k for k, column in enumerate(columns) if column.dtype.kind == "f"]
    rounded = [k for k in floats if exact or np.abs(columns[k]).max(initial=0) >= _LARGE]
    if not rounded:
        return columns
    number = partial(_number, exact=exact)
    rows: list[list[Any]] = []
    for block in reader.blocks():
        for line, text in block.filled_lines():
            try:
                record = json.loads(text, parse_float=number, parse_int=number)
            except ValueError as error:
                raise DataError(str(error), path=block.path, line=line) from None
            cells = [record[names[k]] for k in rounded]
            rows.append([number(cell.strip()) if isinstance(cell, str) else cell for cell in cells])
    read = dict(zip(rounded, map(list, zip(*rows, strict=True)), strict=True))
    if any(not np.array_equal(np.array(read[k], float), columns[k]) for k in rounded):
        raise DataError("a field occurs twice in a line, or the file was changed while it was read")
    return [_narrowest(read[k]) if k in read else x for k, x in enumerate(columns)]


def _plain_labels(labels: list[str]) -> np.ndarray:
    """Labels as integers or floats if they say which text each label is, else as strings.

    >>> _plain_labels(["1", "-1"]).tolist(), _plain_labels(["+1", "-1"]).tolist()
    ([1, -1], ['+1', '-1'])
    """
    texts = dict.fromkeys(labels)
    with suppress(ValueError, OverflowError):
        integers = {text: int(text) for text in texts}
        if all(str(x) == text for text, x in integers.items()):
            return _narrowest([integers[label] for label in labels])
    with suppress(ValueError, OverflowError):
        floats = {text: float(text) for text in texts}
        if all(isfinite(x) and plain_number(x) == text for text, x in floats.items()):
            return np.array([floats[label] for label in labels])
    # As objects: NumPy's strings lose zero bytes at their end.
    return np.array(labels, dtype=object)


def _svmlight(reader: Reader, most_cells: int | None) -> Arrays:
    """All lines, by scikit-learn as doubles; the kernel, which reads float32, names errors."""
    from sklearn.datasets import load_svmlight_file

    blocks, size = [], 0
    for block in reader.blocks():
        blocks.append(block)
        size += len(block.array)
        _check_packing(reader, size)
    if not blocks:
        raise DataError("the file has no rows", path=reader.files[0])
    try:
        X, y = load_svmlight_file(io.BytesIO(b"".join(block.data for block in blocks)))
    except (ValueError, OverflowError) as error:
        for block in blocks:
            read_sparse(block, "svmlight", _MOST_BITS, skip=False)
        raise DataError(f"expected svmlight lines: {error}", path=reader.files[0]) from None
    if np.abs(X.data).max(initial=0) >= _LARGE:
        for block in blocks:
            _refuse_rounded(block)
    rows, width = X.shape
    if width > _MOST_COLUMNS:
        message = f"feature {width:,} is beyond the {_MOST_COLUMNS:,} columns of a table"
        raise DataError(f"{message}: number the features in use from 1", path=reader.files[0])
    _check_size(rows, width, most_cells, reader.files[0])
    columns = tuple(str(j + 1) for j in range(width))
    return Arrays(X, _plain_labels([plain_number(label) for label in y]), columns, "", False)


def _refuse_rounded(block: Block) -> None:
    """DataError if an integer of svmlight lines, which are read as doubles, is none."""
    for match in _LONG_VALUE.finditer(block.data):
        value = int(match[1])
        if value != float(value):
            raise DataError(
                f"{value} is not a double, as which svmlight values are read; write it to a CSV "
                "file, whose integers are exact",
                path=block.path,
                line=block.line_at(match.start()),
            )
