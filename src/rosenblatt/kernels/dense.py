"""Dense rows: X is (n, d), a row an array; W is (problems, d), each problem's weights together."""

from __future__ import annotations

import numpy as np

from rosenblatt.compiled.jit import REORDER, kernel, prefetch

AHEAD = 4  # rows between asking for a row's cache lines and reading them


@kernel(fastmath=REORDER)
def dot(x, w):
    """The inner product in the precision of the data, in vector lanes."""
    s = x.dtype.type(0)
    for j in range(x.size):
        s += x[j] * w[j]
    return s


@kernel
def dots(x, W, s):
    """The inner products with all problems, into s."""
    for p in range(s.size):
        s[p] = dot(x, W[p])


@kernel
def add(w, tau, x):
    """``w += tau·x``, in the precision of w."""
    t = w.dtype.type(tau)
    for j in range(x.size):
        w[j] += t * x[j]


@kernel
def fetch(X, order, i):
    """Ask for the row `AHEAD` steps from now, unless rows come in order and the hardware does."""
    if i + AHEAD < order.size and order[i + AHEAD] != order[i] + np.uint64(AHEAD):
        row = X[order[i + AHEAD]]
        for j in range(0, row.size, 64 // row.itemsize):
            prefetch(row, j)


@kernel
def folded(words, j):
    """The bits of a number, the high half mixed into the low; zero for both signs of zero."""
    word, half, one = words[j], words.dtype.type(4 * words.itemsize), words.dtype.type(1)
    doubled = words.dtype.type(word << one)  # loses the sign bit
    return word ^ (word >> half) if doubled != 0 else words.dtype.type(0)


@kernel
def keys(X, rows, multipliers):
    """A number for each row that tells rows apart: the sum of its bits times random odd numbers.

    The bits are folded first, as products only carry upwards.
    Zeros add nothing, so that a sparse copy of the rows gets the same numbers.
    """
    out = np.empty(rows.size, multipliers.dtype)
    for i in range(rows.size):
        bits = X[rows[i]].view(multipliers.dtype)
        h = multipliers.dtype.type(0)
        for j in range(bits.size):
            h += folded(bits, j) * multipliers[j]
        out[i] = h
    return out


@kernel
def same_as_next(X, rows):
    """Whether each of the rows equals the next one."""
    out = np.zeros(rows.size, np.bool_)
    for i in range(rows.size - 1):
        a, b = X[rows[i]], X[rows[i + 1]]
        out[i] = np.all(a == b)
    return out
