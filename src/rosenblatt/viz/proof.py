"""The proof that a run ends, and the bounds on its updates, as pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rosenblatt.reference import average
from rosenblatt.theory import general_bound, nonseparable_bounds
from rosenblatt.tracing.proof import widest_separator
from rosenblatt.viz.style import INK, NEGATIVE, POSITIVE, SOFT, Display, note, padded_rows


class ProofDisplay(Display):
    """The run between two curves, kγ below and √k·R above; it must end where they cross.

    The dots show the run: the length of w, and its progress along the separator u.
    As ``kγ <= u·w <= ‖w‖ <= √k·R``, there is no room for it right of the crossing.

    Parameters
    ----------
    proof : rosenblatt.tracing.Proof
        From a run with a constant learning rate, started at zero.

    Examples
    --------
    >>> from rosenblatt import trace
    >>> from rosenblatt.viz import ProofDisplay
    >>> run = trace([[2, 1], [-1, 1]], [1, -1])
    >>> display = ProofDisplay.from_trace(run, separator=(1, 0, 0))
    >>> round(display.crossing, 6)
    6.0
    """

    def __init__(self, proof: Any) -> None:
        if proof.bound is None or proof.points[0].sqnorm:
            raise ValueError(
                "the proof can be drawn for the online rule with a constant learning rate and a "
                "start at zero; for other runs print the proof, `trace.to_text(proof=True)`"
            )
        self.proof = proof
        self.crossing = float(proof.bound)

    @classmethod
    def from_trace(
        cls, trace: Any, separator: Sequence[Any] | None = None, *, ax: Any = None, **options: Any
    ) -> ProofDisplay:
        """Draw the proof for a trace, by default for the separator of largest margin."""
        return cls(trace.proof(separator)).plot(ax=ax, **options)

    def plot(self, ax: Any = None, *, scale: str = "auto", legend: bool = True) -> ProofDisplay:
        """Draw into `ax`, or into a new figure.

        On a logarithmic scale both curves are straight; it is chosen by ``"auto"`` when the run
        ended long before the bound.
        """
        if scale not in ("auto", "linear", "log"):
            raise ValueError(f"scale must be 'auto', 'linear' or 'log', not {scale!r}")
        ax = self._prepare(ax)
        last = self.proof.points[-1]
        logarithmic = scale == "log" or (scale == "auto" and last.k < self.crossing / 8)
        # Per update, the floor rises by ηγ and the square of the ceiling by 2ηδ + η²R².
        rise = last.progress_floor / last.k if last.k else self.proof.margin
        square = last.sqnorm_ceiling / last.k if last.k else self.proof.radius**2
        plain = np.isclose(rise, self.proof.margin) and np.isclose(square, self.proof.radius**2)
        reach = self.crossing * (2.2 if logarithmic else 1.12)
        x = np.geomspace(0.8, reach, 400) if logarithmic else np.linspace(0, reach, 400)
        floor, ceiling = rise * x, np.sqrt(square * x)
        names = ("kγ: at least", "√k·R: at most") if plain else ("at least", "at most")
        (self.floor_,) = ax.plot(x, floor, color=POSITIVE, linestyle="--", label=names[0])
        (self.ceiling_,) = ax.plot(x, ceiling, color=NEGATIVE, label=names[1])
        ax.fill_between(x, floor, ceiling, where=x <= self.crossing, color=SOFT, alpha=0.14, lw=0)
        self._draw_run(ax, logarithmic)
        ax.axvline(self.crossing, color=INK, linewidth=1, linestyle=":")
        name = "(R/γ)²" if plain else "bound"
        text, foot = f"{name} = {self.crossing:.4g}", ("data", "axes fraction")
        note(ax, text, (self.crossing, 0), (-6, 8), ha="right", xycoords=foot)
        if logarithmic:
            ax.set(xscale="log", yscale="log")
        ax.set(xlabel="updates k", xlim=(x[0], reach))
        if not logarithmic:
            ax.set_ylim(0, None)
        if legend:
            ax.legend(loc="upper left", framealpha=0.9)
        return self

    def _draw_run(self, ax: Any, logarithmic: bool) -> None:
        points = self.proof.points[1:] if logarithmic else self.proof.points
        k = [point.k for point in points]
        style = {"s": 22 if len(k) < 60 else 8, "zorder": 3}
        lengths = [np.sqrt(float(point.sqnorm)) for point in points]
        progress = [point.progress for point in points]
        self.length_ = ax.scatter(k, lengths, color=NEGATIVE, marker="o", label="‖w‖", **style)
        self.progress_ = ax.scatter(k, progress, color=POSITIVE, marker="^", label="u·w", **style)


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
        self.updates = updates
        self.bounds = dict(bounds)
        self.name = name

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, ax: Any = None, **options: Any
    ) -> BoundsDisplay:
        """Draw the updates of a fitted Perceptron; X and y are its training rows."""
        return cls.from_certificate(estimator.certificate(X, y), ax=ax, **options)

    @classmethod
    def from_certificate(cls, certificate: Any, *, ax: Any = None, **options: Any) -> BoundsDisplay:
        """Draw the bounds of :func:`rosenblatt.theory.run_certificate`."""
        if not hasattr(certificate, "bounds"):
            raise ValueError(
                "the bounds are about a run: pass the result of theory.run_certificate, or draw a "
                "fitted Perceptron with BoundsDisplay.from_estimator(model, X, y)"
            )
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
        ax.xaxis.set_minor_formatter("")
        ax.set(xlim=(low, max(values) * 3), xlabel="updates (logarithmic)")
        ax.set_ylim(len(names) - 0.4, -0.6)
        for place, value in zip(at, values, strict=True):
            text = f"{value:,.0f}" if value >= 10 else f"{value:.3g}"
            note(ax, text, (max(value, low), place), (8, 0), va="center")
        return self


def _separable_bounds(trace: Any, widest: Any) -> dict[str, float]:
    """Bounds for the separator of largest margin, and for the one that the run ended with."""
    problem, Z = trace.problem, padded_rows(trace.problem)
    start = np.array(problem.padded_weights(*trace.path[0]), dtype=float)
    last = np.array(problem.padded_weights(trace.weights, trace.bias), dtype=float)
    plain = not start.any() and problem.threshold == 0
    name = "R²/γ²" if plain else "start, threshold and rate"
    options = {"start": start, "threshold": float(problem.threshold), "eta": float(trace[0].eta)}
    bounds, radius = {}, float(problem.sqradius) ** 0.5
    for whose, vector in (("the largest margin", np.array(widest)), ("the margin reached", last)):
        least = float((Z @ vector).min())
        if least > 0:
            bounds[f"{name}, for {whose}"] = general_bound(radius, vector, least, **options)
    return bounds


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
    names = ("from squared losses of w̄", "from summed losses of w̄", "from losses of w̄ and ‖w‖")
    return dict(zip(names, map(min, zip(*bounds, strict=True)), strict=True))
