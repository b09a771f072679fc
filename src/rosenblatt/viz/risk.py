"""Training error against the error on new rows, and the bound between them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rosenblatt.theory import vc_bound
from rosenblatt.viz.style import GOOD, INK, LINES, NEGATIVE, PALETTE, POSITIVE, Display


class OverfittingDisplay(Display):
    """Training and validation error of models of growing capacity.

    Parameters
    ----------
    capacities : sequence
        What grows, such as degrees or numbers of features.
    training, validation : sequences of float
        The errors, between 0 and 1.
    name : str
        The name of what grows.

    Examples
    --------
    >>> from rosenblatt.viz import OverfittingDisplay
    >>> display = OverfittingDisplay([1, 2, 3], [0.3, 0.1, 0.0], [0.32, 0.14, 0.2]).plot()
    >>> display.best
    2
    """

    def __init__(
        self,
        capacities: Sequence[Any],
        training: Sequence[float],
        validation: Sequence[float],
        name: str = "degree",
    ) -> None:
        if not len(capacities) == len(training) == len(validation) > 0:
            raise ValueError("capacities and errors must have the same number of entries, not zero")
        self.capacities, self.name = list(capacities), name
        self.training, self.validation = list(training), list(validation)
        self.best = self.capacities[int(np.argmin(self.validation))]

    @classmethod
    def from_estimators(
        cls, estimators: Any, X: Any, y: Any, X_val: Any, y_val: Any, *, ax: Any = None,
        name: str = "degree", **options: Any,
    ) -> OverfittingDisplay:  # fmt: skip
        """Fit a mapping of capacity to estimator on (X, y), and draw both errors of each."""
        fitted = {capacity: model.fit(X, y) for capacity, model in estimators.items()}
        training = [1 - model.score(X, y) for model in fitted.values()]
        validation = [1 - model.score(X_val, y_val) for model in fitted.values()]
        return cls(list(fitted), training, validation, name).plot(ax=ax, **options)

    def plot(self, ax: Any = None, *, legend: bool = True) -> OverfittingDisplay:
        """Draw into `ax`, or into a new figure."""
        ax = self._prepare(ax)
        (self.training_,) = ax.plot(
            self.capacities, self.training, "s--", color=NEGATIVE, label="training error"
        )
        (self.validation_,) = ax.plot(
            self.capacities, self.validation, "o-", color=POSITIVE, label="validation error"
        )
        ax.axvline(self.best, color=GOOD, linestyle=":", label="least validation error")
        ax.set(xlabel=self.name, ylabel="error", ylim=(0, None))
        if legend:
            ax.legend(framealpha=0.9)
        return self


class VCBoundDisplay(Display):
    """The Vapnik-Chervonenkis bound on the risk as curves over the number of rows N.

    Parameters
    ----------
    capacities : sequence of int
        The VC dimensions h, one curve each.
    empirical_risk : float
        The training error.
    confidence : float
        The probability 1 - η with which the bound holds.

    Examples
    --------
    >>> from rosenblatt.viz import VCBoundDisplay
    >>> display = VCBoundDisplay([3, 31]).plot()
    >>> [line.get_label() for line in display.lines_]
    ['h = 3', 'h = 31']
    """

    def __init__(
        self, capacities: Sequence[int], empirical_risk: float = 0.0, confidence: float = 0.95
    ) -> None:
        self.capacities = list(capacities)
        self.empirical_risk, self.confidence = empirical_risk, confidence

    def plot(
        self, ax: Any = None, *, rows: tuple[int, int] = (10, 1_000_000), legend: bool = True
    ) -> VCBoundDisplay:
        """Draw into `ax`, or into a new figure, for N between the two numbers of `rows`."""
        ax = self._prepare(ax)
        N = np.unique(np.geomspace(*rows, 200).astype(int))
        self.lines_ = []
        for at, h in enumerate(self.capacities):
            bound = [vc_bound(self.empirical_risk, int(n), h, self.confidence) for n in N]
            (line,) = ax.plot(
                N, bound, color=PALETTE[at % len(PALETTE)], linestyle=LINES[at % len(LINES)],
                label=f"h = {h:,}",
            )  # fmt: skip
            self.lines_.append(line)
        ax.axhline(0.5, color=INK, linewidth=0.8, linestyle=(0, (1, 3)))
        ax.annotate("a coin", (rows[0], 0.5), xytext=(2, 3), textcoords="offset points", color=INK)
        ax.set(xscale="log", xlabel="training rows N", ylabel="bound on the risk", ylim=(0, 1.05))
        if legend:
            ax.legend(framealpha=0.9)
        return self
