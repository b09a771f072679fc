"""The kinds of columns, text, category, number or date, detected from the first rows.

:func:`describe` reports what was detected, with remarks on what looks odd.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from rosenblatt.data.cells import (
    MISSING_WORDS,
    NUMBER,
    TIME,
    Words,
    can_be_strings,
    cast_to_any,
    days_of,
    is_date,
    is_stringlike,
    label_strings,
    to_numbers,
    to_times,
    trimmed_strings,
)
from rosenblatt.data.labels import indicator_columns
from rosenblatt.errors import OptionError, counted, shown

if TYPE_CHECKING:
    from rosenblatt.data.source import Source

_SAMPLE = 300  # values, and characters of each, that tell text from categories
_DISTINCT_SHARE = 0.3  # a column with fewer distinct values holds categories
_FEW = 10  # values may be distinct by chance
_IS_GAP = np.array([re.match(rb"\W", bytes([code])) is not None for code in range(256)])
_DATE = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d.*)?$")

# Words in the names of text columns, such as "review_text" or "commentBody".
_TEXT_NAMES = frozenset(
    re.findall(
        r"\w+",
        """text texts review reviews comment comments message messages body sentence sentences
        document documents content description abstract title headline subject question answer
        query tweet post utterance phrase word words token summary email mail snippet paragraph""",
    )
)
_CODE_NAMES = frozenset(("zip", "zipcode", "postcode", "postal", "code", "id", "fips"))

_REPORTED_ROWS = 2000  # examined
_LEAST_ROWS = 20  # for a remark
_MOST_COLUMNS = 50
_EXAMPLE_LENGTH = 40
_FOREIGN_DATE = re.compile(r"\d{1,4}[./]\d{1,2}[./]\d{1,4}\b")
_ROW_NUMBER_NAMES = frozenset(("id", "ids", "index", "key", "row", "number", "nr", "no"))

KINDS = ("text", "category", "number", "date", "ignore")


@dataclass(frozen=True)
class Column:
    """A column of a table as a feature.

    Attributes
    ----------
    name : str
        Its name, or its number counted from 1.
    kind : {"text", "category", "number", "date"}
        Text is split into words, a category is hashed as ``name=value``, a number is scaled; a date
        is a number and the categories month, weekday and hour.
    mean, scale : float
        A number x, or a date in days since 1970, enters the model as ``(x - mean) / scale``.
    """

    name: str
    kind: str
    mean: float = 0.0
    scale: float = 1.0


def guess_columns(
    table: pa.Table,
    label: str | None,
    kinds: Mapping[str, str] | None = None,
    missing: Words = MISSING_WORDS,
) -> tuple[Column, ...]:
    """Detect the kind of each column from the first rows of a file.

    Numbers are of kind number, unless the column is named like codes (zip, id) and values repeat.
    Strings are text if they have more than two words on average and seldom repeat; one of the two
    suffices if the name suggests text, or if they seldom repeat in the only column. Other strings
    are categories. Lists and structs, the label, and columns to ignore are left out. `kinds` are
    the kinds known already, by name.

    >>> table = pa.table({"age": ["39", "50", "?"], "job": ["tech", "sales", "tech"]})
    >>> guess_columns(table, label=None)[0]
    Column(name='age', kind='number', mean=44.5, scale=5.5)
    """
    known = dict(kinds or {})
    for kind in known.values():
        if kind not in KINDS:
            raise OptionError(f"{kind!r} is not a kind of column; the kinds are {', '.join(KINDS)}")
    kind_of = {}
    for name in table.column_names:
        kind = "ignore" if name == label else known.get(name) or _guess(name, table[name], missing)
        if kind != "ignore":
            kind_of[name] = kind
    if list(kind_of.values()) == ["category"]:
        (name,) = kind_of
        if name not in known and seldom_repeats(table[name], missing):
            kind_of[name] = "text"
    return tuple(_with_statistics(n, kind, table[n], missing) for n, kind in kind_of.items())


def name_suggests(name: str, words: frozenset[str] = _TEXT_NAMES) -> bool:
    """Whether a column name contains one of `words`, by default words for text.

    >>> [name_suggests(name) for name in ("review_text", "commentBody", "context", "age")]
    [True, True, False, False]
    """
    parts = re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)
    return any(part.lower() in words for part in parts)


def seldom_repeats(column: pa.ChunkedArray, missing: Words = MISSING_WORDS) -> bool:
    """Whether most of the first values of a column of strings are distinct."""
    if not is_stringlike(column.type):
        return False
    present = trimmed_strings(column[:_SAMPLE], missing).drop_null().to_pylist()
    # Not `pc.count_distinct`, whose first call allocates ten megabytes.
    return len(set(present)) > max(_FEW, _DISTINCT_SHARE * len(present))


def _guess(name: str, column: pa.ChunkedArray, missing: Words) -> str:
    kind = column.type
    if pa.types.is_null(kind) or not can_be_strings(kind):
        return "ignore"
    if is_date(kind):
        return "date"
    is_typed = not (is_stringlike(kind) or pa.types.is_dictionary(kind))
    if is_typed or _are_numbers(column):
        return "category" if _is_code(name, column, missing) else "number"
    strings = trimmed_strings(column[:_SAMPLE], missing)
    if cast_to_any(strings, NUMBER) is not None:
        strings = trimmed_strings(column, missing)
        if len(strings) == strings.null_count:
            return "category"
        if cast_to_any(strings, NUMBER) is not None:
            return "category" if _is_code(name, column, missing) else "number"
    present = strings.drop_null()
    may_be_date = _DATE.match(present[0].as_py())
    if may_be_date and cast_to_any(trimmed_strings(column, missing), TIME) is not None:
        return "date"
    texts = present.to_pylist()
    # The letter keeps the words of two texts apart from the gap between words.
    joined = "".join(text[:_SAMPLE] + "a" for text in texts).encode()
    gap = _IS_GAP[np.frombuffer(joined, np.uint8)]
    words = 1 + int(np.count_nonzero(gap[:-1] & ~gap[1:])) / len(texts)
    signs = (words > 2) + (len(set(texts)) > _DISTINCT_SHARE * len(texts))
    return "text" if signs >= (1 if name_suggests(name) else 2) else "category"


def _are_numbers(column: pa.ChunkedArray) -> bool:
    """Whether strings are all numbers, the first of them not missing: fast, for wide tables."""
    try:
        first = float(column[0].as_py())  # to cast a column of texts takes milliseconds to fail
    except (ValueError, TypeError, IndexError):
        return False
    is_known = not np.isnan(first) and pa.types.is_string(column.type)
    return is_known and cast_to_any(column, NUMBER) is not None


def _is_code(name: str, column: pa.ChunkedArray, missing: Words) -> bool:
    """Whether numbers are codes: named like codes, whole, and repeated."""
    if not name_suggests(name, _CODE_NAMES):
        return False
    numbers, _ = to_numbers(column[:_SAMPLE], missing)
    present = numbers[~np.isnan(numbers)]
    repeated = len(set(present.tolist())) <= 0.5 * len(present)
    return repeated and bool(np.all(present == np.floor(present)))


def _with_statistics(name: str, kind: str, column: pa.ChunkedArray, missing: Words) -> Column:
    """The column, with mean and scale for numbers and dates."""
    if kind == "number":
        numbers, _ = to_numbers(column, missing)
    elif kind == "date":
        numbers = days_of(to_times(column, missing)[0])
    else:
        return Column(name, kind)
    present = numbers[np.isfinite(numbers)]
    if len(present) == 0:
        return Column(name, kind)
    with np.errstate(over="ignore", invalid="ignore"):
        mean, scale = float(present.mean()), float(present.std())
    return Column(name, kind, mean, scale if scale > 1e-12 * max(1.0, abs(mean)) else 1.0)


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
    first, missing = head[:_REPORTED_ROWS], source.features.missing_words
    return [_label(head, name) for name in labels] + [
        _column(name, kinds.get(name, "ignored"), first[name], missing) for name in names
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
