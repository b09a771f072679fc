"""What dense and what sparse rows answer to a walk, compiled into it.

A layout is told by its type: dense rows are an array, sparse ones a tuple.
"""

from __future__ import annotations

import numpy as np
from numba.core import types
from numba.extending import overload

from rosenblatt.kernels import csr, dense, layouts


@overload(layouts.row_at)
def _row_at(rows, row):
    if not isinstance(rows, types.BaseTuple):
        return lambda rows, row: rows[row]

    def sparse_row(rows, row):
        start, stop = rows[2][row], rows[2][row + np.uint64(1)]
        return rows[0][start:stop], rows[1][start:stop]

    return sparse_row


@overload(layouts.score)
def _score(x, w):
    if isinstance(x, types.BaseTuple):
        return lambda x, w: csr.dot(x[0], x[1], w)
    return lambda x, w: dense.dot(x, w)


@overload(layouts.scores)
def _scores(x, W, s):
    if isinstance(x, types.BaseTuple):
        return lambda x, W, s: csr.dots(x[0], x[1], W, s)
    return lambda x, W, s: dense.dots(x, W, s)


@overload(layouts.square)
def _square(x):
    if isinstance(x, types.BaseTuple):
        return lambda x: csr.square(x[0])
    return lambda x: dense.dot(x, x)


@overload(layouts.add)
def _add(x, w, tau):
    if isinstance(x, types.BaseTuple):
        return lambda x, w, tau: csr.add(w, tau, x[0], x[1])
    return lambda x, w, tau: dense.add(w, tau, x)


@overload(layouts.the_only)
def _the_only(rows, W):
    if isinstance(rows, types.BaseTuple):
        return lambda rows, W: W.reshape(W.size)
    return lambda rows, W: W[0]


@overload(layouts.weights_of)
def _weights_of(rows, W, p):
    if isinstance(rows, types.BaseTuple):
        return lambda rows, W, p: W[:, p]
    return lambda rows, W, p: W[p]


@overload(layouts.fetch)
def _fetch(rows, order, i, W):
    if not isinstance(rows, types.BaseTuple):
        return lambda rows, order, i, W: dense.fetch(rows, order, i)

    def fetch_sparse(rows, order, i, W):
        csr.fetch(rows[0], rows[1], rows[2], order, i)
        if W.shape[1] == 1 and W.size * W.itemsize > csr.FAR:
            csr.fetch_weights(rows[1], rows[2], order, i, W.reshape(W.size))

    return fetch_sparse
