"""Several rules on the same examples: progressive errors, updates and times, as in the papers."""

from __future__ import annotations

import html
import os
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from rosenblatt.estimators.family import estimator_of
from rosenblatt.estimators.online import learn_online
from rosenblatt.kernels.jit import compile_seconds
from rosenblatt.learners.examples import check_sparse
from rosenblatt.rules import registry

_POINTS = 60  # of a curve
_HEADER = ("rule", "error", "updates", "seconds")


@dataclass(frozen=True, repr=False)
class Comparison:
    """The result of :func:`compare`; it prints as a table.

    On a terminal the table has the best rule in bold and a bar for each error, unless the
    environment variable NO_COLOR is set.

    Attributes
    ----------
    names : list of str
        The rules.
    errors : array (rules, orders)
        The share of wrong predictions, each made before its label was used.
    updates : array (rules, orders)
        The number of updates, over all classes.
    seconds : array (rules, orders)
        The time of learning, without compiling or loading what is compiled.
    examples : array (points,)
        The numbers of examples at which the curves are sampled.
    curves : array (rules, orders, points)
        The share of wrong predictions up to there.
    """

    names: list[str]
    errors: np.ndarray
    updates: np.ndarray
    seconds: np.ndarray
    examples: np.ndarray
    curves: np.ndarray

    @property
    def ranking(self) -> list[str]:
        """The names, by increasing error."""
        return [self.names[i] for i in self._order()]

    def rows(self) -> list[tuple[str, str, str, str]]:
        """Name, error, updates and seconds of each rule, by increasing error, for a table."""
        deviation = self.errors.std(axis=1, ddof=1 if self.errors.shape[1] > 1 else 0)
        return [
            (
                self.names[i],
                f"{self.errors[i].mean():.3f} ± {deviation[i]:.3f}",
                f"{self.updates[i].mean():.0f}",
                f"{self.seconds[i].mean():.4f}",
            )
            for i in self._order()
        ]

    def _order(self) -> np.ndarray:
        """The rules by increasing error."""
        return np.argsort(self.errors.mean(axis=1), kind="stable")

    def plot(self, ax: Any = None, **options: Any) -> Any:
        """Draw the curves: a :class:`rosenblatt.viz.ComparisonDisplay`."""
        from rosenblatt.viz import ComparisonDisplay

        return ComparisonDisplay(self.names, self.examples, self.curves).plot(ax=ax, **options)

    def __repr__(self) -> str:
        lines = [_HEADER, *self.rows()]
        first, *others = (max(map(len, column)) for column in zip(*lines, strict=True))
        return "\n".join(
            "  ".join([name.ljust(first), *map(str.rjust, cells, others)]) for name, *cells in lines
        )

    def __str__(self) -> str:
        lines = repr(self).split("\n")
        if (
            not sys.stdout.isatty()
            or os.environ.get("NO_COLOR")
            or os.environ.get("TERM") == "dumb"
        ):
            return "\n".join(lines)
        errors = self.errors.mean(axis=1)[self._order()]
        lengths = np.rint(20 * errors / (errors.max() or 1.0)).astype(int)
        styles = ["1;32", *["0"] * (len(errors) - 1)]
        drawn = [
            f"\x1b[{style}m{line}\x1b[0m  \x1b[36m{'█' * length}\x1b[0m"
            for line, length, style in zip(lines[1:], lengths, styles, strict=True)
        ]
        return "\n".join([f"\x1b[1m{lines[0]}\x1b[0m", *drawn])

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{name}</th>" for name in _HEADER)
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
    """Run several rules once over the same examples, in several random orders, and count mistakes.

    Every prediction is made before its label is used (progressive validation), so that the errors
    are unbiased whatever the parameters. All rules see the same orders.

    Parameters
    ----------
    X, y
        Rows and labels of two classes or more.
    rules : iterable of str or estimators, or dict of names to these, default=None
        Names such as ``"arow"`` or ``"scw1:C=0.5"``, or estimators with `partial_fit`; by default
        the whole family, with their columns scaled by the rows so far.
    orders : int, default=5
        The number of random orders.
    seed : int, default=0
        The seed of the orders.
    **parameters
        Parameters of all rules given by name, such as ``fit_intercept=False``.

    Returns
    -------
    Comparison
        A table when printed; :meth:`Comparison.plot` draws mistakes against examples.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from rosenblatt import compare
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> comparison = compare(X, y, ["perceptron", "arow"], orders=3)
    >>> comparison.errors.mean(axis=1).round(3)
    array([0.06 , 0.047])
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
    errors = np.zeros(shape)
    updates = np.zeros(shape)
    seconds = np.zeros(shape)
    curves, classes = np.zeros((*shape, len(points))), np.unique(y)
    for model in models.values():  # so that the first is not timed with what it has to load
        learn_online(clone(model), X[:2], y[:2], classes=classes)
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
    """The estimator of each rule, by name."""
    if isinstance(rules, str):
        raise ValueError(f"rules is a list of names, not one name: write [{rules!r}]")
    if rules is None:
        rules = list(registry.rules())
    if not isinstance(rules, Mapping):
        rules = {rule if isinstance(rule, str) else repr(rule): rule for rule in rules}
    if not rules:
        raise ValueError("there is nothing to compare: name at least one rule")
    parameters = {"scale": "auto"} | parameters
    return {
        name: estimator_of(rule, **parameters) if isinstance(rule, str) else rule
        for name, rule in rules.items()
    }
