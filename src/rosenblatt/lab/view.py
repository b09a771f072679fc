"""A session as the JSON values that the page draws."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict
from fractions import Fraction
from typing import Any

import numpy as np

from rosenblatt.errors import counted
from rosenblatt.lab.session import Session
from rosenblatt.tracing import words
from rosenblatt.tracing.document import contradiction
from rosenblatt.tracing.words import number

GRID = 70
MOST_DOTS = 300
MOST_NAMES = 12  # features of a row that are spelled out
ARROW = 0.3  # length of the longest arrow of weights, as a share of the frame

STOPPED = {
    "separated": "separated: an epoch without a mistake",
    "cycle": "cycle: the weights of an earlier epoch came back, so no line separates these points",
    "budget": "budget: all epochs are used",
}


Frame = tuple[float, float, float, float]
Point = tuple[float, float]


def view(session: Session, frame: Frame | None) -> dict[str, Any]:
    """Everything the page shows, as JSON values.

    Parameters
    ----------
    session : Session
        The session to show.
    frame : (x0, x1, y0, y1) or None
        The part of the plane to show; None unless there are two features.
    """
    data, step = session.data, session.current
    w, b = session.weights
    has_rows = session.problem is not None
    wrong = session.wrong(w, b) if has_rows else np.zeros(0, dtype=bool)
    stop_reason = session.run.stop_reason if session.run and session.has_ended else None
    largest = max(map(abs, (*map(float, w), float(b))))
    return {
        "title": data.title,
        "loaded": session.loaded,
        "task": session.scene.task if session.scene else "",
        "solved": session.is_solved,
        "can_undo": bool(session._undo_stack),
        "labels": data.labels,
        "all_classes": list(data.all_classes),
        "target": data.target,
        "planar": data.planar,
        "features": list(data.feature_names),
        "classes": list(data.class_names),
        "points": [[*row, sign] for row, sign in zip(data.X, data.signs, strict=True)]
        if data.planar
        else [],
        "names": list(data.row_names or ()) if data.planar else [],
        "rows": [] if data.planar else _rows(session, w, b, wrong),
        "frame": frame,
        "wrong": np.flatnonzero(wrong).tolist(),
        "looked_at": [] if step is None else step.mistaken if step.row is None else [step.row],
        "boundary": _boundary(session, w, b, frame) if frame and has_rows else None,
        "last_line": _last_line(session, frame) if frame and has_rows else [],
        "update": _update(session, frame) if frame and has_rows else None,
        "step": _step(session),
        "weights": [
            {"name": name, "value": float(value), "text": _brief(value, largest)}
            for name, value in zip(session.lift.names, w, strict=True)
        ],
        "bias": {"value": float(b), "text": _brief(b, largest)} if session.settings.bias else None,
        "position": session.position,
        "epoch": step.epoch if step else 0,
        "updates": step.updates if step else 0,
        "wrong_count": int(wrong.sum()),
        "ended": session.ended,
        "stop": STOPPED[stop_reason] if stop_reason else None,
        "stop_reason": stop_reason,
        "margin": _margin(session),
        "certificate": _certificate(session),
        "proof": _proof(session),
        "weight_space": _weight_space(session),
        "mistakes": session.mistakes_by_epoch,
        "live": session.live,
        "beside": _beside(session, frame),
        "settings": asdict(session.settings),
        "link": session.link(),
    }


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
        foot = _foot(*session.weights, points.mean(axis=0))
        points = points if foot is None else np.vstack([points, foot])
    low, high = points.min(axis=0), points.max(axis=0)
    room = 0.25 * np.where(high > low, high - low, np.maximum(1.0, np.abs(high)))
    (x0, y0), (x1, y1) = low - room, high + room
    return (float(x0), float(x1), float(y0), float(y1))


def holds(frame: Frame, session: Session) -> bool:
    """Whether all points are in the frame."""
    x0, x1, y0, y1 = frame
    return all(x0 <= x <= x1 and y0 <= y <= y1 for x, y in session.data.X)


def _rows(session: Session, w: Any, b: Any, wrong: Any) -> list[dict[str, Any]]:
    names = session.data.row_names or [f"row {i + 1}" for i in range(len(session.data.X))]
    scores = session.scores(w, b) if session.problem else []
    return [
        {
            "name": name,
            "values": _spelled(row, session.data.feature_names),
            "sign": sign,
            "score": _brief(float(score), 1.0),
            "wrong": bool(bad),
        }
        for name, row, sign, score, bad in zip(
            names, session.data.X, session.data.signs, scores, wrong, strict=True
        )
    ]


def _spelled(row: Any, names: Sequence[str]) -> str:
    """The numbers of a row; of many, those that are not zero, and how many more there are."""
    filled = [j for j, value in enumerate(row) if value]
    if len(row) <= MOST_NAMES or len(filled) <= MOST_NAMES:
        return "".join(words.vector(row, names))
    chosen = filled[:MOST_NAMES]
    text = ", ".join(f"{names[j]}: {number(row[j])}" for j in chosen)
    return f"[{text}, and {len(filled) - MOST_NAMES} more]"


def _step(session: Session) -> dict[str, Any]:
    step, problem = session.current, session.problem
    if problem is None:
        return {"title": "There are no points yet.", "lines": [], "mistake": False}
    if step is None:
        weights = "all weights zero"
        if session.run and any(problem.padded_weights(*session.run.start)):
            weights = "from " + "".join(words.weights(problem, *session.weights))
        start = f"{counted(len(problem.X), 'point')}, {weights}. Press step or play."
        return {"title": start, "lines": [], "mistake": False}
    return {
        "title": "".join(words.title(problem, step)),
        "lines": ["".join(line) for line in words.arithmetic(problem, step)],
        "mistake": step.mistake,
        "verdict": words.outcome(problem, step),
    }


def _foot(w: Any, b: Any, point: Any) -> Any:
    """The point of the line w·x + b = 0 nearest to a point; None while w is zero."""
    w, point = np.array(w, dtype=float), np.asarray(point, dtype=float)
    square = float(w @ w)
    return point - (float(w @ point) + float(b)) / square * w if square else None


def _clipped(polygon: Sequence[Point], a: float, b: float, c: float) -> list[Point]:
    """What is left of a convex polygon where a·x + b·y >= c.

    >>> _clipped([(0, 0), (2, 0), (2, 2), (0, 2)], 1, -1, 0)
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


