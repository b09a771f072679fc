"""Passive-aggressive learning: the smallest change of w that gives an example the margin 1.

ℓ = 1 - y·(w·x + b) is the loss of an example, ℓ* that of any u; the bounds below are theorems 2, 4
and 5 of the paper, and PA makes at most R²·‖u‖² mistakes. With ``multiclass="joint"`` the margin is
that between the right class and its best rival, and x counts twice, once for each (section 8 there,
the single-constraint update).
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
    """All three variants: the largest τ, and the number added to the squared length of x."""

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
    """The coefficients 1, τ and 0; see :func:`rosenblatt.rules.answer`.

    Sample weight ω multiplies the aggressiveness C. For PA (where the first copy gives the margin
    1) and for PA-I this is equivalent to ω copies in a row.

    >>> answer(passive_aggressive(0.1), 0.5, 2.0, 0.0, 0.0, 1.0, 1.0)
    (1.0, 0.1, 0.0)
    """
    slack = square + rule.slack / weight
    if not margin < 1.0 or slack <= 0.0:
        return 1.0, 0.0, 0.0
    return 1.0, min(weight * rule.largest, (1.0 - margin) / slack), 0.0
