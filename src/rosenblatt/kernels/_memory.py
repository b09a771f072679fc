"""Memory for large tables with random access, and arrays that are reused."""

from __future__ import annotations

import math
import mmap
from contextlib import suppress

import numpy as np
from numpy.typing import DTypeLike, NDArray

_HUGE = 2 << 20


def zeros(shape: tuple[int, ...], dtype: DTypeLike) -> NDArray:
    """Like :func:`numpy.zeros`, but large arrays use huge pages if the system has them.

    Memory is allocated when it is first touched, two megabytes at a time: touching all of a large
    array would otherwise cost a page fault for every four kilobytes.

    >>> zeros((2, 2), np.int8).tolist()
    [[0, 0], [0, 0]]
    """
    dtype = np.dtype(dtype)
    size = math.prod(shape) * dtype.itemsize
    advice = getattr(mmap, "MADV_HUGEPAGE", None)
    if size < _HUGE or advice is None:
        return np.zeros(shape, dtype)
    # A whole number of huge pages is aligned to them.
    memory = mmap.mmap(-1, -(-size // _HUGE) * _HUGE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    with suppress(OSError):
        memory.madvise(advice)
    return np.frombuffer(memory, dtype, math.prod(shape)).reshape(shape)


class Room:
    """Named arrays that are reused, as memory that was touched before is cheaper.

    >>> room = Room()
    >>> first = room.empty("values", 3, np.float32)
    >>> np.shares_memory(first, room.empty("values", 2, np.float32))
    True
    """

    def __init__(self) -> None:
        self._held: dict[str, NDArray] = {}

    def empty(self, name: str, size: int, dtype: DTypeLike) -> NDArray:
        """An uninitialised array, valid until the next one of this name is requested."""
        held = self._held.get(name)
        if held is None or len(held) < size:
            held = self._held[name] = zeros((size + size // 4,), dtype)
        return held[:size]