def _corners(frame: Frame) -> list[Point]:
    x0, x1, y0, y1 = frame
    return [(x0, y0), (x1, y0), (x1, y1), (x0, y1)]


def _line(w: Any, b: float, frame: Frame) -> list[list[Point]]:
    """The part of the line w·x + b = 0 in the frame, as a list of at most one pair of points."""
    a, c = float(w[0]), float(w[1])
    above = _clipped(_corners(frame), a, c, -b)
    reach = max(map(abs, frame)) * (abs(a) + abs(c)) + abs(b)
    ends = [p for p in above if abs(a * p[0] + c * p[1] + b) <= 1e-9 * reach]
    return [[min(ends), max(ends)]] if len(set(ends)) > 1 else []


def _straight(session: Session, w: Any, b: Any, frame: Frame) -> dict[str, Any]:
    """The straight boundary, the region above it, its margins, and where it is if not in sight."""
    bias = float(b)
    foot = _foot(w, b, np.mean(_corners(frame), axis=0))
    lines = _line(w, bias, frame)
    least = float((np.array(session.data.signs) * session.scores(w, b)).min())
    levels = (-least, least) if least > 0 else ()
    return {
        "lines": lines,
        "above": [_clipped(_corners(frame), float(w[0]), float(w[1]), -bias)],
        "margins": [line for level in levels for line in _line(w, bias - level, frame)],
        "beyond": foot.tolist() if foot is not None and not lines else None,
    }


def _boundary(session: Session, w: Any, b: Any, frame: Frame) -> dict[str, Any]:
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


def _update(session: Session, frame: Frame) -> dict[str, Any] | None:
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


