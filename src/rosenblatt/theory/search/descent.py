"""Separators and balances by L-BFGS: each step takes two passes over the rows.

Minimise the squared hinge loss ``Σ max(0, 1 - z_i·w)²/2`` by L-BFGS (D. Liu, J. Nocedal, 1989). If
the rows are separable, w soon separates them. If not, the gradient ``-Σ ξ_i·z_i`` with the losses
``ξ_i = max(0, 1 - z_i·w)`` tends to zero, and long before it is zero the losses are a balance
(:mod:`rosenblatt.theory.search.approximate_gordan`), which proves that no hyperplane separates.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from rosenblatt.theory.search.matrices import Floats
from rosenblatt.theory.search.squared_hinge_newton import MIN_SCORE, Descent

# The fewest and the most steps; in between, as many as read this many matrix entries.
_MIN_STEPS, MAX_STEPS, _NUMBERS = 60, 800, 1 << 26
_MEMORY = 10
# A line search ends when the slope has fallen to this fraction.
_SLOPE_RATIO = 0.5
# Limits for the relative change that would turn the losses into a balance, estimated along one
# direction: its mean square (for few columns; for many, times the columns) and its maximum.
_MEAN_SQUARE, _COLUMNS_MEAN_SQUARE, _MAX_CHANGE = 0.008, 1.2, 0.85
# The factor by which the squared gradient norm must fall before a balance is tested for again.
_RETRY_RATIO = 0.25


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
            found = balanced(losses)
            if found is not None:
                return Descent("balanced", w, found)
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
    low, high, length = 0.0, np.inf, 0.0
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
