"""What `train` says about the columns of a file, in lines of at most 80 characters."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from rosenblatt.cli.lines import WIDTH
from rosenblatt.counts import counted

if TYPE_CHECKING:
    from rosenblatt.data import Source
    from rosenblatt.data.report import ColumnReport

_MOST = 20  # columns that are named; of others, those with a remark
_LONGEST_NAME = 18


def understood(source: Source, reports: list[ColumnReport]) -> list[str]:
    """One line per column, with remarks below, and how text is hashed."""
    shown = [r for place, r in enumerate(reports) if place <= _MOST or r.remark]
    width = min(_LONGEST_NAME, max((len(r.name) for r in shown), default=0))
    lines = [line for report in shown for line in _lines(report, width)]
    columns = source.features.columns
    if len(columns) > _MOST:
        lines.append(f"in all     {counted(len(columns), 'column')}")
    if any(c.kind == "text" for c in columns):
        n = source.features.ngrams
        what = "characters" if n.chars else "words"
        lines.append(f"n-grams    of {n.low} to {n.high} {what}, hashed to 2^{n.bits} columns")
    elif source.features.origin != "table":
        lines.append(f"features   as they stand in {source.features.origin} files")
    return lines


def _lines(report: ColumnReport, width: int) -> list[str]:
    """The line of a column, and of its remark.

    >>> from rosenblatt.data.report import ColumnReport
    >>> _lines(ColumnReport("age", "number", 99, 60, 3, "39", "17 to 90", "odd"), width=4)
    ['number     age   17 to 90, 3 missing, as 39', '           note: odd']
    """
    name = report.name if len(report.name) <= width else report.name[: width - 3] + "..."
    parts = []
    if report.kind == "label":
        parts.append(f"{counted(report.values, 'value')}: {report.about}")
    elif report.about:
        parts.append(report.about)
    elif report.kind in ("text", "category"):
        parts.append(f"{report.values:,} different in {report.rows:,}")
    if report.missing:
        parts.append(f"{report.missing:,} missing")
    if report.example and report.kind != "label":
        quoted = report.example if report.kind in ("number", "date") else f'"{report.example}"'
        parts.append("as " + " ".join(quoted.split()))
    line = f"{report.kind:<10} {name:<{width}}  {', '.join(parts)}".rstrip()
    cut = line if len(line) <= WIDTH else line[: WIDTH - 3] + "..."
    note = f"note: {report.remark}" if report.remark else ""
    return [cut, *textwrap.wrap(note, WIDTH, initial_indent=" " * 11, subsequent_indent=" " * 11)]
