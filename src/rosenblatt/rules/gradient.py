"""Gradient steps on the loss of one example: OGD and SGD, AdaGrad, FTRL-proximal.

The losses, of the margin m = y·(w·x + b): the hinge ``max(0, 1 - m)``, its square, and the
perceptron's ``max(0, -m)``; their slopes by m are -1, -2(1 - m) and -1. g is the gradient by w.

With penalties OGD has also ``w -= η_t·λ₂·w``, and w is shrunk towards 0 by η_t·λ₁, lazily, feature
by feature (truncated gradient: J. Langford, L. Li, T. Zhang (2009), Sparse online learning via
truncated gradient, JMLR 10). AdaGrad is the composite dual averaging update with L1; the weight of
FTRL is 0 where ``|z| <= λ₁``.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from rosenblatt.rules.perceptron import Rule

LOSSES = ("perceptron", "hinge", "squared_hinge")  # a rule stores the index of its loss

RULES = {
    "ogd": Rule(
        condition="the loss of y·(w·x + b) is positive: hinge, squared hinge or perceptron loss",
        update="w -= η_t·g, η_t = η/sqrt(t) by default",
        bound="regret at most ‖u‖²·sqrt(T)/(2η) + η·R²·sqrt(T) for the hinge loss, any u",
        paper="M. Zinkevich (2003), Online convex programming and generalized infinitesimal "
        "gradient ascent, ICML 20",
    ),
    "adagrad": Rule(
        condition="the loss is positive",
        update="z += g, n += g², w = -sign(z)·η·max(0, |z| - λ·t)/(δ + sqrt(n))",
        bound="regret at most (max ‖u-w‖²/(2η) + η)·Σ sqrt(n), any u",
        paper="J. Duchi, E. Hazan, Y. Singer (2011), Adaptive subgradient methods for online "
        "learning and stochastic optimization, JMLR 12",
    ),
    "ftrl": Rule(
        condition="the loss is positive",
        update="z += g - (sqrt(n + g²) - sqrt(n))/α·w, n += g², w the shrunk -z/((β + sqrt(n))/α "
        "+ λ₂)",
        bound="that of AdaGrad, without the penalties",
        paper="B. McMahan et al. (2013), Ad click prediction: a view from the trenches, KDD 19",
    ),
}


class Descent(NamedTuple):
    """Gradient descent on a loss, which is 0 above `margin`, with λ₂."""

    loss: float
    margin: float
    l2: float


class Truncated(NamedTuple):
    """Gradient descent with λ₁ as well: truncated gradient."""

    loss: float
    margin: float
    l2: float
    l1: float


class AdaGrad(NamedTuple):
    """Dual averaging with a learning rate per feature: η, δ and λ."""

    loss: float
    margin: float
    eta: float
    delta: float
    l1: float


class Ftrl(NamedTuple):
    """Follow the proximally regularized leader: α, β, λ₁ and λ₂."""

    loss: float
    margin: float
    alpha: float
    beta: float
    l1: float
    l2: float


Gradient = Descent | Truncated | AdaGrad | Ftrl


def loss_of(name: str, threshold: float = 0.0) -> tuple[float, float]:
    """The index of a loss in `LOSSES`, and the margin above which it is 0.

    >>> loss_of("hinge"), loss_of("perceptron", 2.0)
    ((1.0, 1.0), (0.0, 2.0))
    """
    return float(LOSSES.index(name)), threshold if name == "perceptron" else 1.0


def penalties(penalty: str | None, alpha: float, l1_ratio: float) -> tuple[float, float]:
    """λ₁ and λ₂ of a penalty with scikit-learn's name.

    >>> penalties("elasticnet", 0.5, 0.5), penalties("l2", 0.5, 0.15), penalties(None, 0.5, 0.15)
    ((0.25, 0.25), (0.0, 0.5), (0.0, 0.0))
    """
    share = {"l1": 1.0, "l2": 0.0, "elasticnet": l1_ratio}.get(penalty or "", 0.0)
    return (alpha * share, alpha * (1.0 - share)) if penalty else (0.0, 0.0)


def descent(
    rule: Gradient, margin: float, square: float, norm: float, updates: float, weight: float,
    eta: float,
) -> tuple[float, float, float]:  # fmt: skip
    """The coefficients 1, τ and 0: τ is minus the slope of the loss times η and ω.

    The slope of the perceptron's loss at its corner is -1: a margin there is corrected.

    >>> descent(Descent(*loss_of("squared_hinge"), 0.0), -1.0, 1.0, 0.0, 0.0, 1.0, 0.5)
    (1.0, 2.0, 0.0)
    """
    if rule.loss == 0.0:
        return 1.0, eta * weight if margin <= rule.margin else 0.0, 0.0
    if not margin < rule.margin:
        return 1.0, 0.0, 0.0
    slope = 2.0 * (rule.margin - margin) if rule.loss == 2.0 else 1.0
    return 1.0, eta * weight * slope, 0.0


def adaptive(
    rule: Gradient, margin: float, square: float, norm: float, updates: float, weight: float,
    eta: float,
) -> tuple[float, float, float]:  # fmt: skip
    """The coefficients 1, τ and 0, without η: features have rates of their own."""
    return descent(rule, margin, square, norm, updates, weight, 1.0)


def truncated(weight: float, shrinkage: float) -> float:
    """A weight moved towards zero by `shrinkage`, at most to zero.

    >>> truncated(-0.75, 0.5), truncated(0.2, 0.5)
    (-0.25, 0.0)
    """
    if weight > shrinkage:
        return weight - shrinkage
    return weight + shrinkage if weight < -shrinkage else 0.0


def adagrad_weight(rule: AdaGrad, z: float, n: float, l1: float) -> float:
    """The weight of the sum z of gradients and the sum n of their squares; `l1` is λ·t.

    >>> adagrad_weight(AdaGrad(1.0, 1.0, 0.5, 0.0, 0.0), -2.0, 4.0, 1.0)
    0.25
    """
    return -rule.eta * truncated(z, l1) / (rule.delta + math.sqrt(n)) if n > 0.0 else 0.0


def adagrad_sum(rule: AdaGrad, g: float, n: float, w: float) -> float:
    """The increment of z for a gradient g."""
    return g


def ftrl_weight(rule: Ftrl, z: float, n: float, l1: float) -> float:
    """The weight of the sums z and n; `l1` is λ₁.

    >>> ftrl_weight(Ftrl(1.0, 1.0, 1.0, 1.0, 0.0, 0.0), -2.0, 1.0, 0.0)
    1.0
    """
    return -truncated(z, l1) / ((rule.beta + math.sqrt(n)) / rule.alpha + rule.l2)


def ftrl_sum(rule: Ftrl, g: float, n: float, w: float) -> float:
    """The increment of z for a gradient g."""
    return g - (math.sqrt(n + g * g) - math.sqrt(n)) / rule.alpha * w
