"""Dense and sparse matrices of doubles alike: their rows and columns measured and scaled."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

CHUNK = 1 << 16
_WIDE = 128


def scale_rows(A: Any, factors: Floats) -> Any:
    """Each row times its factor, in place."""
    if sparse.issparse(A):
        A.data *= np.repeat(factors, np.diff(A.indptr))
    else:
        A *= factors[:, None]
    return A


def scale_columns(A: Any, factors: Floats) -> Any:
    """Each column times its factor, in place."""
    if sparse.issparse(A):
        A.data *= factors.take(A.indices)
    else:
        A *= factors
    return A


def squared_lengths(A: Any) -> Floats:
    """The sum of squares of each row."""
    if sparse.issparse(A):
        squares = sparse.csr_array((A.data * A.data, A.indices, A.indptr), shape=A.shape)
        return np.asarray(squares @ np.ones(A.shape[1]))
    return np.asarray(np.einsum("ij,ij->i", A, A))


def column_lengths(A: Any) -> Floats:
    """The root of the sum of squares of each column."""
    if sparse.issparse(A):
        return np.sqrt(np.bincount(A.indices, A.data * A.data, minlength=A.shape[1]))
    return np.asarray(np.sqrt(np.einsum("ij,ij->j", A, A)))


def gram(A: Any) -> Floats:
    """``A'A`` as a dense array."""
    if not sparse.issparse(A):
        return np.asarray(A.T @ A)
    from sklearn.utils.extmath import safe_sparse_dot

    # SciPy makes a sparse matrix of it first, which takes five times as long.
    return np.asarray(safe_sparse_dot(A.T, A, dense_output=True))


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
    """The least and the greatest value of each column of a dense array with rows.

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

    Returns the matrix, changed in place, its columns, and the factors of columns and of rows. The
    rows are multiplied by their signs as well.
    """
    top = column_top(Z)
    columns = np.flatnonzero(top)
    scale = np.ldexp(1.0, -np.frexp(top[columns])[1])
    Z = Z if len(columns) == len(top) else Z[:, columns]
    if (scale != 1.0).any():
        Z = scale_columns(Z, scale)
    size = np.sqrt(squared_lengths(Z))
    rows_scale = 1.0 / np.where(size > 0, size, 1.0)
    return scale_rows(Z, rows_scale * signs), columns, scale, rows_scale
