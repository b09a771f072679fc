"""Memory for large tables with random access."""

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
