"""Separators and balances by quasi-Newton steps: two passes over the rows each, and few steps.

Minimise ``Σ max(0, 1 - z_i·w)²/2`` by L-BFGS (D. Liu, J. Nocedal, 1989). If a hyperplane separates
the rows, w soon does. If not, the losses ``ξ_i = max(0, 1 - z_i·w)`` pull against each other: the
gradient ``-Σ ξ_i·z_i`` falls to zero, and long before it is zero the losses are a balance
(:mod:`rosenblatt.theory.search.approximate_gordan`), which proves that nothing separates.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from rosenblatt.theory.search.matrices import Floats, column_lengths, combine, times
from rosenblatt.theory.search.squared_hinge_newton import newton_step

# Steps: fewest and most, and the numbers that are read by them, if not so by the fewest.
_FEWEST, MOST_STEPS, _NUMBERS = 60, 800, 1 << 26
_MEMORY = 10
# Newton's steps along a line.
_TRIES = 2
# By which share the losses may have to change to be a balance, as far as one can see: the mean of
# the squares, which counts for more with more columns, and the largest.
_SHARE, _SHARES, _FAR = 0.008, 1.2, 0.85
# By which share the gradient must have fallen where they were not.
_AGAIN = 0.25
# Columns whose squares exceed the mean by so much would dictate the steps: ones in sparse rows.
_LONG = 8.0
# Up to so many columns, Newton's steps take less time, as they are fewer.
_NARROW = 32
# A separator must clear every row by this much; the scale is that of scores around one.
CLEAR = 1e-3


class Descent(NamedTuple):
    """Where the descent ended.

    `outcome` is ``"separated"``: ``Zw > 0``; ``"balanced"``: the test found weights in balance near
    the losses, which take their place; or ``"unsure"``: the steps ran out.
    """

    outcome: str
    w: Floats
    losses: Floats


def descend(
    Z: Any,
    start: Floats | None = None,
    balanced: Callable[[Floats], Floats | None] = lambda losses: None,
    tick: Callable[[], object] = lambda: None,
    steps: int = MOST_STEPS,
    numbers: int = _NUMBERS,
) -> Descent:
    """Separate rows of length one, or find losses near which the test `balanced` finds a balance.

    The test is expensive and only asked where it may succeed. `tick` is called before each step; it
    may raise to end the work. There are at most so many `steps`, and fewer if they would read more
    than so many `numbers`.

    Examples
    --------
    >>> descend(np.array([[0.6, 0.8], [0.8, -0.6]])).outcome
    'separated'
    """
    w = np.zeros(Z.shape[1]) if start is None else start
    deficits = 1.0 - times(Z, w) if w.any() else np.ones(Z.shape[0])
    losses = np.maximum(deficits, 0.0)
    gradient = -combine(Z, losses)
    narrow = 0 < Z.shape[1] <= _NARROW and not sparse.issparse(Z)
    scaling = _column_scaling(Z) if sparse.issparse(Z) else np.ones(Z.shape[1])
    memory = _Memory(scaling)
    again, share = np.inf, min(_SHARE, _SHARES / max(Z.shape[1], 1))
    entries = Z.nnz if sparse.issparse(Z) else Z.size
    for _ in range(min(max(_FEWEST, numbers // max(entries, 1)), steps)):
        tick()
        if narrow and np.count_nonzero(losses) > Z.shape[1]:
            direction = newton_step(Z, w, 1.0 - deficits)
        else:
            direction = memory.direction(gradient)
        slopes = times(Z, direction)
        size = float(gradient @ (scaling * gradient))
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
        last, gradient = gradient, -combine(Z, losses)
        memory.add(step, gradient - last)
    return Descent("unsure", w, losses)


def _column_scaling(Z: Any) -> Floats:
    """How far to go along each column: less along those that are much longer than the others."""
    sizes = column_lengths(Z) ** 2
    return np.asarray(1.0 / np.maximum(sizes / max(_LONG * sizes.mean(), 1e-300), 1.0))


def _is_near(losses: Floats, slopes: Floats, share: float) -> bool:
    """Whether losses are near a balance, as far as one can see along a direction with these slopes.

    To cancel along v, whose slopes are ``z_i·v``, losses ξ_i have to become ``ξ_i·(1 - t_i)`` with
    t a multiple of ``ξ_i·z_i·v``, at least.
    """
    pulls = losses * slopes
    size, total = float(pulls @ pulls), float(pulls.sum())
    if not total * total <= share * size * np.count_nonzero(losses):
        return False
    return bool(max(total * pulls.max(), total * pulls.min()) <= _FAR * size)


def _line_search(deficits: Floats, losses: Floats, slopes: Floats) -> tuple[float, Floats, Floats]:
    """How far to go, nearly to where the objective is least along the slopes, and what is there.

    Scores lack so much to one; losses are what is positive of it. By Newton's method on the
    derivative, which rises from piece to piece. Where that leads astray, a step along which the
    objective falls enough and its slope has lessened (Wolfe).
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
    """The last few steps and what they did to the gradient: a model of the curvature.

    It starts from a diagonal one, up to a factor; `scaling` is the inverse of that.
    """

    def __init__(self, scaling: Floats) -> None:
        self.scaling = scaling
        self.pairs: deque[tuple[Floats, Floats, float]] = deque(maxlen=_MEMORY)

    def add(self, step: Floats, change: Floats) -> None:
        curvature = float(step @ change)
        if curvature > 1e-14 * float(np.linalg.norm(step) * np.linalg.norm(change)):
            self.pairs.append((step, change, 1.0 / curvature))

    def direction(self, gradient: Floats) -> Floats:
        """The quasi-Newton direction: the two loops of L-BFGS."""
        q = -gradient
        if not self.pairs:
            q = self.scaling * q
            return q / max(float(np.linalg.norm(q)), 1e-300)
        shares = []
        for step, change, rho in reversed(self.pairs):
            shares.append(rho * float(step @ q))
            q = q - shares[-1] * change
        _, change, rho = self.pairs[-1]
        q = self.scaling * q / (rho * float(change @ (self.scaling * change)))
        for (step, change, rho), share in zip(self.pairs, reversed(shares), strict=True):
            q = q + (share - rho * float(change @ q)) * step
        return q
