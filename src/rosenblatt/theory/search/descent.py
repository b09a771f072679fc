"""Separators and balances by a quasi-Newton descent: few steps of two passes over the rows each.

Minimise ``Σ max(0, 1 - z_i·w)²/2`` by L-BFGS (D. Liu, J. Nocedal, 1989). If a hyperplane separates
the rows, w soon does. If not, the losses ``ξ_i = max(0, 1 - z_i·w)`` pull against each other: the
gradient ``-Σ ξ_i·z_i`` falls to zero, and long before it is zero the losses are a balance
(:mod:`rosenblatt.theory.search.approximate_gordan`), which proves that nothing separates.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from rosenblatt.theory.search.matrices import Floats
from rosenblatt.theory.search.squared_hinge_newton import CLEAR, Descent

# The fewest and the most steps; in between, as many as read this many numbers.
_FEWEST, MOST_STEPS, _NUMBERS = 60, 800, 1 << 26
_MEMORY = 10
# A line search ends where the slope has fallen to this share.
_FLAT = 0.5
# The relative change of the losses that a balance may need, as estimated along one direction: the
# mean square, for few and for many columns, and the largest.
_SHARE, _SHARES, _FAR = 0.008, 1.2, 0.85
# The factor by which the gradient must fall before the test for a balance is tried again.
_AGAIN = 0.25


def descend(
    Z: Any,
    start: Floats | None = None,
    balanced: Callable[[Floats], Floats | None] = lambda losses: None,
    tick: Callable[[], object] = lambda: None,
    steps: int = MOST_STEPS,
    numbers: int = _NUMBERS,
) -> Descent:
    """Separate rows of length one, or find losses near which the test `balanced` finds a balance.

    The test is expensive and only tried where it may succeed. `tick` is called before each step; it
    may raise to stop. `steps` limits the steps, `numbers` the numbers that they read.
    """
    w = np.zeros(Z.shape[1]) if start is None else start
    deficits = 1.0 - Z @ w if w.any() else np.ones(Z.shape[0])
    losses = np.maximum(deficits, 0.0)
    gradient = -(Z.T @ losses)
    memory = _Memory()
    again, share = np.inf, min(_SHARE, _SHARES / max(Z.shape[1], 1))
    entries = Z.nnz if sparse.issparse(Z) else Z.size
    for _ in range(min(max(_FEWEST, numbers // max(entries, 1)), steps)):
        tick()
        direction = memory.direction(gradient)
        slopes = Z @ direction
        size = float(gradient @ gradient)
        if size < again and _is_near(losses, slopes, share):
            found = balanced(losses)
            if found is not None:
                return Descent("balanced", w, found)
            again = _AGAIN * size
        length, deficits, losses = _line_search(deficits, slopes)
        step = length * direction
        w = w + step
        if deficits.max() < 1.0 - CLEAR:
            return Descent("separated", w, losses)
        last, gradient = gradient, -(Z.T @ losses)
        memory.add(step, gradient - last)
    return Descent("unsure", w, losses)


def _is_near(losses: Floats, slopes: Floats, share: float) -> bool:
    """Whether losses may be near a balance, judged along one direction v with slopes ``z_i·v``.

    To cancel along v, losses ξ_i have to become ``ξ_i·(1 - t_i)`` with t a multiple of
    ``ξ_i·z_i·v``, at least.
    """
    pulls = losses * slopes
    size, total = float(pulls @ pulls), float(pulls.sum())
    if not total * total <= share * size * np.count_nonzero(losses):
        return False
    return bool(max(total * pulls.max(), total * pulls.min()) <= _FAR * size)


def _line_search(deficits: Floats, slopes: Floats) -> tuple[float, Floats, Floats]:
    """The step length that nearly minimises the objective, and the deficits and losses there.

    A deficit is one minus the score, a loss its positive part. Newton's method on the derivative,
    which is piecewise linear and rising; bisection where that leaves the bracket.
    """
    losses = np.maximum(deficits, 0.0)
    low, high, length = 0.0, np.inf, 0.0
    pull = first = float(losses @ slopes)
    for _ in range(30):
        curvature = float((slopes * (losses > 0)) @ slopes)
        length = length + pull / curvature if curvature > 0 else np.inf
        if not low < length < high:
            length = (low + high) / 2 if high < np.inf else max(2.0 * low, 1.0)
        there = deficits - length * slopes
        losses = np.maximum(there, 0.0)
        pull = float(losses @ slopes)
        if abs(pull) <= _FLAT * abs(first):
            break
        low, high = (length, high) if pull > 0 else (low, length)
    return length, there, losses


class _Memory:
    """The last steps and the changes of the gradient: the limited memory of L-BFGS."""

    def __init__(self) -> None:
        self.pairs: deque[tuple[Floats, Floats, float]] = deque(maxlen=_MEMORY)

    def add(self, step: Floats, change: Floats) -> None:
        curvature = float(step @ change)
        if curvature > 1e-14 * float(np.linalg.norm(step) * np.linalg.norm(change)):
            self.pairs.append((step, change, 1.0 / curvature))

    def direction(self, gradient: Floats) -> Floats:
        """The quasi-Newton direction: the two loops of L-BFGS."""
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
