"""One pass of several rules over the same examples in several orders, as in the papers' tables."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from rosenblatt.estimators.online import learn_online
from rosenblatt.estimators.rule_names import NAMES, estimator_of
from rosenblatt.kernels.jit import compile_seconds
from rosenblatt.learners.examples import check_sparse

_POINTS = 60  # of a curve


@dataclass(frozen=True, repr=False)
class Comparison:
    """What came of :func:`compare`; printed, it is a table.

    Attributes
    ----------
    names : list of str
        The rules.
    errors : array (rules, orders)
        The share of wrong predictions, each made before its label was used.
    updates : array (rules, orders)
        How often weights were corrected, all classes together.
    seconds : array (rules, orders)
        Of learning, without compiling.
    examples : array (points,)
        After how many examples the curves are taken.
    curves : array (rules, orders, points)
        The share of wrong predictions so far.
    """

    names: list[str]
    errors: np.ndarray
    updates: np.ndarray
    seconds: np.ndarray
    examples: np.ndarray
    curves: np.ndarray

    @property
    def ranking(self) -> list[str]:
        """The names, the least error first."""
        order = np.argsort(self.errors.mean(axis=1), kind="stable")
        return [self.names[i] for i in order]

    def rows(self) -> list[tuple[str, str, str, str]]:
        """Name, error, updates and seconds of each rule, as a table shows them."""
        deviation = self.errors.std(axis=1, ddof=1 if self.errors.shape[1] > 1 else 0)
        return [
            (
                name,
                f"{self.errors[i].mean():.3f} ± {deviation[i]:.3f}",
                f"{self.updates[i].mean():.0f}",
                f"{self.seconds[i].mean():.4f}",
            )
            for i, name in enumerate(self.names)
        ]

    def plot(self, ax: Any = None, **options: Any) -> Any:
        """Draw the curves: a :class:`rosenblatt.viz.ComparisonDisplay`."""
        from rosenblatt.viz import ComparisonDisplay

        return ComparisonDisplay.from_comparison(self, ax=ax, **options)

    def __repr__(self) -> str:
        head = ("rule", "error", "updates", "seconds")
        lines = [head, *self.rows()]
        widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
        return "\n".join(
            "  ".join(
                cell.ljust(w) if i == 0 else cell.rjust(w)
                for i, (cell, w) in enumerate(zip(line, widths, strict=True))
            )
            for line in lines
        )

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{name}</th>" for name in ("rule", "error", "updates", "seconds"))
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>"
            for row in self.rows()
        )
        return f"<table><tr>{head}</tr>{body}</table>"


def compare(
    X: Any,
    y: Any,
    rules: Iterable[Any] | Mapping[str, Any] | None = None,
    *,
    orders: int = 5,
    seed: int = 0,
    **parameters: Any,
) -> Comparison:
    """Learn once from each example by several rules, in several random orders, and count mistakes.

    Every prediction is made before its label is used (progressive validation), so that the errors
    are honest whatever the parameters. All rules see the same orders.

    Parameters
    ----------
    X, y
        Rows and labels of two classes or more.
    rules : iterable of str or estimators, or dict of names to these, default=None
        Names such as ``"arow"`` or ``"scw1:C=0.5"``, or estimators with `partial_fit`; None is the
        whole family.
    orders : int, default=5
        How many random orders.
    seed : int, default=0
        Decides the orders.
    **parameters
        For every rule that is given by name, such as ``fit_intercept=False``.

    Returns
    -------
    Comparison
        Printed, a table; its :meth:`Comparison.plot` draws mistakes against examples.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import StandardScaler
    >>> from rosenblatt import compare
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> found = compare(StandardScaler().fit_transform(X), y, ["perceptron", "arow"], orders=3)
    >>> found.errors.mean(axis=1).round(3)
    array([0.064, 0.044])
    """
    if orders < 1:
        raise ValueError(f"orders must be at least 1, got {orders}")
    models = _models(rules, parameters)
    check_sparse(X)
    X, y = X.tocsr() if sparse.issparse(X) else np.asarray(X), np.asarray(y)
    if len(y) != X.shape[0] or len(y) == 0:
        raise ValueError(f"there are {X.shape[0]} rows and {len(y)} labels")
    points = np.unique(np.linspace(1, len(y), min(_POINTS, len(y))).astype(int))
    shape = (len(models), orders)
    errors, updates, seconds = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    curves, classes = np.zeros((*shape, len(points))), np.unique(y)
    for k in range(orders):
        order = np.random.default_rng([seed, k]).permutation(len(y))
        rows, labels = X[order], y[order]
        for i, model in enumerate(models.values()):
            began, compiled = perf_counter(), compile_seconds()
            run = learn_online(clone(model), rows, labels, classes=classes)
            seconds[i, k] = perf_counter() - began - (compile_seconds() - compiled)
            curve = np.asarray(run.curve)
            errors[i, k], updates[i, k] = curve[-1], run.model.n_updates_
            curves[i, k] = curve[points - 1]
    return Comparison(list(models), errors, updates, seconds, points, curves)


def _models(rules: Any, parameters: dict[str, Any]) -> dict[str, Any]:
    """The estimators by name."""
    if rules is None:
        rules = list(NAMES)
    if isinstance(rules, str):
        raise ValueError(f"rules is a list of names, not one name: write [{rules!r}]")
    if not isinstance(rules, Mapping):
        rules = {rule if isinstance(rule, str) else repr(rule): rule for rule in rules}
    found = {
        name: estimator_of(rule, **parameters) if isinstance(rule, str) else rule
        for name, rule in rules.items()
    }
    if not found:
        raise ValueError("there is nothing to compare: name at least one rule")
    return found
