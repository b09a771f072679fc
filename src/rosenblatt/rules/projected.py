"""Large-margin learners that scale the weights: ALMA and ROMMA.

ALMA_2(α) approximates the largest margin γ* by (1 - α)·γ*, with C = sqrt(2), B = sqrt(8)/α (theorem
3 of the paper); k counts the updates from 1, and w stays in the unit ball. The bound of ROMMA is
theorem 4 and lemma 3 of its paper. Both use the padded example (x, c): the bias is part of the
length of w.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from rosenblatt.rules.perceptron import Rule

_ROMMA = "Y. Li, P. Long (2002), The relaxed online maximum margin algorithm, Machine Learning 46"
RULES = {
    "alma": Rule(
        condition="y·w·x̂ <= (1-α)·B/sqrt(k), x̂ = (x,c)/‖(x,c)‖",
        update="w += C/sqrt(k)·y·x̂, then w /= max(1, ‖w‖)",
        bound="at most (2/γ*²)·(2/α - 1)² + 8/α - 4 updates; then the margin is (1-α)·γ* or more",
        paper="C. Gentile (2001), A new approximate maximal margin classification algorithm, "
        "JMLR 2",
    ),
    "romma": Rule(
        condition="y·(w·x + b) <= 0",
        update="the shortest w' with y·w'·x >= 1 and w'·w >= ‖w‖²",
        bound="at most R²·‖u‖² mistakes, u the shortest that separates with margin 1",
        paper=_ROMMA,
    ),
    "aromma": Rule(
        condition="y·(w·x + b) < 1",
        update="the shortest w' with y·w'·x >= 1 and w'·w >= ‖w‖²",
        bound="at most R²·‖u‖² mistakes, u the shortest that separates with margin 1",
        paper=_ROMMA,
    ),
}


class Alma(NamedTuple):
    """ALMA_2: 1 - α, B, C, and 1 if examples are scaled to length 1, else 0."""

    share: float
    B: float
    C: float
    normalize: float


class Romma(NamedTuple):
    """ROMMA: the margin up to which it updates, 0, or 1 for the aggressive variant."""

    target: float


def alma(
    rule: Alma, margin: float, square: float, norm: float, updates: float, weight: float, eta: float
) -> tuple[float, float, float]:
    """The factor of w, τ, and 0; sample weight ω multiplies the step.

    >>> [round(a, 4) for a in alma(Alma(0.1, 1.1, 2**0.5, 1.0), 0.0, 4.0, 0.0, 0.0, 1.0, 1.0)]
    [0.7071, 0.5, 0.0]
    """
    length = math.sqrt(square) if rule.normalize > 0.0 else 1.0
    root = math.sqrt(updates + 1.0)
    if square <= 0.0 or not margin <= rule.share * rule.B / root * length:
        return 1.0, 0.0, 0.0
    tau = weight * rule.C / (root * length)
    after = norm + 2.0 * tau * margin + tau * tau * square
    kept = 1.0 / math.sqrt(after) if after > 1.0 else 1.0
    return kept, kept * tau, 0.0


def romma(
    rule: Romma, margin: float, square: float, norm: float, updates: float, weight: float,
    eta: float,
) -> tuple[float, float, float]:  # fmt: skip
    """The factor of w, τ, and 0. Further copies of an example change nothing.

    The new w meets both constraints with equality, or only the first where it then meets the
    second, too. If x and w are parallel, or w is 0, w moves along x to the margin 1.

    >>> romma(Romma(0.0), 0.0, 4.0, 0.0, 0.0, 1.0, 1.0)
    (1.0, 0.25, 0.0)
    """
    if square <= 0.0 or not (margin <= 0.0 or margin < rule.target):
        return 1.0, 0.0, 0.0
    apart = square * norm - margin * margin
    if apart <= 1e-12 * square * norm:
        return 1.0, (1.0 - margin) / square, 0.0
    if square * norm <= margin:
        return 0.0, 1.0 / square, 0.0
    return (square * norm - margin) / apart, norm * (1.0 - margin) / apart, 0.0
