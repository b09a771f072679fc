"""Estimates and bounds of the error on new rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
from scipy.special import betaincinv

from rosenblatt.theory.checker.report import Reported


def empirical_risk(y: Any, predicted: Any, loss: Any = None, classes: Any = None) -> float:
    """The mean loss ``W(prediction, truth)`` over the rows.

    Parameters
    ----------
    y, predicted
        True and predicted labels.
    loss : array of shape (k, k), optional
        ``loss[i, j]`` is the cost of predicting class i when class j is true; by default the 0-1
        loss.
    classes : array of shape (k,), optional
        The classes in the order of `loss`; by default the sorted labels.

    Examples
    --------
    >>> empirical_risk([0, 0, 1, 1], [0, 1, 1, 0])
    0.5
    >>> empirical_risk(["ok", "spam"], ["spam", "ok"], loss=[[0, 1], [5, 0]])
    3.0
    """
    truth, guess = np.asarray(y), np.asarray(predicted)
    if truth.shape != guess.shape or truth.ndim != 1:
        raise ValueError(f"labels of shapes {truth.shape} and {guess.shape} do not match")
    if len(truth) == 0:
        raise ValueError("there are no rows")
    if loss is None:
        return float(np.mean(truth != guess))
    names = np.unique(np.concatenate([truth, guess])) if classes is None else np.asarray(classes)
    costs = np.asarray(loss, dtype=np.float64)
    if costs.shape != (len(names), len(names)):
        raise ValueError(f"the loss must be {len(names)} by {len(names)}, one row per class")
    place = {name: k for k, name in enumerate(names.tolist())}
    i = [place[g] for g in guess.tolist()]
    j = [place[t] for t in truth.tolist()]
    return float(costs[i, j].mean())


def vc_bound(empirical: float, n: int, dimension: int, confidence: float = 0.95) -> float:
    """An upper bound on the risk with the given confidence, for any distribution of the data.

    ``R <= R_emp + √((h(log(2N/h) + 1) - log(η/4))/N)`` with probability 1 - η, h the
    Vapnik-Chervonenkis dimension: the number of columns, plus one with an offset, for linear
    classifiers. Theorem: V. Vapnik, A. Chervonenkis (1971); V. Vapnik (1995), The Nature of
    Statistical Learning Theory, section 3.7.

    Examples
    --------
    >>> round(vc_bound(0.05, n=10_000, dimension=11), 3)
    0.149
    """
    _check_confidence(confidence)
    if n < 1 or dimension < 1:
        raise ValueError("n and the dimension must be positive")
    if dimension >= 2 * n:
        return math.inf
    capacity = dimension * (math.log(2 * n / dimension) + 1.0)
    return empirical + math.sqrt((capacity - math.log((1.0 - confidence) / 4.0)) / n)


def holdout_interval(errors: int, n: int, confidence: float = 0.95) -> tuple[float, float]:
    """The exact binomial confidence interval for the risk, from errors on held-out rows.

    C. Clopper, E. Pearson (1934), The use of confidence or fiducial limits.

    Examples
    --------
    >>> low, high = holdout_interval(5, 100)
    >>> round(low, 4), round(high, 4)
    (0.0164, 0.1128)
    """
    _check_confidence(confidence)
    if not 0 <= errors <= n or n < 1:
        raise ValueError(f"errors must be between 0 and n, got {errors} errors of {n} rows")
    tail = (1.0 - confidence) / 2.0
    low = float(betaincinv(errors, n - errors + 1, tail)) if errors > 0 else 0.0
    high = float(betaincinv(errors + 1, n - errors, 1.0 - tail)) if errors < n else 1.0
    return low, high


@dataclass(frozen=True)
class RiskEstimate:
    """One estimate of the error on new rows.

    Attributes
    ----------
    name, value
        Its name, and the error (an estimate, or an upper bound).
    interval
        The confidence interval, or None.
    vacuous
        Whether it is no better than guessing.
    remark
        An explanation.
    """

    name: str
    value: float
    interval: tuple[float, float] | None
    vacuous: bool
    remark: str

    def shown(self) -> str:
        """The value as a percentage."""
        return f"{self.value:.2%}" if math.isfinite(self.value) else "inf"

    def shown_interval(self) -> str:
        """The interval in brackets after a space, or an empty string."""
        return f" [{self.interval[0]:.2%}, {self.interval[1]:.2%}]" if self.interval else ""


@dataclass(frozen=True, repr=False)
class RiskReport(Reported):
    """Estimates of the risk side by side; ``print`` shows them as a table.

    Attributes
    ----------
    estimates
        The estimates.
    guessing
        The error of always predicting the most frequent class: estimates not below are vacuous.
    """

    estimates: tuple[RiskEstimate, ...]
    guessing: float = 0.5

    def __getitem__(self, name: str) -> RiskEstimate:
        for estimate in self.estimates:
            if estimate.name == name:
                return estimate
        raise KeyError(name)

    def report(self) -> str:
        """The estimates as a table in plain text."""
        lines = [
            f"{e.name:<18}{e.shown():>8}{e.shown_interval()}  {'VACUOUS: ' * e.vacuous}{e.remark}"
            for e in self.estimates
        ]
        return "\n".join([*lines, *self._legend()])

    def _legend(self) -> list[str]:
        """An explanation of "vacuous", if an estimate is."""
        if not any(e.vacuous for e in self.estimates):
            return []
        guessing = f"{self.guessing:.2%}, the error of always predicting the most frequent class"
        return [f"VACUOUS: not below {guessing}."]

    def __repr__(self) -> str:
        return f"<RiskReport: {', '.join(f'{e.name} {e.shown()}' for e in self.estimates)}>"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th>{escape(e.name)}</th><td>{e.shown()}</td><td>{e.shown_interval().strip()}</td>"
            f"<td>{'VACUOUS' * e.vacuous}</td><td>{escape(e.remark)}</td></tr>"
            for e in self.estimates
        )
        legend = "".join(f"<p>{escape(line)}</p>" for line in self._legend())
        return f"<table>{rows}</table>{legend}"


def risk_report(
    estimator: Any, X: Any, y: Any, X_val: Any, y_val: Any, *, confidence: float = 0.95
) -> RiskReport:
    """Compare estimates of a fitted classifier's error, and say which to believe.

    Parameters
    ----------
    estimator
        A fitted classifier with scikit-learn's interface.
    X, y
        The rows it was trained on.
    X_val, y_val
        Held-out rows, used neither for training nor for model selection.
    confidence : float
        The confidence of intervals and bounds.

    The report has the estimates ``training``, ``validation`` and, of two classes, ``VC bound``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import Perceptron
    >>> X, y = load_iris(return_X_y=True)
    >>> model = Perceptron().fit(X[0:100:2], y[0:100:2])
    >>> report = risk_report(model, X[0:100:2], y[0:100:2], X[1:100:2], y[1:100:2])
    >>> report["validation"].value, report["VC bound"].vacuous
    (0.0, True)
    """
    n, guessing = len(np.asarray(y)), _guessing(y)
    train = empirical_risk(y, estimator.predict(X))
    remark = "Too low as an estimate: the model was chosen to make it small."
    estimates = [
        RiskEstimate("training", train, None, False, remark),
        _validation(estimator, X_val, y_val, guessing, confidence),
    ]
    if len(np.unique(np.asarray(y))) == 2:
        estimates.append(_vc(estimator, train, n, guessing, confidence))
    return RiskReport(tuple(estimates), guessing)


def _guessing(y: Any) -> float:
    """The error of always predicting the most frequent class."""
    counts = np.unique(np.asarray(y), return_counts=True)[1]
    return 1.0 - float(counts.max()) / float(counts.sum())


def _validation(estimator: Any, X: Any, y: Any, guessing: float, confidence: float) -> RiskEstimate:
    truth = np.asarray(y)
    errors, n = int(np.sum(np.asarray(estimator.predict(X)) != truth)), len(truth)
    interval = holdout_interval(errors, n, confidence)
    unsettled = interval[0] < guessing < interval[1]
    advice = "Too few to tell it from guessing" if unsettled else "Believe this one"
    remark = f"{advice}: {n:,} rows it never saw, {confidence:.0%} interval."
    return RiskEstimate("validation", errors / n, interval, unsettled, remark)


def _vc(estimator: Any, train: float, n: int, guessing: float, confidence: float) -> RiskEstimate:
    offset = bool(getattr(estimator, "fit_intercept", True))
    dimension = int(estimator.n_features_in_) + int(offset)
    value = vc_bound(train, n, dimension, confidence)
    remark = f"Upper bound, {confidence:.0%}, for any data; dimension {dimension:,}."
    return RiskEstimate("VC bound", value, None, value >= guessing, remark)


def _check_confidence(confidence: float) -> None:
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie between 0 and 1, got {confidence}")
