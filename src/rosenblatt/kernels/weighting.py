"""The values of rows from counts of n-grams."""

from __future__ import annotations

import math

import numpy as np

from rosenblatt.kernels.jit import inlined, kernel

WEIGHTINGS = ("binary", "log", "raw")


@inlined
def _level(kind, count):
    """The weight of a count; `kind` is an index of :data:`WEIGHTINGS`."""
    return 1.0 if kind == 0 else (math.log(1.0 + count) if kind == 1 else float(count))


@kernel
def weigh(indptr, counts, values, kind, lengths, levels):
    """Turn the counts of each block of a row into weights, and scale it to its length.

    Rows have a block for each of the `lengths`; 0 leaves a block as it is. `counts` and `values`
    may share memory: each count is read before its weight is written. `levels` is scratch for the
    weights of small counts.
    """
    for count in range(levels.size):
        levels[count] = _level(kind, count)
    for row in range(len(indptr) - 1):
        # Four sums in turn hide the latency of additions.
        a = b = c = d = 0.0
        for j in range(indptr[row], indptr[row + 1]):
            count = counts[j]
            level = levels[count] if count < levels.size else _level(kind, count)
            a, b, c, d = b, c, d, a + level * level
        total = (a + b) + (c + d)
        length = lengths[row % lengths.size]
        scale = length / math.sqrt(total) if length > 0.0 and total > 0.0 else 1.0
        for j in range(indptr[row], indptr[row + 1]):
            count = counts[j]
            level = levels[count] if count < levels.size else _level(kind, count)
            values[j] = np.float32(np.float32(level) * scale)
