"""What the columns of a table are: text, category or number; detected, and checked."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rosenblatt.data.arrow_tables import Chunk
from rosenblatt.data.strings import as_strings, plain_strings, string_buffers
from rosenblatt.errors import DataError, shown

# So many values, and so many characters of each, tell text from categories.
_ENOUGH = 300
_WORD = re.compile(rb"\w")
_IS_GAP = np.array([_WORD.match(bytes([code])) is None for code in range(256)])

KINDS = ("text", "category", "number", "ignore")


@dataclass(frozen=True)
class Column:
    """One column of a table as the model sees it.

    Attributes
    ----------
    name : str
        Its name, or its place counted from 1.
    kind : {"text", "category", "number"}
        Text is cut into words, a category is hashed as ``name=value``, a number is scaled.
    mean, scale : float
        A number x enters the model as ``(x - mean) / scale``.
    """

    name: str
    kind: str
    mean: float = 0.0
    scale: float = 1.0


def guess_columns(
    table: pa.Table, label: str | None, kinds: Mapping[str, str] | None = None
) -> tuple[Column, ...]:
    """Decide what each column is, from the first rows of a file.

    A column of numbers is numbers; strings of more than two words on average, seldom repeated,
    are text; other strings are categories. Lists and structures are left out, and so are the
    label and what `kinds`, which holds what is known already, says to ignore.

    >>> table = pa.table({"age": ["39", "50", "?"], "job": ["tech", "sales", "tech"]})
    >>> guess_columns(table, label=None)[0]
    Column(name='age', kind='number', mean=44.5, scale=5.5)
    """
    known = dict(kinds or {})
    for kind in known.values():
        if kind not in KINDS:
            raise DataError(f"{kind!r} is not a kind of column; the kinds are {', '.join(KINDS)}")
    columns = []
    for name in table.column_names:
        kind = "ignore" if name == label else known.get(name) or _guess(table[name])
        if kind == "ignore":
            continue
        is_number = kind == "number"
        columns.append(_with_statistics(name, table[name]) if is_number else Column(name, kind))
    return tuple(columns)


def _guess(column: pa.ChunkedArray) -> str:
    kind = column.type
    if pa.types.is_nested(kind) or pa.types.is_null(kind):
        return "ignore"
    if not (_is_stringlike(kind) or pa.types.is_dictionary(kind)):
        return "number"
    if _plain_numbers(column) is not None:
        return "number"
    strings = _valid_strings(column[:_ENOUGH])
    if _numbers(strings) is not None:
        strings = _valid_strings(column)
        if len(strings) == strings.null_count:
            return "category"
        if _numbers(strings) is not None:
            return "number"
    present = strings.drop_null()
    words = 1 + _gaps(pc.utf8_slice_codeunits(present, 0, _ENOUGH)) / len(present)
    # Not `pc.count_distinct`: its first call takes ten megabytes, whatever it counts.
    distinct = len(set(present.to_pylist()))
    return "text" if words > 2 and distinct > 0.3 * len(present) else "category"


def _gaps(strings: pa.Array) -> int:
    """How many runs there are, in all strings together, of what is not an ASCII letter or digit.

    >>> _gaps(pa.array(["so, good", "", "bad!", "!"]))
    3
    """
    offsets, data = string_buffers(strings)
    data = data[offsets[0] : offsets[-1]]
    gap = _IS_GAP[data]
    begins = gap.copy()
    begins[1:] &= ~gap[:-1]
    # A run does not reach from one string into the next.
    firsts = offsets[:-1] - offsets[0]
    firsts = firsts[firsts < len(data)]
    begins[firsts] = gap[firsts]
    return int(np.count_nonzero(begins))


def _valid_strings(column: pa.ChunkedArray) -> pa.Array:
    """The strings of a column; values that are not UTF-8 count as missing here."""
    try:
        return as_strings(column)
    except pa.ArrowInvalid:
        return as_strings(pa.array([_decoded(v) for v in column.to_pylist()], pa.string()))


def _decoded(value: Any) -> str | None:
    try:
        return value.decode("utf-8") if isinstance(value, bytes) else value
    except UnicodeDecodeError:
        return None


def _is_stringlike(kind: pa.DataType) -> bool:
    types = pa.types
    return bool(
        types.is_string(kind)
        or types.is_large_string(kind)
        or types.is_string_view(kind)
        or types.is_binary(kind)
        or types.is_large_binary(kind)
    )


def _numbers(strings: pa.Array) -> pa.Array | None:
    """Strings as numbers, or None if one is not a number."""
    try:
        return strings.cast(pa.float64())
    except pa.ArrowInvalid:
        return None


def _plain_numbers(column: pa.ChunkedArray | pa.Array) -> pa.Array | pa.ChunkedArray | None:
    """Strings as numbers in one step, if that is what all of them are and some are no NaN.

    It is the way of most columns of numbers: a table may have a hundred thousand.
    """
    if not pa.types.is_string(column.type):
        return None
    try:
        numbers = column.cast(pa.float64())
    except pa.ArrowInvalid:
        return None
    some = numbers.chunk(0) if isinstance(numbers, pa.ChunkedArray) and numbers.num_chunks else None
    is_known = (
        some is not None and not some.null_count and len(some) and not np.isnan(some[0].as_py())
    )
    return numbers if is_known else None


def _with_statistics(name: str, column: pa.ChunkedArray) -> Column:
    numbers, _ = to_numbers(column)
    present = numbers[np.isfinite(numbers)]
    if len(present) == 0:
        return Column(name, "number")
    with np.errstate(over="ignore", invalid="ignore"):
        mean, scale = float(present.mean()), float(present.std())
    return Column(name, "number", mean, scale if scale > 1e-12 * max(1.0, abs(mean)) else 1.0)


def to_numbers(column: pa.ChunkedArray | pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """A column as numbers, NaN where missing or not finite, and the rows that are not numbers.

    >>> numbers, bad = to_numbers(pa.array(["1", "?", "x"]))
    >>> numbers.tolist(), bad.tolist()
    ([1.0, nan, nan], [2])
    """
    none = np.empty(0, dtype=np.int64)
    kind = column.type
    if pa.types.is_temporal(kind):
        column = column.cast(pa.timestamp("us")).cast(pa.int64())
    elif pa.types.is_boolean(kind):
        column = column.cast(pa.int8())
    if not _is_stringlike(kind) and not pa.types.is_dictionary(kind):
        array = column.cast(pa.float64(), safe=False)
        return _finite(array), none
    plain = _plain_numbers(column)
    if plain is not None:
        return _finite(plain), none
    strings = _valid_strings(column)
    numbers = _numbers(strings)
    if numbers is not None:
        return _finite(numbers), none
    parsed = [_parsed(value) for value in strings.to_pylist()]
    bad = np.array([row for row, value in enumerate(parsed) if value is None], dtype=np.int64)
    return np.array([np.nan if value is None else value for value in parsed]), bad


def _finite(array: pa.Array | pa.ChunkedArray) -> np.ndarray:
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    values = array.to_numpy(zero_copy_only=False) if array.null_count else np.from_dlpack(array)
    return np.where(np.isfinite(values), values, np.nan)


def _parsed(value: str | None) -> float | None:
    """A number, NaN for a missing one, None for what is not a number."""
    if value is None:
        return float("nan")
    numbers = _numbers(pa.array([value]))
    return None if numbers is None else numbers[0].as_py()


def check_chunk(chunk: Chunk, columns: tuple[Column, ...], label: str | None, skip: bool) -> Chunk:
    """Refuse or leave out rows whose values do not fit: bad UTF-8, not a number, no label."""
    faults: list[tuple[int, str, str]] = []
    for column in columns:
        if column.kind == "number" and _is_stringlike(chunk.table[column.name].type):
            for row in to_numbers(chunk.table[column.name])[1]:
                found = _shown(chunk, column.name, row)
                faults.append((int(row), column.name, f"expected a number, found {found}"))
        faults.extend(_bad_utf8(chunk, column.name))
    if label is not None:
        faults.extend([*_bad_utf8(chunk, label), *_missing(chunk, label)])
    return _without(faults, chunk, skip)


def fit_types(chunk: Chunk, schema: pa.Schema, skip: bool) -> Chunk:
    """Give columns the types that they have in a schema; refuse or leave out rows that cannot.

    >>> chunk = Chunk(pa.table({"x": ["3", "2.5"]}), "a.jsonl", lambda row: row + 1)
    >>> fit_types(chunk, pa.schema({"x": pa.int64()}), skip=True).table.to_pylist()
    [{'x': 3}]
    """
    faults: list[tuple[int, str, str]] = []
    for field in schema:
        column = chunk.table[field.name]
        if column.type != field.type and not _fits(column, field.type):
            message = f"expected {field.type}, as in the first rows, found "
            for row in range(len(column)):
                if not _fits(column[row : row + 1], field.type):
                    faults.append((row, field.name, message + _shown(chunk, field.name, row)))
    kept = _without(faults, chunk, skip)
    return kept._replace(table=kept.table.cast(schema))


def _fits(column: pa.ChunkedArray, kind: pa.DataType) -> bool:
    try:
        column.cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return False
    return True


def _without(faults: list[tuple[int, str, str]], chunk: Chunk, skip: bool) -> Chunk:
    """Refuse or leave out the rows in which something is wrong."""
    if not faults:
        return chunk
    if not skip:
        row, name, message = min(faults)
        raise DataError(message, path=chunk.path, line=chunk.line_of(row), column=name)
    keep = np.ones(chunk.table.num_rows, dtype=bool)
    keep[[row for row, _, _ in faults]] = False
    kept = np.flatnonzero(keep)
    return Chunk(
        chunk.table.filter(pa.array(keep)),
        chunk.path,
        lambda row: chunk.line_of(int(kept[row])),
        chunk.bad + int(len(keep) - len(kept)),
    )


def _shown(chunk: Chunk, name: str, row: int) -> str:
    return shown(chunk.table[name][int(row)].as_py())


def _bad_utf8(chunk: Chunk, name: str) -> list[tuple[int, str, str]]:
    kind = chunk.table[name].type
    if not (pa.types.is_binary(kind) or pa.types.is_large_binary(kind)):
        return []
    try:
        plain_strings(chunk.table[name])
    except pa.ArrowInvalid:
        values = chunk.table[name].to_pylist()
        return [
            (row, name, f"expected UTF-8, found {value[:40]!r}")
            for row, value in enumerate(values)
            if value is not None and _decoded(value) is None
        ]
    return []


def _missing(chunk: Chunk, name: str) -> list[tuple[int, str, str]]:
    labels = _valid_strings(chunk.table[name])
    if not labels.null_count:
        return []
    rows = np.flatnonzero(labels.is_null().to_numpy(zero_copy_only=False))
    return [(int(row), name, "the label is missing") for row in rows]
