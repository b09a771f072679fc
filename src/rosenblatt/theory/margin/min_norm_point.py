"""The point of least norm in the convex hull of some rows: λ >= 0 that minimises ‖Z'λ‖/Σλ.

Few rows: non-negative least squares. Minimising ``‖Z'λ‖² + ρ²(Σλ - 1)²`` over λ >= 0 gives a
multiple of that point, whatever ρ > 0 (C. Lawson, R. Hanson, 1974, Solving Least Squares
Problems, chapter 23).

Many rows: minimising ``ε‖w‖²/2 + Σ max(0, 1 - z_i·w)²/2`` gives losses ξ with ``Z'ξ = εw``, and w
and ξ tend to the separator of largest margin and a multiple of λ as ε falls. Each ε takes a few
steps of Newton's method (`squared_hinge_newton`); once the support rows are known, one.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import nnls

from rosenblatt.theory.search.clock import ENDLESS, Clock, OutOfTimeError
from rosenblatt.theory.search.matrices import Floats
from rosenblatt.theory.search.squared_hinge_newton import advance, pulls

# From this many rows on, Newton's method is faster.
_MANY_ROWS = 128
_STEPS = 60
# Seconds of a Newton step per row, column and column again, about.
_SECONDS = 1e-10
# The weight of the offset's square, if the offset is free.
_FREE = 1e-8


def shortest(
    Z: Floats, free: bool, rtol: float, clock: Clock = ENDLESS
) -> tuple[Floats, Floats | None]:
    """The coefficients λ, up to a factor, and the separator if the method finds it as well.

    With `free`, the last column is an offset and does not count as length; then the coefficients
    of the two classes have the same sum, up to a little. OutOfTimeError if none are found in time.
    """
    size = float(np.linalg.norm(Z, axis=1).max(initial=0.0)) or 1.0
    Z = Z / size
    found = by_newton(Z, free, rtol, clock) if len(Z) >= _MANY_ROWS else None
    if found is None:
        clock.left()
        return by_least_squares(Z, free), None
    losses, w, gap = found
    support = np.flatnonzero(losses)
    if gap > rtol and len(support) < 4 * _MANY_ROWS:
        # The rest is rounding error, and these rows are few.
        losses = np.zeros(len(Z))
        losses[support] = by_least_squares(Z[support], free)
    return losses, w


def by_least_squares(Z: Floats, free: bool) -> Floats:
    """The coefficients by non-negative least squares, for rows no longer than one."""
    if free:
        Z = Z.copy()
        Z[:, -1] /= _FREE**0.5
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


def by_newton(
    Z: Floats, free: bool, rtol: float, clock: Clock = ENDLESS
) -> tuple[Floats, Floats, float] | None:
    """Coefficients, separator and gap by Newton's method, for rows no longer than one.

    Returns the best found in time, or None if the method fails. The interval between the margin of
    w and the length of ``Z'ξ`` narrows with ε until roundings widen it again.
    """
    penalty = np.ones(Z.shape[1])
    if free:
        penalty[-1] = _FREE
    w, best, found = np.zeros(Z.shape[1]), np.inf, None
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
        best, found = gap, (losses, w, gap)
        if gap <= rtol / 4:
            break
    return found


def _minimise(Z: Floats, w: Floats, penalty: Floats, clock: Clock) -> tuple[Floats, Floats]:
    """The w that minimises ``penalty·w²/2 + Σ max(0, 1 - z_i·w)²/2``, and its losses."""
    scores = Z @ w
    last = None
    for _ in range(_STEPS):
        active = scores < 1.0
        if last is not None and np.array_equal(active, last):
            break
        last = active
        clock.allow(_SECONDS * np.count_nonzero(active) * len(w) ** 2)
        w, scores, _ = advance(Z, w, scores, penalty)
    return w, pulls(scores)
