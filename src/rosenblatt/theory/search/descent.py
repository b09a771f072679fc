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
from rosenblatt.theory.search.squared_hinge_newton import CLEAR, Descent, newton_step

# The fewest and the most steps; in between, as many as read this many numbers.
_FEWEST, MOST_STEPS, _NUMBERS = 60, 800, 1 << 26
_MEMORY = 10
# Newton steps of a line search.
_TRIES = 2
# The relative change of the losses that a balance may need, as estimated along one direction: the
# mean square, for few and for many columns, and the largest.
_SHARE, _SHARES, _FAR = 0.008, 1.2, 0.85
# The factor by which the gradient must fall before the test for a balance is tried again.
_AGAIN = 0.25
# Up to this many columns Newton's method is faster, as it takes fewer steps.
_NARROW = 32


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

    Examples
    --------
    >>> descend(np.array([[0.6, 0.8], [0.8, -0.6]])).outcome
    'separated'
    """
    w = np.zeros(Z.shape[1]) if start is None else start
    deficits = 1.0 - Z @ w if w.any() else np.ones(Z.shape[0])
    losses = np.maximum(deficits, 0.0)
    gradient = -(Z.T @ losses)
    narrow = 0 < Z.shape[1] <= _NARROW and not sparse.issparse(Z)
    memory = _Memory()
    again, share = np.inf, min(_SHARE, _SHARES / max(Z.shape[1], 1))
    entries = Z.nnz if sparse.issparse(Z) else Z.size
    for _ in range(min(max(_FEWEST, numbers // max(entries, 1)), steps)):
        tick()
        if narrow and np.count_nonzero(losses) > Z.shape[1]:
            direction = newton_step(Z, w, 1.0 - deficits)
        else:
            direction = memory.direction(gradient)
        slopes = Z @ direction
        size = float(gradient @ gradient)
        if size < again and _is_near(losses, slopes, share):
            found = balanced(losses)
            if found is not None:
                return Descent("balanced", w, found)
            again = _AGAIN * size
        length, deficits, losses = _line_search(deficits, losses, slopes)
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


def _line_search(deficits: Floats, losses: Floats, slopes: Floats) -> tuple[float, Floats, Floats]:
    """The step length that nearly minimises the objective, and the deficits and losses there.

    A deficit is one minus the score, a loss its positive part. Newton's method on the derivative,
    which is piecewise linear and rising; if that fails, a step that satisfies Wolfe's conditions.
    """
    value, slope = float(losses @ losses), -float(losses @ slopes)
    length, there, here = 0.0, deficits, losses
    for _ in range(_TRIES):
        curvature = float((slopes * (here > 0)) @ slopes)
        if not curvature > 0:
            break
        length += float(here @ slopes) / curvature
        there = deficits - length * slopes
        here = np.maximum(there, 0.0)
    if length > 0 and float(here @ here) < value + 2e-4 * length * slope:
        return length, there, here
    low, high, length = 0.0, np.inf, 1.0
    for _ in range(30):
        here = np.maximum(deficits - length * slopes, 0.0)
        rise = -float(here @ slopes)
        if float(here @ here) > value + 2e-4 * length * slope or rise > 0.5 * abs(slope):
            high = length
        elif rise < 0.5 * slope:
            low = length
        else:
            break
        length = 2.0 * low if high == np.inf else (low + high) / 2
    there = deficits - length * slopes
    return length, there, np.maximum(there, 0.0)


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
