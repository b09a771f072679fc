"""Prefetching: rows visited in random order, and the weights of sparse rows.

``fetch(rows, order, i, W, problems)`` is called at visit i. Sparse rows have the weights of the
next row prefetched if ``W``, with `problems` numbers per feature, exceeds the caches.
"""

from __future__ import annotations

import numpy as np

from rosenblatt.kernels.jit import by_layout, kernel, prefetch

AHEAD = 2  # visits between the prefetch of a sparse row and its use
DENSE_AHEAD = 4
SMALL_AHEAD = 12
FAR = 1 << 23  # bytes of weights beyond which they are prefetched


@kernel
def dense_fetch(rows, order, i, W, problems):
    """Prefetch the row `DENSE_AHEAD` visits from now, unless rows are visited sequentially."""
    X = rows.X
    if i + DENSE_AHEAD < order.size:
        row = order[i + DENSE_AHEAD]
        if row != order[i] + np.uint64(DENSE_AHEAD):
            start = np.int64(row) * X.shape[1]
            for j in range(0, X.shape[1], 64 // X.itemsize):
                prefetch(X, start + j)


@kernel
def screened_fetch(rows, order, i, W, problems):
    """Prefetch the 8-bit copy of the row `SMALL_AHEAD` visits from now, unless sequential."""
    small, errors = rows.small, rows.errors
    if i + SMALL_AHEAD < order.size:
        row = order[i + SMALL_AHEAD]
        if row != order[i] + np.uint64(SMALL_AHEAD):
            start = np.int64(row) * small.shape[1]
            prefetch(errors, np.int64(row) * 2)
            for j in range(0, small.shape[1], 64):
                prefetch(small, start + j)


@kernel
def csr_fetch(rows, order, i, W, problems):
    """Prefetch the entries of the row `AHEAD` visits from now, and the weights of the next."""
    data, columns, pointers = rows
    if i + AHEAD < order.size:
        row = order[i + AHEAD]
        for j in range(pointers[row], pointers[row + np.uint64(1)], 16):
            prefetch(columns, j)
            prefetch(data, j)
            if data.itemsize == 8:
                prefetch(data, j + np.uint64(8))
    if W.size * W.itemsize > FAR and i + 1 < order.size:
        row = order[i + 1]
        for j in range(pointers[row], pointers[row + np.uint64(1)]):
            fetch_weights(W, np.uint64(columns[j]), problems)


@kernel
def packed_fetch(rows, order, i, W, problems):
    """Prefetch the entries of the row `AHEAD` visits from now, and the weights of the next.

    The weights of near places stay in the caches if there is a single problem.
    """
    near, far, columns, values, _, pointers = rows
    if i + AHEAD < order.size:
        row = order[i + AHEAD]
        end = row + np.uint64(1)
        for j in range(pointers[row, 0], pointers[end, 0], 32):
            prefetch(near, j)
        for j in range(pointers[row, 1], pointers[end, 1], 16):
            prefetch(far, j)
        for j in range(pointers[row, 2], pointers[end, 2], 16):
            prefetch(columns, j)
            prefetch(values, j)
    if W.size * W.itemsize > FAR and i + 1 < order.size:
        row = order[i + 1]
        end = row + np.uint64(1)
        if problems > 1:
            for j in range(pointers[row, 0], pointers[end, 0]):
                fetch_weights(W, np.uint64(near[j]), problems)
        for j in range(pointers[row, 1], pointers[end, 1]):
            fetch_weights(W, np.uint64(far[j]), problems)
        for j in range(pointers[row, 2], pointers[end, 2]):
            fetch_weights(W, np.uint64(columns[j]), problems)


@kernel
def fetch_weights(W, feature, problems):
    """Prefetch the weights of one feature, of all problems."""
    first = feature * np.uint64(problems)
    for k in range(first, first + np.uint64(problems), np.uint64(64 // W.itemsize)):
        prefetch(W, k)


fetch = by_layout(
    "fetch", Dense=dense_fetch, Screened=screened_fetch, Csr=csr_fetch, Packed=packed_fetch
)
