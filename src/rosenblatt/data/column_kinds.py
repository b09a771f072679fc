"""What the columns of a table are: text, category, number or date; detected from first rows."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from rosenblatt.data.cells import (
    MISSING_WORDS,
    MOMENT,
    NUMBER,
    Words,
    days_of,
    fitting,
    is_date,
    is_stringlike,
    plain_numbers,
    to_numbers,
    to_times,
    valid_strings,
)
from rosenblatt.errors import OptionError

# So many values, and so many characters of each, tell text from categories.
_ENOUGH = 300
# Below this share of distinct values, a column repeats itself: its values are categories.
_SELDOM_REPEATED = 0.3
# So few values may be different from each other by chance.
_FEW = 10
_IS_GAP = np.array([re.match(rb"\W", bytes([code])) is not None for code in range(256)])
_DATE = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d.*)?$")

# Words that the name of a column of text is made of, as in "review_text" or "commentBody".
_NAMES_OF_TEXT = frozenset(
    re.findall(
        r"\w+",
        """text texts review reviews comment comments message messages body sentence sentences
        document documents content description abstract title headline subject question answer
        query tweet post utterance phrase word words token summary email mail snippet paragraph""",
    )
)
_NAMES_OF_CODES = frozenset(("zip", "zipcode", "postcode", "postal", "code", "id", "fips"))

KINDS = ("text", "category", "number", "date", "ignore")


@dataclass(frozen=True)
class Column:
    """One column of a table as the model sees it.

    Attributes
    ----------
    name : str
        Its name, or its place counted from 1.
    kind : {"text", "category", "number", "date"}
        Text is cut into words, a category is hashed as ``name=value``, a number is scaled; a date
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
    """Decide what each column is, from the first rows of a file.

    A column of numbers is numbers, unless it is named as codes are (zip, id) and repeats itself;
    dates are dates. Strings of more than two words on average, seldom repeated, are text; where
    the name speaks of text, either will do. Other strings are categories. Lists and structures are
    left out, and so are the label and what `kinds`, which holds what is known already, says to
    ignore. A lone column of strings that seldom repeat is text.

    >>> table = pa.table({"age": ["39", "50", "?"], "job": ["tech", "sales", "tech"]})
    >>> guess_columns(table, label=None)[0]
    Column(name='age', kind='number', mean=44.5, scale=5.5)
    """
    known = dict(kinds or {})
    for kind in known.values():
        if kind not in KINDS:
            raise OptionError(f"{kind!r} is not a kind of column; the kinds are {', '.join(KINDS)}")
    found = {}
    for name in table.column_names:
        kind = "ignore" if name == label else known.get(name) or _guess(name, table[name], missing)
        if kind != "ignore":
            found[name] = kind
    if list(found.values()) == ["category"]:
        (name,) = found
        if name not in known and seldom_repeats(table[name], missing):
            found[name] = "text"
    return tuple(_with_statistics(n, kind, table[n], missing) for n, kind in found.items())


def name_suggests(name: str, words: frozenset[str] = _NAMES_OF_TEXT) -> bool:
    """Whether a name holds one of these words, by default those of columns of text.

    >>> [name_suggests(name) for name in ("review_text", "commentBody", "context", "age")]
    [True, True, False, False]
    """
    parts = re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)
    return any(part.lower() in words for part in parts)


def seldom_repeats(column: pa.ChunkedArray, missing: Words = MISSING_WORDS) -> bool:
    """Whether many of the first values of a column of strings are different from each other."""
    if not is_stringlike(column.type):
        return False
    present = valid_strings(column[:_ENOUGH], missing).drop_null().to_pylist()
    # Not `pc.count_distinct`: its first call takes ten megabytes, whatever it counts.
    return len(set(present)) > max(_FEW, _SELDOM_REPEATED * len(present))


def _guess(name: str, column: pa.ChunkedArray, missing: Words) -> str:
    kind = column.type
    if pa.types.is_nested(kind) or pa.types.is_null(kind):
        return "ignore"
    if is_date(kind):
        return "date"
    is_typed = not (is_stringlike(kind) or pa.types.is_dictionary(kind))
    if is_typed or plain_numbers(column) is not None:
        return "category" if _is_code(name, column, missing) else "number"
    strings = valid_strings(column[:_ENOUGH], missing)
    if fitting(strings, NUMBER) is not None:
        strings = valid_strings(column, missing)
        if len(strings) == strings.null_count:
            return "category"
        if fitting(strings, NUMBER) is not None:
            return "category" if _is_code(name, column, missing) else "number"
    present = strings.drop_null()
    may_be_date = _DATE.match(present[0].as_py())
    if may_be_date and fitting(valid_strings(column, missing), MOMENT) is not None:
        return "date"
    texts = present.to_pylist()
    # A letter after each text: no gap between words reaches from one text into the next.
    joined = "".join(text[:_ENOUGH] + "a" for text in texts).encode()
    gap = _IS_GAP[np.frombuffer(joined, np.uint8)]
    words = 1 + int(np.count_nonzero(gap[:-1] & ~gap[1:])) / len(texts)
    signs = (words > 2) + (len(set(texts)) > _SELDOM_REPEATED * len(texts))
    return "text" if signs >= (1 if name_suggests(name) else 2) else "category"


def _is_code(name: str, column: pa.ChunkedArray, missing: Words) -> bool:
    """Whether numbers are codes: so named, whole and repeated."""
    if not name_suggests(name, _NAMES_OF_CODES):
        return False
    numbers, _ = to_numbers(column[:_ENOUGH], missing)
    present = numbers[~np.isnan(numbers)]
    repeated = len(set(present.tolist())) <= 0.5 * len(present)
    return repeated and bool(np.all(present == np.floor(present)))


def _with_statistics(name: str, kind: str, column: pa.ChunkedArray, missing: Words) -> Column:
    """The column with mean and scale, where it has these."""
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
