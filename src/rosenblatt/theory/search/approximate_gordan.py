"""Balances: approximate Gordan certificates, which need no exact solution of a linear system.

*Theorem.* Let b_i be positive multiples of the signed rows, B the matrix of the b_i and
``r = Σ b_i``. If ``B'B - rr'`` is positive definite, then no v but zero has ``b_i·v >= 0`` for
every i.

*Proof.* The sum of nonnegative numbers is at least the square root of their sum of squares. So if
no ``b_i·v`` is negative, ``(r·v)² = (Σ b_i·v)² >= Σ(b_i·v)² = ‖Bv‖²``, or
``v'(B'B - rr')v <= 0``; hence v = 0.

So the rows are inseparable, even weakly, although their sum is only approximately zero. There is an
exact contradiction nearby, with the coefficients ``1 - B(B'B)⁻¹r``, all positive as
``r'(B'B)⁻¹r < 1``. But with hundreds of columns its coefficients have thousands of digits; those of
a balance have eight.

Weights whose sum r is not small enough are corrected: ``1 - B(B'B)⁻¹r`` is the projection of the
vector of ones onto the null space of B'. A few steps of conjugate gradients estimate whether it is
positive; further steps, preconditioned by the Cholesky factor that proves B'B positive definite,
then compute it.

The test here is in floating point, with error bounds; the checker tests in integers. If the
Cholesky factorisation of H succeeds, ``LL' = H + E`` with ``|E| <= (k + 1)·u·|L||L|'`` entrywise,
for k columns and the unit roundoff u, in any order of summation (N. Higham, 2002,
Accuracy and Stability of Numerical Algorithms, theorem 10.3; S. Rump, 2006, Verification of
positive definiteness). LL' has no negative eigenvalue, so those of H are at least ``-‖E‖``.
Therefore an upper bound of ‖E‖, computed from the trace, is subtracted from the diagonal first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, sparse

from rosenblatt.theory.search import matrices
from rosenblatt.theory.search.matrices import Floats

# With more columns, the Gram matrix takes too much memory.
MAX_COLUMNS = 4096
_UNIT = 2.0**-53
# Conjugate gradient steps before B'B is computed; give up if they would reduce some weight by more
# than this fraction.
_FIRST_STEPS, _MAX_REDUCTION = 3, 0.52
# Rows used for B'B: this many per column, and at least this many.
_ROWS_PER_COLUMN, _MIN_ROWS = 1.75, 1024
# Corrections of the weights, and conjugate gradient steps per correction.
_CORRECTIONS, _STEPS = 3, 12


def round_weights(weights: Floats) -> Floats:
    """Weights rounded to 24 significant bits; negligible weights become zero."""
    return _rounded(np.where(weights >= 2.0**-20 * weights.max(initial=0.0), weights, 0.0))


def _rounded(weights: Floats) -> Floats:
    exponent = np.frexp(weights)[1]
    return np.asarray(np.ldexp(np.rint(np.ldexp(weights, 24 - exponent)), exponent - 24))


def integer_weights(weights: Floats) -> list[int]:
    """Weights of 24 significant bits as proportional integers without a common factor."""
    lowest = int(np.frexp(weights)[1].min())
    numbers = np.ldexp(weights, 24 - lowest).astype(np.int64)
    integers: list[int] = (numbers // np.gcd.reduce(numbers)).tolist()
    return integers


def balance(Z: Any, weights: Floats, scale: Floats | float = 1.0) -> Floats | None:
    """Weights near the given ones that are proven to be a balance, or None if none were found.

    The rows of Z have norm one, approximately. The weights returned refer to the unscaled rows
    ``Z / scale``, have 24 significant bits, and tolerate the rounding of the checker.
    """
    balanced = np.zeros(len(weights))
    rounded = round_weights(weights * scale)
    rows = np.flatnonzero(rounded)
    m, k = len(rows), Z.shape[1]
    if not 0 < k < m or k > MAX_COLUMNS:
        return None
    scale = np.broadcast_to(scale, len(rounded))[rows]
    weights = rounded[rows] / scale
    B = matrices.scale_rows(Z[rows], weights)
    column_max, norms = matrices.column_max_abs(B), matrices.column_norms(B)
    if norms.min() == 0:
        return None
    B = matrices.scale_columns(B, 1.0 / norms)
    # The correction multiplies each weight by one minus its `reduction`.
    reduction, residual = _conjugate_gradients(
        B, B.T @ np.ones(m), _FIRST_STEPS, lambda Bp, _: bool(Bp.max() >= _MAX_REDUCTION)
    )
    if not reduction.max() < _MAX_REDUCTION:
        return None
    # The checker scales columns differently: to a largest entry of one, not to norm one.
    norm_to_max = norms / column_max
    tolerance = _checker_tolerance(B, float(norm_to_max.max()))
    # The more uneven the corrected weights, the larger the eigenvalues have to be.
    spread = float((1.0 - reduction.min()) / (1.0 - reduction.max()))
    min_eigenvalue = 1.25 * tolerance * spread**8
    # Dropping rows can only decrease the eigenvalues of B'B, and saves most of the time. Keep the
    # rows of largest norm.
    dropped = max(0, m - int(max(_ROWS_PER_COLUMN * k, _MIN_ROWS)))
    selected = np.argpartition(matrices.squared_row_norms(B), dropped)[dropped:]
    part = B[selected]
    factor = verified_factor(part, min_eigenvalue / norm_to_max**2)
    for _ in range(_CORRECTIONS if factor is not None else 0):
        assert factor is not None
        reduction[selected] += _correction(factor, part, norm_to_max, residual, min_eigenvalue)
        balanced[rows] = _rounded(weights * (1.0 - reduction) * scale)
        ratios = balanced[rows] / scale / weights
        if ratios.min() <= 0:
            return None
        residual = B.T @ ratios
        if _is_balance(residual * norm_to_max, ratios, min_eigenvalue, tolerance):
            return balanced
    return None


def _checker_tolerance(B: Any, longest: float) -> float:
    """A lower bound for the eigenvalues of B'B that makes the checker's rounding harmless.

    The checker rounds the entries of B, and those of a Cholesky factor, to 24 bits. `longest` is
    the largest norm of a column in its scaling.
    """
    numbers = B.nnz if sparse.issparse(B) else B.size
    return max(2.0**-38 * numbers, 2.0**-32 * B.shape[1] * longest)


def _is_balance(residual: Floats, ratios: Floats, min_eigenvalue: float, tolerance: float) -> bool:
    """Whether the rows of the checker's B times `ratios` are a balance despite its rounding.

    `residual` is the sum of these rows; the eigenvalues of B'B exceed `min_eigenvalue`.
    """
    k, m = len(residual), len(ratios)
    low, high = float(ratios.min()), float(ratios.max())
    # The second term bounds the rounding errors of k sums of m products of numbers up to one.
    size = float(np.linalg.norm(residual) + np.sqrt(k) * (m + 16) * _UNIT * m * high)
    # The ratio of norm to largest entry of a column grows by a factor of up to high/low.
    needed = high * high * tolerance * max(1.0, high / low / 4)
    return low * low * min_eigenvalue - 4.0 * size * size > needed


def _correction(
    factor: Factor, P: Any, norm_to_max: Floats, residual: Floats, min_eigenvalue: float
) -> Floats:
    """The relative reduction of the weights that makes the residual nearly zero."""
    enough = 0.2 * min(
        float(np.sqrt(min_eigenvalue)), float(np.linalg.norm(residual * norm_to_max))
    )

    def done(_: Floats, residual: Floats) -> bool:
        return bool(np.linalg.norm(residual * norm_to_max) < enough)

    return _conjugate_gradients(P, residual, _STEPS, done, factor.solve)[0]


def _conjugate_gradients(
    B: Any,
    residual: Floats,
    steps: int,
    done: Callable[[Floats, Floats], bool],
    solve: Callable[[Floats], Floats] = lambda residual: residual,
) -> tuple[Floats, Floats]:
    """``Bp`` for an approximate solution p of ``B'Bp = r``, and the residual ``r - B'Bp``.

    `residual` is r at first. The iteration stops when ``done(Bp, residual)``; `solve` applies a
    preconditioner, an approximation of ``(B'B)⁻¹``.
    """
    Bp = np.zeros(B.shape[0])
    direction = preconditioned = solve(residual)
    size = float(residual @ preconditioned)
    for _ in range(steps):
        slopes = B @ direction
        curvature = float(slopes @ slopes)
        if not curvature > 0:
            break
        Bp += (size / curvature) * slopes
        residual = residual - (size / curvature) * (B.T @ slopes)
        if done(Bp, residual):
            break
        preconditioned = solve(residual)
        last, size = size, float(residual @ preconditioned)
        direction = preconditioned + (size / last) * direction
    return Bp, residual


class Factor(NamedTuple):
    """The lower Cholesky factor of H, up to rounding; entries above the diagonal are undefined."""

    L: Floats

    def solve(self, right: Floats) -> Floats:
        """``H⁻¹·right``, approximately."""
        inner = linalg.blas.dtrsv(self.L, right, lower=True)
        return np.asarray(linalg.blas.dtrsv(self.L, inner, lower=True, trans=True))


def verified_factor(P: Any, floor: Floats) -> Factor | None:
    """A Cholesky factor that proves ``P'P - diag(floor)`` positive definite, or None if it fails.

    The columns of P have norms of at most one, up to rounding.
    """
    m, k = P.shape
    H = matrices.gram(P)
    trace = float(H.diagonal().sum())
    H[np.diag_indices(k)] -= floor + (m + 4 * k + 64) * 2 * _UNIT * trace
    L, failed = linalg.lapack.dpotrf(H.T, lower=True, overwrite_a=True, clean=False)
    return None if failed else Factor(L)
