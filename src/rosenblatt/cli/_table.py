"""Read a whole table of numbers and labels: CSV, TSV or svmlight, plain or compressed.

Whole numbers stay whole; decimal fractions become the nearest double.
"""

from __future__ import annotations

import os
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rosenblatt.errors import DataError

_COMPRESSED = {".gz", ".bz2", ".zst", ".lz4"}


class Labelled(NamedTuple):
    """Rows, labels and the names of the columns."""

    X: Any
    y: Any
    columns: tuple[str, ...]
    label: str


def read_labelled(
    path: str | os.PathLike[str], label: str | None = None, header: bool = True
) -> Labelled:
    """The rows of a file and the label of each.

    `label` names the column of the labels (a number where the file has no header); the last
    column if not given. Files that are neither ``.csv`` nor ``.tsv`` are read as svmlight.
    """
    path = Path(path)
    if not path.is_file():
        raise DataError("there is no such file", path=path)
    suffixes = [s.lower() for s in path.suffixes if s.lower() not in _COMPRESSED]
    if suffixes and suffixes[-1] in (".csv", ".tsv", ".tab"):
        return _delimited(path, "," if suffixes[-1] == ".csv" else "\t", label, header)
    return _svmlight(path)


def _svmlight(path: Path) -> Labelled:
    import pyarrow as pa
    from sklearn.datasets import load_svmlight_file

    try:
        with pa.input_stream(str(path), compression="detect") as stream:
            X, y = load_svmlight_file(BytesIO(stream.read()))
    except (ValueError, OSError) as error:
        message = f"expected svmlight lines such as '1 3:0.5 7:2': {error}"
        raise DataError(message, path=path) from None
    return Labelled(X, y, tuple(str(j + 1) for j in range(X.shape[1])), "")


def _delimited(path: Path, delimiter: str, label: str | None, header: bool) -> Labelled:
    import pyarrow as pa
    from pyarrow import csv

    try:
        table = csv.read_csv(
            str(path),
            read_options=csv.ReadOptions(autogenerate_column_names=not header),
            parse_options=csv.ParseOptions(delimiter=delimiter),
            convert_options=csv.ConvertOptions(strings_can_be_null=False),
        )
    except (pa.ArrowInvalid, OSError) as error:
        raise DataError(str(error), path=path) from None
    names = table.column_names if header else [str(j) for j in range(table.num_columns)]
    wanted = names[-1] if label is None else label
    if names.count(wanted) != 1:
        listed = ", ".join(names[:20])
        raise DataError(f"expected one column {wanted!r}, found the columns {listed}", path=path)
    if len(names) < 2 or table.num_rows == 0:
        raise DataError("expected rows with a label and at least one number", path=path)
    place = names.index(wanted)
    numbers = [
        _numbers(table.column(j), path, names[j]) for j in range(len(names)) if j != place
    ]  # fmt: skip
    y = table.column(place).to_numpy()
    columns = tuple(name for j, name in enumerate(names) if j != place)
    return Labelled(_stack(numbers), y.astype(str) if y.dtype == object else y, columns, wanted)


def _numbers(column: Any, path: Path, name: str) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    if column.null_count:
        row = pc.index(pc.is_null(column), True).as_py()
        raise DataError("expected a number, found nothing", path=path, line=row + 2, column=name)
    if pa.types.is_boolean(column.type):
        return column.to_numpy().astype(np.uint8)
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        return column.to_numpy()
    first = next((v for v in column.to_pylist() if not _is_number(v)), column[0].as_py())
    raise DataError(f"expected a number, found {first!r}", path=path, column=name)


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def _stack(columns: list[Any]) -> Any:
    """One array; whole numbers too large for a double keep it from becoming doubles."""
    kinds = {column.dtype.kind for column in columns}
    large = any(c.dtype.kind in "iu" and np.abs(c.astype(float)).max() > 2**53 for c in columns)
    if kinds & set("f") and large:
        return np.column_stack([c.astype(object) for c in columns])
    return np.column_stack(columns)
