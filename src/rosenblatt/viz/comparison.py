"""Mistakes against examples, rule by rule."""

from __future__ import annotations

from typing import Any

import numpy as np

from rosenblatt.viz.style import Display


class ComparisonDisplay(Display):
    """The progressive error of several rules, averaged over orders.

    Parameters
    ----------
    names : list of str
    examples : array (points,)
        The numbers of examples at which the curves are sampled.
    curves : array (rules, orders, points)
        The share of wrong predictions up to there.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from rosenblatt import compare
    >>> X, y = load_iris(return_X_y=True)
    >>> display = compare(X, y, ["perceptron", "arow"], orders=2).plot()
    >>> [line.get_label() for line in display.ax_.lines]
    ['arow', 'perceptron']
    """

    def __init__(self, names: list[str], examples: np.ndarray, curves: np.ndarray) -> None:
        self.names, self.examples, self.curves = names, examples, curves

    @classmethod
    def from_comparison(
        cls, comparison: Any, *, ax: Any = None, **options: Any
    ) -> ComparisonDisplay:
        """Draw a :class:`rosenblatt.comparison.Comparison`."""
        display = cls(comparison.names, comparison.examples, comparison.curves)
        return display.plot(ax=ax, **options)

    def plot(self, ax: Any = None, **line: Any) -> ComparisonDisplay:
        """Draw a line per rule, in the legend by increasing final error."""
        ax = self._prepare(ax)
        means = self.curves.mean(axis=1)
        for place, i in enumerate(np.argsort(means[:, -1], kind="stable")):
            dashes = ("-", "--", ":")[place // 10 % 3]
            style = {"linewidth": 1.5, "linestyle": dashes, **line}
            ax.plot(self.examples, means[i], label=self.names[i], **style)
        ax.set(xlabel="examples", ylabel="share of mistakes so far", xlim=(0, self.examples[-1]))
        ax.legend(fontsize="small", frameon=False, ncols=2 if len(self.names) > 8 else 1)
        return self
