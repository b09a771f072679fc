"""What is proven about a session: whether a line separates the rows, the margin, and the bound."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from rosenblatt.errors import counted
from rosenblatt.lab.session import Session
from rosenblatt.reference import Vector
from rosenblatt.tracing import Proof, prove
from rosenblatt.tracing.document import contradiction
from rosenblatt.tracing.words import number

MOST_DOTS = 300


def certificate(session: Session) -> dict[str, Any]:
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
    margin, bound = session.certificate.augmented, bound_of(session)
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


def bound_of(session: Session) -> int | None:
    """The most updates that the online perceptron can make here, or None if that is not known."""
    if session.settings.update == "batch" or session.settings.rule != "perceptron":
        return None
    if session.settings.threshold == 0 and not any(session.settings.start):
        return session.certificate.mistake_bound if session.certificate else None
    proof = proof_of(session, 0)
    return None if proof is None or proof.bound is None else math.floor(proof.bound * (1 + 1e-9))


def proof(session: Session) -> dict[str, Any]:
    """The two curves of the proof and the run between them, or why there is none."""
    if session.settings.rule != "perceptron":
        return {"why_not": "This chart is for the perceptron only."}
    if session.settings.update == "batch":
        return {"why_not": "This chart is for online updates only."}
    proof, bound = proof_of(session), bound_of(session)
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


def proof_of(session: Session, position: int | None = None) -> Proof | None:
    """The convergence proof up to a step, by default the one on screen."""
    widest = separator(session)
    if widest is None or session.run is None or session.problem is None or session.run.rule:
        return None
    start = session.problem.padded_weights(*session.run.start)
    steps = session.run.steps[: session.position if position is None else position]
    return prove(session.problem, steps, widest, start, session.settings.eta)


def separator(session: Session) -> Vector | None:
    """The separator of largest margin of the padded rows, in any scale, if there is one."""
    margin = session.certificate and session.certificate.augmented
    if not margin or session.problem is None:
        return None
    bias = () if session.problem.padding is None else (margin.bias,)
    whole = (*margin.weights, *bias)
    largest = max(abs(value) for value in whole)
    return tuple(float(Fraction(value, largest)) for value in whole)


def margin(session: Session) -> dict[str, Any] | None:
    """What the weights on screen say about the largest margin, in round numbers."""
    interval = margin_interval(session)
    if interval is None:
        return None
    low, high = interval
    known = low > 0
    return {
        "low": _outward(low, math.floor) if known else 0,
        "high": _outward(high, math.ceil),
        "known": known,
    }


def _outward(value: float, rounded: Callable[[float], int]) -> float:
    """A positive bound with three digits, rounded so that it stays a bound.

    >>> _outward(0.171842, math.floor), _outward(0.552834, math.ceil)
    (0.171, 0.553)
    """
    digits = 2 - math.floor(math.log10(value))
    return round(rounded(value * 10.0**digits) / 10.0**digits, max(digits, 0))


def margin_interval(session: Session) -> tuple[float, float] | None:
    """Lower and upper bounds on the largest margin that follow from the weights on screen."""
    step = session.current
    if step is None or session.problem is None or not step.updates:
        return None
    if step.rule is not None or any(session.settings.start):
        return None
    w = np.array(session.problem.padded_weights(step.weights_after, step.bias_after), dtype=float)
    length = float(np.linalg.norm(w))
    if not length:
        return None
    rows = np.array([session.problem.padded(i) for i in range(len(session.problem.X))], dtype=float)
    # From zero, w is η times a sum of rows; divided by their number, a point of their hull.
    return float((rows @ w).min() / length), length / (session.settings.eta * step.updates)
