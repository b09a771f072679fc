"""Balances: contradictions that need not add up to zero, and so need no exact solving.

*Theorem.* Let b_i be positive multiples of the signed rows, B the matrix of the b_i and
``r = Σ b_i``. If ``B'B - rr'`` is positive definite, then no v but zero has ``b_i·v >= 0`` for
every i.

*Proof.* Numbers that are not negative have a sum of at least the root of the sum of their squares.
So if no ``b_i·v`` is negative, ``(r·v)² = (Σ b_i·v)² >= Σ(b_i·v)² = ‖Bv‖²``, or
``v'(B'B - rr')v <= 0``; hence v = 0.

So the rows are inseparable, even weakly, although they cancel only almost. An exact
contradiction is close by: ``1 - B(B'B)⁻¹r`` are its coefficients, all positive as
``r'(B'B)⁻¹r < 1``. But where there are hundreds of columns, its numbers have thousands of digits;
those of a balance have eight.

The test here is in doubles with error bounds; :mod:`rosenblatt.theory.verify` has one in integers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg, sparse

from rosenblatt.theory.matrices import (
    Floats,
    column_top,
    gram,
    scale_columns,
    scale_rows,
    squared_lengths,
)
from rosenblatt.theory.table import integer_rows

# Beyond, the square matrix takes more memory than is reasonable.
MOST_COLUMNS = 4096
_UNIT = 2.0**-53
# Conjugate gradient steps before B'B is computed, and rows that it is computed from at least.
_LOOKS = 64
_ENOUGH = 1024


def short(weights: Floats) -> Floats:
    """Weights rounded to 24 bits each, and to zero where they hardly count."""
    kept = np.where(weights >= 2.0**-20 * weights.max(initial=0.0), weights, 0.0)
    exponent = np.frexp(kept)[1]
    return np.asarray(np.ldexp(np.rint(np.ldexp(kept, 24 - exponent)), exponent - 24))


def whole(weights: Floats) -> list[int]:
    """Doubles as whole numbers, up to one common factor."""
    return integer_rows(weights[None])[0]


def balances(Z: Any, weights: Floats) -> bool:
    """Whether rows times weights are a balance beyond doubt, and by enough to be checked again.

    The rows are about as long as one, and may be off by a few roundings. ``False`` says nothing.

    The Cholesky factorisation of ``B'B - 4rr' - s`` in doubles runs to its end only if that matrix
    is positive definite, up to roundings that a multiple of the trace bounds (J. Demmel, 1989;
    S. Rump, 2006, Verification of positive definiteness). Columns are scaled to a largest entry of
    one. The 4 and the s leave room for roundings here and, amply, for those of the checker: of
    numbers to 24 bits, and of the Cholesky factor.

    Examples
    --------
    >>> corners = np.array([[1.0, 0.0], [-0.5, 0.8], [-0.5, -0.9]])
    >>> balances(corners, np.ones(3))
    True
    >>> balances(corners[:2], np.ones(2))
    False
    """
    rows = np.flatnonzero(weights)
    m, k = len(rows), Z.shape[1]
    if not 0 < k < m or k > MOST_COLUMNS:
        return False
    B = scale_rows(Z[rows], weights[rows])
    top = column_top(B)
    if top.min() == 0:
        return False
    B = scale_columns(B, 1.0 / top)
    rest = np.asarray(B.sum(axis=0)).ravel()
    numbers = B.nnz if sparse.issparse(B) else m * k
    enough = max(2 * k, _ENOUGH)
    if m > enough:
        # Fewer rows only make B'B smaller, and this is where the time goes.
        B = B[np.argpartition(squared_lengths(B), m - enough)[m - enough :]]
    if _hopeless(B, rest):
        return False
    H = gram(B)
    room = max(2.0**-38 * numbers, 2.0**-32 * k * float(np.sqrt(H.diagonal().max())))
    trace = float(H.diagonal().sum()) + 4.0 * float(rest @ rest)
    doubt = float(np.sqrt(k)) * (m + 8) * _UNIT * m
    H[np.diag_indices(k)] -= room + 16.0 * doubt**2 + (m + 4 * k + 64) * 2 * _UNIT * trace
    # One triangle is enough.
    half = linalg.blas.dsyr(-4.0, rest, a=H.T, overwrite_a=True)
    _, failed = linalg.lapack.dpotrf(half, overwrite_a=True, clean=False)
    return bool(failed == 0)


def _hopeless(B: Any, rest: Floats) -> bool:
    """Whether ``4r'(B'B)⁻¹r >= 1``: conjugate gradients see it rise until it does or is reached."""
    seen, left = 0.0, rest.copy()
    direction, size = left, float(left @ left)
    for _ in range(_LOOKS):
        bent = B.T @ (B @ direction)
        curvature = float(direction @ bent)
        if curvature <= 0 or size == 0:
            return size > 0
        gain = 4.0 * size * size / curvature
        seen += gain
        if seen >= 1.0:
            return True
        if gain < 0.01 * seen:
            break
        left = left - (size / curvature) * bent
        last, size = size, float(left @ left)
        direction = left + (size / last) * direction
    return seen > 0.8
