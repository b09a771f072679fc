"""The updates of a run beside every bound that applies to them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rosenblatt.reference import average
from rosenblatt.theory import general_bound, nonseparable_bounds
from rosenblatt.tracing.proof import widest_separator
from rosenblatt.viz.style import INK, NEGATIVE, POSITIVE, SOFT, Display, padded_rows


class BoundsDisplay(Display):
    """Updates made, and the upper bounds on them, on one logarithmic scale.

    Parameters
    ----------
    updates : int
        The updates of the run.
    bounds : mapping of str to float
        The finite bounds by name.

    Examples
    --------
    >>> from rosenblatt.viz import BoundsDisplay
    >>> display = BoundsDisplay(4, {"Novikoff, R²/γ²": 410.2}).plot()
    >>> [text.get_text() for text in display.ax_.get_yticklabels()]
    ['updates made', 'Novikoff, R²/γ²']
    """

    def __init__(
        self, updates: int, bounds: Mapping[str, float], name: str = "updates made"
    ) -> None:
        self.updates, self.bounds, self.name = updates, dict(bounds), name

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, ax: Any = None, **options: Any
    ) -> BoundsDisplay:
        """Draw the updates of a fitted Perceptron; X and y are its training rows."""
        return cls.from_certificate(estimator.certificate(X, y), ax=ax, **options)

    @classmethod
    def from_certificate(cls, certificate: Any, *, ax: Any = None, **options: Any) -> BoundsDisplay:
        """Draw the bounds of :func:`rosenblatt.theory.run_certificate`."""
        bounds = {bound.name: bound.value for bound in certificate.bounds}
        return cls(certificate.updates, bounds).plot(ax=ax, **options)

    @classmethod
    def from_trace(cls, trace: Any, *, ax: Any = None, **options: Any) -> BoundsDisplay:
        """Draw the updates of an online trace with every bound that applies.

        On rows that no line separates, only the first epoch can be bounded, by the losses of a
        comparison vector: here the average of the weights.
        """
        if trace.update == "batch" or len({step.eta for step in trace}) > 1:
            raise ValueError("the bounds are about the online rule with a constant learning rate")
        separator = widest_separator(trace.problem)
        if separator is not None:
            return cls(trace.n_updates, _separable_bounds(trace, separator)).plot(ax=ax, **options)
        updates = sum(step.mistake for step in trace if step.epoch == 1)
        bounds = _first_epoch_bounds(trace)
        return cls(updates, bounds, "updates in the first epoch").plot(ax=ax, **options)

    def plot(self, ax: Any = None) -> BoundsDisplay:
        """Draw into `ax`, or into a new figure."""
        names = [self.name, *sorted(self.bounds, key=self.bounds.__getitem__)]
        values = [float(self.updates), *sorted(self.bounds.values())]
        ax = self._prepare(ax, figsize=(6.4, 0.9 + 0.45 * len(names)))
        low = 0.5 if self.updates < 1 else self.updates / 2
        at = range(len(names))
        # Points, not bars: a logarithmic axis has no zero to begin a bar at.
        ax.hlines(at, low, [max(value, low) for value in values], color=SOFT, lw=0.8, alpha=0.6)
        self.updates_ = ax.scatter([max(values[0], low)], [0], s=70, color=NEGATIVE, marker="s")
        self.bounds_ = ax.scatter(values[1:], at[1:], s=70, color=POSITIVE, marker="o", zorder=3)
        ax.set_yticks(at, names)
        ax.set_xscale("log")
        ax.set(xlim=(low, max(values) * 3), xlabel="updates (logarithmic)")
        ax.set_ylim(len(names) - 0.4, -0.6)
        for place, value in zip(at, values, strict=True):
            ax.annotate(
                f"{value:,.0f}" if value >= 10 else f"{value:.3g}", (max(value, low), place),
                xytext=(8, 0), textcoords="offset points", va="center", color=INK,
            )  # fmt: skip
        return self


def _separable_bounds(trace: Any, widest: Any) -> dict[str, float]:
    """Bounds for the separator of largest margin, and for the one that the run ended with."""
    problem, Z = trace.problem, padded_rows(trace.problem)
    start = np.array(problem.padded_weights(*trace.path[0]), dtype=float)
    last = np.array(problem.padded_weights(trace.weights, trace.bias), dtype=float)
    plain = not start.any() and problem.threshold == 0
    name = "R²/γ²" if plain else "start, threshold and rate"
    found = {}
    for whose, vector in (("the largest margin", np.array(widest)), ("the margin reached", last)):
        least = float((Z @ vector).min())
        if least > 0:
            found[f"{name}, for {whose}"] = general_bound(
                float(problem.sqradius) ** 0.5, vector, least, start=start,
                threshold=float(problem.threshold), eta=float(trace[0].eta),
            )  # fmt: skip
    return found


def _first_epoch_bounds(trace: Any) -> dict[str, float]:
    """Bounds by the losses of the averaged weights, each for its best ρ."""
    problem = trace.problem
    if any(w for w in trace.path[0][0]) or problem.threshold or trace[0].eta != 1:
        raise ValueError(
            "on rows that no line separates, the bounds are about a start at zero with threshold "
            "0 and learning rate 1"
        )
    first = [step for step in trace if step.epoch == 1]
    u, b = average(trace.steps)
    rows = [problem.X[step.row] for step in first]
    signs = [problem.signs[step.row] for step in first]
    end = problem.padded_weights(first[-1].weights_after, first[-1].bias_after)
    run = {
        "updated": [i for i, step in enumerate(first) if step.mistake],
        "final_norm": float(np.linalg.norm(np.array(end, dtype=float))),
        "fit_intercept": problem.padding is not None,
        "padding": float(problem.padding or 1),
    }
    margins = np.geomspace(1e-3, 1e1, 60) * float(problem.sqradius) ** 0.5
    bounds = [nonseparable_bounds(rows, signs, u, float(b), rho=rho, **run) for rho in margins]
    names = ("losses, squared", "losses, summed", "losses, and ‖w‖ at the end")
    return dict(zip(names, map(min, zip(*bounds, strict=True)), strict=True))
