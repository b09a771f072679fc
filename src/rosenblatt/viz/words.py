"""The features with the largest weights for and against a class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rosenblatt.viz import style
from rosenblatt.viz.style import INK, NEGATIVE, POSITIVE, Display


class TopWordsDisplay(Display):
    """The largest weights of each sign, by the names of their features.

    Parameters
    ----------
    names : sequence of str
        The features, from the largest weight to the smallest.
    weights : sequence of float
        Their weights.
    title : str
        The title, which names the class.

    Examples
    --------
    >>> from rosenblatt import teaching_sets, trace
    >>> from rosenblatt.viz import TopWordsDisplay
    >>> m = teaching_sets.load("movies")
    >>> run = trace(m.X, m.y, feature_names=m.feature_names, mistake="sign", fit_intercept=False)
    >>> TopWordsDisplay.from_trace(run, top=1).names
    ['movie', 'not']
    """

    def __init__(self, names: Sequence[str], weights: Sequence[float], title: str = "") -> None:
        self.names, self.weights, self.title = list(names), [float(w) for w in weights], title

    @classmethod
    def from_estimator(
        cls, estimator: Any, feature_names: Sequence[str] | None = None, *, label: Any = None,
        top: int = 12, ax: Any = None, **options: Any,
    ) -> TopWordsDisplay:  # fmt: skip
        """Draw the weights of a fitted linear estimator.

        Parameters
        ----------
        estimator
            Anything with ``coef_`` and ``classes_``.
        feature_names
            The names of the columns; by default ``feature_names_in_``.
        label
            The class to show; by default the second of two, required if there are more.
        top
            The number of weights of each sign.
        """
        style.refuse_pairs(estimator)
        coef = estimator.coef_
        coef = np.asarray(coef.toarray() if hasattr(coef, "toarray") else coef)
        names = feature_names
        if names is None:
            names = getattr(estimator, "feature_names_in_", None)
        if names is None:
            raise ValueError("the estimator was fitted without feature names: pass feature_names")
        if len(names) != coef.shape[1]:
            raise ValueError(f"{len(names)} names do not fit {coef.shape[1]} features")
        classes = list(estimator.classes_)
        if label is None and len(coef) > 1:
            raise ValueError(f"choose the label to show, one of {classes}")
        index = len(classes) - 1 if label is None else classes.index(label)
        weights = coef[index] if len(coef) > 1 else coef[0] * (1 if index == 1 else -1)
        title = f"for and against {classes[index]}"
        return cls._top(names, weights, top, title).plot(ax=ax, **options)

    @classmethod
    def from_trace(
        cls, trace: Any, *, top: int = 12, ax: Any = None, **options: Any
    ) -> TopWordsDisplay:
        """Draw the last weights of a trace."""
        problem = trace.problem
        title = f"for and against {problem.label(1)}"
        weights = np.array(trace.weights, dtype=float)
        return cls._top(problem.feature_names, weights, top, title).plot(ax=ax, **options)

    @classmethod
    def _top(cls, names: Sequence[str], weights: Any, top: int, title: str) -> TopWordsDisplay:
        order = np.argsort(-weights, kind="stable")
        chosen = [j for j in order[:top] if weights[j] > 0]
        chosen += [j for j in order[max(len(order) - top, 0) :] if weights[j] < 0]
        return cls([str(names[j]) for j in chosen], weights[chosen], title)

    def plot(self, ax: Any = None) -> TopWordsDisplay:
        """Draw into `ax`, or into a new figure."""
        ax = self._prepare(ax, figsize=(5.6, 1.0 + 0.27 * len(self.names)))
        at = np.arange(len(self.names))
        colors = [POSITIVE if weight > 0 else NEGATIVE for weight in self.weights]
        self.bars_ = ax.barh(at, self.weights, color=colors, height=0.7)
        ax.axvline(0, color=INK, linewidth=1)
        ax.set_yticks(at, self.names)
        ax.tick_params(axis="y", length=0)
        ax.spines["left"].set_visible(False)
        ax.invert_yaxis()
        ax.set(xlabel="weight", title=self.title)
        return self
