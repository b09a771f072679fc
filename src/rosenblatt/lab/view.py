"""A session as the JSON values that the page draws."""

from __future__ import annotations

import math
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

STOPPED = {
    "separated": "separated: an epoch without a mistake",
    "cycle": "cycle: the weights of an earlier epoch came back, so no line separates these points",
    "budget": "budget: all epochs are used",
}


Frame = tuple[float, float, float, float]


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
    stop_reason = session.run.stop_reason if session.run and session.ended else None
    return {
        "title": data.title,
        "loaded": session.loaded,
        "task": session.task,
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
        "rows": [] if data.planar else _rows(session, w, b, wrong),
        "frame": frame,
        "wrong": np.flatnonzero(wrong).tolist(),
        "looked_at": [] if step is None else step.mistaken if step.row is None else [step.row],
        "boundary": _boundary(session, w, b, frame) if frame and has_rows else None,
        "last_line": _last_line(session, frame) if frame and has_rows else [],
        "step": _step(session),
        "weights": [
            {"name": name, "value": float(value), "text": number(value)}
            for name, value in zip(session.lift.names, w, strict=True)
        ],
        "bias": {"value": float(b), "text": number(b)} if session.settings.bias else None,
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
        "settings": asdict(session.settings),
        "link": session.link(),
    }


def frame_for(session: Session) -> Frame | None:
    """Limits of the plane that contain all points, with room around them; None without a plane."""
    if not session.data.planar:
        return None
    if not session.data.X:
        return (-5.0, 5.0, -5.0, 5.0)
    points = np.array(session.data.X)
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
            "values": "".join(words.vector(row, session.data.feature_names)),
            "sign": sign,
            "score": number(float(score)),
            "wrong": bool(bad),
        }
        for name, row, sign, score, bad in zip(
            names, session.data.X, session.data.signs, scores, wrong, strict=True
        )
    ]


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


def _boundary(session: Session, w: Any, b: Any, frame: Any) -> dict[str, Any]:
    """The lines of score zero, the region above it, and the margins of a straight line."""
    from contourpy import contour_generator

    x0, x1, y0, y1 = frame
    x, y = np.linspace(x0, x1, GRID), np.linspace(y0, y1, GRID)
    plane = np.column_stack([axis.ravel() for axis in np.meshgrid(x, y)])
    scores = session.lift(plane) @ np.array(w, dtype=float) + float(b)
    surface = scores.reshape(GRID, GRID)
    if not np.any(scores):
        return {"lines": [], "above": [], "margins": []}
    made: Any = contour_generator(x, y, surface)
    lines = [line.tolist() for line in made.lines(0.0)]
    top = max(float(surface.max()), 0.0) + 1.0
    above = [polygon.tolist() for polygon in made.filled(0.0, top)[0]]
    margins: list[Any] = []
    least = float((np.array(session.data.signs) * session.scores(w, b)).min())
    if least > 0 and session.settings.lift == "none":
        margins = [line.tolist() for level in (-least, least) for line in made.lines(level)]
    return {"lines": lines, "above": above, "margins": margins}


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
    return {"low": number(low), "high": number(high), "known": low > 0}


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
    sentence = f"The largest margin is γ = {number((margin.lower if margin else 0.0) * padding)}"
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
    return {
        "edges": [[*map(float, problem.padded(i)), problem.signs[i]] for i in rows],
        "path": path,
        # Standard deviations of the two weights, for a rule that keeps variances.
        "ellipse": [math.sqrt(variance) for variance in variances] or None,
        "threshold": float(problem.threshold),
        "axes": axes if problem.padding is None else [*axes, "bias"],
    }
