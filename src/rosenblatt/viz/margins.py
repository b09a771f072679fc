"""How far the rows are from the boundary."""

from __future__ import annotations

from typing import Any

import numpy as np

from rosenblatt.viz import style
from rosenblatt.viz.style import GOOD, INK, NEGATIVE, SOFT, Display


class MarginsDisplay(Display):
    """The distances of the rows from the boundary, wrong ones left of zero.

    Parameters
    ----------
    margins : array
        For each row the distance from the boundary, negative if the row is on the wrong side.

    Examples
    --------
    >>> from rosenblatt import Perceptron
    >>> from rosenblatt.viz import MarginsDisplay
    >>> X, y = [[2, 1], [-1, 1]], [1, -1]
    >>> model = Perceptron.textbook(shuffle=False).fit(X, y)
    >>> MarginsDisplay.from_estimator(model, X, y).margins.tolist()
    [2.0, 1.0]
    """

    def __init__(self, margins: Any) -> None:
        self.margins = np.asarray(margins, dtype=float)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, ax: Any = None, **options: Any
    ) -> MarginsDisplay:
        """Draw the margins of the rows under a fitted linear estimator.

        With more than two classes the margin of a row is the gap between the score of its class
        and the best other one, divided by the length of the difference of their weights.
        """
        style.refuse_several_labels(estimator)
        style.refuse_pairs(estimator)
        scores = np.asarray(estimator.decision_function(X), dtype=float)
        index = np.searchsorted(estimator.classes_, np.asarray(y))
        coef = np.asarray(estimator.coef_, dtype=float)
        if scores.ndim == 1:
            gaps, lengths = np.where(index == 1, 1, -1) * scores, np.linalg.norm(coef)
        else:
            rows = np.arange(len(scores))
            others = scores.copy()
            others[rows, index] = -np.inf
            rival = others.argmax(axis=1)
            gaps = scores[rows, index] - scores[rows, rival]
            lengths = np.linalg.norm(coef[index] - coef[rival], axis=1)
        return cls(gaps / np.maximum(lengths, 1e-300)).plot(ax=ax, **options)

    def plot(
        self, ax: Any = None, *, bins: int | str = "auto", legend: bool = True
    ) -> MarginsDisplay:
        """Draw into `ax`, or into a new figure."""
        ax = self._prepare(ax)
        edges = np.histogram_bin_edges(self.margins, bins=bins)
        # An edge at zero keeps wrong and right rows in different bars.
        edges = np.union1d(edges, [0.0]) if edges[0] < 0 < edges[-1] else edges
        right, wrong = self.margins[self.margins > 0], self.margins[self.margins <= 0]
        bars = {"bins": edges, "edgecolor": "white", "linewidth": 0.6}
        label = f"wrong side: {len(wrong)}"
        self.wrong_ = ax.hist(wrong, color=NEGATIVE, hatch="///", label=label, **bars)
        self.right_ = ax.hist(right, color=GOOD, label=f"right side: {len(right)}", **bars)
        ax.axvline(0, color=INK, linewidth=1.2)
        least = float(self.margins.min())
        ax.axvline(least, color=SOFT, linestyle="--", linewidth=1.2, label=f"smallest: {least:.3g}")
        ax.set(xlabel="distance from the boundary", ylabel="rows")
        ax.yaxis.get_major_locator().set_params(integer=True)
        if legend:
            ax.legend(loc="best", framealpha=0.9)
        return self
