"""What a walk asks of rows, answered for each layout when the walk is compiled.

Dense rows are one array, sparse rows a tuple of three; a row of them, x, is an array or a pair. The
functions below have no body: Numba puts in their place what stands in the table for that layout.
"""

from __future__ import annotations

import numpy as np
from numba.core import types
from numba.extending import overload

from rosenblatt.engine import csr, dense


def row_at(rows, row):
    """A row, by its number."""


def score(x, w):
    """The inner product with one weight vector."""


def scores(x, W, s):
    """The inner products with the weight vectors of all problems, into s."""


def square(x):
    """The squared length of a row."""


def add(x, w, tau):
    """``w += tau·x``."""


def the_only(rows, W):
    """The weight vector of the only problem."""


def weights_of(rows, W, p):
    """The weight vector of problem p."""


def fetch(rows, order, i, W):
    """Ask for what a later step of the order will read."""


@overload(row_at)
def _row_at(rows, row):
    if not isinstance(rows, types.BaseTuple):
        return lambda rows, row: rows[row]

    def sparse_row(rows, row):
        start, stop = rows[2][row], rows[2][row + np.uint64(1)]
        return rows[0][start:stop], rows[1][start:stop]

    return sparse_row


@overload(score)
def _score(x, w):
    if isinstance(x, types.BaseTuple):
        return lambda x, w: csr.dot(x[0], x[1], w)
    return lambda x, w: dense.dot(x, w)


@overload(scores)
def _scores(x, W, s):
    if isinstance(x, types.BaseTuple):
        return lambda x, W, s: csr.dots(x[0], x[1], W, s)
    return lambda x, W, s: dense.dots(x, W, s)


@overload(square)
def _square(x):
    if isinstance(x, types.BaseTuple):
        return lambda x: csr.square(x[0])
    return lambda x: dense.dot(x, x)


@overload(add)
def _add(x, w, tau):
    if isinstance(x, types.BaseTuple):
        return lambda x, w, tau: csr.add(w, tau, x[0], x[1])
    return lambda x, w, tau: dense.add(w, tau, x)


@overload(the_only)
def _the_only(rows, W):
    if isinstance(rows, types.BaseTuple):
        return lambda rows, W: W.reshape(W.size)
    return lambda rows, W: W[0]


@overload(weights_of)
def _weights_of(rows, W, p):
    if isinstance(rows, types.BaseTuple):
        return lambda rows, W, p: W[:, p]
    return lambda rows, W, p: W[p]


@overload(fetch)
def _fetch(rows, order, i, W):
    if not isinstance(rows, types.BaseTuple):
        return lambda rows, order, i, W: dense.fetch(rows, order, i)

    def fetch_sparse(rows, order, i, W):
        csr.fetch(rows[0], rows[1], rows[2], order, i)
        if W.shape[1] == 1 and W.size * W.itemsize > csr.FAR:
            csr.fetch_weights(rows[1], rows[2], order, i, W.reshape(W.size))

    return fetch_sparse
