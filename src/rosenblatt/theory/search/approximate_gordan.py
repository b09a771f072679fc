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

Weights that do not cancel well enough are corrected: of all c with ``B'c = 0``, ``1 - B(B'B)⁻¹r``
is nearest to ones. A few steps of conjugate gradients tell whether it will be positive; more of
them, with the Cholesky factor that proves B'B positive definite, then find it.

The test here is in floating point, with error bounds; that of the checker is in integers. If the
Cholesky factorisation of H succeeds, ``LL' = H + E`` with ``|E| <= (k + 1)·u·|L||L|'``, entry by
entry, for k columns and the unit roundoff u, in whatever order sums are taken (N. Higham, 2002,
Accuracy and Stability of Numerical Algorithms, theorem 10.3; S. Rump, 2006, Verification of
positive definiteness). LL' has no negative eigenvalue, so those of H are at least ``-‖E‖``.
Therefore something larger than ‖E‖, which the trace bounds, is subtracted from the diagonal first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, sparse

from rosenblatt.theory.search import matrices
from rosenblatt.theory.search.matrices import Floats

# Beyond this, the Gram matrix takes too much memory.
MOST_COLUMNS = 4096
_UNIT = 2.0**-53
# Conjugate gradient steps before B'B is computed, and the largest relative change of a weight that
# they may call for.
_FIRST_STEPS, _LARGEST_CHANGE = 3, 0.52
# Rows that B'B is computed from: per column, and at least.
_ROWS_PER_COLUMN, _FEWEST_ROWS = 1.75, 1024
# Corrections by the Cholesky factor, and the conjugate gradient steps of each.
_CORRECTIONS, _STEPS = 3, 12


def round_weights(weights: Floats) -> Floats:
    """Weights rounded to 24 bits each; negligible ones to zero."""
    return _rounded(np.where(weights >= 2.0**-20 * weights.max(initial=0.0), weights, 0.0))


def _rounded(weights: Floats) -> Floats:
    exponent = np.frexp(weights)[1]
    return np.asarray(np.ldexp(np.rint(np.ldexp(weights, 24 - exponent)), exponent - 24))


