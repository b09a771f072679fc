"""Dense arrays and CSR matrices of doubles behind the same functions: products, norms, scaling."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

CHUNK = 1 << 16
# Narrow rows are compared side by side until they are this wide.
_WIDE = 128
# Products of entries that are added to a Gram matrix at a time: they stay in the cache.
_PAIRS = 1 << 15
# From this density on, dense blocks of so many numbers are multiplied instead.
_FILLED, _BLOCK = 1 / 16, 1 << 22


def times(A: Any, x: Floats) -> Floats:
    """``Ax``."""
    return np.asarray(A @ x)


def combine(A: Any, weights: Floats) -> Floats:
    """``A'weights``: the sum of the rows, each multiplied by its weight."""
    return np.asarray(A.T @ weights)


def gram(A: Any) -> Floats:
    """``A'A`` as a dense array.

    The products of all pairs of entries of a row are added to it, many rows at a time: for the few
    rows that Gram matrices are computed from here, twice as fast as SciPy's sparse product.
    """
    if not sparse.issparse(A):
        return np.asarray(A.T @ A)
    A, (n, k) = A.tocsr(), A.shape
    if A.nnz > _FILLED * n * k:
        step = max(1, _BLOCK // k)
        blocks = (A[start : start + step].toarray() for start in range(0, n, step))
        return np.asarray(sum(block.T @ block for block in blocks))
    found = np.zeros(k * k)
    for entries in _rows_of_equal_length(A):
        columns, values = A.indices[entries].astype(np.int64), A.data[entries]
        places = k * columns[:, :, None] + columns[:, None, :]
        np.add.at(found, places.ravel(), (values[:, :, None] * values[:, None, :]).ravel())
    return found.reshape(k, k)


def _rows_of_equal_length(A: Any) -> Iterator[Indices]:
    """The positions of the entries of rows with the same number of them, one line per row."""
    counts = np.diff(A.indptr)
    order = np.argsort(counts, kind="stable")
    ends = np.flatnonzero(np.diff(counts[order], append=-1)) + 1
    for group in np.split(order, ends[:-1]):
        count = int(counts[group[0]]) if len(group) else 0
        step = max(1, _PAIRS // max(count * count, 1))
        for start in range(0, len(group) if count else 0, step):
            first = A.indptr[group[start : start + step]]
            yield first[:, None] + np.arange(count)


def take_rows(A: Any, rows: Indices, pads: Floats | None = None) -> Any:
    """A copy of some rows; if `pads` are given, each row is extended by its pad."""
    part = A[rows]
    if pads is None:
        return part
    if not sparse.issparse(A):
        return np.hstack([part, pads[:, None]])
    index = A.indices.dtype
    ends = np.arange(len(rows) + 1, dtype=index)
    column = sparse.csr_array((pads, np.zeros(len(rows), index), ends), shape=(len(rows), 1))
    return sparse.hstack([part, column], format="csr")


def scale_rows(A: Any, factors: Floats) -> Any:
    """Multiply each row by its factor, in place."""
    if sparse.issparse(A):
        A.data *= np.repeat(factors, np.diff(A.indptr))
    else:
        A *= factors[:, None]
    return A


def scale_columns(A: Any, factors: Floats) -> Any:
    """Multiply each column by its factor, in place."""
    if sparse.issparse(A):
        A.data *= factors[A.indices]
    else:
        A *= factors
    return A


def squared_lengths(A: Any) -> Floats:
    """The squared norm of each row."""
    if not sparse.issparse(A):
        return np.asarray(np.einsum("ij,ij->i", A, A))
    found, ones = np.empty(A.shape[0]), np.ones(A.shape[1])
    for start in range(0, A.shape[0], CHUNK):
        ends = A.indptr[start : start + CHUNK + 1]
        inside, shape = slice(ends[0], ends[-1]), (len(ends) - 1, A.shape[1])
        values = A.data[inside]
        squares = sparse.csr_array(
            (values * values, A.indices[inside], ends - ends[0]), shape=shape
        )
        found[start : start + CHUNK] = squares @ ones
    return found


def column_lengths(A: Any) -> Floats:
    """The norm of each column."""
    if not sparse.issparse(A):
        return np.asarray(np.sqrt(np.einsum("ij,ij->j", A, A)))
    return np.sqrt(np.bincount(A.indices, A.data * A.data, A.shape[1]))


def column_top(A: Any) -> Floats:
    """The largest absolute value of each column."""
    top: Floats = np.zeros(A.shape[1])
    if sparse.issparse(A):
        np.maximum.at(top, A.indices, np.abs(A.data))
        return top
    for start in range(0, A.shape[0], CHUNK):
        low, high = column_extremes(A[start : start + CHUNK])
        top = np.maximum(top, np.maximum(high, -low))
    return top


def column_extremes(A: NDArray[Any]) -> tuple[Any, Any]:
    """The minimum and the maximum of each column of a dense array.

    Narrow rows are compared several at a time, side by side, which is much faster.
    """
    n, d = A.shape
    folds = min(n, _WIDE // d)
    if folds < 2 or not A.flags.c_contiguous:
        return A.min(axis=0), A.max(axis=0)
    whole = n // folds * folds
    wide = A[:whole].reshape(-1, folds * d)
    low = np.vstack([wide.min(axis=0).reshape(folds, d), A[whole:]]).min(axis=0)
    high = np.vstack([wide.max(axis=0).reshape(folds, d), A[whole:]]).max(axis=0)
    return low, high


def equilibrate(Z: Any, signs: Floats | float = 1.0) -> tuple[Any, Indices, Floats, Floats]:
    """Drop zero columns; scale columns to entries of about one and rows to length one.

    Returns the matrix, changed in place, the columns kept, and the factors of columns and of rows.
    The rows are multiplied by their signs as well.
    """
    top = column_top(Z)
    columns = np.flatnonzero(top)
    # The reciprocal of a denormal number is beyond the range of doubles.
    scale = np.ldexp(1.0, np.minimum(-np.frexp(top[columns])[1], 1023))
    Z = Z if len(columns) == len(top) else Z[:, columns]
    if (scale != 1.0).any():
        Z = scale_columns(Z, scale)
    size = np.sqrt(squared_lengths(Z))
    rows_scale = 1.0 / np.where(size > 0, size, 1.0)
    return scale_rows(Z, rows_scale * signs), columns, scale, rows_scale
