"""The mistakes of a run beside every bound that holds for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rosenblatt.viz.style import INK, NEGATIVE, POSITIVE, Display


class BoundsDisplay(Display):
    """Mistakes made, and how many the theorems allow, on one logarithmic scale.

    Parameters
    ----------
    mistakes : int
        The mistakes of the run.
    bounds : mapping of str to float
        The bounds by name; those that are infinite or unknown may be left out.

    Examples
    --------
    >>> from rosenblatt.viz import BoundsDisplay
    >>> display = BoundsDisplay(4, {"Novikoff, R²/γ²": 410.2}).plot()
    >>> [text.get_text() for text in display.ax_.get_yticklabels()]
    ['mistakes made', 'Novikoff, R²/γ²']
    """

    def __init__(self, mistakes: int, bounds: Mapping[str, float]) -> None:
        self.mistakes, self.bounds = mistakes, dict(bounds)

    def plot(self, ax: Any = None) -> BoundsDisplay:
        """Draw into `ax`, or into a new figure."""
        names = ["mistakes made", *sorted(self.bounds, key=self.bounds.__getitem__)]
        values = [float(self.mistakes), *sorted(self.bounds.values())]
        ax = self._prepare(ax, figsize=(6.4, 0.9 + 0.45 * len(names)))
        colors = [NEGATIVE] + [POSITIVE] * len(self.bounds)
        self.bars_ = ax.barh(names, values, color=colors, alpha=0.85, height=0.62)
        self.bars_[0].set_hatch("///")
        self.bars_[0].set_edgecolor("white")
        ax.set_xscale("log")
        low = 0.5 if self.mistakes < 1 else self.mistakes / 2
        ax.set(xlim=(low, max(values) * 3), xlabel="updates (logarithmic)")
        ax.invert_yaxis()
        for bar, value in zip(self.bars_, values, strict=True):
            ax.annotate(
                f"{value:,.0f}" if value >= 10 else f"{value:.3g}",
                (max(value, low), bar.get_y() + bar.get_height() / 2),
                xytext=(5, 0), textcoords="offset points", va="center", color=INK,
            )  # fmt: skip
        return self
