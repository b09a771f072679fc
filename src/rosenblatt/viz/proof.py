"""The proof that a run ends, and the bounds on its updates, as pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rosenblatt.viz.style import INK, NEGATIVE, POSITIVE, SOFT, Display, note


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

    def plot(self, ax: Any = None, *, legend: bool = True) -> ProofDisplay:
        """Draw into `ax`, or into a new figure.

        The axes are logarithmic, so that both curves are straight, if the run ended long before
        the bound.
        """
        ax = self._prepare(ax)
        last = self.proof.points[-1]
        logarithmic = last.k < self.crossing / 8
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


@dataclass(eq=False, repr=False)
class BoundsDisplay(Display):
    """Upper bounds on the updates of a run, and the updates it made, on a logarithmic axis.

    Parameters
    ----------
    bounds : mapping of str to float
        The bounds by name.
    updates : int, optional
        The updates of a run.

    Examples
    --------
    >>> from rosenblatt import certify
    >>> from rosenblatt.viz import BoundsDisplay
    >>> BoundsDisplay.from_certificate(certify([[2, 1], [-1, 1]], [1, -1])).bounds
    {'R²/γ², any run from zero': 3}
    """

    bounds: Mapping[str, float]
    updates: int | None = None

    @classmethod
    def from_certificate(cls, certificate: Any, *, ax: Any = None) -> BoundsDisplay:
        """Draw the bounds of ``model.certificate(X, y)``, or the one of ``certify(X, y)``."""
        if hasattr(certificate, "bounds"):
            bounds = {bound.name: bound.value for bound in certificate.bounds}
            return cls(bounds, certificate.updates).plot(ax=ax)
        if certificate.mistake_bound is None:
            raise ValueError(
                f"the rows are {certificate.verdict}, so the updates have no bound to draw"
            )
        return cls({"R²/γ², any run from zero": certificate.mistake_bound}).plot(ax=ax)

    def plot(self, ax: Any = None) -> BoundsDisplay:
        """Draw into `ax`, or into a new figure."""
        counts = dict(sorted(self.bounds.items(), key=lambda bound: bound[1]))
        if self.updates is not None:
            counts = {"updates made": self.updates, **counts}
        ax = self._prepare(ax, figsize=(7.0, 0.9 + 0.35 * len(counts)))
        # Points, not bars: a logarithmic axis has no zero to begin a bar at.
        for name, count in counts.items():
            made = name == "updates made"
            look = {"color": NEGATIVE if made else POSITIVE, "marker": "s" if made else "o"}
            ax.scatter([max(count, 0.5)], [name], s=60, **look)
            note(ax, f"{count:,.4g}", (max(count, 0.5), name), (9, 0), va="center")
        ax.set(xscale="log", xlabel="updates (logarithmic)")
        ax.set_xlim(0.4, 4 * max(counts.values(), default=1))
        ax.margins(y=0.3)
        ax.invert_yaxis()
        return self
