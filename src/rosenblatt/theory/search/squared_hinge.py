"""Minimising the squared hinge loss: L-BFGS first, Newton's method where that is unsure.

`descend` minimises ``Σ max(0, 1 - z_i·w)²/2`` by L-BFGS (D. Liu, J. Nocedal, 1989): each step takes
two passes over the rows. If the rows are separable, w soon separates them. If not, the gradient
``-Σ ξ_i·z_i`` with the losses ``ξ_i = max(0, 1 - z_i·w)`` tends to zero, and long before it is zero
the losses are a balance (:mod:`rosenblatt.theory.search.approximate_gordan`), which proves that no
hyperplane separates.

Newton's method takes the objective ``Σ p_j·w_j²/2 + Σ max(0, 1 - z_i·w)²/2`` with a penalty p. It
is piecewise quadratic, so Newton's method with a line search terminates (O. Mangasarian, 2002;
S. Keerthi, D. DeCoste, 2005).

`penalised_newton` decreases the penalty. If the rows are separable, w separates them once p is
small compared with the squared margin. If not, the losses ``ξ_i = max(0, 1 - z_i·w)`` have
``Σ ξ_i·z_i = p·w``, nearly zero: a contradiction, which is reduced to rank + 1 rows (Carathéodory).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, sparse

from rosenblatt.theory.search.matrices import Floats, gram

STEPS = 100
# A separator must give every row a score above this; typical scores are about one.
MIN_SCORE = 1e-3

# The fewest and the most steps; in between, as many as read this many matrix entries.
_MIN_STEPS, MAX_STEPS = 60, 800
_NUMBERS = 1 << 26
_MEMORY = 10
# A line search ends when the slope has fallen to this fraction.
_SLOPE_RATIO = 0.5
# Limits for the relative change that would turn the losses into a balance, estimated along one
# direction: its mean square (for few columns; for many, times the columns) and its maximum.
_MEAN_SQUARE, _COLUMNS_MEAN_SQUARE = 0.008, 1.2
_MAX_CHANGE = 0.85
# The factor by which the squared gradient norm must fall before a balance is tested for again.
_RETRY_RATIO = 0.25


class Descent(NamedTuple):
    """The result of a descent: w, and dual weights in `losses`.

    `outcome` is ``"separated"``: ``Zw > 0``; ``"balanced"``: the weights λ are a balance;
    ``"contradicted"``: few of them are positive and Z'λ is nearly zero; or ``"unsure"``: they are
    the losses at w.
    """

    outcome: str
    w: Floats
    losses: Floats


def descend(
    Z: Any,
    start: Floats | None = None,
    balanced: Callable[[Floats], Floats | None] = lambda losses: None,
    callback: Callable[[], object] = lambda: None,
    steps: int = MAX_STEPS,
    numbers: int = _NUMBERS,
) -> Descent:
    """Separate rows of norm one, or find losses near which `balanced` finds a balance.

    `balanced` is expensive and only called where it may succeed. `callback` is called before each
    step and may raise to stop. `steps` limits the steps, `numbers` the matrix entries they read.
    """
    w = np.zeros(Z.shape[1]) if start is None else start
    deficits = 1.0 - Z @ w if w.any() else np.ones(Z.shape[0])
    losses = np.maximum(deficits, 0.0)
    gradient = -(Z.T @ losses)
    memory = _LbfgsMemory()
    retry_below = np.inf
    mean_square = min(_MEAN_SQUARE, _COLUMNS_MEAN_SQUARE / max(Z.shape[1], 1))
    entries = Z.nnz if sparse.issparse(Z) else Z.size
    for _ in range(min(max(_MIN_STEPS, numbers // max(entries, 1)), steps)):
        callback()
        direction = memory.direction(gradient)
        slopes = Z @ direction
        size = float(gradient @ gradient)
        if size < retry_below and _may_be_near_balance(losses, slopes, mean_square):
            balance = balanced(losses)
            if balance is not None:
                return Descent("balanced", w, balance)
            retry_below = _RETRY_RATIO * size
        length, deficits, losses = _line_search(deficits, slopes)
        step = length * direction
        w = w + step
        if deficits.max() < 1.0 - MIN_SCORE:
            return Descent("separated", w, losses)
        last, gradient = gradient, -(Z.T @ losses)
        memory.add(step, gradient - last)
    return Descent("unsure", w, losses)


def _may_be_near_balance(losses: Floats, slopes: Floats, mean_square: float) -> bool:
    """Whether the losses may be near a balance, judged along a direction v with slopes ``z_i·v``.

    The smallest relative change t with ``Σ ξ_i·(1 - t_i)·z_i·v = 0`` has t_i proportional to
    ``ξ_i·z_i·v``.
    """
    moments = losses * slopes
    size, total = float(moments @ moments), float(moments.sum())
    if not total * total <= mean_square * size * np.count_nonzero(losses):
        return False
    return bool(max(total * moments.max(), total * moments.min()) <= _MAX_CHANGE * size)


def _line_search(deficits: Floats, slopes: Floats) -> tuple[float, Floats, Floats]:
    """The step length of an inexact line search, and the deficits and losses there.

    A deficit is one minus the score, a loss its positive part. Newton's method finds the root of
    the derivative, which is piecewise linear and increasing; bisection where it leaves the bracket.
    """
    losses = np.maximum(deficits, 0.0)
    low, high = 0.0, np.inf
    length = 0.0
    slope = first = float(losses @ slopes)
    for _ in range(30):
        curvature = float((slopes * (losses > 0)) @ slopes)
        length = length + slope / curvature if curvature > 0 else np.inf
        if not low < length < high:
            length = (low + high) / 2 if high < np.inf else max(2.0 * low, 1.0)
        trial = deficits - length * slopes
        losses = np.maximum(trial, 0.0)
        slope = float(losses @ slopes)
        if abs(slope) <= _SLOPE_RATIO * abs(first):
            break
        low, high = (length, high) if slope > 0 else (low, length)
    return length, trial, losses


class _LbfgsMemory:
    """The last steps and gradient changes: the limited memory of L-BFGS."""

    def __init__(self) -> None:
        self.pairs: deque[tuple[Floats, Floats, float]] = deque(maxlen=_MEMORY)

    def add(self, step: Floats, change: Floats) -> None:
        curvature = float(step @ change)
        if curvature > 1e-14 * float(np.linalg.norm(step) * np.linalg.norm(change)):
            self.pairs.append((step, change, 1.0 / curvature))

    def direction(self, gradient: Floats) -> Floats:
        """The quasi-Newton direction, by the two-loop recursion of L-BFGS."""
        q = -gradient
        if not self.pairs:
            return q / max(float(np.linalg.norm(q)), 1e-300)
        shares = []
        for step, change, rho in reversed(self.pairs):
            shares.append(rho * float(step @ q))
            q = q - shares[-1] * change
        _, change, rho = self.pairs[-1]
        q = q / (rho * float(change @ change))
        for (step, change, rho), share in zip(self.pairs, reversed(shares), strict=True):
            q = q + (share - rho * float(change @ q)) * step
        return q


def dual_variables(scores: Floats) -> Floats:
    """The hinge loss of each score, the derivative of its squared hinge loss."""
    return np.maximum(0.0, 1.0 - scores)


def newton_step(Z: Any, w: Floats, scores: Floats, penalty: float | Floats) -> Floats:
    """The Newton step from w, with scores Zw: to the minimum of the quadratic piece at w.

    `penalty` is one number, or one per weight. If there are fewer active rows than columns and one
    common penalty, the system is solved in the dual, of the size of the rows.
    """
    active = scores < 1.0
    part, inner = Z[active], scores[active]
    if isinstance(penalty, float) and part.shape[0] < len(w):
        K = gram(part.T)
        K[np.diag_indices_from(K)] += penalty
        return np.asarray(part.T @ _solve(K, np.ones(len(K)))) - w
    right = part.T @ dual_variables(inner) - penalty * w
    H = gram(part)
    H[np.diag_indices_from(H)] += penalty
    return _solve(H, right)


def _solve(H: Floats, right: Floats) -> Floats:
    try:
        factor = linalg.cho_factor(H, check_finite=False)
        return np.asarray(linalg.cho_solve(factor, right, check_finite=False))
    except linalg.LinAlgError:
        return np.asarray(np.linalg.lstsq(H, right, rcond=None)[0])


def damped_newton_step(
    Z: Any, w: Floats, scores: Floats, penalty: float | Floats
) -> tuple[Floats, Floats]:
    """Take a Newton step with a line search: the new w and its scores."""
    step = newton_step(Z, w, scores, penalty)
    slopes = np.asarray(Z @ step)

    def derivative(t: float) -> float:
        loss_slope = float(dual_variables(scores + t * slopes) @ slopes)
        return float((penalty * (w + t * step)) @ step) - loss_slope

    length = _line_minimum(derivative)
    return w + length * step, scores + length * slopes


def _line_minimum(derivative: Callable[[float], float]) -> float:
    """The step length in (0, 1] that minimises a convex function, by bisection."""
    if derivative(1.0) <= 1e-12 * abs(derivative(0.0)):
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if derivative(middle) < 0 else (low, middle)
    return high


def penalised_newton(Z: Any, callback: Callable[[], object] = lambda: None) -> Descent:
    """Separate rows of norm one, or find a contradiction, up to rounding.

    `callback` is called before each step and may raise to stop.
    """
    w, scores = np.zeros(Z.shape[1]), np.zeros(Z.shape[0])
    penalty = 1e-4
    last = np.inf
    for _ in range(STEPS):
        callback()
        w, scores = damped_newton_step(Z, w, scores, penalty)
        if scores.min() > MIN_SCORE:
            return Descent("separated", w, np.zeros(len(scores)))
        losses = dual_variables(scores)
        total = float(losses.sum())
        if float(np.linalg.norm(Z.T @ losses)) <= 1e-8 * total:
            reduced = _caratheodory_reduction(Z, losses / total)
            if reduced is None:
                return Descent("unsure", w, losses)
            return Descent("contradicted", w, reduced)
        value = float(losses @ losses + penalty * (w @ w))
        if value > (1.0 - 1e-4) * last:
            if penalty < 1e-13:
                break
            penalty, value = penalty * 1e-2, np.inf
        last = value
    return Descent("unsure", w, dual_variables(scores))


def _caratheodory_reduction(Z: Any, weights: Floats) -> Floats | None:
    """Reduce a nearly vanishing positive combination to a basis of the rows and one more row.

    Each surplus row is expanded in the basis, and its weight is moved to the basis until it is
    zero, or until the weight of a basic row is zero: then this row leaves the basis for it.
    """
    rows = np.flatnonzero(weights > 1e-7 * weights.max())
    part = Z[rows].toarray() if sparse.issparse(Z) else Z[rows]
    weight = weights[rows]
    R, order = linalg.qr((part * weight[:, None]).T, mode="r", pivoting=True)
    rank = int(np.sum(np.abs(np.diag(R)) > 1e-10 * abs(R[0, 0])))
    if rank >= len(rows):
        return None
    basis, surplus = order[:rank], order[rank:]
    tableau = linalg.solve_triangular(R[:rank, :rank], R[:rank, rank:]).T
    tableau = tableau * weight[basis] / weight[surplus][:, None]
    basis = _exchange_steps(basis.copy(), surplus, tableau, weight)
    reduced = np.zeros(len(weights))
    reduced[rows[basis]] = np.maximum(-tableau[-1], 0.0)
    reduced[rows[surplus[-1]]] = 1.0
    return reduced / reduced.sum()


def _exchange_steps(basis: Any, surplus: Any, tableau: Floats, weight: Floats) -> Any:
    """Pivot, in place, until one surplus row remains; returns its basis."""
    for k in range(len(surplus) - 1):
        j, row = surplus[k], tableau[k]
        falling = np.flatnonzero(row < -1e-11)
        limits = -weight[basis[falling]] / row[falling]
        step = min(float(limits.min(initial=np.inf)), float(weight[j]))
        weight[basis] = np.maximum(weight[basis] + step * row, 0.0)
        if step == weight[j]:
            weight[j] = 0.0
            continue
        weight[j] -= step
        out = falling[int(np.argmin(limits))]
        pivot, direction = row[out], row / row[out]
        later = tableau[k + 1 :]
        column = later[:, out].copy()
        later -= np.outer(column, direction)
        later[:, out] = column / pivot
        weight[basis[out]] = 0.0
        basis[out] = j
    return basis
