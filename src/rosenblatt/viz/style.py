"""Colours, markers, axes and checks that all pictures share.

The colours are those of Okabe and Ito, which people with any kind of colour vision can tell
apart; every difference in colour is also one in shape or line, so that a printed page reads the
same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rosenblatt.errors import MissingExtraError
from rosenblatt.theory.checker.input_data import to_dense

POSITIVE, NEGATIVE = "#0072B2", "#D55E00"
GOOD, ACCENT, SOFT = "#009E73", "#CC79A7", "#8A8A8A"
INK = "#222222"
FAINT = "#C8C8C8"  # for what has no colour of its own
PALETTE = (NEGATIVE, POSITIVE, GOOD, "#E69F00", ACCENT, "#56B4E9", "#B8A900", INK)
MARKERS = ("s", "o", "^", "D", "v", "P", "X", "*")
LINES = ("-", "--", "-.", ":")
_MOST_DENSE = 20_000_000  # values of a sparse matrix made dense


def pyplot() -> Any:
    """matplotlib's pyplot, or a MissingExtraError that says what to install."""
    try:
        from matplotlib import pyplot
    except ImportError:
        raise MissingExtraError("drawing pictures", "plot") from None
    return pyplot


class Display:
    """Base class of the displays: `plot` sets ``ax_`` and ``figure_``."""

    ax_: Any
    figure_: Any

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    def _prepare(self, ax: Any, figsize: tuple[float, float] = (6.0, 4.5)) -> Any:
        plt = pyplot()
        if ax is None:
            _, ax = plt.subplots(figsize=figsize, layout="constrained")
        ax.spines[["top", "right"]].set_visible(False)
        self.ax_, self.figure_ = ax, ax.figure
        return ax


def scatter(ax: Any, points: Any, classes: Any, names: Sequence[str]) -> list[Any]:
    """Draw the points of each class in its own colour and shape; `classes` index `names`."""
    look = {"s": 42, "edgecolors": "white", "linewidths": 0.8, "zorder": 3}
    drawn = []
    for k, name in enumerate(names):
        color, marker = PALETTE[k % len(PALETTE)], MARKERS[k % len(MARKERS)]
        xy = points[classes == k].T
        drawn.append(ax.scatter(*xy, c=color, marker=marker, label=name, **look))
    return drawn


def note(ax: Any, text: str, point: Any, offset: tuple[float, float], **look: Any) -> None:
    """Write beside a point; the offset is in points of print."""
    ax.annotate(text, point, xytext=offset, textcoords="offset points", color=INK, **look)


def ring(ax: Any, points: Any, label: str) -> Any:
    """Draw open circles around points that need attention."""
    return ax.scatter(
        *points.T, s=150, facecolors="none", edgecolors=INK, linewidths=1.6, label=label, zorder=4
    )


def frame(points: Any, margin: float = 0.12) -> tuple[tuple[float, float], tuple[float, float]]:
    """Limits in x and y that contain all points, with some room around them."""
    low, high = points.min(axis=0), points.max(axis=0)
    room = np.where(high > low, high - low, 1.0) * margin
    (x0, y0), (x1, y1) = low - room, high + room
    return (float(x0), float(x1)), (float(y0), float(y1))


def foot(w: Any, b: Any, point: Any) -> Any:
    """The point of the line w·x + b = 0 nearest to a point; None while w is zero."""
    w, point = np.array(w, dtype=float), np.asarray(point, dtype=float)
    square = float(w @ w)
    return point - (float(w @ point) + float(b)) / square * w if square else None


def refuse_several_labels(estimator: Any) -> None:
    """Raise a ValueError for a multi-label model: its rows have no single class to draw."""
    if getattr(estimator, "multiclass_", None) == "labels":
        raise ValueError(
            "the model has several labels per row: draw one that was fitted to a single column"
        )


def refuse_pairs(estimator: Any) -> None:
    """Raise a ValueError for a one-vs-one model: it has no weights per class to draw."""
    if getattr(estimator, "multiclass_", None) == "ovo" and len(estimator.classes_) > 2:
        raise ValueError(
            "the model has weights per pair of classes, not per class: fit one with "
            "multiclass='joint' or 'ovr' to draw them"
        )


def class_names(classes: Sequence[Any]) -> list[str]:
    """Labels for a legend: numbers get a sign if any of them is negative."""
    plain = [c.item() if hasattr(c, "item") else c for c in classes]
    signed = any(isinstance(c, int | float) and c < 0 for c in plain)
    return [f"{c:+g}" if signed else str(c) for c in plain]


def named_rows(X: Any) -> tuple[Any, list[str]]:
    """The rows of a data frame, an array or a sparse matrix as floats, and the column names."""
    values = to_dense(X, _MOST_DENSE, "draw") if hasattr(X, "toarray") else X
    rows = np.asarray(values, dtype=float)
    names = [str(name) for name in getattr(X, "columns", [])]
    return rows, names or [f"x{j + 1}" for j in range(rows.shape[1])]
