"""The kinds of columns, text, category, number or date, detected from the first rows.

:func:`describe` reports what was detected, with remarks on what looks odd.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import pyarrow as pa

from rosenblatt.data.cells import (
    DATE_FORMS,
    DATE_PARTS,
    MISSING_WORDS,
    NUMBER_FORMS,
    Cells,
    Words,
    can_be_strings,
    days_of,
    is_date,
    is_stringlike,
    numbers_of_columns,
    to_numbers,
    to_times,
    trimmed_strings,
)
from rosenblatt.errors import OptionError

_SAMPLE = 300  # values, and characters of each, that tell text from categories
_DISTINCT_SHARE = 0.3  # a column with fewer distinct values holds categories
_FEW = 10  # values may be distinct by chance
_IS_GAP = np.array([re.match(rb"\W", bytes([code])) is not None for code in range(256)])
_MOST_STRAYS = 0.1  # of the cells of a column of numbers or dates may be none
_DATE = re.compile(r"(\d{1,4})([-./])(\d{1,2})[-./](\d{1,4})\b")
_NUMBER = re.compile(r"[-+]?(\d[\d.,]*|\.\d+)(e[-+]?\d+)?$|[-+]?(inf|infinity)$", re.IGNORECASE)
DECIMAL_COMMA = re.compile(r"[-+]?(\d+|\d{1,3}(\.\d{3})+),(\d+)$")
_EPOCH_RANGES = {"seconds": (9e8, 2.5e9), "milliseconds": (9e11, 2.5e12)}  # 1998 to 2049
_LEAST_ROWS = 20  # that tell a number of the row by its name
_LEAST_NAMES = 100  # different strings that tell a name of the row
_LEAST_SAMPLE, _SLICES = 1000, 32  # rows that tell growth through the files, and their parts

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

_ROW_NUMBER_NAMES = frozenset(("id", "ids", "index", "key", "row", "rowid"))
_TIME_NAMES = frozenset(("ts", "time", "timestamp", "date", "datetime", "epoch", "at", "when"))

KINDS = ("text", "category", "number", "date", "ignore")


@dataclass(frozen=True)
class Column:
    """A column of a table as a feature.

    Attributes
    ----------
    name : str
        Its name, or its number counted from 1.
    kind : {"text", "category", "number", "date"}
        Text is split into words, a category is hashed as ``name=value``, a number is scaled.
    mean, scale : float
        A number x, or the age of a date in days, enters the model as ``(x - mean) / scale``.
    form : str
        How numbers or dates are written: one of the forms in :mod:`rosenblatt.data.cells`; empty
        for ``1234.5`` and ``2024-03-31``.
    parts : tuple of str
        What a date becomes: categories such as its month, and "age" for a number, which grows
        beyond what was learned as new rows come.
    limits : tuple of float
        The least and the greatest value, in days for a date, if values grow or fall through the
        files. New numbers lie beyond: they count as the nearer limit.
    """

    name: str
    kind: str
    mean: float = 0.0
    scale: float = 1.0
    form: str = ""
    parts: tuple[str, ...] = ()
    limits: tuple[float, ...] = ()

    def numbers(self, cells: Cells, missing: Words) -> tuple[np.ndarray, np.ndarray]:
        """Cells as numbers, or as times for a date, and the rows of those that are neither."""
        if self.kind == "date":
            return to_times(cells, missing, self.form)
        numbers, bad = to_numbers(cells, missing, self.form)
        if self.limits:
            numbers = numbers.clip(self.limits[0], self.limits[1])
        return numbers, bad

    @property
    def entries(self) -> tuple[str, ...]:
        """What a number or a date becomes, in order; "age" is the number."""
        return self.parts or ("age",)

    @property
    def is_plain(self) -> bool:
        """Whether it is a column of numbers as they stand."""
        return self.kind == "number" and not (self.form or self.limits)

    @property
    def is_scaled(self) -> bool:
        """Whether it is a column of numbers or dates."""
        return self.kind in ("number", "date")


def column_of(name: str, kind: str) -> Column:
    """A column of a kind as users write it, with a form and, for a date, its age as a number.

    >>> column_of("day", "date:dayfirst:age").form, column_of("day", "date").parts
    ('dayfirst', ('month', 'day', 'weekday', 'hour'))
    """
    base, *details = kind.split(":")
    if base not in KINDS:
        raise OptionError(f"{kind!r} is not a kind of column; the kinds are {', '.join(KINDS)}")
    forms: tuple[str, ...] = {"number": NUMBER_FORMS, "date": DATE_FORMS}.get(base, ())
    form = next((detail for detail in details if detail in forms), "")
    age = ("age",) if base == "date" and "age" in details else ()
    if len(details) != len(age) + bool(form):
        known = ", ".join(f"{base}:{detail}" for detail in (*forms, *["age"] * (base == "date")))
        hint = f"say {base}, {known}" if known else f"{base} has no forms"
        raise OptionError(f"{kind!r} is not a kind of column: {hint}")
    return Column(name, base, form=form, parts=(*age, *DATE_PARTS) if base == "date" else ())


def guess_columns(
    sample: Mapping[str, pa.ChunkedArray] | pa.Table,
    label: str | None,
    kinds: Mapping[str, str] | None = None,
    missing: Words = MISSING_WORDS,
    decimal: str = ".",
) -> tuple[Column, ...]:
    """Detect the kind of each column from a sample of the rows.

    Numbers are of kind number, unless the column is named like codes (zip, id) and values repeat,
    or are times since 1970 (and the name says so); at most one cell in ten may be something else.
    Strings are text if they have more than two words on average and seldom repeat; one of the two
    suffices if the name suggests text, or if they seldom repeat in the only column. Other strings
    are categories. Lists and structs, the label, columns to ignore, and numbers and names of rows
    (see :func:`is_row_number` and :func:`is_row_name`) beside other columns are left out. `kinds`
    are the kinds known already, by name; `decimal` is the sign before decimals. Cells such as
    ``12,50`` have decimal commas in any case.

    >>> table = pa.table({"age": ["39", "50", "?"], "job": ["tech", "sales", "tech"]})
    >>> guess_columns(table, label=None)[0]
    Column(name='age', kind='number', mean=44.5, scale=5.5, form='', parts=(), limits=())
    """
    known = dict(kinds or {})
    columns: dict[str, Column] = {}
    names = sample.column_names if isinstance(sample, pa.Table) else list(sample)
    unknown = {name: sample[name] for name in names if name not in known and decimal == "."}
    read = _numbers_by_name(unknown, missing)
    for name in names:
        chosen, cells = known.get(name), sample[name]
        if name == label:
            continue
        kind = chosen or _guess(name, cells, missing, decimal, read)
        column = column_of(name, kind)
        if chosen == "number" and decimal == ",":
            column = replace(column, form="comma")
        elif chosen in ("date", "date:age"):
            column = replace(column, form=_form_of_dates(cells, missing) or "")
        if kind != "ignore":
            columns[name] = column
    if [column.kind for column in columns.values()] == ["category"]:
        (name,) = columns
        if name not in known and seldom_repeats(sample[name], missing):
            columns[name] = Column(name, "text")
    names_of_rows = [
        name
        for name, column in columns.items()
        if name not in known
        and (
            (column.kind == "number" and is_row_number(name, sample[name], missing))
            or (column.kind == "category" and is_row_name(sample[name], missing))
        )
    ]
    if len(names_of_rows) < len(columns):
        columns = {name: columns[name] for name in columns if name not in names_of_rows}
    with np.errstate(over="ignore", invalid="ignore"):
        return tuple(
            _with_statistics(c, sample[n], missing, read.get(n)) for n, c in columns.items()
        )


def is_row_number(
    name: str,
    cells: pa.ChunkedArray,
    missing: Words = MISSING_WORDS,
    least: int = _LEAST_SAMPLE,
) -> bool:
    """Whether a column numbers the rows: nothing is learned from it about rows to come.

    Its numbers are whole and differ in all rows; and it is named like a number of rows, or it
    counts up or down by one, in `least` rows or more.

    >>> numbers = pa.chunked_array([[7 * i for i in range(100)]])
    >>> is_row_number("user_id", numbers), is_row_number("price", numbers)
    (True, False)
    """
    if pa.types.is_floating(cells.type) or pa.types.is_temporal(cells.type):
        return False
    is_named = name_suggests(name, _ROW_NUMBER_NAMES)
    if len(cells) < (_LEAST_ROWS if is_named else least):
        return False
    for sample in (cells[:_FEW], cells):  # the first rows tell it of most columns
        numbers, bad = to_numbers(sample, missing)
        if len(bad) or not np.all(numbers == np.floor(numbers)):  # NaN neither
            return False
    in_order = np.sort(numbers)
    if np.any(in_order[1:] == in_order[:-1]):
        return False
    steps = np.diff(numbers)
    # Between two places of the sample is a jump.
    counts = max(np.count_nonzero(steps == 1), np.count_nonzero(steps == -1))
    return is_named or bool(counts > 0.95 * len(steps))


def is_row_name(cells: pa.ChunkedArray, missing: Words = MISSING_WORDS) -> bool:
    """Whether a column of strings names the rows: each category would be that of one row.

    >>> is_row_name(pa.chunked_array([[f"K{i:05d}" for i in range(100)]]))
    True
    """
    if not seldom_repeats(cells, missing):
        return False
    present = trimmed_strings(cells, missing).drop_null().to_pylist()
    return len(present) >= _LEAST_NAMES and len(set(present)) == len(present)


def _limits(numbers: np.ndarray) -> tuple[float, ...]:
    """The least and the greatest of a sample's numbers, if they grow or fall through the files."""
    present = numbers[np.isfinite(numbers)]
    if len(present) < _LEAST_SAMPLE:
        return ()
    parts = np.array_split(present, _SLICES)
    first, last = np.median(parts[0]), np.median(parts[-1])
    sign = 1.0 if last > first else -1.0
    if sign * last <= (sign * parts[0]).max():  # of most columns; other medians take time
        return ()
    middles = [first, *(np.median(part) for part in parts[1:-1]), last]
    if np.count_nonzero(sign * np.diff(middles) > 0) < 0.9 * (_SLICES - 1):
        return ()
    return float(present.min()), float(present.max())


