"""Arrow strings: from columns of any type, and as the two arrays they are made of."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

MISSING_WORDS = ("", "?", "NA", "N/A", "NaN", "nan", "null", "NULL", "None")


def string_buffers(strings: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """Offsets and bytes of an Arrow array of strings; a missing text is an empty one.

    >>> offsets, data = string_buffers(pa.array(["ab", None, "c"]))
    >>> offsets.tolist(), data[:3].tobytes()
    ([0, 2, 2, 3], b'abc')
    """
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
    """An Arrow array of strings, made without ``pa.array``, whose first call imports pandas.

    >>> make_strings(["a", "bc"]).to_pylist()
    ['a', 'bc']
    """
    encoded = [value.encode() for value in values]
    offsets = np.cumsum([0, *map(len, encoded)], dtype=np.int32)
    parts = [None, pa.py_buffer(offsets), pa.py_buffer(b"".join(encoded))]
    return pa.Array.from_buffers(pa.string(), len(values), parts)


@lru_cache
def _as_array(words: tuple[str, ...]) -> pa.Array:
    return make_strings(list(words))


def as_strings(
    column: pa.ChunkedArray | pa.Array, missing: tuple[str, ...] = MISSING_WORDS
) -> pa.Array:
    """A column as strings, trimmed, missing values as nulls; bad UTF-8 raises ArrowInvalid.

    >>> as_strings(pa.array([b" Private", b" ?", b""])).to_pylist()
    ['Private', None, None]
    """
    strings = pc.utf8_trim_whitespace(plain_strings(column))
    # Not `pa.scalar`, which imports pandas, for a fifth of a second.
    return pc.if_else(pc.is_in(strings, _as_array(missing)), pa.nulls(1, strings.type)[0], strings)


def label_strings(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    """Labels as strings, trimmed: any word is a label, and only an empty cell is a missing one.

    >>> label_strings(pa.array(["nan", "NA ", "", None])).to_pylist()
    ['nan', 'NA', None, None]
    >>> label_strings(pa.array([1.0, float("nan")])).to_pylist()
    ['1', None]
    """
    if pa.types.is_floating(column.type):
        column = pc.if_else(pc.is_nan(column), pa.nulls(1, column.type)[0], column)
    return as_strings(column, ("",))


def plain_strings(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    """A column of any type as one array of strings, as they stand."""
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if isinstance(array, pa.ChunkedArray):
        array = pa.concat_arrays(array.chunks)
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


def is_utf8(data: bytes | np.ndarray) -> bool:
    """Whether bytes are UTF-8, at the speed of Arrow's own check.

    >>> is_utf8("déjà vu".encode()), is_utf8(b"\\xff")
    (True, False)
    """
    offsets = pa.py_buffer(np.array([0, len(data)], dtype=np.int64))
    parts = [None, offsets, pa.py_buffer(data)]
    try:
        pa.LargeBinaryArray.from_buffers(pa.large_binary(), 1, parts).cast(pa.large_string())
    except pa.ArrowInvalid:
        return False
    return True
