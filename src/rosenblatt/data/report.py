"""What was detected in a source, per column, with remarks on what looks odd."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from rosenblatt.data.cells import (
    can_be_strings,
    label_strings,
    to_numbers,
    to_times,
    trimmed_strings,
)
from rosenblatt.data.column_kinds import name_suggests
from rosenblatt.data.labels import indicator_columns
from rosenblatt.data.source import Source
from rosenblatt.errors import counted, shown

_ROWS = 2000  # examined
_LEAST_ROWS = 20  # for a remark
_MOST_COLUMNS = 50
_EXAMPLE_LENGTH = 40
_FOREIGN_DATE = re.compile(r"\d{1,4}[./]\d{1,2}[./]\d{1,4}\b")
_ROW_NUMBER_NAMES = frozenset(("id", "ids", "index", "key", "row", "number", "nr", "no"))


@dataclass(frozen=True)
class ColumnReport:
    """The detected kind of a column, and what its first rows hold."""

    name: str
    kind: str  # "label", "text", "category", "number", "date" or "ignored"
    rows: int  # examined
    values: int  # distinct
    missing: int
    example: str
    about: str  # the range of numbers and dates; the first labels
    remark: str = ""  # what looks odd, and what to do about it

    def to_json(self) -> dict[str, Any]:
        """The report as JSON data."""
        return asdict(self)


def describe(source: Source) -> list[ColumnReport]:
    """Reports on the columns of a source, the label first; empty for sparse formats.

    Examines the first 2,000 rows; iteration still starts with them.
    """
    head = source.first_rows()
    if head is None:
        return []
    kinds = {c.name: c.kind for c in source.features.columns}
    label, known = source.features.label, head.column_names
    labels = indicator_columns(label, known) or tuple(name for name in known if name == label)
    names = [name for name in known if name not in labels][:_MOST_COLUMNS]
    found = [_label(head, name) for name in labels]
    missing = source.features.missing_words
    return found + [
        _column(name, kinds.get(name, "ignored"), head[name][:_ROWS], missing) for name in names
    ]


def _label(head: pa.Table, name: str) -> ColumnReport:
    labels = label_strings(head[name]).to_pylist()
    first = labels[:_ROWS]
    present = [value for value in first if value is not None]
    values = list(dict.fromkeys(present))
    remark = ""
    if len(present) >= _LEAST_ROWS and len(values) > 0.9 * len(present):
        remark = "nearly every row has a label of its own: is this the label?"
    elif len(labels) >= _LEAST_ROWS and _is_sorted(labels):
        remark = "the file is sorted by label: shuffle its rows, for rows are learned in order"
    example = present[0] if present else ""
    listed = ", ".join(values[:8]) + (", ..." if len(values) > 8 else "")
    absent = len(first) - len(present)
    return ColumnReport(name, "label", len(first), len(values), absent, example, listed, remark)


def _is_sorted(labels: list[str | None]) -> bool:
    """Whether the rows of each label are contiguous."""
    runs = sum(a != b for a, b in pairwise(labels))
    classes = len(set(labels))
    return runs == classes - 1 and len(labels) >= 5 * classes


def _column(
    name: str, kind: str, column: pa.ChunkedArray, missing: tuple[str, ...]
) -> ColumnReport:
    rows = len(column)
    if pa.types.is_null(column.type) or not can_be_strings(column.type):
        return ColumnReport(name, kind, rows, 0, 0, "", f"{column.type}")
    strings = trimmed_strings(column, missing)
    present = strings.drop_null().to_pylist()
    values = len(set(present))
    about = ""
    if kind == "number":
        numbers = to_numbers(column, missing)[0]
        known = numbers[~np.isnan(numbers)]
        about = f"{known.min():g} to {known.max():g}" if len(known) else ""
    elif kind == "date":
        times = to_times(column, missing)[0]
        known = times[~np.isnat(times)].astype("datetime64[D]")
        about = f"{known.min()} to {known.max()}" if len(known) else ""
    example = present[0] if present else ""
    remark = _remark(name, kind, present, values)
    return ColumnReport(
        name, kind, rows, values, rows - len(present), example[:_EXAMPLE_LENGTH], about, remark
    )


def _remark(name: str, kind: str, present: list[str], values: int) -> str:
    rows = len(present)
    if kind == "ignored" or rows < _LEAST_ROWS:
        return ""
    if values == 1:
        return f"the same value in all of the first {counted(rows, 'row')}"
    leave_out = f"an identifier? It can be left out: --column {shown(name)[1:-1]}=ignore"
    if kind == "category" and values > 0.9 * rows:
        return f"nearly every value is different: {leave_out}"
    if kind == "number" and values == rows and _counts_rows(name, present):
        return f"a number per row: {leave_out}"
    if kind == "category" and sum(bool(_FOREIGN_DATE.match(v)) for v in present) > 0.9 * rows:
        return "dates? They are understood as 2024-03-31, with a time as 2024-03-31 17:30"
    return ""


def _counts_rows(name: str, present: list[str]) -> bool:
    """Whether distinct integers are named like row numbers or count up by one."""
    try:
        numbers = [int(value) for value in present]
    except ValueError:
        return False
    steps = {b - a for a, b in pairwise(numbers)}
    return steps == {1} or name_suggests(name, _ROW_NUMBER_NAMES)