def name_suggests(name: str, words: frozenset[str] = _TEXT_NAMES) -> bool:
    """Whether a column name contains one of `words`, by default words for text.

    >>> [name_suggests(name) for name in ("review_text", "commentBody", "context", "age")]
    [True, True, False, False]
    """
    return not words.isdisjoint(_parts_of(name))


@lru_cache(maxsize=64)
def _parts_of(name: str) -> list[str]:
    """The words of a column name, in lower case."""
    return [part.lower() for part in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)]


def seldom_repeats(column: pa.ChunkedArray, missing: Words = MISSING_WORDS) -> bool:
    """Whether most of the first values of a column of strings are distinct."""
    if not is_stringlike(column.type):
        return False
    present = trimmed_strings(column[:_SAMPLE], missing).drop_null().to_pylist()
    # Not `pc.count_distinct`, whose first call allocates ten megabytes.
    return len(set(present)) > max(_FEW, _DISTINCT_SHARE * len(present))


def _guess(
    name: str, column: pa.ChunkedArray, missing: Words, decimal: str, read: dict[str, np.ndarray]
) -> str:
    """The kind of a column as users write it; `read` gets the numbers of one of numbers."""
    kind = column.type
    if pa.types.is_null(kind) or not can_be_strings(kind):
        return "ignore"
    if is_date(kind):
        return "date"
    is_typed = not (is_stringlike(kind) or pa.types.is_dictionary(kind))
    form = "comma" if decimal == "," and not is_typed else ""
    if name not in read and not is_typed:
        numbers = _numbers_in(column, missing, form)
        read |= {} if numbers is None else {name: numbers}
    if is_typed or name in read:
        if _is_code(name, column, missing):
            return "category"
        return _kind_of_times(name, column, missing) or ("number:" + form).rstrip(":")
    texts = _first_strings(column, missing)
    if not texts:
        return "category"
    has_commas = not form and _have_decimal_commas(texts)
    if has_commas and _numbers_in(column, missing, "comma") is not None:
        return "number:comma"
    form_of_dates = _form_of_dates(column, missing)
    if form_of_dates is not None:
        return f"date:{form_of_dates}".rstrip(":")
    # The letter keeps the words of two texts apart from the gap between words.
    joined = "".join(text[:_SAMPLE] + "a" for text in texts).encode()
    gap = _IS_GAP[np.frombuffer(joined, np.uint8)]
    words = 1 + int(np.count_nonzero(gap[:-1] & ~gap[1:])) / len(texts)
    signs = (words > 2) + (len(set(texts)) > _DISTINCT_SHARE * len(texts))
    return "text" if signs >= (1 if name_suggests(name) else 2) else "category"


