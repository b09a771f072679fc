"""The cells of a column as strings or numbers, whatever type they come in."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa

from rosenblatt.data.strings import MISSING_WORDS, as_strings

Words = tuple[str, ...]
_NO_ROWS = np.empty(0, dtype=np.int64)


def valid_strings(column: pa.ChunkedArray | pa.Array, missing: Words = MISSING_WORDS) -> pa.Array:
    """The strings of a column; values that are not UTF-8 count as missing here."""
    try:
        return as_strings(column, missing)
    except pa.ArrowInvalid:
        readable = pa.array([decoded(v) for v in column.to_pylist()], pa.string())
        return as_strings(readable, missing)


def decoded(value: Any) -> str | None:
    """Bytes as a string; None where they are not UTF-8.

    >>> decoded(b"so"), decoded(b"\\xff")
    ('so', None)
    """
    try:
        return value.decode("utf-8") if isinstance(value, bytes) else value
    except UnicodeDecodeError:
        return None


def is_stringlike(kind: pa.DataType) -> bool:
    """Whether a type holds strings, or bytes that may be strings.

    >>> is_stringlike(pa.binary()), is_stringlike(pa.int64())
    (True, False)
    """
    types = pa.types
    return bool(
        types.is_string(kind)
        or types.is_large_string(kind)
        or types.is_string_view(kind)
        or types.is_binary(kind)
        or types.is_large_binary(kind)
    )


def numbers_of(strings: pa.Array) -> pa.Array | None:
    """Strings as numbers, or None if one is not a number."""
    try:
        return strings.cast(pa.float64())
    except pa.ArrowInvalid:
        return None


def plain_numbers(column: pa.ChunkedArray | pa.Array) -> pa.Array | pa.ChunkedArray | None:
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


def to_numbers(
    column: pa.ChunkedArray | pa.Array, missing: Words = MISSING_WORDS
) -> tuple[np.ndarray, np.ndarray]:
    """A column as numbers, NaN where missing or not finite, and the rows that are not numbers.

    A missing word that is a number is missing however it is written.

    >>> numbers, bad = to_numbers(pa.array(["1", "?", "x"]))
    >>> numbers.tolist(), bad.tolist()
    ([1.0, nan, nan], [2])
    >>> to_numbers(pa.array([3.0, -999.0]), missing=("-999",))[0].tolist()
    [3.0, nan]
    """
    kind = column.type
    if pa.types.is_temporal(kind):
        column = column.cast(pa.timestamp("us")).cast(pa.int64())
    elif pa.types.is_boolean(kind):
        column = column.cast(pa.int8())
    if not is_stringlike(kind) and not pa.types.is_dictionary(kind):
        array = column.cast(pa.float64(), safe=False)
        return _finite(array, missing), _NO_ROWS
    plain = plain_numbers(column)
    if plain is not None:
        return _finite(plain, missing), _NO_ROWS
    strings = valid_strings(column, missing)
    numbers = numbers_of(strings)
    if numbers is not None:
        return _finite(numbers, missing), _NO_ROWS
    parsed = [_number(value) for value in strings.to_pylist()]
    bad = np.array([row for row, value in enumerate(parsed) if value is None], dtype=np.int64)
    values = np.array([np.nan if value is None else value for value in parsed])
    return _without(values, missing), bad


def _finite(array: pa.Array | pa.ChunkedArray, missing: Words) -> np.ndarray:
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    values = array.to_numpy(zero_copy_only=False) if array.null_count else np.from_dlpack(array)
    return _without(np.where(np.isfinite(values), values, np.nan), missing)


def _without(values: np.ndarray, missing: Words) -> np.ndarray:
    for number in _numbers_among(missing):
        values[values == number] = np.nan
    return values


@lru_cache
def _numbers_among(words: Words) -> tuple[float, ...]:
    numbers = [_number(word) for word in words if word]
    return tuple(number for number in numbers if number is not None and np.isfinite(number))


def _number(value: str | None) -> float | None:
    """A number, NaN for a missing one, None for what is not a number."""
    if value is None:
        return float("nan")
    numbers = numbers_of(pa.array([value]))
    return None if numbers is None else numbers[0].as_py()
