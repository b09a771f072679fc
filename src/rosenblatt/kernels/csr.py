"""Sparse rows in CSR form: a row is its values and its columns; W is (d, problems).

A feature's weights lie together, so that one pass over the entries of a row scores all problems.
The rows come as data, columns (uint32) and pointers (uint64): unsigned, so that no index is checked
for being negative.
"""

from __future__ import annotations

import numpy as np

from rosenblatt.compiled.jit import REORDER, kernel, prefetch
from rosenblatt.kernels.dense import folded

AHEAD = 2  # rows between asking for a row's entries and reading them
FAR = 1 << 23  # bytes of weights beyond which they are asked for ahead of time, too


@kernel(fastmath=REORDER)
def dot(data, columns, w):
    """The score of a sparse row with one weight vector."""
    s = data.dtype.type(0)
    for j in range(data.size):
        s += data[j] * w[columns[j]]
    return s


@kernel
def dots(data, columns, W, s):
    """The inner products of a sparse row with all problems, into s."""
    for c in range(s.size):
        s[c] = 0
    for j in range(data.size):
        x, w = data[j], W[columns[j]]
        for c in range(s.size):
            s[c] += x * w[c]


@kernel
def add(w, tau, data, columns):
    """``w += tau·x``, in the precision of w."""
    t = w.dtype.type(tau)
    for j in range(data.size):
        w[columns[j]] += t * data[j]


@kernel(fastmath=REORDER)
def square(data):
    """The squared length of a row."""
    s = data.dtype.type(0)
    for j in range(data.size):
        s += data[j] * data[j]
    return s


@kernel
def fetch(data, columns, pointers, order, i):
    """Ask for the entries of the row `AHEAD` steps from now."""
    if i + AHEAD < order.size:
        row = order[i + AHEAD]
        for j in range(pointers[row], pointers[row + np.uint64(1)], 16):
            prefetch(columns, j)
            prefetch(data, j)
            if data.itemsize == 8:
                prefetch(data, j + np.uint64(8))


@kernel
def fetch_weights(columns, pointers, order, i, w):
    """Ask for the weights that the next row will meet."""
    if i + 1 < order.size:
        row = order[i + 1]
        for j in range(pointers[row], pointers[row + np.uint64(1)]):
            prefetch(w, columns[j])


@kernel
def keys(rows, chosen, multipliers):
    """A number for each chosen row that tells rows apart, as for dense rows."""
    data, columns, pointers = rows
    bits = data.view(multipliers.dtype)
    out = np.empty(chosen.size, multipliers.dtype)
    for i in range(chosen.size):
        h = multipliers.dtype.type(0)
        for j in range(pointers[chosen[i]], pointers[chosen[i] + np.uint64(1)]):
            h += folded(bits, j) * multipliers[columns[j]]
        out[i] = h
    return out


@kernel
def same_as_next(rows, chosen):
    """Whether each of the chosen rows equals the next one."""
    data, columns, pointers = rows
    out = np.zeros(chosen.size, np.bool_)
    for i in range(chosen.size - 1):
        a, b = chosen[i], chosen[i + 1]
        p, q = pointers[a], pointers[b]
        length = pointers[a + np.uint64(1)] - p
        same = length == pointers[b + np.uint64(1)] - q
        j = np.uint64(0)
        while same and j < length:
            same = columns[p + j] == columns[q + j] and data[p + j] == data[q + j]
            j += np.uint64(1)
        out[i] = same
    return out
