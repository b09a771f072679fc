"""What was detected of the columns of a source, with remarks on what looks odd."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from rosenblatt.data.cells import (
    Words,
    can_be_strings,
    label_strings,
    to_numbers,
    trimmed_strings,
)
from rosenblatt.data.columns import DECIMAL_COMMA, Column, epoch_unit, is_row_name, is_row_number
from rosenblatt.data.labels import indicator_columns
from rosenblatt.errors import counted, shown

if TYPE_CHECKING:
    from rosenblatt.data.arrow_tables import Chunk
    from rosenblatt.data.source import Source

_REPORTED_ROWS = 2000  # examined
_LEAST_ROWS = 20  # for a remark
_MOST_COLUMNS = 50
_EXAMPLE_LENGTH = 40
_FOREIGN_DATE = re.compile(r"\d{1,2}[-./]\d{1,2}[-./]\d{4}\b")


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
    head = source.first_chunk()
    if head is None:
        return []
    columns = {column.name: column for column in source.features.columns}
    label, known = source.features.label, head.table.column_names
    labels = indicator_columns(label, known) or tuple(name for name in known if name == label)
    names = [name for name in known if name not in labels][:_MOST_COLUMNS]
    first = head._replace(table=head.table[:_REPORTED_ROWS])
    missing = source.features.missing_words
    return [_label(head.table, name) for name in labels] + [
        _column(columns.get(name), name, first, missing) for name in names
    ]


def _label(head: pa.Table, name: str) -> ColumnReport:
    labels = label_strings(head[name]).to_pylist()
    first = labels[:_REPORTED_ROWS]
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


def _column(column: Column | None, name: str, chunk: Chunk, missing: Words) -> ColumnReport:
    """The report on a column of the first rows, which is a feature or ignored."""
    cells, kind = chunk.table[name], "ignored" if column is None else column.kind
    rows = len(cells)
    if pa.types.is_null(cells.type) or not can_be_strings(cells.type):
        return ColumnReport(name, kind, rows, 0, 0, "", f"{cells.type}")
    strings = trimmed_strings(cells, missing)
    present = strings.drop_null().to_pylist()
    values = len(set(present))
    about, remark, absent = "", _remark(name, kind, present, values), rows - len(present)
    if kind in ("ignored", "number") and is_row_number(name, cells, missing, _LEAST_ROWS):
        option = f"--column {shown(name)[1:-1]}"
        left = (
            f"left out, unless {option}=number" if column is None else f"drop it: {option}=ignore"
        )
        remark = f"a number per row: {left}"
    elif column is None and is_row_name(cells, missing):
        option = f"--column {shown(name)[1:-1]}"
        remark = f"a name per row: left out, unless {option}=text or {option}=category"
    if column is not None and column.is_scaled:
        numbers, bad = column.numbers(cells, missing)
        known = numbers[~np.isnan(numbers)]
        if len(known) and kind == "date":
            known = known.astype("datetime64[D]")
            about = f"{known.min()} to {known.max()}"
        elif len(known):
            about = f"{known.min():g} to {known.max():g}"
        absent += len(bad)
        remark = _strays(kind, chunk, cells, bad) or remark or _growth(column)
    example = present[0] if present else ""
    return ColumnReport(name, kind, rows, values, absent, example[:_EXAMPLE_LENGTH], about, remark)


def _strays(kind: str, chunk: Chunk, cells: Any, bad: np.ndarray) -> str:
    """What is said of cells that are no numbers, or no dates."""
    if not len(bad):
        return ""
    named = [f"line {chunk.line_of(int(row))} {shown(cells[int(row)].as_py())}" for row in bad[:3]]
    more = ", ..." if len(bad) > len(named) else ""
    are = f"{len(bad):,} of {len(cells):,} cells are no {kind}s and count as missing"
    return f"{are}: {', '.join(named)}{more}"


def _growth(column: Column) -> str:
    """What is said of a column whose values grow or fall through the files."""
    if not column.limits:
        return ""
    if column.kind == "date":
        return "grows or falls through the files: they are in the order of time"
    beyond = f"--column {shown(column.name)[1:-1]}=ignore leaves it out"
    return f"grows or falls through the files: new values count as the last ones; {beyond}"


def _remark(name: str, kind: str, present: list[str], values: int) -> str:
    rows = len(present)
    if kind == "ignored" or rows < _LEAST_ROWS:
        return ""
    if values == 1:
        return f"the same value in all of the first {counted(rows, 'row')}"
    shown_name = shown(name)[1:-1]
    leave_out = f"an identifier? It can be left out: --column {shown_name}=ignore"
    if kind in ("category", "text"):
        if sum(bool(_FOREIGN_DATE.match(value)) for value in present) > 0.9 * rows:
            say = f"--column {shown_name}=date:dayfirst or {shown_name}=date:monthfirst"
            return f"dates? Which number is the day: {say}"
        if sum(bool(DECIMAL_COMMA.match(value)) for value in present) > 0.9 * rows:
            return f"decimal commas? --decimal , or --column {shown_name}=number:comma"
    if kind == "category" and values > 0.9 * rows:
        return f"nearly every value is different: {leave_out}"
    if kind == "number" and (unit := epoch_unit(to_numbers(pa.array(present))[0])):
        return f"{unit} since 1970? --column {shown_name}=date:{unit}"
    return ""
