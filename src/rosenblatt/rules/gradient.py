"""Gradient steps on the loss of one example: OGD and SGD, AdaGrad, FTRL-proximal.

The losses, of the margin m = y·(w·x + b): the hinge ``max(0, 1 - m)``, its square, the
perceptron's ``max(0, -m)``, and the log loss ``log(1 + exp(-m))``, that of logistic regression;
their slopes by m are -1, -2(1 - m), -1 and ``-1/(1 + exp(m))``. g is the gradient by w.

With a penalty OGD has also ``w -= η_t·λ₂·w``. AdaGrad is the composite dual averaging update with
L1; the weight of FTRL is 0 where ``|z| <= λ₁``.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, NamedTuple

from rosenblatt.rules.registry import Parameter, Rule
from rosenblatt.rules.storage import ADAPTIVE

LOSSES = ("perceptron", "hinge", "squared_hinge", "log")  # a rule stores the index of its loss
FLAT = 36.0  # the margin above which the slope of the log loss is below double precision


class Descent(NamedTuple):
    """Gradient descent on a loss, which is 0 above `margin`, with λ₂."""

    loss: float
    margin: float
    l2: float


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


Gradient = Descent | AdaGrad | Ftrl


def loss_of(name: str) -> tuple[float, float]:
    """The index of a loss in `LOSSES`, and the margin above which it is 0.

    >>> loss_of("hinge"), loss_of("perceptron")
    ((1.0, 1.0), (0.0, 0.0))
    """
    return float(LOSSES.index(name)), {"perceptron": 0.0, "log": FLAT}.get(name, 1.0)


def penalties(penalty: str | None, alpha: float, l1_ratio: float) -> tuple[float, float]:
    """λ₁ and λ₂ of a penalty with scikit-learn's name.

    >>> penalties("elasticnet", 0.5, 0.5), penalties("l2", 0.5, 0.15), penalties(None, 0.5, 0.15)
    ((0.25, 0.25), (0.0, 0.5), (0.0, 0.0))
    """
    share = {"l1": 1.0, "l2": 0.0, "elasticnet": l1_ratio}.get(penalty or "", 0.0)
    return (alpha * share, alpha * (1.0 - share)) if penalty else (0.0, 0.0)


def descent(rule: Gradient, margin: float, square: float, weight: float, eta: float) -> float:
    """The coefficient τ: minus the slope of the loss times η and ω.

    The slope of the perceptron's loss at its corner is -1: a margin there is corrected.

    >>> descent(Descent(*loss_of("squared_hinge"), 0.0), -1.0, 1.0, 1.0, 0.5)
    2.0
    >>> descent(Descent(*loss_of("log"), 0.0), 0.0, 1.0, 1.0, 0.5)
    0.25
    """
    if rule.loss == 0.0:
        return eta * weight if margin <= rule.margin else 0.0
    if not margin < rule.margin:
        return 0.0
    slope = 2.0 * (rule.margin - margin) if rule.loss == 2.0 else 1.0
    if rule.loss == 3.0:
        slope = 1.0 / (1.0 + math.exp(margin))
    return eta * weight * slope


def adaptive(rule: Gradient, margin: float, square: float, weight: float, eta: float) -> float:
    """The coefficient τ without η: features have rates of their own."""
    return descent(rule, margin, square, weight, 1.0)


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


def adagrad_penalty(rule: AdaGrad, steps: float) -> float:
    """λ·t."""
    return rule.l1 * steps


def ftrl_penalty(rule: Ftrl, steps: float) -> float:
    """λ₁."""
    return rule.l1


def ftrl_weight(rule: Ftrl, z: float, n: float, l1: float) -> float:
    """The weight of the sums z and n; `l1` is λ₁.

    >>> ftrl_weight(Ftrl(1.0, 1.0, 1.0, 1.0, 0.0, 0.0), -2.0, 1.0, 0.0)
    1.0
    """
    return -truncated(z, l1) / ((rule.beta + math.sqrt(n)) / rule.alpha + rule.l2)


def ftrl_sum(rule: Ftrl, g: float, n: float, w: float) -> float:
    """The increment of z for a gradient g."""
    return g - (math.sqrt(n + g * g) - math.sqrt(n)) / rule.alpha * w


def numbers_of_gradient(
    loss: str,
    method: str,
    eta0: float,
    penalty: str | None,
    alpha: float,
    l1_ratio: float,
    delta: float,
    **others: Any,
) -> Gradient:
    """The numbers of a method; a ValueError for a penalty that it does not have.

    >>> numbers_of_gradient("hinge", "ftrl", 0.5, "l1", 0.1, 0.15, 1.0)
    Ftrl(loss=1.0, margin=1.0, alpha=0.5, beta=1.0, l1=0.1, l2=0.0)
    """
    l1, l2 = penalties(penalty, float(alpha), float(l1_ratio))
    if method == "adagrad":
        if penalty in ("l2", "elasticnet"):
            raise ValueError("method='adagrad' has no L2 penalty: use penalty='l1' or None.")
        return AdaGrad(*loss_of(loss), float(eta0), float(delta), l1)
    if method == "ftrl":
        return Ftrl(*loss_of(loss), float(eta0), float(delta), l1, l2)
    if penalty in ("l1", "elasticnet"):
        raise ValueError(
            f"method='sgd' has no L1 penalty (penalty={penalty!r}): use penalty='l2', or "
            "method='adagrad' or 'ftrl', which keep unused weights at zero."
        )
    return Descent(*loss_of(loss), l2)


_SGD = Rule(
    name="ogd",
    estimator="OnlineGradient",
    fixed={"method": "sgd"},
    numbers=Descent,
    numbers_of=numbers_of_gradient,
    step=descent,
    uses_square=False,
    decays=True,
    parameters={
        "loss": Parameter(
            "hinge",
            '{"hinge", "squared_hinge", "perceptron", "log"}, default="hinge". "log" is the loss '
            "of logistic regression.",
            choices=LOSSES,
        ),
        "method": Parameter(
            "sgd",
            '{"sgd", "adagrad", "ftrl"}, default="sgd". Plain steps; dual averaging with a rate '
            "for each feature (AdaGrad); or the proximally regularised leader (FTRL-proximal). The "
            "last two keep unused weights at zero by λ₁.",
            choices=("sgd", "adagrad", "ftrl"),
        ),
        "eta0": Parameter(1.0, "float, default=1.0. The learning rate η; for FTRL its α.", above=0),
        "learning_rate": Parameter(
            "sqrt",
            '{"sqrt", "constant", "inverse"} or callable, default="sqrt". η/√t, η, η/t, or a '
            'function of the visit number t. Only for ``"sgd"``.',
            choices=("constant", "inverse", "sqrt"),
            or_function=True,
        ),
        "penalty": Parameter(
            None,
            '{"l2", "l1", "elasticnet"} or None, default=None. AdaGrad has L1, plain steps have '
            "L2, FTRL has all three.",
            choices=("l1", "l2", "elasticnet", None),
        ),
        "alpha": Parameter(1e-4, "float, default=1e-4. The weight of the penalty.", least=0),
        "l1_ratio": Parameter(
            0.15, 'float, default=0.15. The share of L1 in ``"elasticnet"``.', least=0, most=1
        ),
        "delta": Parameter(
            1.0,
            "float, default=1.0. AdaGrad's δ, FTRL's β: added to the root of the sum of squared "
            "gradients.",
            least=0,
        ),
    },
    condition="the loss of y·(w·x + b) is positive: hinge, squared hinge, perceptron or log loss",
    update="w -= η_t·g, η_t = η/sqrt(t) by default",
    bound="regret at most ‖u‖²·sqrt(T)/(2η) + η·R²·sqrt(T) for the hinge loss, any u",
    paper="M. Zinkevich (2003), Online convex programming and generalized infinitesimal "
    "gradient ascent, ICML 20",
    summary="""Stochastic gradient steps on the loss of each example.

    Penalties do not touch the intercept. They are applied lazily, when a weight is next used, with
    the same result; an average takes the weight as it was when last used.""",
    example="""\
    >>> from sklearn.datasets import load_iris
    >>> from rosenblatt import OnlineGradient
    >>> X, y = load_iris(return_X_y=True)
    >>> model = OnlineGradient(method="ftrl", penalty="l1", alpha=40.0, random_state=0)
    >>> int((model.fit(X[:100], y[:100]).coef_ != 0).sum())
    3""",
)
RULES = (
    _SGD,
    replace(
        _SGD,
        name="adagrad",
        fixed={"method": "adagrad"},
        numbers=AdaGrad,
        step=adaptive,
        storage=ADAPTIVE,
        weight=adagrad_weight,
        increment=adagrad_sum,
        penalty=adagrad_penalty,
        decays=False,
        condition="the loss is positive",
        update="z += g, n += g², w = -sign(z)·η·max(0, abs(z) - λ·t)/(δ + sqrt(n))",
        bound="regret at most (max ‖u-w‖²/(2η) + η)·Σ sqrt(n), any u",
        paper="J. Duchi, E. Hazan, Y. Singer (2011), Adaptive subgradient methods for online "
        "learning and stochastic optimization, JMLR 12",
    ),
    replace(
        _SGD,
        name="ftrl",
        fixed={"method": "ftrl"},
        numbers=Ftrl,
        step=adaptive,
        storage=ADAPTIVE,
        weight=ftrl_weight,
        increment=ftrl_sum,
        penalty=ftrl_penalty,
        decays=False,
        condition="the loss is positive",
        update="z += g - (sqrt(n + g²) - sqrt(n))/α·w, n += g², w the shrunk -z/((β + sqrt(n))/α "
        "+ λ₂)",
        bound="that of AdaGrad, without the penalties",
        paper="B. McMahan et al. (2013), Ad click prediction: a view from the trenches, KDD 19",
    ),
)
