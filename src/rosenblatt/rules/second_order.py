"""Second-order learning: each weight has a variance, which shrinks as the weight is learned.

The weights are Gaussian, with mean w and diagonal covariance Σ, I at first. ``m = y·(w·x + b)`` is
the margin of an example and ``v = (x,c)ᵀΣ(x,c)`` its variance. Every member has two coefficients,

    w += α·y·Σ(x,c)        Σ -= β·Σ(x,c)(x,c)ᵀΣ,

so that weights of rare features, whose variance is still large, change faster. Only the diagonal is
updated: ``σ -= β·(σ·x)²``, which stays positive as ``β·v < 1``. Further members of this kind are
cited in the guide: confidence-weighted learning (K. Crammer, M. Dredze, F. Pereira 2008), NAROW (F.
Orabona, K. Crammer 2010), the second-order perceptron (N. Cesa-Bianchi, A. Conconi, C. Gentile
2005).

In the bounds, which are those of full matrices, X is the sum of x·xᵀ over the updates, and ℓ* are
the losses of any u.
"""

from __future__ import annotations

import math
from dataclasses import replace
from statistics import NormalDist
from typing import NamedTuple

from rosenblatt.rules.registry import Parameter, Rule
from rosenblatt.rules.storage import VARIANCES


class Arow(NamedTuple):
    """AROW: the regularization r; larger values make smaller updates."""

    r: float


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


Pair = tuple[float, float]


def quantile(confidence: float) -> float:
    """φ, the normal quantile of a confidence.

    >>> round(quantile(0.9), 4)
    1.2816
    """
    return NormalDist().inv_cdf(confidence)


def arow(rule: Arow, m: float, v: float, omega: float, eta: float) -> Pair:
    """The coefficients α and β of AROW; sample weight ω divides r.

    >>> arow(Arow(1.0), 0.0, 1.0, 1.0, 1.0)
    (0.5, 0.5)
    """
    if not m < 1.0 or v <= 0.0:
        return 0.0, 0.0
    beta = 1.0 / (v + rule.r / omega)
    return (1.0 - m) * beta, beta


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


def scw1(rule: Scw1, m: float, v: float, omega: float, eta: float) -> Pair:
    """The coefficients α and β of SCW-I; ω multiplies C."""
    alpha = min(omega * rule.C, exact(rule.phi, m, v)) if v > 0.0 else 0.0
    return alpha, shrunk(rule.phi, v, alpha) if alpha > 0.0 else 0.0


def scw2(rule: Scw2, m: float, v: float, omega: float, eta: float) -> Pair:
    """The coefficients α and β of SCW-II; ω multiplies C."""
    if v <= 0.0 or not m < rule.phi * math.sqrt(v):
        return 0.0, 0.0
    squared, n = rule.phi * rule.phi, v + 0.5 / (omega * rule.C)
    gamma = rule.phi * math.sqrt(squared * m * m * v * v + 4.0 * n * v * (n + v * squared))
    alpha = max(0.0, (gamma - m * (2.0 * n + squared * v)) / (2.0 * (n * n + n * v * squared)))
    return alpha, shrunk(rule.phi, v, alpha) if alpha > 0.0 else 0.0


def nherd(rule: Nherd, m: float, v: float, omega: float, eta: float) -> Pair:
    """The coefficients α and β of NHERD; ω multiplies C."""
    if not m < 1.0 or v <= 0.0:
        return 0.0, 0.0
    C = omega * rule.C
    return (1.0 - m) / (v + 1.0 / C), (C * C * v + 2.0 * C) / ((1.0 + C * v) * (1.0 + C * v))


def numbers_of_scw(C: float, confidence: float, variant: str) -> Scw1 | Scw2:
    """The numbers of a variant, ``"I"`` or ``"II"``.

    >>> numbers_of_scw(0.5, 0.9, "II")
    Scw2(phi=1.2815515655446008, C=0.5)
    """
    return (Scw1 if variant == "I" else Scw2)(quantile(float(confidence)), float(C))