def are_strays(bad: int, present: int) -> bool:
    """Whether so few of the cells present are bad that the others tell the kind of a column."""
    return bad <= _MOST_STRAYS * present and bad < present


def _have_decimal_commas(texts: list[str]) -> bool:
    """Whether strings are numbers with commas, which cannot all be between thousands."""
    decimals = {len(match[3]) for text in texts if (match := DECIMAL_COMMA.match(text))}
    return bool(decimals - {3})


def _first_strings(column: pa.ChunkedArray, missing: Words) -> list[str]:
    """The first cells of a column that are not missing."""
    present = trimmed_strings(column[:_SAMPLE], missing).drop_null()
    return (present or trimmed_strings(column, missing).drop_null()[:_SAMPLE]).to_pylist()


def _numbers_by_name(columns: dict[str, Cells], missing: Words) -> dict[str, np.ndarray]:
    """The numbers of the columns of strings that begin with a number and hold nothing else."""
    begin = {
        name: cells
        for name, cells in columns.items()
        if pa.types.is_string(cells.type) and len(cells) and _NUMBER.match(cells[0].as_py() or "")
    }
    read = numbers_of_columns(pa.table(begin), list(begin), missing)
    return {name: numbers for name, numbers in read.items() if not np.isnan(numbers).all()}


