"""Passive-aggressive learning: the smallest change of w that gives an example the margin 1.

ℓ = 1 - y·(w·x + b) is the loss of an example, ℓ* that of any u; the bounds below are theorems 2, 4
and 5 of the paper, and PA makes at most R²·‖u‖² mistakes. With ``multiclass="joint"`` the margin is
that between the right class and its best rival, and x counts twice, once for each (section 8 there,
the single-constraint update).
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

from rosenblatt.rules.registry import Parameter, Rule


class Pa(NamedTuple):
    """All three variants: the largest τ, and the number added to the squared length of x."""

    largest: float
    slack: float


def passive_aggressive(C: float = 1.0, variant: str = "I") -> Pa:
    """The rule of a variant: ``""``, ``"I"`` or ``"II"``.

    >>> passive_aggressive(0.5, "II")
    Pa(largest=inf, slack=1.0)
    """
    return Pa(float(C) if variant == "I" else math.inf, 1 / (2 * C) if variant == "II" else 0.0)


def unit_margin(rule: Pa) -> float:
    """1: no example of a larger margin is corrected."""
    return 1.0


def step(rule: Pa, margin: float, square: float, weight: float, eta: float) -> float:
    """The coefficient τ.

    Sample weight ω multiplies the aggressiveness C. For PA (where the first copy gives the margin
    1) and for PA-I this is equivalent to ω copies in a row.

    >>> step(passive_aggressive(0.1), 0.5, 2.0, 1.0, 1.0)
    0.1
    """
    slack = square + rule.slack / weight
    if not margin < 1.0 or slack <= 0.0:
        return 0.0
    return min(weight * rule.largest, (1.0 - margin) / slack)


PA1 = Rule(
    name="pa1",
    estimator="PassiveAggressive",
    fixed={"variant": "I"},
    numbers=Pa,
    numbers_of=passive_aggressive,
    step=step,
    limit=unit_margin,
    parameters={
        "C": Parameter(
            1.0,
            "float, default=1.0. Aggressiveness: the largest step of variant I; the weight of the "
            "squared loss in variant II.",
            above=0,
        ),
        "variant": Parameter(
            "I",
            '{"", "I", "II"}, default="I". "" has no limit: every margin is raised to 1.',
            choices=("", "I", "II"),
        ),
    },
    condition="ℓ = 1 - y·(w·x + b) > 0",
    update="τ = min(C, ℓ/‖(x,c)‖²), w += τ·y·x, b += τ·y·c²",
    bound="at most max(R², 1/C)·(‖u‖² + 2C·Σ ℓ*) mistakes, ℓ* the losses of any u",
    paper="K. Crammer, O. Dekel, J. Keshet, S. Shalev-Shwartz, Y. Singer (2006), Online "
    "passive-aggressive algorithms, JMLR 7",
    summary="""Passive-aggressive learning: the smallest change that gives an example margin 1.

    The weight of an example multiplies C.""",
    example="""\
    >>> from sklearn.datasets import load_iris
    >>> from rosenblatt import PassiveAggressive
    >>> X, y = load_iris(return_X_y=True)
    >>> model = PassiveAggressive(random_state=0).fit(X[:100], y[:100])
    >>> model.n_updates_, model.score(X[:100], y[:100])
    (25, 1.0)""",
)
RULES = (
    PA1,
    replace(
        PA1,
        name="pa",
        fixed={"variant": ""},
        update="τ = ℓ/‖(x,c)‖², w += τ·y·x, b += τ·y·c²",
        bound="Σ ℓ² <= R²·‖u‖² for every u that separates with margin 1",
    ),
    replace(
        PA1,
        name="pa2",
        fixed={"variant": "II"},
        update="τ = ℓ/(‖(x,c)‖² + 1/(2C)), w += τ·y·x, b += τ·y·c²",
        bound="Σ ℓ² <= (R² + 1/(2C))·(‖u‖² + 2C·Σ ℓ*²), ℓ* the losses of any u",
    ),
)
