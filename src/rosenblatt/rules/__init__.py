"""The update coefficients of each member of the family, as pure functions of numbers.

A member computes the *margin* ``m = y·(w·x + b)`` of an example, and from it the coefficients of
its update. The reference calls these functions and the engine compiles the same source, so that
both compute the same.

The perceptron has one coefficient, τ (:mod:`rosenblatt.rules.perceptron`). Every other member is a
named tuple of its parameters, and :func:`answer` returns three: the factor of w, τ, and β. Then
``w ← factor·w + τ·y·Σx`` and ``Σ -= β·Σx·xᵀΣ``, with Σ = I for members without variances. ``RULES``
lists all members by name with condition, update, bound and paper.
"""

from __future__ import annotations

import math
from typing import Any

from rosenblatt.rules import gradient, passive_aggressive, projected, second_order
from rosenblatt.rules.perceptron import MISTAKE_RULES, Rule, is_within, lag, step, thresholds
from rosenblatt.rules.perceptron import RULES as _PERCEPTRON

FAMILY = {
    **passive_aggressive.RULES, **second_order.RULES, **projected.RULES, **gradient.RULES,
}  # fmt: skip
RULES = {**_PERCEPTRON, **FAMILY}

ANSWERS: dict[str, Any] = {
    "Pa": passive_aggressive.answer,
    "Alma": projected.alma,
    "Romma": projected.romma,
    "Descent": gradient.descent,
    "Truncated": gradient.descent,
    "Arow": second_order.arow,
    "Narow": second_order.narow,
    "Cw": second_order.cw,
    "Scw1": second_order.scw1,
    "Scw2": second_order.scw2,
    "Nherd": second_order.nherd,
    "Sop": second_order.sop,
    "AdaGrad": gradient.adaptive,
    "Ftrl": gradient.adaptive,
}
SECOND_ORDER = ("Arow", "Narow", "Cw", "Scw1", "Scw2", "Nherd", "Sop")
ADAPTIVE = ("AdaGrad", "Ftrl")


def answer(
    rule: Any, margin: float, square: float, norm: float, updates: float, weight: float, eta: float
) -> tuple[float, float, float]:
    """The coefficients of a member's update: the factor of w, τ, and β. Without one: 1, 0, 0.

    Parameters
    ----------
    rule : named tuple
        The member and its parameters, such as ``second_order.Arow(r=1.0)``.
    margin : float
        ``y·(w·x + b)``.
    square : float
        ``‖(x,c)‖²``; the variance ``(x,c)ᵀΣ(x,c)`` for members with variances.
    norm : float
        ``‖(w, b/c)‖²``, for members that use it.
    updates : float
        The number of earlier updates.
    weight : float
        The sample weight ω.
    eta : float
        The learning rate, for members that have one.

    Examples
    --------
    >>> from rosenblatt.rules.second_order import Arow
    >>> answer(Arow(r=1.0), 0.0, 3.0, 0.0, 0.0, 1.0, 1.0)
    (1.0, 0.25, 0.25)
    """
    found: tuple[float, float, float] = ANSWERS[type(rule).__name__](
        rule, margin, square, norm, updates, weight, eta
    )
    return found


def pa_limit(rule: passive_aggressive.Pa) -> float:
    """The margin above which PA never updates."""
    return 1.0


def romma_limit(rule: projected.Romma) -> float:
    """The margin above which ROMMA never updates."""
    return rule.target


def no_limit(rule: Any) -> float:
    """Infinity: the margin alone does not tell whether there is an update."""
    return math.inf


__all__ = [
    "ADAPTIVE",
    "ANSWERS",
    "FAMILY",
    "MISTAKE_RULES",
    "RULES",
    "SECOND_ORDER",
    "Rule",
    "answer",
    "is_within",
    "lag",
    "no_limit",
    "pa_limit",
    "romma_limit",
    "step",
    "thresholds",
]
