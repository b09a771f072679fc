"""Products of sparse rows with weights, for rows whose indices nobody has checked yet."""

from __future__ import annotations

import numpy as np

from rosenblatt.kernels.jit import kernel


@kernel
def checked_products(data, columns, pointers, W, out):
    """``out[i] = x_i · W`` for all rows; False at the first index that leads outside.

    ``W`` is (features, problems). Pointers and columns are unsigned, so that a negative one is too
    large. Sums are made in the order of the entries, as SciPy makes them.
    """
    entries, features = np.uint64(data.size), np.uint64(W.shape[0])
    if columns.size < data.size or np.uint64(pointers[0]) != 0:
        return False
    start = np.uint64(0)
    for row in range(out.shape[0]):
        end = np.uint64(pointers[row + 1])
        if end < start or end > entries:
            return False
        for c in range(out.shape[1]):
            out[row, c] = 0
        if out.shape[1] == 1:
            s = out.dtype.type(0)
            for j in range(start, end):
                at = np.uint64(columns[j])
                if at >= features:
                    return False
                s += data[j] * W[at, 0]
            out[row, 0] = s
        else:
            for j in range(start, end):
                at, x = np.uint64(columns[j]), data[j]
                if at >= features:
                    return False
                for c in range(out.shape[1]):
                    out[row, c] += x * W[at, c]
        start = end
    return True
