"""Passive-aggressive learning: the smallest change that repairs the margin of an example.

ℓ = 1 - y·(w·x + b) is the loss of an example, ℓ* that of any u; the bounds below are theorems 2, 4
and 5 of the paper, and of the mistakes of PA there are R²·‖u‖² at most. With several classes at
once the margin is that between the right class and its best rival, and x counts twice, once for
each (section 8 there, the single-constraint update).
"""

from __future__ import annotations

import math
from typing import NamedTuple

from rosenblatt.rules.perceptron import Rule

_PAPER = (
    "K. Crammer, O. Dekel, J. Keshet, S. Shalev-Shwartz, Y. Singer (2006), Online "
    "passive-aggressive algorithms, JMLR 7"
)
RULES = {
    "pa": Rule(
        condition="ℓ = 1 - y·(w·x + b) > 0",
        update="τ = ℓ/‖(x,c)‖², w += τ·y·x, b += τ·y·c²",
        bound="Σ ℓ² <= R²·‖u‖² for every u that separates with margin 1",
        paper=_PAPER,
    ),
    "pa1": Rule(
        condition="ℓ = 1 - y·(w·x + b) > 0",
        update="τ = min(C, ℓ/‖(x,c)‖²), w += τ·y·x, b += τ·y·c²",
        bound="at most max(R², 1/C)·(‖u‖² + 2C·Σ ℓ*) mistakes, ℓ* the losses of any u",
        paper=_PAPER,
    ),
    "pa2": Rule(
        condition="ℓ = 1 - y·(w·x + b) > 0",
        update="τ = ℓ/(‖(x,c)‖² + 1/(2C)), w += τ·y·x, b += τ·y·c²",
        bound="Σ ℓ² <= (R² + 1/(2C))·(‖u‖² + 2C·Σ ℓ*²), ℓ* the losses of any u",
        paper=_PAPER,
    ),
}


class Pa(NamedTuple):
    """All three variants: the largest τ, and what is added to the squared length of x."""

    largest: float
    slack: float


def passive_aggressive(C: float = 1.0, variant: str = "I") -> Pa:
    """The rule of a variant: ``""``, ``"I"`` or ``"II"``.

    >>> passive_aggressive(0.5, "II")
    Pa(largest=inf, slack=1.0)
    """
    return Pa(C if variant == "I" else math.inf, 1 / (2 * C) if variant == "II" else 0.0)


def answer(
    rule: Pa, margin: float, square: float, norm: float, updates: float, weight: float, eta: float
) -> tuple[float, float, float]:
    """How much of w is kept, τ, and 0: see :func:`rosenblatt.rules.answer`.

    An example of weight ω has ω times the aggressiveness C. That is what ω copies in a row come to
    for PA (nothing more: after one the margin is repaired) and for PA-I.

    >>> answer(passive_aggressive(0.1), 0.5, 2.0, 0.0, 0.0, 1.0, 1.0)
    (1.0, 0.1, 0.0)
    """
    slack = square + rule.slack / weight
    if not margin < 1.0 or slack <= 0.0:
        return 1.0, 0.0, 0.0
    return 1.0, min(weight * rule.largest, (1.0 - margin) / slack), 0.0
