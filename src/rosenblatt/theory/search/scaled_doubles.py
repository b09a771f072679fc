"""Matrices scaled by powers of two, where their values or products exceed the range of doubles.

Each function returns the scaled doubles and the exponents of columns and rows: the doubles are the
values times ``2**-column_exponent * 2**-row_exponent``, rounded.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rosenblatt.theory.search.exact_numbers import scaled_double
from rosenblatt.theory.search.matrices import Floats

Exponents = NDArray[np.int64]

# Stands for the exponent of zero: less than any other.
_ZERO_EXPONENT = -(10**9)


def scale_doubles(A: Any, top: Floats, padded: bool) -> tuple[Any, Exponents, Exponents]:
    """Scale a dense array or CSR matrix of doubles; `top` is the maximum modulus per column."""
    columns = np.where(top > 0, np.frexp(top)[1].astype(np.int64), 0)
    if not sparse.issparse(A):
        mantissa, e = np.frexp(A)
        e = e - columns
        rows = _row_exponents(np.where(A != 0, e, _ZERO_EXPONENT).max(axis=1), padded)
        return _ldexp(mantissa, e - rows[:, None]), columns, rows
    mantissa, e = np.frexp(A.data)
    e = e - columns[A.indices]
    row_of = np.repeat(np.arange(A.shape[0]), np.diff(A.indptr))
    largest = np.full(A.shape[0], _ZERO_EXPONENT)
    np.maximum.at(largest, row_of[A.data != 0], e[A.data != 0])
    rows = _row_exponents(largest, padded)
    data = _ldexp(mantissa, e - rows[row_of])
    return sparse.csr_array((data, A.indices, A.indptr), shape=A.shape), columns, rows


def scale_fractions(values: NDArray[Any], padded: bool) -> tuple[Floats, Exponents, Exponents]:
    """Scale an array of fractions, converted to doubles."""
    exponents = np.full(values.shape, _ZERO_EXPONENT)
    for place, q in np.ndenumerate(values):
        if q:
            exponents[place] = abs(q.numerator).bit_length() - q.denominator.bit_length()
    top = exponents.max(axis=0)
    columns = np.where(top < _ZERO_EXPONENT // 2, 0, top)
    rows = _row_exponents((exponents - columns).max(axis=1), padded)
    approx = np.empty(values.shape)
    for (i, j), q in np.ndenumerate(values):
        approx[i, j] = scaled_double(q, int(rows[i] + columns[j]))
    return approx, columns, rows


def _row_exponents(top: Exponents, padded: bool) -> Exponents:
    top = np.where(top < _ZERO_EXPONENT // 2, 0, top)
    return np.maximum(top, 0) if padded else top


def _ldexp(mantissa: Floats, exponent: Any) -> Floats:
    with np.errstate(under="ignore"):
        return np.ldexp(mantissa, np.clip(exponent, -2000, 2000).astype(np.int32))
