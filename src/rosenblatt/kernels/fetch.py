"""Prefetching: rows visited in random order, and the weights of sparse ones, before their turn."""

from __future__ import annotations

import numpy as np

from rosenblatt.kernels.jit import by_layout, kernel, prefetch

AHEAD = 2  # rows between the prefetch of a sparse row and its use
DENSE_AHEAD = 4
SMALL_AHEAD = 12
FAR = 1 << 23  # bytes of weights beyond which the weights of the next row are prefetched, too


@kernel
def dense_fetch(rows, order, i):
    """Prefetch the row `DENSE_AHEAD` steps from now, unless rows come in order."""
    X = rows.X
    if i + DENSE_AHEAD < order.size:
        row = order[i + DENSE_AHEAD]
        if row != order[i] + np.uint64(DENSE_AHEAD):
            start = np.int64(row) * X.shape[1]
            for j in range(0, X.shape[1], 64 // X.itemsize):
                prefetch(X, start + j)


@kernel
def screened_fetch(rows, order, i):
    """Prefetch the copy of the row `SMALL_AHEAD` steps from now, unless rows come in order."""
    small, errors = rows.small, rows.errors
    if i + SMALL_AHEAD < order.size:
        row = order[i + SMALL_AHEAD]
        if row != order[i] + np.uint64(SMALL_AHEAD):
            start = np.int64(row) * small.shape[1]
            prefetch(errors, np.int64(row) * 2)
            for j in range(0, small.shape[1], 64):
                prefetch(small, start + j)


@kernel
def csr_fetch(rows, order, i):
    """Prefetch the entries of the row `AHEAD` steps from now."""
    data, columns, pointers = rows
    if i + AHEAD < order.size:
        row = order[i + AHEAD]
        for j in range(pointers[row], pointers[row + np.uint64(1)], 16):
            prefetch(columns, j)
            prefetch(data, j)
            if data.itemsize == 8:
                prefetch(data, j + np.uint64(8))


@kernel
def packed_fetch(rows, order, i):
    """Prefetch the entries of the row `AHEAD` steps from now."""
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


@kernel
def dense_fetch_weights(rows, order, i, W, problems):
    """The weights of dense rows are read from front to back: nothing to prefetch."""


@kernel
def fetch_feature(W, at, problems):
    """Prefetch the weights of one feature, of all problems."""
    first = np.uint64(at) * np.uint64(problems)
    for k in range(first, first + np.uint64(problems), np.uint64(64 // W.itemsize)):
        prefetch(W, k)


@kernel
def csr_fetch_weights(rows, order, i, W, problems):
    """Prefetch the weights of the features of the next row."""
    _, columns, pointers = rows
    if i + 1 < order.size:
        row = order[i + 1]
        for j in range(pointers[row], pointers[row + np.uint64(1)]):
            fetch_feature(W, columns[j], problems)


@kernel
def packed_fetch_weights(rows, order, i, W, problems):
    """Prefetch the weights of the next row; a single problem's weights of near places are near."""
    near, far, columns, _, _, pointers = rows
    if i + 1 < order.size:
        row = order[i + 1]
        end = row + np.uint64(1)
        if problems > 1:
            for j in range(pointers[row, 0], pointers[end, 0]):
                fetch_feature(W, near[j], problems)
        for j in range(pointers[row, 1], pointers[end, 1]):
            fetch_feature(W, far[j], problems)
        for j in range(pointers[row, 2], pointers[end, 2]):
            fetch_feature(W, columns[j], problems)


fetch = by_layout(
    "fetch", Dense=dense_fetch, Screened=screened_fetch, Csr=csr_fetch, Packed=packed_fetch
)
fetch_weights = by_layout(
    "fetch_weights",
    Dense=dense_fetch_weights,
    Screened=dense_fetch_weights,
    Csr=csr_fetch_weights,
    Packed=packed_fetch_weights,
)
