"""Second-order learning: each weight has a variance, which shrinks as the weight is learned.

The weights are Gaussian, with mean w and covariance Σ, I at first. ``m = y·(w·x + b)`` is the
margin of an example and ``v = (x,c)ᵀΣ(x,c)`` its variance. Every member has two coefficients,

    w += α·y·Σ(x,c)        Σ -= β·Σ(x,c)(x,c)ᵀΣ,

so that weights of rare features, whose variance is still large, change faster. With a diagonal Σ
only the diagonal is updated: ``σ -= β·(σ·x)²``, which stays positive as ``β·v < 1``.

In the bounds X is the sum of x·xᵀ over the updates, for SOP over the mistakes, λ its eigenvalues,
and ℓ* are the losses of any u. SOP is the perceptron on whitened examples.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import NamedTuple

from rosenblatt.rules.perceptron import Rule

_SCW = "J. Wang, P. Zhao, S. Hoi (2012), Exact soft confidence-weighted learning, ICML"
RULES = {
    "arow": Rule(
        condition="m = y·(w·x + b) < 1",
        update="β = 1/(v + r), w += (1-m)·β·y·Σx, Σ -= β·ΣxxᵀΣ",
        bound="M + L <= sqrt(r‖u‖² + uᵀXu)·sqrt(log det(I + X/r) + L) + Σ ℓ*, any u: M mistakes, "
        "L other updates",
        paper="K. Crammer, A. Kulesza, M. Dredze (2009), Adaptive regularization of weight "
        "vectors, NIPS 22",
    ),
    "narow": Rule(
        condition="m < 1 and v > 1/b",
        update="as AROW with r = v/(b·v - 1)",
        bound="that of AROW, with the sum of the variances of the updates at most log det/b",
        paper="F. Orabona, K. Crammer (2010), New adaptive algorithms for online classification, "
        "NIPS 23",
    ),
    "cw": Rule(
        condition="m < φ·sqrt(v)",
        update="the nearest Gaussian (Kullback-Leibler) under which x is right with probability "
        "Φ(φ)",
        bound="none where no line separates the rows: each example is learned in full",
        paper="K. Crammer, M. Dredze, F. Pereira (2008), Exact convex confidence-weighted "
        "learning, NIPS 21",
    ),
    "scw1": Rule(
        condition="m < φ·sqrt(v)",
        update="as CW, with α at most C",
        bound="none is proved; the loss φ·sqrt(v) - m has weight C",
        paper=_SCW,
    ),
    "scw2": Rule(
        condition="m < φ·sqrt(v)",
        update="as CW, with the squared loss of weight C instead of the constraint",
        bound="none is proved; the squared loss has weight C",
        paper=_SCW,
    ),
    "nherd": Rule(
        condition="m < 1",
        update="w += (1-m)/(v + 1/C)·y·Σx, Σ -= (C²v + 2C)/(1 + C·v)²·ΣxxᵀΣ",
        bound="as AROW's with r = 1/C",
        paper="K. Crammer, D. Lee (2010), Learning via Gaussian herding, NIPS 23",
    ),
    "sop": Rule(
        condition="y·(w·x + b) <= 0",
        update="β = 1/(1 + v), w += (1-m)·β·y·Σx, Σ -= β·ΣxxᵀΣ",
        bound="Σ ℓ* + sqrt((‖u‖² + uᵀXu)·Σ log(1 + λᵢ)) mistakes at most, any u",
        paper="N. Cesa-Bianchi, A. Conconi, C. Gentile (2005), A second-order perceptron "
        "algorithm, SIAM Journal on Computing 34",
    ),
}


class Arow(NamedTuple):
    """AROW: the regularization r; larger values make smaller updates."""

    r: float


class Narow(NamedTuple):
    """NAROW: b; it updates where the variance is above 1/b."""

    b: float


class Cw(NamedTuple):
    """Confidence-weighted learning: φ, the normal quantile of the confidence."""

    phi: float


class Scw1(NamedTuple):
    """Soft confidence-weighted learning with a linear loss: φ and C."""

    phi: float
    C: float


class Scw2(NamedTuple):
    """Soft confidence-weighted learning with a squared loss: φ and C."""

    phi: float
    C: float


class Nherd(NamedTuple):
    """Normal herd: C."""

    C: float


class Sop(NamedTuple):
    """The second-order perceptron: 1 if Σ is updated on every example, 0 if on mistakes only."""

    always: float


Answer = tuple[float, float, float]


def quantile(confidence: float) -> float:
    """φ, the normal quantile of a confidence.

    >>> round(quantile(0.9), 4)
    1.2816
    """
    return NormalDist().inv_cdf(confidence)


def arow(rule: Arow, m: float, v: float, w2: float, k: float, omega: float, eta: float) -> Answer:
    """The coefficients 1, α and β of AROW; sample weight ω divides r.

    >>> arow(Arow(1.0), 0.0, 1.0, 0.0, 0.0, 1.0, 1.0)
    (1.0, 0.5, 0.5)
    """
    if not m < 1.0 or v <= 0.0:
        return 1.0, 0.0, 0.0
    beta = 1.0 / (v + rule.r / omega)
    return 1.0, (1.0 - m) * beta, beta


def narow(rule: Narow, m: float, v: float, w2: float, k: float, omega: float, eta: float) -> Answer:
    """The coefficients 1, α and β of NAROW; ω divides r."""
    if not m < 1.0 or not rule.b * v > 1.0:
        return 1.0, 0.0, 0.0
    beta = 1.0 / (v + v / (rule.b * v - 1.0) / omega)
    return 1.0, (1.0 - m) * beta, beta


def shrunk(phi: float, v: float, alpha: float) -> float:
    """β of the confidence-weighted members, from α."""
    root = 0.5 * (math.sqrt(alpha * alpha * v * v * phi * phi + 4.0 * v) - alpha * v * phi)
    return alpha * phi / (root + v * alpha * phi)


def exact(phi: float, m: float, v: float) -> float:
    """The α that meets the constraint of the confidence-weighted members with equality."""
    if not m < phi * math.sqrt(v):
        return 0.0
    squared = phi * phi
    root = math.sqrt(0.25 * m * m * squared * squared + v * squared * (1.0 + squared))
    return max(0.0, (root - m * (1.0 + 0.5 * squared)) / (v * (1.0 + squared)))


def cw(rule: Cw, m: float, v: float, w2: float, k: float, omega: float, eta: float) -> Answer:
    """The coefficients 1, α and β of CW; further copies of an example change nothing.

    >>> [round(a, 4) for a in cw(Cw(1.0), 0.0, 1.0, 0.0, 0.0, 1.0, 1.0)]
    [1.0, 0.7071, 0.5]
    """
    alpha = exact(rule.phi, m, v) if v > 0.0 else 0.0
    return 1.0, alpha, shrunk(rule.phi, v, alpha) if alpha > 0.0 else 0.0


def scw1(rule: Scw1, m: float, v: float, w2: float, k: float, omega: float, eta: float) -> Answer:
    """The coefficients 1, α and β of SCW-I; ω multiplies C."""
    alpha = min(omega * rule.C, exact(rule.phi, m, v)) if v > 0.0 else 0.0
    return 1.0, alpha, shrunk(rule.phi, v, alpha) if alpha > 0.0 else 0.0


def scw2(rule: Scw2, m: float, v: float, w2: float, k: float, omega: float, eta: float) -> Answer:
    """The coefficients 1, α and β of SCW-II; ω multiplies C."""
    if v <= 0.0 or not m < rule.phi * math.sqrt(v):
        return 1.0, 0.0, 0.0
    squared, n = rule.phi * rule.phi, v + 0.5 / (omega * rule.C)
    gamma = rule.phi * math.sqrt(squared * m * m * v * v + 4.0 * n * v * (n + v * squared))
    alpha = max(0.0, (gamma - m * (2.0 * n + squared * v)) / (2.0 * (n * n + n * v * squared)))
    return 1.0, alpha, shrunk(rule.phi, v, alpha) if alpha > 0.0 else 0.0


def nherd(rule: Nherd, m: float, v: float, w2: float, k: float, omega: float, eta: float) -> Answer:
    """The coefficients 1, α and β of NHERD; ω multiplies C."""
    if not m < 1.0 or v <= 0.0:
        return 1.0, 0.0, 0.0
    C = omega * rule.C
    return 1.0, (1.0 - m) / (v + 1.0 / C), (C * C * v + 2.0 * C) / ((1.0 + C * v) * (1.0 + C * v))


def sop(rule: Sop, m: float, v: float, w2: float, k: float, omega: float, eta: float) -> Answer:
    """The coefficients 1, α and β of the second-order perceptron; ω is equivalent to ω copies.

    α follows from ``w = Σp``, where ``p`` is the sum of y·x over the mistakes.
    """
    if v <= 0.0 or (m > 0.0 and rule.always == 0.0):
        return 1.0, 0.0, 0.0
    beta = omega / (1.0 + omega * v)
    return 1.0, (1.0 - m if m <= 0.0 else -m) * beta, beta