def integer_weights(weights: Floats) -> list[int]:
    """Rounded weights as proportional integers without a common factor."""
    lowest = int(np.frexp(weights)[1].min())
    numbers = np.ldexp(weights, 24 - lowest).astype(np.int64)
    found: list[int] = (numbers // np.gcd.reduce(numbers)).tolist()
    return found


def balance(Z: Any, weights: Floats, scale: Floats | float = 1.0) -> Floats | None:
    """Rounded weights near the given ones that certainly are a balance, or None if not found.

    The rows Z have length one, about. They were scaled: the weights returned are those of
    ``Z / scale``. They leave room for the roundings of the checker.
    """
    found = np.zeros(len(weights))
    given = round_weights(weights * scale)
    rows = np.flatnonzero(given)
    m, k = len(rows), Z.shape[1]
    if not 0 < k < m or k > MOST_COLUMNS:
        return None
    scale = np.broadcast_to(scale, len(given))[rows]
    weights = given[rows] / scale
    B = matrices.scale_rows(Z[rows], weights)
    top, lengths = matrices.column_top(B), matrices.column_lengths(B)
    if lengths.min() == 0:
        return None
    B = matrices.scale_columns(B, 1.0 / lengths)
    tilt, rest = _conjugate_gradients(
        B, B.T @ np.ones(m), _FIRST_STEPS, lambda tilt, _: bool(tilt.max() >= _LARGEST_CHANGE)
    )
    if not tilt.max() < _LARGEST_CHANGE:
        return None
    # The checker scales columns differently: their largest entry is one.
    longer = lengths / top
    room = _room(B, float(longer.max()))
    # Larger corrections make the weights more uneven.
    least = 1.25 * room * float((1.0 - tilt.min()) / (1.0 - tilt.max())) ** 8
    # Leaving out rows only makes B'B smaller, and saves most of the time. Keep those that matter
    # most to their columns.
    few = max(0, m - int(max(_ROWS_PER_COLUMN * k, _FEWEST_ROWS)))
    held = np.argpartition(matrices.squared_lengths(B), few)[few:]
    part = B[held]
    factor = verified_factor(part, least / longer**2)
    for _ in range(_CORRECTIONS if factor is not None else 0):
        assert factor is not None
        tilt[held] += _correction(factor, part, longer, rest, least)
        found[rows] = _rounded(weights * (1.0 - tilt) * scale)
        change = found[rows] / scale / weights
        if change.min() <= 0:
            return None
        rest = B.T @ change
        if _is_balance(rest * longer, change, least, room):
            return found
    return None


def _room(B: Any, longest: float) -> float:
    """What the eigenvalues of the checker's B'B must exceed; `longest` is its longest column.

    The checker rounds the entries of B, and those of a Cholesky factor, to 24 bits.
    """
    numbers = B.nnz if sparse.issparse(B) else B.size
    return max(2.0**-38 * numbers, 2.0**-32 * B.shape[1] * longest)


def _is_balance(left: Floats, change: Floats, least: float, room: float) -> bool:
    """Whether the changed rows of the checker's B, with the sum `left`, are a balance with room.

    The eigenvalues of B'B are above `least`.
    """
    k, m, low, high = len(left), len(change), float(change.min()), float(change.max())
    # A bound for the rounding errors of k sums of m products of numbers up to one.
    size = float(np.linalg.norm(left) + np.sqrt(k) * (m + 16) * _UNIT * m * high)
    # Relative to their largest entries, columns are longer by up to high/low.
    needed = high * high * room * max(1.0, high / low / 4)
    return low * low * least - 4.0 * size * size > needed


def _correction(factor: Factor, P: Any, longer: Floats, left: Floats, least: float) -> Floats:
    """The relative change of weights that nearly cancels the residual `left`."""
    enough = 0.2 * min(float(np.sqrt(least)), float(np.linalg.norm(left * longer)))

    def done(_: Floats, left: Floats) -> bool:
        return bool(np.linalg.norm(left * longer) < enough)

    return _conjugate_gradients(P, left, _STEPS, done, factor.solve)[0]


def _conjugate_gradients(
    B: Any,
    left: Floats,
    steps: int,
    done: Callable[[Floats, Floats], bool],
    solve: Callable[[Floats], Floats] = lambda left: left,
) -> tuple[Floats, Floats]:
    """``Bp`` for an approximate solution p of ``B'Bp = left``, and the residual ``left - B'Bp``.

    By conjugate gradients until `done`; `solve` is a preconditioner, about ``(B'B)⁻¹``.
    """
    tilt = np.zeros(B.shape[0])
    direction = near = solve(left)
    size = float(left @ near)
    for _ in range(steps):
        slopes = B @ direction
        curvature = float(slopes @ slopes)
        if not curvature > 0:
            break
        tilt += (size / curvature) * slopes
        left = left - (size / curvature) * (B.T @ slopes)
        if done(tilt, left):
            break
        near = solve(left)
        last, size = size, float(left @ near)
        direction = near + (size / last) * direction
    return tilt, left


class Factor(NamedTuple):
    """The lower Cholesky factor of nearly H; what is above the diagonal is not defined."""

    L: Floats

    def solve(self, right: Floats) -> Floats:
        """About ``H⁻¹·right``."""
        inner = linalg.blas.dtrsv(self.L, right, lower=True)
        return np.asarray(linalg.blas.dtrsv(self.L, inner, lower=True, trans=True))


def verified_factor(P: Any, floor: Floats) -> Factor | None:
    """A factor that proves ``H = P'P - diag(floor)`` to be positive definite, or None.

    No column of P may be longer than one, except by rounding.
    """
    m, k = P.shape
    H = matrices.gram(P)
    trace = float(H.diagonal().sum())
    H[np.diag_indices(k)] -= floor + (m + 4 * k + 64) * 2 * _UNIT * trace
    L, failed = linalg.lapack.dpotrf(H.T, lower=True, overwrite_a=True, clean=False)
    return None if failed else Factor(L)
