"""A session as the JSON values that the page draws."""

from __future__ import annotations

import math
from dataclasses import asdict
from fractions import Fraction
from typing import Any

import numpy as np

from rosenblatt.counts import counted
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


def view(session: Session, frame: tuple[float, float, float, float] | None) -> dict[str, Any]:
    """Everything the page shows, as JSON values.

    Parameters
    ----------
    session : Session
        The session to show.
    frame : (x0, x1, y0, y1) or None
        The part of the plane to show; None unless there are two features.
    """
    w, b = session.weights
    step = session.current
    has_rows = session.problem is not None
    wrong = session.wrong(w, b) if has_rows else np.zeros(0, dtype=bool)
    return {
        "title": session.data.title,
        "loaded": session.loaded,
        "task": session.task,
        "can_undo": bool(session._past),
        "labels": session.data.labels,
        "all_classes": list(session.data.all_classes),
        "target": session.data.target,
        "planar": session.data.planar,
        "features": list(session.data.feature_names),
        "classes": list(session.data.class_names),
        "points": [
            [*row, sign] for row, sign in zip(session.data.X, session.data.signs, strict=True)
        ]
        if session.data.planar
        else [],
        "rows": [] if session.data.planar else _rows(session, w, b, wrong),
        "frame": frame,
        "wrong": np.flatnonzero(wrong).tolist(),
        "looked_at": _looked_at(session),
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
        "stop": STOPPED[session.run.stop_reason]
        if session.run and session.run.stop_reason and session.ended
        else None,
        "stop_reason": session.run.stop_reason if session.run and session.ended else None,
        "margin": _margin(session),
        "certificate": _certificate(session),
        "proof": _proof(session),
        "weight_space": _weight_space(session),
        "settings": asdict(session.settings),
        "link": session.link(),
    }


def frame_for(session: Session) -> tuple[float, float, float, float] | None:
    """Limits of the plane that contain all points, with room around them."""
    if not session.data.planar:
        return None
    if not session.data.X:
        return (-5.0, 5.0, -5.0, 5.0)
    points = np.array(session.data.X)
    low, high = points.min(axis=0), points.max(axis=0)
    room = 0.25 * np.where(high > low, high - low, np.maximum(1.0, np.abs(high)))
    (x0, y0), (x1, y1) = low - room, high + room
    return (float(x0), float(x1), float(y0), float(y1))


def holds(frame: tuple[float, float, float, float], session: Session) -> bool:
    """Whether all points are in the frame."""
    x0, x1, y0, y1 = frame
    return all(x0 <= x <= x1 and y0 <= y <= y1 for x, y in session.data.X)


def _looked_at(session: Session) -> list[int]:
    step = session.current
    if step is None:
        return []
    return list(step.mistaken) if step.row is None else [step.row]


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
    found = session.margin_interval()
    if found is None:
        return None
    low, high = found
    return {"low": number(low), "high": number(high), "known": low > 0}


def _certificate(session: Session) -> dict[str, Any]:
    found, problem = session.certificate, session.problem
    if found is None or problem is None:
        return {
            "verdict": "open",
            "text": "Add points of both labels to see whether a line separates them.",
            "rows": [],
        }
    thing = "line" if len(problem.feature_names) == 2 else "hyperplane"
    lifted = session.settings.lift != "none"
    features = counted(len(problem.feature_names), "feature")
    after = f"After the lift to {features}, " if lifted else ""
    if found.separable:
        bound = _bound(session)
        least = found.augmented.lower if found.augmented else 0.0
        margin = f"The largest margin is γ = {number(least * (problem.padding or 1))}"
        end = "."
        if bound is not None:
            run = "a run from this start" if any(session.settings.start) else "a run"
            end = f", so {run} makes at most {counted(bound, 'update')}."
        return {
            "verdict": "separable",
            "text": f"{after}{'a' if after else 'A'} {thing} separates them. {margin}{end}",
            "rows": [],
        }
    if found.contradiction is None:
        return {"verdict": found.verdict, "text": "Undecided within the time limit.", "rows": []}
    shares = dict(zip(found.contradiction.rows, found.contradiction.shares, strict=True))
    about = "" if all(share.denominator <= 100 for share in shares.values()) else "about "
    sentence = about + "".join(contradiction(problem, {i: _tidy(v) for i, v in shares.items()}))
    weak = found.verdict == "quasi-separable"
    says = "has all points strictly on their sides" if weak else "separates them"
    count = f"{len(shares)} of {len(problem.X)} points contradict each other"
    return {
        "verdict": found.verdict,
        "text": f"{after}{'no' if after else 'No'} {thing} {says}. {count}: {sentence}",
        "rows": [[row, number(_tidy(share))] for row, share in shares.items()],
    }


def _tidy(share: Fraction) -> Any:
    """A share for the eye: a simple fraction, or two digits."""
    return share if share.denominator <= 100 else float(f"{float(share):.2g}")


def _bound(session: Session) -> int | None:
    """The most updates that online learning can make here."""
    problem, separator = session.problem, session.separator
    if problem is None or separator is None or session.settings.update == "batch":
        return None
    if session.settings.rule != "perceptron":
        return None
    if any(session.settings.start):
        proof = session.proof()
        found = None if proof is None else proof.bound
        return None if found is None else math.floor(found * (1 + 1e-9))
    if session.settings.threshold == 0 and session.certificate is not None:
        return session.certificate.mistake_bound
    z = np.array([problem.padded(i) for i in range(len(problem.X))], dtype=float)
    margin = float((z @ np.array(separator)).min() / np.linalg.norm(separator))
    if margin <= 0:
        return None
    extra = 2 * session.settings.threshold / session.settings.eta
    return math.floor((float(problem.sqradius) + extra) / margin**2 * (1 + 1e-9))


def _no_bound(session: Session) -> str:
    if session.certificate is None:
        return "The bound needs points of both labels."
    return "No line separates the points, so the number of updates has no bound."


def _proof(session: Session) -> dict[str, Any]:
    """The two curves of the proof and the run between them, or why there is none."""
    if session.settings.rule != "perceptron":
        return {"why_not": "This chart is for the perceptron only."}
    if session.settings.update == "batch":
        return {"why_not": "This chart is for online updates only."}
    proof, bound = session.proof(), _bound(session)
    if proof is None or bound is None:
        return {"why_not": _no_bound(session)}
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
    if problem is None or run is None or len(problem.padded(0)) != 2:
        return None
    steps = run.steps[: session.position]
    states = [run.start, *((s.weights_after, s.bias_after) for s in steps if s.mistake)]
    path = [[float(v) for v in problem.padded_weights(w, b)] for w, b in states[-MOST_DOTS:]]
    names = [*problem.feature_names, *(["bias"] if problem.padding is not None else [])]
    return {
        "edges": [
            [*map(float, problem.padded(i)), problem.signs[i]] for i in range(len(problem.X))
        ][:MOST_DOTS],
        "path": path,
        "ellipse": _ellipse(session),
        "threshold": float(problem.threshold),
        "axes": [
            f"weight of {names[0]}",
            "bias" if names[1] == "bias" else f"weight of {names[1]}",
        ],
    }


def _ellipse(session: Session) -> list[float] | None:
    """The standard deviations of the two weights, for a rule that keeps variances."""
    step, problem = session.current, session.problem
    if step is None or problem is None or not step.variances_after:
        return None
    return [math.sqrt(variance) for variance in step.variances_after[:2]]
