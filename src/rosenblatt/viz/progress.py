"""How learning goes: epoch by epoch, and rule by rule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rosenblatt.viz.style import (
    FAINT,
    GOOD,
    LINES,
    MARKERS,
    NEGATIVE,
    PALETTE,
    POSITIVE,
    SOFT,
    Display,
)

_BANDS = 3  # rules whose spread is drawn: more would hide each other


@dataclass(eq=False, repr=False)
class EpochsDisplay(Display):
    """Updates in each epoch as bars, errors as lines.

    Parameters
    ----------
    updates : sequence of int
        Updates in each epoch.
    progressive_error, train_error, validation_error : sequence of float or None
        Shares of wrong predictions: of those made on each row before learning from it, of all
        rows with the weights at the end of the epoch, and of held-out rows. NaN where unknown.
    stop_reason : str or None
        Why the run ended.

    Examples
    --------
    >>> from rosenblatt import Perceptron, teaching_sets
    >>> from rosenblatt.viz import EpochsDisplay
    >>> iris = teaching_sets.load("iris")
    >>> model = Perceptron.textbook(shuffle=False).fit(iris.X, iris.y)
    >>> EpochsDisplay.from_estimator(model).updates
    [2, 2, 0]
    """

    updates: Sequence[int]
    progressive_error: Sequence[float] | None = None
    train_error: Sequence[float] | None = None
    validation_error: Sequence[float] | None = None
    stop_reason: str | None = None

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, **options: Any) -> EpochsDisplay:
        """Draw the ``history_`` of a fitted estimator."""
        epochs = list(estimator.history_)
        display = cls(
            [epoch.updates for epoch in epochs],
            _known([epoch.progressive_error for epoch in epochs]),
            _known([epoch.train_error for epoch in epochs]),
            _known([epoch.validation_error for epoch in epochs]),
            estimator.stop_reason_,
        )
        return display.plot(ax=ax, **options)

    def plot(self, ax: Any = None, *, legend: bool = True) -> EpochsDisplay:
        """Draw into `ax`, or into a new figure."""
        ax = self._prepare(ax)
        at = np.arange(1, len(self.updates) + 1)
        self.bars_ = ax.bar(at, self.updates, color=SOFT, alpha=0.55, width=0.8, label="updates")
        ax.set(xlabel="epoch", ylabel="updates")
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.yaxis.get_major_locator().set_params(integer=True)
        self.lines_ = []
        curves = [
            (self.progressive_error, "progressive error", POSITIVE, ":", "^"),
            (self.train_error, "training error", NEGATIVE, "--", "s"),
            (self.validation_error, "validation error", GOOD, "-", "o"),
        ]
        if any(curve is not None for curve, *_ in curves):
            right = ax.twinx()
            right.spines["top"].set_visible(False)
            right.set(ylabel="error")
            for values, label, color, line, marker in curves:
                if values is not None:
                    look = {"linestyle": line, "marker": marker, "markersize": 4}
                    self.lines_ += right.plot(at, values, color=color, label=label, **look)
            highest = max(np.nanmax(line.get_ydata()) for line in self.lines_)
            right.set_ylim(0, 1.15 * highest or 1)
            right.yaxis.set_major_formatter(lambda value, _: f"{value:.3g}")
        if self.stop_reason:
            ax.set_title(f"ended: {self.stop_reason}", loc="right", fontsize="medium", color=SOFT)
        if legend and self.lines_:
            ax.legend(handles=[self.bars_, *self.lines_], loc="upper right", framealpha=0.9)
        return self


def _known(values: list[float]) -> list[float] | None:
    """The values, or None if all are NaN."""
    return None if all(map(np.isnan, values)) else values


@dataclass(eq=False, repr=False)
class ComparisonDisplay(Display):
    """The progressive error of several rules, averaged over orders: ``compare(X, y).plot()``.

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
    >>> [line.get_label().split()[0] for line in display.ax_.lines]
    ['arow', 'perceptron']
    """

    names: list[str]
    examples: np.ndarray
    curves: np.ndarray

    def plot(self, ax: Any = None, **line: Any) -> ComparisonDisplay:
        """Draw a line per rule, by increasing final error; the best ones with colour and name.

        A band shows the standard deviation of the best over the orders. The axis of examples is
        logarithmic: most is learned from the first ones.
        """
        ax = self._prepare(ax, figsize=(7.0, 4.5))
        means, deviations = self.curves.mean(axis=1), self.curves.std(axis=1)
        order = np.argsort(means[:, -1], kind="stable")
        for place, i in enumerate(order[: len(PALETTE)]):
            look = {"linewidth": 1.5, "color": PALETTE[place], "marker": MARKERS[place], **line}
            look = {
                "linestyle": LINES[place % len(LINES)],
                "markersize": 5,
                "markevery": 0.12,
                **look,
            }
            label = f"{self.names[i]} {100 * means[i, -1]:.1f} %"
            (drawn,) = ax.plot(self.examples, means[i], label=label, **look)
            low, high = means[i] - deviations[i], means[i] + deviations[i]
            if place < _BANDS:
                ax.fill_between(self.examples, low, high, color=drawn.get_color(), alpha=0.12)
        others = order[len(PALETTE) :]
        for place, i in enumerate(others):
            name = f"{len(others)} with more errors" if place == 0 else None
            ax.plot(self.examples, means[i], color=FAINT, linewidth=1, zorder=1, label=name)
        late = self.examples >= min(20, self.examples[-1])
        highest = 1.1 * float(means[:, late].max()) or 1.0
        first = 10 if self.examples[-1] >= 100 else self.examples[0]
        ax.set(xscale="log", xlim=(first, self.examples[-1]))
        ax.set(
            xlabel="examples (logarithmic)", ylabel="share of mistakes so far", ylim=(0, highest)
        )
        ax.legend(
            title="mistakes in all",
            fontsize="small",
            frameon=False,
            loc="center left",
            bbox_to_anchor=(1.0, 0.5),
        )
        return self
