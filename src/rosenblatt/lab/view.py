"""A session as the JSON values that the page draws."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from rosenblatt.errors import counted
from rosenblatt.lab import plane, proofs
from rosenblatt.lab.plane import Frame
from rosenblatt.lab.proofs import MOST_DOTS
from rosenblatt.lab.session import Session
from rosenblatt.tracing import words
from rosenblatt.tracing.words import number

MOST_NAMES = 12  # features of a row that are spelled out

STOPPED = {
    "separated": "separated: an epoch without a mistake",
    "cycle": "cycle: the weights of an earlier epoch came back, so no line separates these points",
    "budget": "budget: all epochs are used",
}


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
        "boundary": plane.boundary(session, w, b, frame) if frame and has_rows else None,
        "last_line": plane.last_line(session, frame) if frame and has_rows else [],
        "update": plane.update(session, frame) if frame and has_rows else None,
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
        "margin": proofs.margin(session),
        "certificate": proofs.certificate(session),
        "proof": proofs.proof(session),
        "weight_space": _weight_space(session),
        "mistakes": session.mistakes_by_epoch,
        "live": session.live,
        "beside": _beside(session, frame),
        "settings": asdict(session.settings),
        "link": session.link(),
    }


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
        "boundary": plane.boundary(other, w, b, frame) if frame and has_rows else None,
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


def _brief(value: Any, largest: float) -> str:
    """A number as one would write it: whole, or with four digits; nothing beside the largest is 0.

    >>> _brief(12345, 1.0), _brief(1 / 3, 1.0), _brief(5e-17, 1.0)
    ('12345', '0.3333', '0')
    """
    value = float(value)
    if value.is_integer() or abs(value) < 1e-12 * largest:
        return number(round(value))
    return f"{value:.4g}"


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
    cone = plane.corners((-half, half, -half, half))
    for i in range(len(problem.X)):
        first, second = map(float, problem.padded(i))
        cone = plane.clipped(cone, first, second, float(problem.threshold))
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
