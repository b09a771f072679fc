"""The point of smallest norm in the convex hull of some rows: λ >= 0 that minimises ‖Z'λ‖/Σλ.

Few rows: nonnegative least squares. Minimising ``‖Z'λ‖² + ρ²(Σλ - 1)²`` over λ >= 0 gives a
multiple of that point, whatever ρ > 0 (C. Lawson, R. Hanson, 1974, Solving Least Squares
Problems, chapter 23).

Many rows: minimising ``ε‖w‖²/2 + Σ max(0, 1 - z_i·w)²/2`` gives losses ξ with ``Z'ξ = εw``, and w
and ξ tend to the separator of largest margin and a multiple of λ as ε decreases. Each ε takes a few
Newton steps (`squared_hinge`), and only one once the support rows are known.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import nnls

from rosenblatt.theory.search.limits import NO_LIMIT, Clock, OutOfTimeError
from rosenblatt.theory.search.matrices import Floats
from rosenblatt.theory.search.squared_hinge import damped_newton_step, dual_variables

# From this many rows on, Newton's method is faster.
_MANY_ROWS = 128
_STEPS = 60
# Seconds of a Newton step, per row and squared column, approximately.
_SECONDS = 1e-10
# The penalty of a free offset, relative to that of the weights.
_OFFSET_PENALTY = 1e-8


def min_norm_point(
    Z: Floats, free_offset: bool, rtol: float, clock: Clock = NO_LIMIT
) -> tuple[Floats, Floats | None]:
    """The coefficients λ, up to a factor, and the separator, or None if it was not computed.

    With `free_offset`, the last column belongs to the offset and is not part of the norm; then the
    coefficients of the two classes have nearly equal sums. Raises OutOfTimeError if none are found.
    """
    size = float(np.linalg.norm(Z, axis=1).max(initial=0.0)) or 1.0
    Z = Z / size
    solution = min_norm_by_newton(Z, free_offset, rtol, clock) if len(Z) >= _MANY_ROWS else None
    if solution is None:
        clock.seconds_left()
        return min_norm_by_nnls(Z, free_offset), None
    losses, w, gap = solution
    support = np.flatnonzero(losses)
    if gap > rtol and len(support) < 4 * _MANY_ROWS:
        # The gap is due to rounding; there are few enough support rows for least squares.
        losses = np.zeros(len(Z))
        losses[support] = min_norm_by_nnls(Z[support], free_offset)
    return losses, w


def min_norm_by_nnls(Z: Floats, free_offset: bool) -> Floats:
    """The coefficients by nonnegative least squares, for rows of norm at most one."""
    if free_offset:
        Z = Z.copy()
        Z[:, -1] /= _OFFSET_PENALTY**0.5
    if Z.shape[1] > Z.shape[0]:
        Z = np.asarray(np.linalg.qr(Z.T, mode="r")).T
    n, size = len(Z), float(np.linalg.norm(Z, axis=1).max(initial=0.0))
    weights = np.full(n, 1.0 / n)
    rho = float(np.linalg.norm(Z.mean(axis=0))) or 1.0
    for _ in range(3):
        A = np.vstack([Z.T / rho, np.ones(n)])
        try:
            weights = nnls(A, np.append(np.zeros(Z.shape[1]), 1.0), maxiter=30 * n)[0]
        except RuntimeError:
            break
        reached = float(np.linalg.norm(weights @ Z)) / max(float(weights.sum()), 1e-300)
        if not 1e-14 * size < reached < 0.1 * rho:
            break
        rho = reached
    return np.asarray(weights) if weights.max() > 0 else np.ones(n)


def min_norm_by_newton(
    Z: Floats, free_offset: bool, rtol: float, clock: Clock = NO_LIMIT
) -> tuple[Floats, Floats, float] | None:
    """Coefficients ξ, separator w and relative gap by Newton's method, for norms of at most one.

    Returns the best found in time, or None if none were. The gap between the margin of w and the
    norm of ``Z'ξ/Σξ`` decreases with ε until rounding errors dominate.
    """
    penalty = np.ones(Z.shape[1])
    if free_offset:
        penalty[-1] = _OFFSET_PENALTY
    w, best = np.zeros(Z.shape[1]), np.inf
    point = None
    for exponent in range(2, 16):
        try:
            w, losses = _minimise(Z, w, 10.0**-exponent * penalty, clock)
        except OutOfTimeError:
            break
        if not losses.any():
            break
        upper = float(np.sqrt((losses @ Z) ** 2 @ (1.0 / penalty))) / float(losses.sum())
        if upper <= 1e-14:
            return losses, w, 0.0
        lower = float((Z @ w).min()) / float(np.sqrt(penalty @ (w * w)))
        gap = 1.0 - lower / upper
        if gap >= best:
            break
        best, point = gap, (losses, w, gap)
        if gap <= rtol / 4:
            break
    return point


def _minimise(Z: Floats, w: Floats, penalty: Floats, clock: Clock) -> tuple[Floats, Floats]:
    """The w that minimises ``penalty·w²/2 + Σ max(0, 1 - z_i·w)²/2``, and its losses."""
    scores = Z @ w
    last = None
    for _ in range(_STEPS):
        active = scores < 1.0
        if last is not None and np.array_equal(active, last):
            break
        last = active
        clock.require(_SECONDS * np.count_nonzero(active) * len(w) ** 2)
        w, scores = damped_newton_step(Z, w, scores, penalty)
    return w, dual_variables(scores)