def _beside(session: Session, frame: Frame | None) -> dict[str, Any] | None:
    """The second run: its line and counts, and the settings in which the two differ."""
    other = session.beside
    if other is None:
        return None
    w, b = other.weights
    has_rows = other.problem is not None
    wrong = other.wrong(w, b) if has_rows else np.zeros(0, dtype=bool)
    step, ours, theirs = other.current, asdict(session.settings), asdict(other.settings)
    names = [name for name in ours if ours[name] != theirs[name]] or ["rule"]
    reason = other.run.stop_reason if other.run and other.has_ended else None
    return {
        "boundary": _boundary(other, w, b, frame) if frame and has_rows else None,
        "wrong": np.flatnonzero(wrong).tolist(),
        "looked_at": [] if step is None else step.mistaken if step.row is None else [step.row],
        "titles": [
            ", ".join(f"{name} {settings[name]}" for name in names) for settings in (ours, theirs)
        ],
        "epoch": step.epoch if step else 0,
        "position": other.position,
        "updates": step.updates if step else 0,
        "wrong_count": int(wrong.sum()),
        "mistakes": other.mistakes_by_epoch,
        "stop": STOPPED[reason] if reason else None,
        "settings": theirs,
    }


def _last_line(session: Session, frame: Any) -> list[Any]:
    """The line of the last weights, where the average or the pocket is shown."""
    if session.settings.keep == "last" or session.run is None:
        return []
    w, b = session.run.at(session.position)
    return list(_boundary(session, w, b, frame)["lines"])


def _margin(session: Session) -> dict[str, Any] | None:
    interval = session.margin_interval()
    if interval is None:
        return None
    low, high = interval
    known = low > 0
    return {
        "low": _outward(low, math.floor) if known else 0,
        "high": _outward(high, math.ceil),
        "known": known,
    }


def _brief(value: Any, largest: float) -> str:
    """A number as one would write it: whole, or with four digits; nothing beside the largest is 0.

    >>> _brief(12345, 1.0), _brief(1 / 3, 1.0), _brief(5e-17, 1.0)
    ('12345', '0.3333', '0')
    """
    value = float(value)
    if value.is_integer() or abs(value) < 1e-12 * largest:
        return number(round(value))
    return f"{value:.4g}"


def _outward(value: float, rounded: Callable[[float], int]) -> float:
    """A positive bound with three digits, rounded so that it stays a bound.

    >>> _outward(0.171842, math.floor), _outward(0.552834, math.ceil)
    (0.171, 0.553)
    """
    digits = 2 - math.floor(math.log10(value))
    return round(rounded(value * 10.0**digits) / 10.0**digits, max(digits, 0))


def _certificate(session: Session) -> dict[str, Any]:
    """Whether a line separates the rows, why, and the rows that contradict each other."""
    certificate, problem = session.certificate, session.problem
    if certificate is None or problem is None:
        text = "Add points of both labels to see whether a line separates them."
        return {"verdict": "open", "text": text, "rows": []}
    features, lifted = len(problem.feature_names), session.settings.lift != "none"
    after = f"After the lift to {counted(features, 'feature')}, " if lifted else ""
    a, no = ("a", "no") if lifted else ("A", "No")
    thing = "line" if features == 2 else "hyperplane"
    rows: list[list[Any]] = []
    if certificate.separable:
        text = f"{after}{a} {thing} separates them. {_margin_and_bound(session)}."
    elif certificate.contradiction is None:
        text = "Undecided within the time limit."
    else:
        combination = certificate.contradiction
        shares = dict(zip(combination.rows, map(_tidy, combination.shares), strict=True))
        rows = [[row, number(share)] for row, share in shares.items()]
        weak = certificate.verdict == "quasi-separable"
        says = "has all points strictly on their sides" if weak else "separates them"
        exact = all(isinstance(share, Fraction) for share in shares.values())
        sentence = ("" if exact else "about ") + "".join(contradiction(problem, shares))
        count = f"{len(shares)} of {len(problem.X)} points contradict each other"
        text = f"{after}{no} {thing} {says}. {count}: {sentence}"
    return {"verdict": certificate.verdict, "text": text, "rows": rows}


