"""The cells of a column as strings, numbers or moments, whatever type they come in."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

MISSING_WORDS = ("", "?", "NA", "N/A", "NaN", "nan", "null", "NULL", "None")
NUMBER = (pa.float64(),)
MOMENT = (pa.timestamp("us"), pa.timestamp("us", "UTC"))
# The categories that a date belongs to.
PARTS = {
    "month": ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"),
    "weekday": ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"),
    "hour": tuple(f"{hour:02}" for hour in range(24)),
}
_NO_ROWS = np.empty(0, dtype=np.int64)

Words = tuple[str, ...]
Cells: TypeAlias = "pa.ChunkedArray | pa.Array"


def string_buffers(strings: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """Offsets and bytes of an Arrow array of strings; a missing text is an empty one."""
    if not (pa.types.is_string(strings.type) or pa.types.is_large_string(strings.type)):
        strings = strings.cast(pa.large_string())
    wide = pa.types.is_large_string(strings.type)
    if strings.null_count:
        strings = strings.fill_null("")
    _, offsets, data = strings.buffers()
    kind = np.dtype(np.int64 if wide else np.int32)
    if offsets is None or len(strings) == 0:
        return np.zeros(1, dtype=kind), np.empty(0, dtype=np.uint8)
    first = np.frombuffer(
        offsets, dtype=kind, count=len(strings) + 1, offset=strings.offset * kind.itemsize
    )
    return first, np.frombuffer(data if data is not None else b"", dtype=np.uint8)


def make_strings(values: list[str]) -> pa.Array:
    """An Arrow array of strings, made without ``pa.array``, whose first call imports pandas."""
    encoded = [value.encode() for value in values]
    offsets = np.cumsum([0, *map(len, encoded)], dtype=np.int32)
    parts = [None, pa.py_buffer(offsets), pa.py_buffer(b"".join(encoded))]
    return pa.Array.from_buffers(pa.string(), len(values), parts)


@lru_cache
def _as_array(words: Words) -> pa.Array:
    return make_strings(list(words))


def as_strings(column: Cells, missing: Words = MISSING_WORDS) -> pa.Array:
    """A column as strings, trimmed, missing values as nulls; bad UTF-8 raises ArrowInvalid."""
    strings = pc.utf8_trim_whitespace(plain_strings(column))
    # Not `pa.scalar`, which imports pandas, for a fifth of a second.
    return pc.if_else(pc.is_in(strings, _as_array(missing)), pa.nulls(1, strings.type)[0], strings)


def label_strings(column: Cells) -> pa.Array:
    """Labels as strings, trimmed: any word is one, and only empty cells are missing, or not UTF-8.

    >>> label_strings(pa.array(["nan", "NA ", "", None])).to_pylist()
    ['nan', 'NA', None, None]
    >>> label_strings(pa.array([1.0, float("nan")])).to_pylist()
    ['1', None]
    """
    if pa.types.is_floating(column.type):
        column = pc.if_else(pc.is_nan(column), pa.nulls(1, column.type)[0], column)
    return valid_strings(column, ("",))


def plain_strings(column: Cells) -> pa.Array:
    """A column of any type as one array of strings, as they stand."""
    array = one_array(column)
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pa.types.is_boolean(array.type):
        array = pc.if_else(array, "true", "false")
    if pa.types.is_floating(array.type):
        whole = pc.all(pc.equal(pc.floor(array), array)).as_py()
        array = array.cast(pa.int64()) if whole else array
    if pa.types.is_large_binary(array.type) or pa.types.is_large_string(array.type):
        return array.cast(pa.large_string())
    return array.cast(pa.string())


def one_array(column: Cells) -> pa.Array:
    """A column in one array."""
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    return pa.concat_arrays(array.chunks) if isinstance(array, pa.ChunkedArray) else array


def is_utf8(data: bytes | np.ndarray) -> bool:
    """Whether bytes are UTF-8, at the speed of Arrow's own check."""
    offsets = pa.py_buffer(np.array([0, len(data)], dtype=np.int64))
    parts = [None, offsets, pa.py_buffer(data)]
    try:
        pa.LargeBinaryArray.from_buffers(pa.large_binary(), 1, parts).cast(pa.large_string())
    except pa.ArrowInvalid:
        return False
    return True


def valid_strings(column: Cells, missing: Words = MISSING_WORDS) -> pa.Array:
    """The strings of a column; values that are not UTF-8 count as missing here."""
    try:
        return as_strings(column, missing)
    except pa.ArrowInvalid:
        readable = pa.array([decoded(v) for v in column.to_pylist()], pa.string())
        return as_strings(readable, missing)


def decoded(value: Any) -> str | None:
    """Bytes as a string; None where they are not UTF-8."""
    try:
        return value.decode("utf-8") if isinstance(value, bytes) else value
    except UnicodeDecodeError:
        return None


def is_stringlike(kind: pa.DataType) -> bool:
    """Whether a type holds strings, or bytes that may be strings."""
    types = pa.types
    return bool(
        types.is_string(kind)
        or types.is_large_string(kind)
        or types.is_string_view(kind)
        or types.is_binary(kind)
        or types.is_large_binary(kind)
    )


