"""Arrow strings as the two arrays they are made of."""

from __future__ import annotations

import numpy as np
import pyarrow as pa


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


def room_for_strings(places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Room for the offsets and the bytes of strings that begin and end at these places."""
    size = int((places[:, 1] - places[:, 0]).sum())
    # Arrow's memory is used again; memory from the system would come page by page each time.
    offsets, out = pa.allocate_buffer(4 * len(places) + 4), pa.allocate_buffer(size)
    return np.frombuffer(offsets, dtype=np.int32), np.frombuffer(out, dtype=np.uint8)


def strings_of(offsets: np.ndarray, data: np.ndarray, valid: np.ndarray | None = None) -> pa.Array:
    """The Arrow array of strings made of offsets, bytes and, if some are missing, which are not.

    >>> strings_of(np.array([0, 2, 3], np.int32), np.frombuffer(b"abc", np.uint8)).to_pylist()
    ['ab', 'c']
    """
    bits = None if valid is None else pa.py_buffer(np.packbits(valid, bitorder="little"))
    parts = [bits, pa.py_buffer(offsets), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.string(), len(offsets) - 1, parts)


def make_strings(values: list[str]) -> pa.Array:
    """An Arrow array of strings, made without ``pa.array``, whose first call imports pandas.

    >>> make_strings(["a", "bc"]).to_pylist()
    ['a', 'bc']
    """
    encoded = [value.encode() for value in values]
    offsets = np.cumsum([0, *map(len, encoded)], dtype=np.int32)
    return strings_of(offsets, np.frombuffer(b"".join(encoded), dtype=np.uint8))


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