def _margin_and_bound(session: Session) -> str:
    """A sentence on the largest margin of separable rows, and the bound that follows from it."""
    assert session.certificate is not None
    margin, bound = session.certificate.augmented, _bound(session)
    padding = session.settings.padding if session.settings.bias else 1
    gamma = (margin.lower if margin else 0.0) * padding
    sentence = (
        f"The largest margin is γ {'=' if f'{gamma:.3g}' == number(gamma) else '≈'} {gamma:.3g}"
    )
    if bound is None:
        return sentence
    run = "a run from this start" if any(session.settings.start) else "a run"
    return f"{sentence}, so {run} makes at most {counted(bound, 'update')}"


def _tidy(share: Fraction) -> Fraction | float:
    """The share itself if it is a simple fraction, else rounded to two digits."""
    return share if share.denominator <= 100 else float(f"{float(share):.2g}")


def _bound(session: Session) -> int | None:
    """The most updates that the online perceptron can make here, or None if that is not known."""
    if session.settings.update == "batch" or session.settings.rule != "perceptron":
        return None
    if session.settings.threshold == 0 and not any(session.settings.start):
        return session.certificate.mistake_bound if session.certificate else None
    proof = session.proof(0)
    return None if proof is None or proof.bound is None else math.floor(proof.bound * (1 + 1e-9))


def _proof(session: Session) -> dict[str, Any]:
    """The two curves of the proof and the run between them, or why there is none."""
    if session.settings.rule != "perceptron":
        return {"why_not": "This chart is for the perceptron only."}
    if session.settings.update == "batch":
        return {"why_not": "This chart is for online updates only."}
    proof, bound = session.proof(), _bound(session)
    if session.certificate is None:
        return {"why_not": "The bound needs points of both labels."}
    if proof is None or bound is None:
        why_not = "No line separates the points, so the number of updates has no bound."
        return {"why_not": why_not}
    s = session.settings
    every = max(1, len(proof.points) // MOST_DOTS)
    points = proof.points[::every]
    if points[-1] is not proof.points[-1]:
        points = (*points, proof.points[-1])
    return {
        "from_zero": not any(s.start),
        "potential": [[p.k, p.potential] for p in points],
        "fall": (s.eta * proof.radius) ** 2,
        "rise": s.eta * proof.margin,
        "square": (s.eta * proof.radius) ** 2 + 2 * s.eta * s.threshold,
        "bound": bound,
        "plain": s.eta == 1 and s.threshold == 0,
        "dots": [[p.k, p.progress, math.sqrt(float(p.sqnorm))] for p in points],
    }


def _weight_space(session: Session) -> dict[str, Any] | None:
    """One edge per row and the path of the weights, if there are exactly two weights."""
    problem, run = session.problem, session.run
    step = session.current
    if problem is None or run is None or len(problem.padded(0)) != 2:
        return None
    steps = run.steps[: session.position]
    states = [run.start, *((s.weights_after, s.bias_after) for s in steps if s.mistake)]
    path = [[float(v) for v in problem.padded_weights(w, b)] for w, b in states[-MOST_DOTS:]]
    rows = range(min(len(problem.X), MOST_DOTS))
    axes = [f"weight of {name}" for name in problem.feature_names]
    variances = step.variances_after[:2] if step else ()
    # A square around zero that grows by doubling: it stands still for most steps.
    largest = max(abs(value) for w in path for value in w)
    half = 2.0 ** math.ceil(math.log2(max(1.2 * largest, 2.0)))
    edges = [[*map(float, problem.padded(i)), problem.signs[i]] for i in rows]
    cone = _corners((-half, half, -half, half))
    for i in range(len(problem.X)):
        first, second = map(float, problem.padded(i))
        cone = _clipped(cone, first, second, float(problem.threshold))
    return {
        "half": half,
        "edges": edges,
        "cone": cone,
        "path": path,
        # Standard deviations of the two weights, for a rule that keeps variances.
        "ellipse": [math.sqrt(variance) for variance in variances] or None,
        "threshold": float(problem.threshold),
        "axes": axes if problem.padding is None else [*axes, "bias"],
    }
