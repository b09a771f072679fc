"""The number of errors and the perceptron criterion as functions of one weight."""

from __future__ import annotations

from typing import Any

import numpy as np

from rosenblatt.viz.style import INK, NEGATIVE, POSITIVE, Display, padded_rows, weight_names


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

    def __init__(
        self, values: Any, errors: Any, criterion: Any, name: str, at: float | None = None
    ) -> None:
        self.values, self.errors, self.criterion = values, errors, criterion
        self.name, self.at = name, at

    @classmethod
    def from_trace(
        cls, trace: Any, weight: int = 0, *, values: Any = None, ax: Any = None, **options: Any
    ) -> CriterionDisplay:
        """Vary one of the last weights of a trace; ``-1`` is the bias if there is one."""
        problem, Z = trace.problem, padded_rows(trace.problem)
        last = np.array(problem.padded_weights(trace.weights, trace.bias), dtype=float)
        names = weight_names(problem)
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