def _numbers_in(column: pa.ChunkedArray, missing: Words, form: str) -> np.ndarray | None:
    """The numbers of a column of strings; None if more than a few cells are none."""
    try:
        first = float(column[0].as_py())  # fast, for wide tables
    except (ValueError, TypeError, IndexError):
        first = np.nan
    if np.isnan(first):  # to cast a column of texts takes milliseconds to fail
        texts = _first_strings(column, missing)
        if not are_strays(sum(not _NUMBER.match(text) for text in texts), len(texts)):
            return None
    numbers, bad = to_numbers(column, missing, form)
    present = int(np.count_nonzero(~np.isnan(numbers))) + len(bad)
    return numbers if are_strays(len(bad), present) else None


def _form_of_dates(column: pa.ChunkedArray, missing: Words) -> str | None:
    """How a column of strings writes dates; None if it holds others, or may be read in two ways."""
    if not is_stringlike(column.type):
        return None
    texts = _first_strings(column, missing)
    matches = [match for text in texts if (match := _DATE.match(text))]
    if not are_strays(len(texts) - len(matches), len(texts)):
        return None
    first, second = (max(int(match[group]) for match in matches) for group in (1, 3))
    if len(matches[0][1]) == 4:
        form = "" if matches[0][2] == "-" else "yearfirst"
    elif matches[0][2] == "." or (first > 12 and second <= 12):
        form = "dayfirst"
    elif second > 12 and first <= 12:
        form = "monthfirst"
    else:
        return None
    times, bad = to_times(column, missing, form)
    return (
        form if are_strays(len(bad), int(np.count_nonzero(~np.isnat(times))) + len(bad)) else None
    )


def _kind_of_times(name: str, column: pa.ChunkedArray, missing: Words) -> str | None:
    """The kind of whole numbers in a column named like times, if they may be times since 1970."""
    if not name_suggests(name, _TIME_NAMES):
        return None
    unit = epoch_unit(to_numbers(column[:_SAMPLE], missing)[0])
    return f"date:{unit}" if unit else None


def epoch_unit(numbers: np.ndarray) -> str | None:
    """The unit in which numbers may be times since 1970, from 1998 to 2049, or None.

    >>> epoch_unit(np.array([1.7e9, 1.71e9])), epoch_unit(np.array([1.5, 2.0]))
    ('seconds', None)
    """
    present = numbers[~np.isnan(numbers)]
    if not len(present) or not np.all(present == np.floor(present)):
        return None
    low, high = present.min(), present.max()
    return next((u for u, (a, b) in _EPOCH_RANGES.items() if a <= low and high <= b), None)


def _is_code(name: str, column: pa.ChunkedArray, missing: Words) -> bool:
    """Whether numbers are codes: named like codes, whole, and repeated."""
    if not name_suggests(name, _CODE_NAMES):
        return False
    numbers, _ = to_numbers(column[:_SAMPLE], missing)
    present = numbers[~np.isnan(numbers)]
    repeated = len(set(present.tolist())) <= 0.5 * len(present)
    return repeated and bool(np.all(present == np.floor(present)))


def _with_statistics(
    column: Column, cells: pa.ChunkedArray, missing: Words, read: np.ndarray | None
) -> Column:
    """The column, with its limits, and with mean and scale for numbers and the ages of dates.

    The age of the newest date is zero.
    """
    if not column.is_scaled:
        return column
    numbers = read if read is not None and column.kind == "number" else None
    if numbers is None:
        numbers = column.numbers(cells, missing)[0]
    if column.kind == "date":
        numbers = days_of(numbers)
    limits, present = _limits(numbers), numbers[np.isfinite(numbers)]
    if len(present) == 0 or (column.kind == "date" and "age" not in column.parts):
        return replace(column, limits=limits)
    mean, scale = _mean_and_deviation(present)
    zero = float(present.max()) if column.kind == "date" else mean
    scale = scale if scale > 1e-12 * max(1.0, abs(mean)) else 1.0
    return replace(column, mean=zero, scale=scale, limits=limits)


def _mean_and_deviation(numbers: np.ndarray) -> tuple[float, float]:
    """The mean and the standard deviation; NumPy's own take four times as long for few numbers."""
    mean = np.add.reduce(numbers) / len(numbers)
    away = numbers - mean
    return float(mean), float(np.sqrt(np.add.reduce(away * away) / len(numbers)))
