"""The decision boundary, the points, and the misclassified ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rosenblatt.viz import style


@dataclass(eq=False, repr=False)
class BoundaryDisplay(style.Display):
    """Points, the decision boundary, its margins; misclassified points are ringed.

    Data of more than two dimensions are shown in a plane through them: two chosen features with
    the others held at their median, or a projection, in which one axis is the score.

    Parameters
    ----------
    points : array of shape (n, 2)
        The points as they are drawn.
    classes : array of shape (n,)
        The number of the class of each, 0, 1, ...
    names : sequence of str
        The classes.
    axes : pair of str
        The labels of the axes.
    score : callable
        Maps drawn points of shape (m, 2) to scores of shape (m,) or (m, classes).
    mistaken : array of bool
        The rows to ring.
    margin : float or None
        The smallest distance of a row to the line, if the line separates the rows.

    Examples
    --------
    >>> from rosenblatt import trace
    >>> from rosenblatt.viz import BoundaryDisplay
    >>> run = trace([[2, 1], [-1, 1], [0, -2]], [1, -1, -1])
    >>> display = BoundaryDisplay.from_trace(run)
    >>> round(display.margin, 3), int(display.mistaken.sum())
    (0.555, 0)
    """

    points: Any
    classes: Any
    names: Sequence[str]
    axes: Sequence[str]
    score: Callable[[Any], Any]
    mistaken: Any
    margin: float | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        features: Sequence[int | str] | None = None,
        ax: Any = None,
        **options: Any,
    ) -> BoundaryDisplay:
        """Draw a fitted estimator over the rows.

        Parameters
        ----------
        estimator
            Anything fitted with ``classes_``, ``predict`` and ``decision_function``; pipelines
            and kernels too.
        X, y
            The rows to show, and their labels.
        features : pair of int or str, optional
            Two columns to show, the others held at their median. Without it, data of more than
            two columns are projected: across, the distance from the boundary; up, the direction
            of largest spread beside it (linear estimators only).
        ax, **options
            As for :meth:`plot`.
        """
        if getattr(estimator, "kernel", None) == "precomputed":
            raise ValueError(
                "A precomputed kernel has no values between the rows. Fit with a "
                "kernel that takes the rows themselves to draw a boundary."
            )
        style.refuse_several_labels(estimator)
        rows, names = style.named_rows(X)
        labels = np.asarray(y)
        classes = np.searchsorted(estimator.classes_, labels)
        mistaken = estimator.predict(X) != labels
        to_plane, to_space, axes = _plane(rows, estimator, features, names)

        def score(points: Any) -> Any:
            space = to_space(points)
            if hasattr(X, "columns"):
                space = type(X)(space, columns=X.columns)
            return estimator.decision_function(space)

        margin = None
        if len(estimator.classes_) == 2 and hasattr(estimator, "coef_"):
            signed = np.where(classes == 1, 1, -1) * estimator.decision_function(X)
            margin = float(signed.min() / max(np.linalg.norm(estimator.coef_), 1e-300))
            margin = margin if margin > 0 and features is None else None
        names = style.class_names(estimator.classes_)
        display = cls(to_plane(rows), classes, names, axes, score, mistaken, margin)
        return display.plot(ax=ax, **options)

    @classmethod
    def from_trace(
        cls,
        trace: Any,
        *,
        step: int | None = None,
        points: Any = None,
        lift: Any = None,
        ax: Any = None,
        **options: Any,
    ) -> BoundaryDisplay:
        """Draw a trace of two features.

        Parameters
        ----------
        trace : Trace
            The run.
        step : int, optional
            The number of steps taken; all by default.
        points, lift
            For a run on lifted rows: the points of the plane they came from, and the map that
            takes such points to rows.
        ax, **options
            As for :meth:`plot`.
        """
        problem = trace.problem
        if lift is None and len(problem.feature_names) != 2:
            raise ValueError(f"two features can be drawn, not {len(problem.feature_names)}")
        at = len(trace) if step is None else step
        w, b = (trace[at - 1].weights_after, trace[at - 1].bias_after) if at else trace.path[0]
        w, b = np.array(w, dtype=float), float(b)
        signs = np.array(problem.signs)
        points = np.array(problem.X if lift is None else points, dtype=float)

        def score(drawn: Any) -> Any:
            return (drawn if lift is None else lift(drawn)) @ w + b

        least = float((signs * score(points)).min())
        straight = lift is None and least > 0 and w.any()
        margin = least / float(np.linalg.norm(w)) if straight else None
        classes, mistaken = (signs > 0).astype(int), (score(points) > 0) != (signs > 0)
        names, axes = style.class_names(problem.classes), problem.feature_names[:2]
        display = cls(points, classes, names, axes, score, mistaken, margin)
        return display.plot(ax=ax, **options)

    def plot(
        self,
        ax: Any = None,
        *,
        legend: bool = True,
        grid: int | None = None,
        within: Any = None,
    ) -> BoundaryDisplay:
        """Draw into `ax`, or into a new figure, with scores on a mesh of `grid` by `grid`.

        By default it is 220, and 600 for several classes, whose votes are not smooth.
        The picture holds the points, or the points `within` it.
        """
        ax, several = self._prepare(ax), len(self.names) > 2
        grid = grid or (600 if several else 220)
        (x0, x1), (y0, y1) = style.frame(self.points if within is None else within)
        mesh = np.meshgrid(np.linspace(x0, x1, grid), np.linspace(y0, y1, grid))
        flat = np.column_stack([axis.ravel() for axis in mesh])
        scores = np.asarray(self.score(flat))
        regions = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        if scores.any():  # weights of zero divide nothing
            levels, colors = np.arange(len(self.names) + 1) - 0.5, style.PALETTE[: len(self.names)]
            shaded = regions.reshape(mesh[0].shape)
            ax.contourf(*mesh, shaded, alpha=0.13, levels=levels, colors=colors)
        self._draw_lines(ax, mesh, scores, regions)
        self.points_ = style.scatter(ax, self.points, self.classes, self.names)
        wrong = self.points[self.mistaken]
        self.ring_ = style.ring(ax, wrong, "wrong") if len(wrong) else None
        ax.set(xlim=(x0, x1), ylim=(y0, y1), xlabel=self.axes[0], ylabel=self.axes[1])
        if legend:
            outside = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0)}
            inside = {"loc": _emptiest_corner(self.points, (x0, x1), (y0, y1))}
            ax.legend(framealpha=0.9, **(outside if several else inside))
        return self

    def _draw_lines(self, ax: Any, grid: Any, scores: Any, regions: Any) -> None:
        def draw(surface: Any, levels: list[float], **look: Any) -> None:
            surface = surface.reshape(grid[0].shape)
            self.lines_.append(ax.contour(*grid, surface, levels=levels, **look))

        self.lines_: list[Any] = []
        if scores.ndim > 1:
            for k in np.unique(regions):
                lead = scores[:, k] - np.delete(scores, k, axis=1).max(axis=1)
                if lead.min() < 0 < lead.max():
                    draw(lead, [0], colors=style.INK, linewidths=1)
        elif scores.min() < 0 < scores.max():
            draw(scores, [0], colors=style.INK, linewidths=1.8)
            if self.margin:
                across = self.margin * _slope(scores.reshape(grid[0].shape), grid)
                look = {"linestyles": "dashed", "linewidths": 1.1}
                draw(scores, [-across, across], colors=style.SOFT, **look)


def _emptiest_corner(points: Any, x: tuple[float, float], y: tuple[float, float]) -> str:
    """The corner of the picture for a legend: over lines rather than over points."""
    across, up = ((points - [x[0], y[0]]) / [x[1] - x[0], y[1] - y[0]]).T
    corners = {
        f"{name} {side}": int(np.sum((high < 0.25) & (far < 0.35)))
        for name, high in (("upper", 1 - up), ("lower", up))
        for side, far in (("right", 1 - across), ("left", across))
    }
    return min(corners, key=corners.__getitem__)


def _slope(surface: Any, grid: Any) -> float:
    """The norm of the gradient of a score that is linear in the plane."""
    by_y, by_x = np.gradient(surface, grid[1][:, 0], grid[0][0])
    return float(np.hypot(by_x.mean(), by_y.mean()))


def _plane(
    rows: Any, estimator: Any, features: Any, names: list[str]
) -> tuple[Any, Any, list[str]]:
    """Functions from rows to the drawn plane and back, and the names of its axes."""
    if features is not None or rows.shape[1] == 2:
        chosen = [names.index(f) if isinstance(f, str) else int(f) for f in features or (0, 1)]
        if len(chosen) != 2:
            raise ValueError(f"features must name two columns, not {len(chosen)}")
        middle = np.median(rows, axis=0)

        def to_space(points: Any) -> Any:
            space = np.tile(middle, (len(points), 1))
            space[:, chosen] = points
            return space

        return lambda data: data[:, chosen], to_space, [names[j] for j in chosen]
    coef = np.asarray(getattr(estimator, "coef_", []))
    if coef.ndim != 2 or len(coef) != 1:
        raise ValueError("name two features to show: only linear two-class models are projected")
    length = max(float(np.linalg.norm(coef)), 1e-300)
    across = coef[0] / length
    center = rows.mean(axis=0)
    beside = (rows - center) - np.outer((rows - center) @ across, across)
    up = np.linalg.svd(beside, full_matrices=False)[2][0]
    offset = float(np.ravel(estimator.intercept_)[0]) / length
    base = center - (center @ across) * across
    return (
        lambda data: np.column_stack([data @ across + offset, (data - base) @ up]),
        lambda points: base + np.outer(points[:, 0] - offset, across) + np.outer(points[:, 1], up),
        ["distance from the boundary", "direction of largest spread beside it"],
    )
