"""The plane of a session: what part of it is shown, its boundary, and the geometry of an update."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rosenblatt.lab.session import Session
from rosenblatt.viz.style import foot

GRID = 70
ARROW = 0.3  # length of the longest arrow of weights, as a share of the frame

Frame = tuple[float, float, float, float]
Point = tuple[float, float]


def frame_for(session: Session, with_line: bool = False) -> Frame | None:
    """Limits of the plane that contain all points, with room around them; None without a plane.

    With the line, so much of the plane that the nearest point of a straight boundary is in it.
    """
    if not session.data.planar:
        return None
    if not session.data.X:
        return (-5.0, 5.0, -5.0, 5.0)
    points = np.array(session.data.X)
    if with_line and session.settings.lift == "none":
        near = foot(*session.weights, points.mean(axis=0))
        points = points if near is None else np.vstack([points, near])
    low, high = points.min(axis=0), points.max(axis=0)
    room = 0.25 * np.where(high > low, high - low, np.maximum(1.0, np.abs(high)))
    (x0, y0), (x1, y1) = low - room, high + room
    return (float(x0), float(x1), float(y0), float(y1))


def holds(frame: Frame, session: Session) -> bool:
    """Whether all points are in the frame."""
    x0, x1, y0, y1 = frame
    return all(x0 <= x <= x1 and y0 <= y <= y1 for x, y in session.data.X)


def boundary(session: Session, w: Any, b: Any, frame: Frame) -> dict[str, Any]:
    """The lines of score zero and the region above them."""
    if session.settings.lift == "none" and any(map(float, w)):
        return _straight(session, w, b, frame)
    from contourpy import contour_generator

    x0, x1, y0, y1 = frame
    x, y = np.linspace(x0, x1, GRID), np.linspace(y0, y1, GRID)
    plane = np.column_stack([axis.ravel() for axis in np.meshgrid(x, y)])
    scores = session.lift(plane) @ np.array(w, dtype=float) + float(b)
    if not np.any(scores):
        return {"lines": [], "above": [], "margins": [], "beyond": None, "neutral": True}
    surface = scores.reshape(GRID, GRID)
    made: Any = contour_generator(x, y, surface)
    lines = [line.tolist() for line in made.lines(0.0)]
    top = max(float(surface.max()), 0.0) + 1.0
    above = [polygon.tolist() for polygon in made.filled(0.0, top)[0]]
    return {"lines": lines, "above": above, "margins": [], "beyond": None}


def _straight(session: Session, w: Any, b: Any, frame: Frame) -> dict[str, Any]:
    """The straight boundary, the region above it, its margins, and where it is if not in sight."""
    bias = float(b)
    near = foot(w, b, np.mean(corners(frame), axis=0))
    lines = _line(w, bias, frame)
    least = float((np.array(session.data.signs) * session.scores(w, b)).min())
    levels = (-least, least) if least > 0 else ()
    return {
        "lines": lines,
        "above": [clipped(corners(frame), float(w[0]), float(w[1]), -bias)],
        "margins": [line for level in levels for line in _line(w, bias - level, frame)],
        "beyond": near.tolist() if near is not None and not lines else None,
    }


def update(session: Session, frame: Frame) -> dict[str, Any] | None:
    """The update of the step on screen: the line before, and arrows w + change = new w.

    The arrows start at the origin or, if it is out of sight, in the middle, at one scale. None
    unless the line is straight and the last weights are shown.
    """
    step, run, s = session.current, session.run, session.settings
    if step is None or run is None or not step.mistake or s.lift != "none" or s.keep != "last":
        return None
    before, bias = run.at(session.position - 1)
    old, new = np.array(before, dtype=float), np.array(step.weights_after, dtype=float)
    x0, x1, y0, y1 = frame
    longest = max(map(float, map(np.linalg.norm, (old, new, new - old))))
    if not longest:
        return None
    scale = ARROW * min(x1 - x0, y1 - y0) / longest
    low, high, start = np.array([x0, y0]), np.array([x1, y1]), np.zeros(2)
    if any(((end < low) | (end > high)).any() for end in (start, scale * old, scale * new)):
        start = (low + high) / 2  # from the origin they would not fit
    tips = [(start + scale * w).tolist() for w in (old, new)]
    is_plain = s.rule == "perceptron" and step.row is not None
    sign = session.data.signs[step.row] if step.row is not None else 1
    added = ("+ " if sign > 0 else "− ") + ("x" if s.eta == 1 else "η·x")
    return {
        "before": _line(old, float(bias), frame) if old.any() else [],
        "arrows": {"start": start.tolist(), "old": tips[0], "new": tips[1]},
        "added": added if is_plain else "+ Δw",
    }


def last_line(session: Session, frame: Any) -> list[Any]:
    """The line of the last weights, where the average or the pocket is shown."""
    if session.settings.keep == "last" or session.run is None:
        return []
    w, b = session.run.at(session.position)
    return list(boundary(session, w, b, frame)["lines"])


def _line(w: Any, b: float, frame: Frame) -> list[list[Point]]:
    """The part of the line w·x + b = 0 in the frame, as a list of at most one pair of points."""
    a, c = float(w[0]), float(w[1])
    above = clipped(corners(frame), a, c, -b)
    reach = max(map(abs, frame)) * (abs(a) + abs(c)) + abs(b)
    ends = [p for p in above if abs(a * p[0] + c * p[1] + b) <= 1e-9 * reach]
    return [[min(ends), max(ends)]] if len(set(ends)) > 1 else []


def clipped(polygon: Sequence[Point], a: float, b: float, c: float) -> list[Point]:
    """What is left of a convex polygon where a·x + b·y >= c.

    >>> clipped([(0, 0), (2, 0), (2, 2), (0, 2)], 1, -1, 0)
    [(0, 0), (2, 0), (2, 2)]
    """
    left = []
    for p, q in zip(polygon, [*polygon[1:], *polygon[:1]], strict=True):
        s, t = a * p[0] + b * p[1] - c, a * q[0] + b * q[1] - c
        if s >= 0:
            left.append(p)
        if s * t < 0:
            share = s / (s - t)
            left.append((p[0] + (q[0] - p[0]) * share, p[1] + (q[1] - p[1]) * share))
    return left


def corners(frame: Frame) -> list[Point]:
    """The corners of the frame, one after the other."""
    x0, x1, y0, y1 = frame
    return [(x0, y0), (x1, y0), (x1, y1), (x0, y1)]
