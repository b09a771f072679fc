"""From counts of n-grams to the values of a row."""

from __future__ import annotations

import math

import numpy as np

from rosenblatt.kernels.jit import inlined, kernel

WEIGHTINGS = ("binary", "log", "raw")


@inlined
def _level(kind, count):
    """What a count weighs; see :data:`WEIGHTINGS`."""
    return 1.0 if kind == 0 else (math.log(1.0 + count) if kind == 1 else float(count))


@kernel
def weigh(indptr, counts, values, kind, unit, levels):
    """Turn the counts of each row into weights, and the row into a unit vector if asked.

    `counts` and `values` may be the same memory: each count is read before its weight is written.
    ``levels[0]`` gets the weights of small counts, ``levels[1]`` those scaled for the row at hand.
    """
    known = levels.shape[1]
    for count in range(known):
        levels[0, count] = _level(kind, count)
    for row in range(len(indptr) - 1):
        # Four sums in turn: a single one would have to wait for each of its additions.
        a = b = c = d = 0.0
        for j in range(indptr[row], indptr[row + 1]):
            count = counts[j]
            level = levels[0, count] if count < known else _level(kind, count)
            a, b, c, d = b, c, d, a + level * level
        total = (a + b) + (c + d)
        scale = 1.0 / math.sqrt(total) if unit and total > 0.0 else 1.0
        for count in range(known):
            levels[1, count] = np.float32(np.float32(levels[0, count]) * scale)
        for j in range(indptr[row], indptr[row + 1]):
            count = counts[j]
            if count < known:
                values[j] = np.float32(levels[1, count])
            else:
                values[j] = np.float32(np.float32(_level(kind, count)) * scale)
