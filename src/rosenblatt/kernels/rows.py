"""The layouts of rows, and the operations of each: dot products, squared lengths, additions.

For dense rows the weights ``W`` are (problems, features). For sparse rows, CSR or packed, they are
(features, problems), so that one pass over the entries of a row scores all problems. A single
problem has a weight vector ``w``, whatever the layout.

Indices are unsigned (columns uint32, row pointers uint64), so that no index is checked for being
negative. ``rates`` are the learning rates of the features; the last one holds for all further
features, so that a single rate holds for all.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rosenblatt.kernels.jit import REORDER, by_layout, kernel

NEAR = 1 << 16  # places below this are packed into two bytes
FEW = 4  # a row is added class by class if at most one class in four is corrected


class Dense(NamedTuple):
    """Rows of a C-contiguous matrix."""

    X: np.ndarray


class Screened(NamedTuple):
    """Dense rows with 8-bit copies ``small``, see :mod:`rosenblatt.kernels.screen`.

    ``errors`` (rows, 2) holds the scale of each copy, and the largest error of its score for
    weights of length 1.
    """

    X: np.ndarray
    small: np.ndarray
    errors: np.ndarray


class Csr(NamedTuple):
    """Sparse rows: row i has the entries ``pointers[i] : pointers[i+1]`` of data and columns."""

    data: np.ndarray
    columns: np.ndarray
    pointers: np.ndarray


class Packed(NamedTuple):
    """Sparse rows packed for learning: part k of row i is ``pointers[i, k] : pointers[i+1, k]``.

    Most words occur once in a text, so that most entries of its row share a value, the row's
    *base*; and most are frequent features, which have low numbers (*places*). So a row has three
    parts: near, far, and all other entries. A text takes less than half the bytes of a CSR row,
    and its score one product for all entries that share a value: ``base · (sum of weights) +
    values · weights``.

    Attributes
    ----------
    near : uint16 array
        Places below 65,536 whose value is the base of their row.
    far : uint32 array
        Other places whose value is the base of their row.
    columns, values : uint32 and float32 arrays
        All other entries.
    bases : float32 array (rows,)
        The base of each row.
    pointers : uint64 array (rows + 1, 3)
        Where the three parts of each row begin.
    """

    near: np.ndarray
    far: np.ndarray
    columns: np.ndarray
    values: np.ndarray
    bases: np.ndarray
    pointers: np.ndarray

    @classmethod
    def room(cls, rows: int, entries: int) -> Packed:
        """Uninitialised arrays; one entry more, as packing writes before it decides."""
        return cls(
            np.empty(entries + 1, np.uint16),
            np.empty(entries + 1, np.uint32),
            np.empty(entries + 1, np.uint32),
            np.empty(entries + 1, np.float32),
            np.empty(rows, np.float32),
            np.zeros((rows + 1, 3), np.uint64),
        )

    def filled(self) -> Packed:
        """The arrays without the unused space at their ends."""
        near, far, rest = map(int, self.pointers[-1])
        return self._replace(
            near=self.near[:near],
            far=self.far[:far],
            columns=self.columns[:rest],
            values=self.values[:rest],
        )


@kernel
def rate_of(rates, at):
    """The learning rate of a feature."""
    last = np.uint32(rates.size - 1)
    return rates[at if at < last else last]


@kernel(fastmath=REORDER)
def dense_dot(rows, row, w):
    """The inner product of a row with one weight vector, in the precision of the data."""
    X = rows.X
    s = X.dtype.type(0)
    for j in range(w.size):
        s += X[row, j] * w[j]
    return s


@kernel(fastmath=REORDER)
def csr_dot(rows, row, w):
    """The inner product of a sparse row with one weight vector."""
    data, columns, pointers = rows
    s = data.dtype.type(0)
    for j in range(pointers[row], pointers[row + np.uint64(1)]):
        s += data[j] * w[columns[j]]
    return s


@kernel
def packed_dot(rows, row, w):
    """The inner product of a packed row with one weight vector.

    Four sums in turn hide the latency of additions; vector instructions that gather are slower.
    """
    near, far, columns, values, bases, pointers = rows
    end = row + np.uint64(1)
    a = b = c = d = w.dtype.type(0)
    for j in range(pointers[row, 0], pointers[end, 0]):
        a, b, c, d = b, c, d, a + w[near[j]]
    for j in range(pointers[row, 1], pointers[end, 1]):
        a, b, c, d = b, c, d, a + w[far[j]]
    ones = (a + b) + (c + d)
    a = b = c = d = w.dtype.type(0)
    for j in range(pointers[row, 2], pointers[end, 2]):
        a, b, c, d = b, c, d, a + values[j] * w[columns[j]]
    return bases[row] * ones + ((a + b) + (c + d))


@kernel(fastmath=REORDER)
def dense_dots(rows, row, W, s):
    """The inner products of a row with the weight vectors of all problems, into s.

    Two at a time, so that each number of the row is loaded half as often. The last of an odd number
    is paired with itself: all sums are made by the same instructions.
    """
    X, last = rows.X, np.uint64(s.size - 1)
    for c in range(np.uint64(0), np.uint64(s.size), np.uint64(2)):
        partner = c + np.uint64(1) if c < last else last
        one = other = X.dtype.type(0)
        for j in range(X.shape[1]):
            x = X[row, j]
            one += x * W[c, j]
            other += x * W[partner, j]
        s[c], s[partner] = one, other


@kernel
def csr_dots(rows, row, W, s):
    """The inner products of a sparse row with the weight vectors of all problems, into s."""
    data, columns, pointers = rows
    for c in range(s.size):
        s[c] = 0
    for j in range(pointers[row], pointers[row + np.uint64(1)]):
        x, at = data[j], columns[j]
        for c in range(s.size):
            s[c] += x * W[at, c]


@kernel
def packed_dots(rows, row, W, s):
    """The inner products of a packed row with the weight vectors of all problems, into s."""
    near, far, columns, values, bases, pointers = rows
    end = row + np.uint64(1)
    for c in range(s.size):
        s[c] = 0
    for j in range(pointers[row, 0], pointers[end, 0]):
        at = near[j]
        for c in range(s.size):
            s[c] += W[at, c]
    for j in range(pointers[row, 1], pointers[end, 1]):
        at = far[j]
        for c in range(s.size):
            s[c] += W[at, c]
    for c in range(s.size):
        s[c] *= bases[row]
    for j in range(pointers[row, 2], pointers[end, 2]):
        x, at = values[j], columns[j]
        for c in range(s.size):
            s[c] += x * W[at, c]


@kernel(fastmath=REORDER)
def dense_square(rows, row, rates):
    """The squared length of a row, each feature times its rate: what τ = 1 adds to its score."""
    X = rows.X
    s = X.dtype.type(0)
    if rates.size == 1:
        for j in range(X.shape[1]):
            s += X[row, j] * X[row, j]
        return s * X.dtype.type(rates[0])
    for j in range(X.shape[1]):
        s += X[row, j] * X[row, j] * X.dtype.type(rate_of(rates, np.uint32(j)))
    return s


@kernel(fastmath=REORDER)
def csr_square(rows, row, rates):
    """The squared length of a sparse row, each feature times its rate."""
    data, columns, pointers = rows
    s = data.dtype.type(0)
    for j in range(pointers[row], pointers[row + np.uint64(1)]):
        s += data[j] * data[j] * data.dtype.type(rate_of(rates, columns[j]))
    return s


@kernel
def packed_square(rows, row, rates):
    """The squared length of a packed row, each feature times its rate."""
    near, far, columns, values, bases, pointers = rows
    end = row + np.uint64(1)
    ones = np.float32(0)
    if rates.size == 1:
        near_and_far = pointers[end, 0] - pointers[row, 0] + pointers[end, 1] - pointers[row, 1]
        ones = np.float32(near_and_far) * rates[0]
    else:
        for j in range(pointers[row, 0], pointers[end, 0]):
            ones += rate_of(rates, np.uint32(near[j]))
        for j in range(pointers[row, 1], pointers[end, 1]):
            ones += rate_of(rates, far[j])
    s = bases[row] * bases[row] * ones
    for j in range(pointers[row, 2], pointers[end, 2]):
        s += values[j] * values[j] * rate_of(rates, columns[j])
    return s


@kernel
def dense_add(rows, row, w, tau, rates):
    """``w += tau·rates·x``, in the precision of w."""
    X, t = rows.X, w.dtype.type(tau)
    if rates.size == 1:
        for j in range(X.shape[1]):
            w[j] += t * (X[row, j] * rates[0])
        return
    for j in range(X.shape[1]):
        w[j] += t * (X[row, j] * rate_of(rates, np.uint32(j)))


@kernel
def csr_add(rows, row, w, tau, rates):
    """``w += tau·rates·x`` for a sparse row."""
    data, columns, pointers = rows
    t = w.dtype.type(tau)
    for j in range(pointers[row], pointers[row + np.uint64(1)]):
        w[columns[j]] += t * (data[j] * rate_of(rates, columns[j]))


@kernel
def packed_add(rows, row, w, tau, rates):
    """``w += tau·rates·x`` for a packed row."""
    near, far, columns, values, bases, pointers = rows
    end, t, base = row + np.uint64(1), w.dtype.type(tau), bases[row]
    for j in range(pointers[row, 0], pointers[end, 0]):
        at = np.uint32(near[j])
        w[at] += t * (base * rate_of(rates, at))
    for j in range(pointers[row, 1], pointers[end, 1]):
        w[far[j]] += t * (base * rate_of(rates, far[j]))
    for j in range(pointers[row, 2], pointers[end, 2]):
        w[columns[j]] += t * (values[j] * rate_of(rates, columns[j]))


@kernel
def dense_add_each(rows, row, W, taus, moved, rates):
    """``W[c] += taus[c]·rates·x`` for all problems c; `moved` of the taus are not zero."""
    for c in range(taus.size):
        if taus[c] != 0.0:
            dense_add(rows, row, W[c], taus[c], rates)


@kernel
def add_entry(W, at, taus, x):
    """Add ``taus·x`` to the weights of feature `at`."""
    for c in range(taus.size):
        W[at, c] += W.dtype.type(taus[c]) * x


@kernel
def csr_add_each(rows, row, W, taus, moved, rates):
    """``W[:, c] += taus[c]·rates·x`` for all problems c of a sparse row."""
    data, columns, pointers = rows
    if FEW * moved <= taus.size:
        for c in range(taus.size):
            if taus[c] != 0.0:
                csr_add(rows, row, W[:, c], taus[c], rates)
        return
    for j in range(pointers[row], pointers[row + np.uint64(1)]):
        add_entry(W, columns[j], taus, data[j] * rate_of(rates, columns[j]))


@kernel
def packed_add_each(rows, row, W, taus, moved, rates):
    """``W[:, c] += taus[c]·rates·x`` for all problems c of a packed row."""
    if FEW * moved <= taus.size:
        for c in range(taus.size):
            if taus[c] != 0.0:
                packed_add(rows, row, W[:, c], taus[c], rates)
        return
    near, far, columns, values, bases, pointers = rows
    end, base = row + np.uint64(1), bases[row]
    for j in range(pointers[row, 0], pointers[end, 0]):
        at = np.uint32(near[j])
        add_entry(W, at, taus, base * rate_of(rates, at))
    for j in range(pointers[row, 1], pointers[end, 1]):
        add_entry(W, far[j], taus, base * rate_of(rates, far[j]))
    for j in range(pointers[row, 2], pointers[end, 2]):
        add_entry(W, columns[j], taus, values[j] * rate_of(rates, columns[j]))


dot = by_layout("dot", Dense=dense_dot, Screened=dense_dot, Csr=csr_dot, Packed=packed_dot)
dots = by_layout("dots", Dense=dense_dots, Csr=csr_dots, Packed=packed_dots)
square = by_layout(
    "square", Dense=dense_square, Screened=dense_square, Csr=csr_square, Packed=packed_square
)
add = by_layout("add", Dense=dense_add, Screened=dense_add, Csr=csr_add, Packed=packed_add)
add_each = by_layout("add_each", Dense=dense_add_each, Csr=csr_add_each, Packed=packed_add_each)