_SCW = Rule(
    name="scw1",
    estimator="SCW",
    fixed={"variant": "I"},
    numbers=Scw1,
    numbers_of=numbers_of_scw,
    step=scw1,
    storage=VARIANCES,
    parameters={
        "C": Parameter(
            1.0,
            "float, default=1.0. The weight of the loss against the change of the weights.",
            above=0,
        ),
        "confidence": Parameter(
            0.9,
            "float, default=0.9. The probability with which an example should be right, above 0.5 "
            "and below 1.",
            above=0.5,
            below=1.0,
        ),
        "variant": Parameter(
            "I",
            '{"I", "II"}, default="I". With a linear or a squared loss.',
            choices=("I", "II"),
        ),
    },
    condition="m < φ·sqrt(v)",
    update="the nearest Gaussian (Kullback-Leibler) under which x is right with probability Φ(φ), "
    "with α at most C",
    bound="none is proved; the loss φ·sqrt(v) - m has weight C",
    paper="J. Wang, P. Zhao, S. Hoi (2012), Exact soft confidence-weighted learning, ICML",
    summary="Soft confidence-weighted learning: each example is to be right with a probability.",
    example="""\
    >>> from rosenblatt import SCW
    >>> SCW(random_state=0).fit([[2.0, 1.0], [-1.0, 1.0]], [1, 0]).coef_.round(2)
    array([[0.47, 0.  ]])""",
)
RULES = (
    Rule(
        name="arow",
        estimator="AROW",
        numbers=Arow,
        step=arow,
        storage=VARIANCES,
        parameters={
            "r": Parameter(
                1.0,
                "float, default=1.0. The larger, the smaller the influence of a single example.",
                above=0,
            )
        },
        condition="m = y·(w·x + b) < 1",
        update="β = 1/(v + r), w += (1-m)·β·y·Σx, Σ -= β·ΣxxᵀΣ",
        bound="M + L <= sqrt(r‖u‖² + uᵀXu)·sqrt(log det(I + X/r) + L) + Σ ℓ*, any u: M mistakes, "
        "L other updates",
        paper="K. Crammer, A. Kulesza, M. Dredze (2009), Adaptive regularization of weight "
        "vectors, NIPS 22",
        summary="""Adaptive regularisation of weights: variances shrink as features are seen.

    It is robust to wrong labels: an example is never fitted in full. A good first choice for one
    pass over many sparse features. The weight of an example divides r.""",
        example="""\
    >>> from sklearn.datasets import load_iris
    >>> from rosenblatt import AROW
    >>> X, y = load_iris(return_X_y=True)
    >>> model = AROW(max_iter=1, tol=None, random_state=0).fit(X[:100], y[:100])
    >>> model.score(X[:100], y[:100]), model.variances_.round(2)
    (1.0, array([[0.7 , 0.58, 0.09, 0.71]]))""",
    ),
    _SCW,
    replace(
        _SCW,
        name="scw2",
        fixed={"variant": "II"},
        numbers=Scw2,
        step=scw2,
        update="the same with the squared loss of weight C instead of the constraint",
        bound="none is proved; the squared loss has weight C",
    ),
    Rule(
        name="nherd",
        estimator="NormalHerd",
        numbers=Nherd,
        step=nherd,
        storage=VARIANCES,
        parameters={"C": Parameter(1.0, "float, default=1.0. The weight of the loss.", above=0)},
        condition="m < 1",
        update="w += (1-m)/(v + 1/C)·y·Σx, Σ -= (C²v + 2C)/(1 + C·v)²·ΣxxᵀΣ",
        bound="as AROW's with r = 1/C",
        paper="K. Crammer, D. Lee (2010), Learning via Gaussian herding, NIPS 23",
        summary="Gaussian herding: a linear map moves a normal distribution of weights past an "
        "example.",
        example="""\
    >>> from sklearn.datasets import load_iris
    >>> from rosenblatt import NormalHerd
    >>> X, y = load_iris(return_X_y=True)
    >>> NormalHerd(max_iter=5, tol=None, random_state=0).fit(X[:100], y[:100]).score(X, y > 0)
    1.0""",
    ),
)