def fitting(strings: Cells, kinds: tuple[pa.DataType, ...]) -> Any:
    """Strings as the first of some types that takes all of them; None if none does."""
    for kind in kinds:
        try:
            return strings.cast(kind)
        except pa.ArrowInvalid:
            continue
    return None


def _fitted(strings: pa.Array, kinds: tuple[pa.DataType, ...]) -> tuple[pa.Array, np.ndarray]:
    """Strings as one of some types, null where they do not fit, and the rows that do not."""
    whole = fitting(strings, kinds)
    if whole is not None:
        return whole, _NO_ROWS
    parts = [fitting(strings.slice(row, 1), kinds) for row in range(len(strings))]
    bad = [row for row, part in enumerate(parts) if part is None]
    null = pa.nulls(1, kinds[0])
    made = [null if part is None else part.cast(kinds[0]) for part in parts]
    return pa.concat_arrays(made), np.array(bad, dtype=np.int64)


def plain_numbers(column: Cells) -> Any:
    """Strings as numbers in one step, if that is what all of them are and some are no NaN.

    It is the way of most columns of numbers: a table may have a hundred thousand.
    """
    if not pa.types.is_string(column.type) or not len(column):
        return None
    try:
        float(column[0].as_py() or 0)  # to cast a column of texts takes milliseconds to fail
    except ValueError:
        return None
    numbers = fitting(column, NUMBER)
    if not isinstance(numbers, pa.ChunkedArray) or not numbers.num_chunks:
        return None
    some = numbers.chunk(0)
    is_known = len(some) and not some.null_count and not np.isnan(some[0].as_py())
    return numbers if is_known else None


def to_numbers(column: Cells, missing: Words = MISSING_WORDS) -> tuple[np.ndarray, np.ndarray]:
    """A column as numbers, NaN where missing or not finite, and the rows that are not numbers.

    A missing word that is a number is missing however it is written.

    >>> numbers, bad = to_numbers(pa.array(["1", "?", "x"]))
    >>> numbers.tolist(), bad.tolist()
    ([1.0, nan, nan], [2])
    >>> to_numbers(pa.array([3.0, -999.0]), missing=("-999",))[0].tolist()
    [3.0, nan]
    """
    kind, bad = column.type, _NO_ROWS
    if is_stringlike(kind) or pa.types.is_dictionary(kind):
        array = plain_numbers(column)
        if array is None:
            array, bad = _fitted(valid_strings(column, missing), NUMBER)
    else:
        if pa.types.is_temporal(kind):
            column = column.cast(pa.timestamp("us")).cast(pa.int64())
        elif pa.types.is_boolean(kind):
            column = column.cast(pa.int8())
        array = column.cast(pa.float64(), safe=False)
    array = one_array(array)
    values = array.to_numpy(zero_copy_only=False) if array.null_count else np.from_dlpack(array)
    values = np.where(np.isfinite(values), values, np.nan)
    for number in _numbers_among(missing):
        values[values == number] = np.nan
    return values, bad


@lru_cache
def _numbers_among(words: Words) -> tuple[float, ...]:
    numbers = _fitted(make_strings([word for word in words if word]), NUMBER)[0].to_pylist()
    return tuple(number for number in numbers if number is not None and np.isfinite(number))


def is_date(kind: pa.DataType) -> bool:
    """Whether a type holds days or moments."""
    return bool(pa.types.is_date(kind) or pa.types.is_timestamp(kind))


def to_times(column: Cells, missing: Words = MISSING_WORDS) -> tuple[np.ndarray, np.ndarray]:
    """A column as moments to the microsecond, NaT where missing, and the rows that are not dates.

    Dates are written as ``2024-03-31``, with a time as ``2024-03-31 17:30`` or
    ``2024-03-31T17:30:05Z`` (ISO 8601); a moment with a time zone is taken in UTC.

    >>> times, bad = to_times(pa.array(["2024-03-31", "2024-03-31T17:30+02:00", "?", "soon"]))
    >>> times.astype("datetime64[m]").tolist()[1].hour, bad.tolist()
    (15, [3])
    """
    if is_date(column.type):
        moments, bad = one_array(column.cast(MOMENT[0], safe=False)), _NO_ROWS
    else:
        moments, bad = _fitted(valid_strings(column, missing), MOMENT)
    whole = moments.cast(MOMENT[0]).cast(pa.int64())
    times = pc.fill_null(whole, 0).to_numpy(zero_copy_only=False).astype("datetime64[us]")
    times[whole.is_null().to_numpy(zero_copy_only=False)] = np.datetime64("NaT", "us")
    return times, bad


def days_of(times: np.ndarray) -> np.ndarray:
    """Moments in days since 1970, NaN where there is none."""
    days = times.astype(np.int64) / 86_400e6
    days[np.isnat(times)] = np.nan
    return days


def part_of(times: np.ndarray, part: str) -> np.ndarray:
    """The place of each moment in one of the `PARTS`; 0 where there is none."""
    unit = {"month": "M", "weekday": "D", "hour": "h"}[part]
    count = times.astype(f"datetime64[{unit}]").astype(np.int64)
    count[np.isnat(times)] = 0
    # The first day of 1970 was a Thursday.
    places = (count + (3 if part == "weekday" else 0)) % len(PARTS[part])
    return np.where(np.isnat(times), 0, places)
