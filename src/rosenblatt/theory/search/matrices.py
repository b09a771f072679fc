"""Dense and sparse matrices of doubles alike: products, rows and columns measured and scaled."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rosenblatt.theory.search import loops

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

CHUNK = 1 << 16
_WIDE = 128


def times(A: Any, x: Floats) -> Floats:
    """``Ax``."""
    if not sparse.issparse(A):
        return np.asarray(A @ x)
    out = np.empty(A.shape[0])
    loops.times(*_arrays(A), x, out)
    return out


def combine(A: Any, weights: Floats) -> Floats:
    """``A'weights``: the rows, each times its weight, added up."""
    if not sparse.issparse(A):
        return np.asarray(A.T @ weights)
    out = np.zeros(A.shape[1])
    loops.combine(*_arrays(A), weights, out)
    return out


def gram(A: Any) -> Floats:
    """``A'A`` as a dense array; if A is sparse, only its upper triangle, with zeros below."""
    if not sparse.issparse(A):
        return np.asarray(A.T @ A)
    out = np.zeros((A.shape[1], A.shape[1]), dtype=A.dtype)
    loops.gram(*_arrays(A.tocsr()), out)
    return out


def _arrays(A: Any) -> tuple[Any, Any, Any]:
    """Where the rows of a CSR matrix end, their columns, and their numbers; indices unsigned."""
    if A.format != "csr":
        raise TypeError(f"expected rows, found a matrix of the format {A.format}")
    unsigned = f"u{A.indices.itemsize}"
    return A.indptr.view(unsigned), A.indices.view(unsigned), A.data


def picked(A: Any, rows: Indices, pads: Floats | None = None) -> Any:
    """Some of the rows as a copy; behind each goes its pad if there are any."""
    padded = int(pads is not None)
    if not sparse.issparse(A):
        if pads is None:
            return A[rows]
        out = np.empty((len(rows), A.shape[1] + 1))
        out[:, :-1], out[:, -1] = A[rows], pads
        return out
    ends, columns, values = _arrays(A)
    starts = ends[rows]
    new_ends = np.zeros(len(rows) + 1, dtype=np.uint64)
    np.cumsum(ends[rows + 1] - starts + padded, out=new_ends[1:])
    total = int(new_ends[-1])
    kind = A.indices.dtype if total < 2**31 else np.dtype(np.int64)
    found = _csr(
        (len(rows), A.shape[1] + padded),
        np.empty(total, values.dtype),
        np.empty(total, kind),
        new_ends.astype(kind),
    )
    behind = np.empty(0) if pads is None else pads
    loops.pick(starts, columns, values, behind, A.shape[1], new_ends, *_arrays(found)[1:])
    return found


def with_values(A: Any, values: NDArray[Any]) -> Any:
    """A CSR matrix with other numbers in the same places."""
    return _csr(A.shape, values, A.indices, A.indptr)


def _csr(shape: tuple[int, int], values: Any, columns: Any, ends: Any) -> Any:
    """A CSR matrix of arrays that are known to be right, without SciPy's checking them."""
    found = sparse.csr_array(shape, dtype=values.dtype)
    found.data, found.indices, found.indptr = values, columns, ends
    return found


def scale_rows(A: Any, factors: Floats) -> Any:
    """Each row times its factor, in place."""
    if sparse.issparse(A):
        ends, _, values = _arrays(A)
        loops.scale_rows(ends, values, factors)
    else:
        A *= factors[:, None]
    return A


def scale_columns(A: Any, factors: Floats) -> Any:
    """Each column times its factor, in place."""
    if sparse.issparse(A):
        loops.scale_columns(*_arrays(A)[1:], factors)
    else:
        A *= factors
    return A


def squared_lengths(A: Any) -> Floats:
    """The sum of squares of each row."""
    if not sparse.issparse(A):
        return np.asarray(np.einsum("ij,ij->i", A, A))
    out = np.empty(A.shape[0])
    ends, _, values = _arrays(A)
    loops.row_squares(ends, values, out)
    return out


def column_lengths(A: Any) -> Floats:
    """The root of the sum of squares of each column."""
    if not sparse.issparse(A):
        return np.asarray(np.sqrt(np.einsum("ij,ij->j", A, A)))
    out = np.zeros(A.shape[1])
    loops.column_squares(*_arrays(A)[1:], out)
    return np.sqrt(out)


def column_top(A: Any) -> Floats:
    """The largest absolute value of each column."""
    top: Floats = np.zeros(A.shape[1])
    if sparse.issparse(A):
        loops.tops(*_arrays(A)[1:], top)
        return top
    for start in range(0, A.shape[0], CHUNK):
        low, high = column_extremes(A[start : start + CHUNK])
        top = np.maximum(top, np.maximum(high, -low))
    return top


def count_signs(A: Any, sides: NDArray[np.uint8], rows: slice, count: NDArray[np.int64]) -> None:
    """Add to ``count[side, sign, column]`` how many numbers of a CSR matrix are so in some rows.

    Sign 0 is positive, 1 negative.
    """
    loops.count_signs(*_arrays(A), sides, rows.start, rows.stop, count)


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


def prepare(A: Any) -> None:
    """Have the loops over sparse rows like these compiled: it takes a second, once on a machine."""
    if sparse.issparse(A):
        _prepare(A.indices.dtype)


@cache
def _prepare(index: np.dtype[Any]) -> None:
    one = sparse.csr_array(np.ones((1, 1)))
    one.indices, one.indptr = one.indices.astype(index), one.indptr.astype(index)
    first = np.zeros(1, dtype=np.intp)
    one = equilibrate(picked(picked(one, first), first, np.ones(1)))[0]
    combine(one, times(one, column_lengths(one)))
    gram(one)
    gram(one.astype(np.float32))
    count_signs(one, np.zeros(1, dtype=np.uint8), slice(0, 1), np.zeros((2, 2, 2), dtype=np.int64))
