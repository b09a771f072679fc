"""Products, norms and scaling of dense arrays and CSR matrices, by the same functions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

CHUNK = 1 << 16
# Narrow rows are joined to rows of up to this many columns before they are compared.
_WIDE = 128
# From this density on, a Gram matrix is computed from dense blocks; the entries of a block.
_DENSE, _BLOCK = 1 / 16, 1 << 22


def gram(A: Any) -> Floats:
    """``A'A`` as a dense array."""
    if not sparse.issparse(A):
        return np.asarray(A.T @ A)
    n, k = A.shape
    if A.nnz <= _DENSE * n * k:
        return np.asarray((A.T @ A).toarray())
    A, step = A.tocsr(), max(1, _BLOCK // k)
    blocks = (A[start : start + step].toarray() for start in range(0, n, step))
    return np.asarray(sum(block.T @ block for block in blocks))


def append_column(A: Any, column: Floats) -> Any:
    """The matrix with one more column, as a copy."""
    if not sparse.issparse(A):
        return np.hstack([A, column[:, None]])
    n, index = A.shape[0], A.indices.dtype
    ends = np.arange(n + 1, dtype=index)
    last = sparse.csr_array((column, np.zeros(n, index), ends), shape=(n, 1))
    return sparse.hstack([A, last], format="csr")


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


def squared_row_norms(A: Any) -> Floats:
    """The squared norm of each row."""
    if not sparse.issparse(A):
        return np.asarray(np.einsum("ij,ij->i", A, A))
    squares = sparse.csr_array((A.data * A.data, A.indices, A.indptr), shape=A.shape)
    return np.asarray(squares @ np.ones(A.shape[1]))


def column_norms(A: Any) -> Floats:
    """The norm of each column."""
    if not sparse.issparse(A):
        return np.asarray(np.sqrt(np.einsum("ij,ij->j", A, A)))
    return np.sqrt(np.bincount(A.indices, A.data * A.data, A.shape[1]))


def column_max_abs(A: Any) -> Floats:
    """The largest absolute value in each column."""
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

    Narrow rows are joined to wide ones, which NumPy reduces much faster.
    """
    n, d = A.shape
    folds = min(n, _WIDE // d)
    if folds < 2 or not A.flags.c_contiguous:
        return A.min(axis=0), A.max(axis=0)
    joined = n // folds * folds
    wide = A[:joined].reshape(-1, folds * d)
    low = np.vstack([wide.min(axis=0).reshape(folds, d), A[joined:]]).min(axis=0)
    high = np.vstack([wide.max(axis=0).reshape(folds, d), A[joined:]]).max(axis=0)
    return low, high


def equilibrate(Z: Any, signs: Floats | float = 1.0) -> tuple[Any, Indices, Floats, Floats]:
    """Drop zero columns, scale columns to a largest entry of about one and rows to norm one.

    Returns the matrix, modified in place, the columns kept, and the factors of columns and rows.
    The rows are also multiplied by their `signs`.
    """
    top = column_max_abs(Z)
    columns = np.flatnonzero(top)
    # The reciprocal of a subnormal number overflows.
    scale = np.ldexp(1.0, np.minimum(-np.frexp(top[columns])[1], 1023))
    Z = Z if len(columns) == len(top) else Z[:, columns]
    if (scale != 1.0).any():
        Z = scale_columns(Z, scale)
    norms = np.sqrt(squared_row_norms(Z))
    rows_scale = 1.0 / np.where(norms > 0, norms, 1.0)
    return scale_rows(Z, rows_scale * signs), columns, scale, rows_scale
