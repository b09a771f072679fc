"""Memory for large tables that are touched here and there."""

from __future__ import annotations

import math
import mmap
from contextlib import suppress

import numpy as np
from numpy.typing import DTypeLike, NDArray

_HUGE = 2 << 20


def zeros(shape: tuple[int, ...], dtype: DTypeLike) -> NDArray:
    """Zeros as NumPy's, but a large array comes in huge pages where the system has them.

    As with NumPy's, memory is taken when it is first touched; here two megabytes at a time, where
    to fill it, or to write all over it, would else ask for each of its pages of four kilobytes.

    >>> zeros((2, 2), np.int8).tolist()
    [[0, 0], [0, 0]]
    """
    dtype = np.dtype(dtype)
    size = math.prod(shape) * dtype.itemsize
    advice = getattr(mmap, "MADV_HUGEPAGE", None)
    if size < _HUGE or advice is None:
        return np.zeros(shape, dtype)
    # Only whole huge pages begin where a huge page can begin.
    memory = mmap.mmap(-1, -(-size // _HUGE) * _HUGE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    with suppress(OSError):
        memory.madvise(advice)
    return np.frombuffer(memory, dtype, math.prod(shape)).reshape(shape)
