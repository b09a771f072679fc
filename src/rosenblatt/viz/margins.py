"""How far the rows are from the boundary, and how errors change with one weight."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rosenblatt.viz import style
from rosenblatt.viz.style import GOOD, INK, NEGATIVE, POSITIVE, SOFT, Display


class MarginsDisplay(Display):
    """The distances of the rows from the boundary, wrong ones left of zero.

    Parameters
    ----------
    margins : array
        For each row the distance from the boundary, negative if the row is on the wrong side.

    Examples
    --------
    >>> from rosenblatt import trace
    >>> from rosenblatt.viz import MarginsDisplay
    >>> run = trace([[2, 1], [-1, 1]], [1, -1])
    >>> MarginsDisplay.from_trace(run).margins.tolist()
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

    @classmethod
    def from_trace(cls, trace: Any, *, ax: Any = None, **options: Any) -> MarginsDisplay:
        """Draw the margins of the rows under the last weights of a trace."""
        w, signs = np.array(trace.weights, dtype=float), np.array(trace.problem.signs)
        scores = np.array(trace.problem.X, dtype=float) @ w + float(trace.bias)
        return cls(signs * scores / max(np.linalg.norm(w), 1e-300)).plot(ax=ax, **options)

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


@dataclass(eq=False, repr=False)
class CriterionDisplay(Display):
    """Two error measures over one weight, the others held fixed.

    The number of misclassified rows is constant between jumps, so that its slope says nothing
    about where to go. The perceptron criterion ``E_p = Σ max(0, -y·s)`` is continuous, convex and
    made of straight pieces; minus its slope is the sum of ``y·x`` over the misclassified rows.

    Parameters
    ----------
    values : array of shape (m,)
        Values of the weight.
    errors, criterion : arrays of shape (m,)
        The number of misclassified rows and E_p at these values.
    name : str
        What the weight is called.
    at : float, optional
        A value to mark.

    Examples
    --------
    >>> from rosenblatt import trace
    >>> from rosenblatt.viz import CriterionDisplay
    >>> run = trace([[2], [1], [-1]], [1, 1, -1], fit_intercept=False, feature_names=["size"])
    >>> display = CriterionDisplay.from_trace(run, values=[-1.0, 0.5])
    >>> display.errors.tolist(), display.criterion.tolist()
    ([3, 0], [4.0, 0.0])
    """

    values: Any
    errors: Any
    criterion: Any
    name: str
    at: float | None = None

    @classmethod
    def from_trace(
        cls, trace: Any, weight: int = 0, *, values: Any = None, ax: Any = None, **options: Any
    ) -> CriterionDisplay:
        """Vary one of the last weights of a trace; ``-1`` is the bias if there is one."""
        problem, Z = trace.problem, style.padded_rows(trace.problem)
        last = np.array(problem.padded_weights(trace.weights, trace.bias), dtype=float)
        names = style.weight_names(problem)
        if not -len(names) <= weight < len(names):
            raise ValueError(f"there are {len(names)} weights; {weight} is not one of them")
        if values is None:
            # Each row changes sides where its score is zero: show all of these values.
            with np.errstate(divide="ignore", invalid="ignore"):
                jumps = last[weight] - (Z @ last) / Z[:, weight]
            jumps = np.append(jumps[np.isfinite(jumps)], [last[weight], 0.0])
            room = 0.15 * max(float(np.ptp(jumps)), 1.0)
            values = np.linspace(jumps.min() - room, jumps.max() + room, 1001)
        values = np.asarray(values, dtype=float)
        scores = Z @ last + np.outer(values - last[weight], Z[:, weight])
        errors = np.sum(scores <= 0, axis=1)
        criterion = np.sum(np.maximum(0.0, -scores), axis=1)
        display = cls(values, errors, criterion, names[weight], float(last[weight]))
        return display.plot(ax=ax, **options)

    def plot(self, ax: Any = None, *, legend: bool = True) -> CriterionDisplay:
        """Draw into `ax`, or into a new figure; the criterion has the axis on the right."""
        ax = self._prepare(ax, figsize=(6.4, 4.0))
        (self.errors_,) = ax.step(
            self.values, self.errors, where="mid", color=NEGATIVE, label="misclassified rows"
        )
        ax.set(xlabel=self.name, ylabel="misclassified rows")
        ax.set_ylim(-0.08 * max(self.errors), 1.12 * max(max(self.errors), 1))
        other = ax.twinx()
        other.spines[["top", "left"]].set_visible(False)
        (self.criterion_,) = other.plot(
            self.values, self.criterion, color=POSITIVE, linestyle="--", label="criterion $E_p$"
        )
        top = max(float(np.max(self.criterion)), 1e-12)
        other.set(ylabel="perceptron criterion $E_p$", ylim=(-0.08 * top, 1.12 * top))
        lines = [self.errors_, self.criterion_]
        if self.at is not None:
            lines.append(ax.axvline(self.at, color=INK, linestyle=":", label="the last weights"))
        if legend:
            ax.legend(handles=lines, loc="upper center", framealpha=0.9)
        return self
