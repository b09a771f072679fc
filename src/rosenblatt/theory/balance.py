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

Weights that hardly cancel yet are moved there: of all c with ``B'c = 0``, ``1 - B(B'B)⁻¹r`` is
nearest to ones. A few steps of conjugate gradients tell whether it will be positive; the Cholesky
factor that proves B'B positive definite then finds it.

The test here is in doubles with error bounds; :mod:`rosenblatt.theory.verify` has one in integers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg, sparse

from rosenblatt.theory.matrices import (
    Floats,
    column_lengths,
    column_top,
    gram,
    scale_columns,
    scale_rows,
    squared_lengths,
)

# Beyond, the square matrix takes more memory than is reasonable.
MOST_COLUMNS = 4096
_UNIT = 2.0**-53
# Conjugate gradient steps before B'B is computed, and how far they may move a weight.
_LOOKS, _FAR = 3, 0.52
# Rows that B'B is computed from: so many a column, and so many at least.
_ENOUGH, _FEWEST = 1.75, 1024
# Moves by the factor.
_MOVES = 3


def short(weights: Floats) -> Floats:
    """Weights rounded to 24 bits each, and to zero where they hardly count."""
    return _rounded(np.where(weights >= 2.0**-20 * weights.max(initial=0.0), weights, 0.0))


def _rounded(weights: Floats) -> Floats:
    exponent = np.frexp(weights)[1]
    return np.asarray(np.ldexp(np.rint(np.ldexp(weights, 24 - exponent)), exponent - 24))


def whole(weights: Floats) -> list[int]:
    """Short weights as whole numbers without a common factor, in proportion.

    >>> whole(np.array([0.75, 0.5, 3.0]))
    [3, 2, 12]
    """
    lowest = int(np.frexp(weights)[1].min())
    numbers = np.ldexp(weights, 24 - lowest).astype(np.int64)
    found: list[int] = (numbers // np.gcd.reduce(numbers)).tolist()
    return found


def balance(Z: Any, weights: Floats, scale: Floats | float = 1.0) -> Floats | None:
    """Short weights near the given ones that are a balance beyond doubt, or None if not found.

    The rows Z are about as long as one, and may be off by a few roundings. They were scaled: the
    weights returned are those of ``Z / scale``. They leave room for the checker, amply.

    Examples
    --------
    >>> corners = np.array([[1.0, 0.0], [-0.5, 0.8], [-0.5, -0.9]])
    >>> balance(corners, np.ones(3)).round(3)
    array([0.998, 1.056, 0.939])
    >>> balance(corners[:2], np.ones(2)) is None
    True
    """
    weights = short(weights * scale) / scale
    rows = np.flatnonzero(weights)
    m, k = len(rows), Z.shape[1]
    if not 0 < k < m or k > MOST_COLUMNS:
        return None
    B = scale_rows(Z[rows], weights[rows])
    top = column_top(B)
    if top.min() == 0:
        return None
    B = scale_columns(B, 1.0 / top)
    tilt, rest = _tilt(B)
    if not tilt.max() < _FAR:
        return None
    room = _room(B)
    # What is left to be moved makes the weights more uneven, if there is much of it.
    least = 1.25 * room * ((1.0 - tilt.min()) / (1.0 - tilt.max())) ** 8
    # Fewer rows only make B'B smaller, and this is where the time goes.
    enough = int(max(_ENOUGH * k, _FEWEST))
    held: Any = slice(None)
    if m > enough:
        held = np.argpartition(squared_lengths(B), m - enough)[m - enough :]
    part = B[held]
    factor = _factor(part, least)
    if factor is None:
        return None
    found = np.zeros(len(weights))
    for _ in range(_MOVES):
        # The factor is that of B'B - least.
        p = _solve(factor, rest - least * _solve(factor, rest))
        tilt[held] += part @ p
        found[rows] = weights[rows] * (1.0 - tilt)
        found = _rounded(found * scale)
        change = (found / scale)[rows] / weights[rows]
        low, high = float(change.min()), float(change.max())
        if low <= 0:
            return None
        rest = B.T @ change
        # Sums of m products of numbers up to one, k of them, are off by so much at most.
        left = float(np.linalg.norm(rest)) + float(np.sqrt(k)) * (m + 8) * _UNIT * m * high
        # In proportion to their largest entries, columns are longer by up to high/low.
        if low * low * least - 4.0 * left * left > high * high * room * max(1.0, high / low / 4):
            return found
    return None


def _room(B: Any) -> float:
    """What the eigenvalues of B'B must exceed for the checker.

    It rounds the numbers of B to 24 bits, and those of a Cholesky factor.
    """
    numbers = B.nnz if sparse.issparse(B) else B.size
    return max(2.0**-38 * numbers, 2.0**-32 * B.shape[1] * float(column_lengths(B).max()))


def _factor(part: Any, least: float) -> Floats | None:
    """A Cholesky factor of nearly B'B, if its eigenvalues are above `least` beyond doubt.

    The factorisation of a matrix in doubles runs to its end only if it is positive definite, up to
    roundings that a multiple of the trace bounds (J. Demmel, 1989; S. Rump, 2006, Verification of
    positive definiteness).
    """
    m, k = part.shape
    H = gram(part)
    trace = float(H.diagonal().sum())
    H[np.diag_indices(k)] -= least + (m + 4 * k + 64) * 2 * _UNIT * trace
    factor, failed = linalg.lapack.dpotrf(H.T, overwrite_a=True, clean=False)
    return None if failed else np.asarray(factor)


def _solve(factor: Floats, right: Floats) -> Floats:
    return np.asarray(linalg.blas.dtrsv(factor, linalg.blas.dtrsv(factor, right, trans=1)))


def _tilt(B: Any) -> tuple[Floats, Floats]:
    """Some ``Bp`` with p towards ``(B'B)⁻¹r``, by conjugate gradients, and ``r - B'Bp``."""
    back, tilt = B.T, np.zeros(B.shape[0])
    left = back @ np.ones(B.shape[0])
    direction, size = left, float(left @ left)
    for _ in range(_LOOKS):
        slopes = B @ direction
        curvature = float(slopes @ slopes)
        if not curvature > 0:
            break
        tilt += (size / curvature) * slopes
        if tilt.max() >= _FAR:
            break
        left = left - (size / curvature) * (back @ slopes)
        last, size = size, float(left @ left)
        direction = left + (size / last) * direction
    return tilt, left
