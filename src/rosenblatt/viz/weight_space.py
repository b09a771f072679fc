"""Weight space: each row is a half-plane, and the run is a path through them."""

from __future__ import annotations

from typing import Any

import numpy as np

from rosenblatt.viz.style import GOOD, INK, NEGATIVE, POSITIVE, Display, padded_rows, weight_names


class WeightSpaceDisplay(Display):
    """Each row forbids one side of a line; what none forbids is the cone of solutions.

    A row ``z = y·(x, c)`` is right for the weights with ``w·z > δ``: a half-plane, drawn by its
    edge with strokes on the forbidden side. The path shows w from its start to its end.

    Parameters
    ----------
    rows : array of shape (n, 2)
        The padded rows z.
    signs : array of shape (n,)
        Their labels, -1 or +1.
    path : array of shape (k + 1, 2)
        The weights at the start and after each update.
    axes : pair of str
        The names of the two weights.
    threshold : float
        δ.
    variances : array of shape (k + 1, 2) or None
        Of the two weights at each point of the path, for AROW: an ellipse of one standard
        deviation at the last one, and faint ones before.

    Examples
    --------
    >>> from rosenblatt import trace
    >>> from rosenblatt.viz import WeightSpaceDisplay
    >>> run = trace([[2], [-1]], [1, -1])
    >>> WeightSpaceDisplay.from_trace(run).path.tolist()
    [[0.0, 0.0], [2.0, 1.0]]
    """

    def __init__(
        self, rows: Any, signs: Any, path: Any, axes: tuple[str, str], threshold: float = 0.0,
        variances: Any = None,
    ) -> None:  # fmt: skip
        self.rows, self.signs, self.path = rows, signs, path
        self.axes, self.threshold, self.variances = axes, threshold, variances

    @classmethod
    def from_trace(
        cls, trace: Any, *, step: int | None = None, ax: Any = None, **options: Any
    ) -> WeightSpaceDisplay:
        """Draw a trace with two weights in all: two features, or one feature and a bias."""
        problem = trace.problem
        rows = padded_rows(problem)
        if rows.shape[1] != 2:
            raise ValueError(
                f"two weights can be drawn, not {rows.shape[1]}: take two features through the "
                "origin, or one feature and a bias"
            )
        steps = trace.steps[: len(trace) if step is None else step]
        states = [trace.path[0], *((s.weights_after, s.bias_after) for s in steps if s.mistake)]
        path = np.array([problem.padded_weights(w, b) for w, b in states], dtype=float)
        first, second = weight_names(problem)
        variances = None
        if any(s.variances_after for s in steps):
            later = [s.variances_after[:2] for s in steps if s.mistake]
            variances = np.array([(1.0, 1.0), *later], dtype=float)
        signs, axes = np.array(problem.signs), (first, second)
        display = cls(rows, signs, path, axes, problem.threshold, variances)
        return display.plot(ax=ax, **options)

    def plot(self, ax: Any = None, *, legend: bool = True) -> WeightSpaceDisplay:
        """Draw into `ax`, or into a new figure."""
        ax = self._prepare(ax, figsize=(5.2, 5.0))
        around = 0.0 if self.variances is None else np.sqrt(self.variances)
        low, high = (self.path - around).min(axis=0), (self.path + around).max(axis=0)
        center, extent = (low + high) / 2, 0.65 * max(float(np.max(high - low)), 1.0)
        across, up = (np.linspace(c - extent, c + extent, 400) for c in center)
        grid = np.stack(np.meshgrid(across, up), axis=-1)
        worst = np.min(grid @ self.rows.T, axis=-1) - self.threshold
        self.cone_ = None
        if worst.max() > 0:
            self.cone_ = ax.contourf(
                across, up, worst, levels=[0, worst.max()], colors=[GOOD], alpha=0.22
            )
        self.edges_ = [self._draw_edge(ax, z, y, center, extent) for z, y in self._edges()]
        (self.path_,) = ax.plot(*self.path.T, color=INK, linewidth=1.4, zorder=4)
        for start, end in zip(self.path[:-1], self.path[1:], strict=True):
            ax.annotate(
                "", end, start, zorder=5,
                arrowprops={"arrowstyle": "-|>", "color": INK, "shrinkA": 0, "shrinkB": 0},
            )  # fmt: skip
        self.ellipses_ = self._draw_ellipses(ax) if self.variances is not None else []
        ax.scatter(*self.path[0], s=36, facecolors="white", edgecolors=INK, zorder=6, label="start")
        ax.scatter(*self.path[-1], s=110, color=INK, marker="*", zorder=6, label="end")
        if self.cone_ is not None:
            ax.fill([], [], color=GOOD, alpha=0.3, label="solutions")
        ax.set(xlim=across[[0, -1]], ylim=up[[0, -1]], aspect="equal")
        ax.set(xlabel=self.axes[0], ylabel=self.axes[1])
        if legend:
            ax.legend(loc="best", framealpha=0.9)
        return self

    def _draw_ellipses(self, ax: Any) -> list[Any]:
        """One standard deviation around each of the weights on the path."""
        from matplotlib.patches import Ellipse

        drawn = []
        for place, (center, variance) in enumerate(zip(self.path, self.variances, strict=True)):
            last = place == len(self.path) - 1
            width, height = 2 * np.sqrt(variance)
            ellipse = Ellipse(
                center, width, height, fill=False, edgecolor=POSITIVE,
                linewidth=1.6 if last else 0.6, alpha=0.9 if last else 0.25,
            )  # fmt: skip
            drawn.append(ax.add_patch(ellipse))
        return drawn

    def _edges(self) -> list[tuple[Any, int]]:
        """One row and sign per distinct edge; zero rows have none."""
        seen: dict[tuple[float, ...], tuple[Any, int]] = {}
        for z, y in zip(self.rows, self.signs, strict=True):
            length = np.linalg.norm(z)
            if length:
                key = (*np.round(z / length, 9), round(self.threshold / length, 9))
                seen.setdefault(key, (z, int(y)))
        return list(seen.values())

    def _draw_edge(self, ax: Any, z: Any, y: int, center: Any, extent: float) -> Any:
        length = np.linalg.norm(z)
        normal = z / length
        along = np.array([-normal[1], normal[0]])
        foot = normal * self.threshold / length + (center @ along) * along
        ends = np.array([foot - 3 * extent * along, foot + 3 * extent * along])
        color, style = (POSITIVE, "-") if y > 0 else (NEGATIVE, "--")
        (edge,) = ax.plot(*ends.T, color=color, linestyle=style, linewidth=1, alpha=0.8, zorder=2)
        # Strokes stand on the side the row forbids.
        at = foot + np.outer(np.linspace(-1.5 * extent, 1.5 * extent, 19), along)
        strokes = np.stack([at, at - 0.035 * extent * normal])
        ax.plot(strokes[..., 0], strokes[..., 1], color=color, linewidth=0.8, alpha=0.6, zorder=2)
        return edge
