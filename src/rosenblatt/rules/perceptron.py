"""The perceptron's step: online, batch and joint.

The conventions (ties, padding, steps and updates) are stated in :mod:`rosenblatt.reference`. The
engine and the record below have the online rule. There are two others:

- *Batch*: ``w += η·Σ y·x`` over all rows with ``y·(w·x + b) <= δ`` at once, a gradient step on the
  perceptron criterion, in finitely many iterations when a line separates the rows (R. Duda, P.
  Hart, D. Stork (2001), Pattern Classification, section 5.5).
- *Joint*: where ``(w_y - w_r)·x + b_y - b_r <= δ`` for the best wrong class r, ``w_y += η·x, w_r -=
  η·x``; at most 2R²/γ² updates, γ the smallest gap under ‖W‖ = 1 (K. Crammer, Y. Singer (2003),
  Ultraconservative online algorithms, JMLR 3).
"""

from __future__ import annotations

import math
from typing import NamedTuple

from rosenblatt.rules.registry import Rule

MISTAKE_RULES = ("margin", "sign")
BELOW_ZERO = -2.2250738585072014e-308  # a limit that only negative margins meet: minus the least
# positive normal double, so that it is negative also where denormal numbers count as zero


class Thresholds(NamedTuple):
    """The largest margin that counts as a mistake, for y = -1 and for y = +1."""

    below: float = 0.0
    above: float = 0.0


def thresholds(mistake: str, threshold: float) -> Thresholds:
    """The perceptron's numbers for what counts as a mistake.

    With the rule ``"margin"`` a mistake is ``y·s <= δ`` for both. With the rule ``"sign"`` it is a
    wrong predicted sign; as ``sign(0) = -1``, a score of zero is right for y = -1, so that only
    margins *below* zero are mistakes there: :func:`is_within` compares with a negative limit so.

    >>> thresholds("margin", 1.0)
    Thresholds(below=1.0, above=1.0)
    >>> thresholds("sign", 0.0)
    Thresholds(below=-2.2250738585072014e-308, above=0.0)
    """
    if mistake == "margin":
        return Thresholds(float(threshold), float(threshold))
    return Thresholds(BELOW_ZERO, 0.0)


def is_within(margin: float, threshold: float) -> bool:
    """Whether a margin is a mistake: at most the threshold, or below zero by `BELOW_ZERO`.

    That limit is compared strictly with zero: a process in which a library has switched off
    denormal numbers would take the double next to zero for zero.

    >>> is_within(0.0, 0.0), is_within(0.0, BELOW_ZERO), is_within(-5e-324, BELOW_ZERO)
    (True, False, True)
    """
    return margin < 0.0 if threshold < 0.0 else margin <= threshold


def step(margin: float, threshold: float, eta: float, weight: float, sqnorm: float) -> float:
    """The perceptron's coefficient τ for an example of sample weight `weight`.

    An example of weight ω is equivalent to ω copies of it, shown in a row: each adds η to τ while
    the example is still mistaken. So ``τ = η·min(ω, k)``, where k is the number of updates after
    which the margin exceeds the threshold, since each adds ``η·‖(x,c)‖²`` to it. With ω = 1 this is
    the textbook rule. (N. Karampatziakis, J. Langford (2011), Online importance weight aware
    updates.)

    >>> step(-3.0, 0.0, 1.0, 1.0, 2.0), step(-3.0, 0.0, 1.0, 5.0, 2.0)
    (1.0, 2.0)

    With the sign rule a score of zero is right for y = -1, so that one update is enough here:

    >>> step(-1.0, thresholds("sign", 0.0)[0], 1.0, 5.0, 1.0)
    1.0
    """
    if not is_within(margin, threshold):
        return 0.0
    if weight <= 1.0:
        return eta * weight
    gain = eta * sqnorm
    if gain <= 0.0:
        return eta * weight
    needed = math.floor((threshold - margin) / gain) + 1.0
    if margin + (needed - 1.0) * gain > threshold:  # the difference was rounded up
        needed -= 1.0
    return eta * min(weight, needed)


def lag(tau: float, eta: float, time: float) -> float:
    """The coefficient of ``y·x`` that an update by τ at `time` adds to the averaging sum u.

    The average is the mean of the weights over all steps, computed lazily: ``u += (k-1)·Δ`` for the
    change Δ of step k; then the mean of N steps is ``w - u/N``. An update of ``m = τ/η`` copies is
    m such changes in a row, the last one fractional.

    >>> lag(1.0, 1.0, 4.0), lag(3.0, 1.0, 4.0)
    (4.0, 15.0)
    """
    if eta == 0.0:
        return 0.0
    copies = tau / eta
    whole = math.floor(copies)
    rest = copies - whole
    return eta * (whole * time + 0.5 * whole * (whole - 1.0) + rest * (time + whole))


def online(rule: Thresholds, margin: float, square: float, weight: float, eta: float) -> float:
    """The coefficient τ for y = +1, see :func:`step`.

    >>> online(Thresholds(), -1.0, 2.0, 1.0, 1.0)
    1.0
    """
    return step(margin, rule.above, eta, weight, square)


RULES = (
    Rule(
        name="perceptron",
        estimator="Perceptron",
        numbers=Thresholds,
        step=online,
        condition="y·(w·x + b) <= δ",
        update="w += η·y·x, b += η·y·c²",
        bound="at most R²/γ² updates when a line separates the rows with margin γ (δ = 0)",
        paper="F. Rosenblatt (1958), The perceptron, Psychological Review 65; "
        "A. Novikoff (1962), On convergence proofs on perceptrons",
    ),
)
