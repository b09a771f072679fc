"""The rows that contradict each other: the proof that no line separates the data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from rosenblatt.theory.checker.input_data import label_name
from rosenblatt.viz import style

_NEAR = 0.08  # of the width or height of the picture


class ContradictionDisplay(style.Display):
    """Two convex combinations, one of rows of each class, that are the same point.

    The contradicting rows are ringed and labelled with their shares. The convex hulls of the two
    classes meet in the point marked by a cross, so no line separates them. Without an offset, the
    combinations are two points on one ray from the origin instead.

    Parameters
    ----------
    points : array of shape (n, 2)
        All rows, as they are drawn. Any linear projection of them keeps the contradiction.
    classes : array of shape (n,)
        0 or 1 for each row.
    names, axes : pair of str
        The classes, and what is on the axes.
    shares : mapping of int to number
        The coefficient of each contradicting row.

    Examples
    --------
    >>> from rosenblatt import certify, teaching_sets
    >>> from rosenblatt.viz import ContradictionDisplay
    >>> xor = teaching_sets.load("xor")
    >>> certificate = certify(xor.X, xor.y)
    >>> display = ContradictionDisplay.from_certificate(certificate, xor.X, xor.y)
    >>> [str(share) for share in display.shares.values()], display.meeting_points.tolist()
    (['1/4', '1/4', '1/4', '1/4'], [[0.5, 0.5], [0.5, 0.5]])
    """

    def __init__(
        self,
        points: Any,
        classes: Any,
        names: Sequence[str],
        axes: Sequence[str],
        shares: Mapping[int, Any],
    ) -> None:
        self.points = np.asarray(points, dtype=float)
        self.classes = np.asarray(classes)
        self.names, self.axes = list(names), list(axes)
        total = sum(Fraction(share) for share in shares.values())
        self.shares = {row: Fraction(share) / total for row, share in shares.items()}

    @classmethod
    def from_certificate(
        cls,
        certificate: Any,
        X: Any,
        y: Any,
        *,
        features: Sequence[int] | None = None,
        ax: Any = None,
        **options: Any,
    ) -> ContradictionDisplay:
        """Draw the contradicting rows of a certificate.

        Parameters
        ----------
        certificate : rosenblatt.theory.Certificate
            A certificate of data that no hyperplane separates strictly.
        X, y
            Its rows and labels.
        features : pair of int, optional
            The two to draw, of more; without them the plane of largest spread.
        """
        if certificate.contradiction is None:
            raise ValueError(
                f"this certificate is {certificate.verdict!r} and has no contradicting rows"
            )
        rows, names = style.named_rows(X)
        points, axes = _projected(rows, names, features)
        labels = [label_name(label) for label in np.asarray(y).tolist()]
        classes = np.array([int(label in certificate.positive) for label in labels])
        shares = dict(
            zip(certificate.contradiction.rows, certificate.contradiction.shares, strict=True)
        )
        sides = ["/".join(certificate.negative), "/".join(certificate.positive)]
        return cls(points, classes, sides, axes, shares).plot(ax=ax, **options)

    @property
    def meeting_points(self) -> Any:
        """The convex combination of the contradicting rows of each class."""
        mixtures = []
        for k in (0, 1):
            rows = [row for row in self.shares if self.classes[row] == k]
            if rows:
                weights = np.array([float(self.shares[row]) for row in rows])
                mixtures.append(weights @ self.points[rows] / weights.sum())
        return np.array(mixtures)

    def plot(self, ax: Any = None, *, legend: bool = True) -> ContradictionDisplay:
        """Draw into `ax`, or into a new figure."""
        ax = self._prepare(ax)
        self.hulls_ = [self._draw_hull(ax, k) for k in (0, 1)]
        self.points_ = style.scatter(ax, self.points, self.classes, self.names)
        for drawn in self.points_:
            drawn.set_alpha(0.35 if len(self.points) > len(self.shares) else 1)
        rows = list(self.shares)
        self.ring_ = style.ring(ax, self.points[rows], "contradict each other")
        meeting = self.meeting_points
        sizes = np.ptp(style.frame(self.points), axis=1)
        written: list[Any] = []
        for row in rows if len(rows) <= 12 else []:
            across, up = self._outward(row, meeting)
            side = "left" if across > 0 else "right"
            # Shares of points that are close to each other are written further and further out.
            near = [w for w in written if np.hypot(*((w - self.points[row]) / sizes)) < _NEAR]
            distance = 17 * (1 + len(near))
            written.append(self.points[row])
            text, offset = _share_text(self.shares[row]), (distance * across, distance * up)
            style.note(ax, text, self.points[row], offset, va="center", ha=side)
        if np.ptp(meeting, axis=0).max() > 1e-9 * (1 + np.abs(self.points).max()):
            ax.axline((0, 0), meeting[0], color=style.GOOD, linestyle=":", linewidth=1.2)
        look = {"marker": "X", "color": style.GOOD, "edgecolors": "white", "zorder": 5}
        self.cross_ = ax.scatter(*meeting.T, s=120, label="the same point from both sides", **look)
        limits = style.frame(np.vstack([self.points, meeting]), margin=0.18)
        ax.set(xlim=limits[0], ylim=limits[1], xlabel=self.axes[0], ylabel=self.axes[1])
        if legend:
            ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=2, frameon=False)
        return self

    def _outward(self, row: int, meeting: Any) -> tuple[float, float]:
        """The direction on screen from the common point to a row, in which its share is written."""
        away = (self.points[row] - meeting.mean(axis=0)) / np.ptp(style.frame(self.points), axis=1)
        length = float(np.hypot(*away))
        return (away[0] / length, away[1] / length) if length else (0.8, 0.6)

    def _draw_hull(self, ax: Any, k: int) -> Any:
        corners = np.array([self.points[row] for row in self.shares if self.classes[row] == k])
        if len(corners) < 2:
            return None
        outline = corners[_hull_order(corners)]
        closed = np.vstack([outline, outline[:1]]) if len(outline) > 2 else outline
        color, line = style.PALETTE[k], "--" if k == 0 else "-"
        ax.fill(*closed.T, color=color, alpha=0.12, linewidth=0)
        return ax.plot(*closed.T, color=color, linestyle=line, linewidth=1.4)[0]


def _share_text(share: Fraction) -> str:
    return str(share) if share.denominator < 100 else f"{float(share):.2g}"


def _hull_order(corners: Any) -> Any:
    """Indices of the convex hull's corners in order; along their line if all are collinear."""
    from scipy.spatial import ConvexHull, QhullError

    try:
        return ConvexHull(corners).vertices
    except (QhullError, ValueError):
        direction = np.linalg.svd(corners - corners.mean(axis=0))[2][0]
        return np.argsort(corners @ direction)


def _projected(
    X: Any, names: Sequence[str], features: Sequence[int] | None
) -> tuple[Any, list[str]]:
    """Two columns of the rows, or their plane of largest spread, and names for the axes."""
    if features is None and X.shape[1] == 1:
        return np.column_stack([X[:, 0], np.zeros(len(X))]), [names[0], ""]
    if features is None and X.shape[1] > 2:
        directions = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)[2][:2]
        return X @ directions.T, ["direction of largest spread", "second direction"]
    chosen = list(features or (0, 1))
    return X[:, chosen], [names[j] for j in chosen]
