"""A small CSV table as rows, labels and names."""

from __future__ import annotations

import csv
import io
import math
import os
from dataclasses import dataclass
from pathlib import Path

from rosenblatt.errors import DataError

MOST_CELLS = 200_000
MOST_BYTES = 10_000_000
"""The largest table that is traced step by step; `rosenblatt train` reads files of any size."""


@dataclass(frozen=True)
class SmallTable:
    """The contents of a small file: rows of numbers, labels, names of columns and rows.

    Examples
    --------
    >>> table = parse_csv("word,good,bad,label\\nfine,1,0,yes\\nawful,0,1,no\\n")
    >>> table.feature_names, table.row_names, table.X, table.y
    (('good', 'bad'), ('fine', 'awful'), ((1.0, 0.0), (0.0, 1.0)), ('yes', 'no'))
    """

    feature_names: tuple[str, ...]
    row_names: tuple[str, ...] | None
    X: tuple[tuple[float, ...], ...]
    y: tuple[str | int, ...]


def parse_csv(text: str, *, label: str | None = None, path: str | None = None) -> SmallTable:
    """Read comma-separated values with a line of headings.

    The column named by `label` holds the labels; without it, the one called ``label``, ``y``,
    ``class`` or ``target``, or else the last. A first column that is not of numbers names the
    rows. All other columns must be numbers.
    """
    try:
        lines = [
            (number, line)
            for number, line in enumerate(csv.reader(io.StringIO(text)), start=1)
            if any(cell.strip() for cell in line)
        ]
    except csv.Error as error:
        raise DataError(f"not comma-separated values: {error}", path=path) from None
    if len(lines) < 2:
        raise DataError("expected a line of headings and rows below it", path=path)
    header = [cell.strip() for cell in lines[0][1]]
    body = lines[1:]
    if len(header) * len(body) > MOST_CELLS:
        raise DataError(
            f"{len(body)} rows of {len(header)} columns are too many to go through step by step; "
            f"at most {MOST_CELLS} cells",
            path=path,
        )
    for number, line in body:
        if len(line) != len(header):
            message = f"expected {len(header)} columns as in the headings, found {len(line)}"
            raise DataError(message, path=path, line=number)
    at = _label_column(header, label, path)
    names_rows = at != 0 and any(_number(line[0]) is None for _, line in body)
    columns = [j for j in range(len(header)) if j != at and not (names_rows and j == 0)]
    if not columns:
        raise DataError("expected at least one column of numbers beside the labels", path=path)
    return SmallTable(
        feature_names=tuple(header[j] for j in columns),
        row_names=tuple(line[0].strip() for _, line in body) if names_rows else None,
        X=tuple(
            tuple(_cell(line[j], path, number, header[j]) for j in columns) for number, line in body
        ),
        y=_labels([line[at].strip() for _, line in body]),
    )


def read_csv(path: str | os.PathLike[str], *, label: str | None = None) -> SmallTable:
    """Read a small file of comma-separated values, as :func:`parse_csv` reads a text."""
    if Path(path).stat().st_size > MOST_BYTES:
        message = f"the file is larger than {MOST_BYTES // 1_000_000} MB, too large to go through"
        raise DataError(f"{message} step by step", path=path)
    try:
        text = Path(path).read_text("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"not a text in UTF-8: {error.reason}", path=path) from None
    return parse_csv(text, label=label, path=os.fspath(path))


def _label_column(header: list[str], label: str | None, path: str | None) -> int:
    if label is not None:
        if label not in header:
            raise DataError(f"there is no column {label!r} among {', '.join(header)}", path=path)
        return header.index(label)
    known = [
        j for j, name in enumerate(header) if name.lower() in ("label", "y", "class", "target")
    ]
    return known[0] if known else len(header) - 1


def _cell(cell: str, path: str | None, line: int, column: str) -> float:
    value = _number(cell)
    if value is None:
        raise DataError(f"expected a number, found {cell!r}", path=path, line=line, column=column)
    return value


def _number(cell: str) -> float | None:
    try:
        value = float(cell)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _labels(cells: list[str]) -> tuple[str | int, ...]:
    """Labels as whole numbers if all of them are, so that -1 and +1 keep their signs."""
    try:
        return tuple(int(cell) for cell in cells)
    except ValueError:
        return tuple(cells)
