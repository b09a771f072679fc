"""The quantities of the convergence proof after each update of a run.

With a separator u of length 1 and margin γ over the padded rows ``z = y·(x, c)``, and R the
length of the longest of them, each update by ``η·z`` where ``w·z <= δ``

- moves w along u by at least ηγ: ``u·w >= u·w0 + Σ ηγ``, which is kγ for η = 1 from zero;
- adds little to its length: ``‖w‖² <= ‖w0‖² + Σ (2ηδ + η²R²)``, which is kR² for η = 1, δ = 0;
- brings it closer to αu: the potential ``‖w - αu‖²`` falls by at least ``η²R²``, for
  ``α = (δ + ηR²)/γ``.

A batch step that corrects m rows at once counts as one update by their sum, at most m·R long.
(A. Novikoff, 1962; the potential as in the notes, where β is R and ŵ is u.)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rosenblatt.errors import counted
from rosenblatt.reference import Vector, dot
from rosenblatt.tracing.problem import TraceProblem
from rosenblatt.tracing.run import TraceStep


@dataclass(frozen=True)
class ProofPoint:
    """The quantities of the proof after k updates.

    ``progress >= progress_floor``, ``sqnorm <= sqnorm_ceiling``, and `potential` is less than at
    the previous point by at least `fall`.
    """

    k: int
    progress: float
    progress_floor: float
    sqnorm: float
    sqnorm_ceiling: float
    potential: float
    fall: float


@dataclass(frozen=True)
class Proof:
    """The quantities of the convergence proof, one point per update.

    Attributes
    ----------
    separator : tuple
        u, of length 1, in the space of the padded rows.
    margin, radius
        γ and R.
    alpha
        The factor α of the vector αu that the weights approach.
    bound
        The most updates that a run with constant η can make: ``(R² + 2δ/η)/γ²`` from zero,
        ``k₀ = ‖w0 - αu‖²/(ηR)²`` from another start; None if η varies, and for batch updates.
    points : tuple of ProofPoint
        One per update, starting with k = 0.

    Examples
    --------
    >>> from rosenblatt.tracing import TraceRun
    >>> run = TraceRun(TraceProblem.of([[2, 1], [-1, 1]], [1, -1]))
    >>> run.finish()
    >>> proof = prove(run.problem, run.steps, separator=(1, 0, 0))
    >>> [(p.k, p.progress, p.progress_floor, p.sqnorm, p.sqnorm_ceiling) for p in proof.points]
    [(0, 0.0, 0.0, 0, 0.0), (1, 2.0, 1.0, 6, 6.0), (2, 3.0, 2.0, 9, 12.0)]
    >>> round(proof.bound, 6)
    6.0
    """

    separator: Vector
    margin: float
    radius: float
    alpha: float
    bound: float | None
    points: tuple[ProofPoint, ...]

    def __repr__(self) -> str:
        made = counted(self.points[-1].k, "update")
        bound = "no bound" if self.bound is None else f"at most {self.bound:.6g}"
        return f"<Proof: {made}, {bound}; γ = {self.margin:.6g}, R = {self.radius:.6g}>"


def prove(
    problem: TraceProblem,
    steps: Sequence[TraceStep],
    separator: Sequence[Any],
    start: Vector | None = None,
    eta: float | None = None,
) -> Proof:
    """Compute the quantities of the proof for the steps of a run and a separator.

    Parameters
    ----------
    problem, steps
        The data, and the steps of a run from the first on.
    separator
        Any vector with ``z·separator > 0`` for every padded row z; its length does not matter.
    start
        The padded weights that the run starts with; by default those before the first step.
    eta
        The learning rate if no step has been taken yet.
    """
    length = math.hypot(*separator)
    u = tuple(float(value) / length for value in separator) if length else tuple(separator)
    margin = min(dot(u, problem.padded(i)) for i in range(len(problem.X)))
    if not margin > 0:
        raise ValueError("the vector given does not separate the rows, so it proves nothing")
    sqradius, delta = float(problem.sqradius), float(problem.threshold)
    batch = any(step.row is None for step in steps)
    most = len(problem.X) if batch else 1
    rates = {float(step.eta) for step in steps} or {1.0 if eta is None else float(eta)}
    rate = max(rates)
    alpha = (delta + rate * most * sqradius) / margin

    if start is None and steps:
        start = problem.padded_weights(steps[0].weights_before, steps[0].bias_before)
    w = start or (0,) * len(u)
    floor, ceiling = float(dot(u, w)), float(dot(w, w))
    fall = 0.0
    points = [_point(0, u, w, alpha, floor, ceiling, fall)]
    for step in (step for step in steps if step.mistake):
        added = float(step.eta) * len(step.mistaken)
        floor += added * margin
        ceiling += 2 * added * delta + added**2 * sqradius
        fall = 2 * added * (alpha * margin - delta) - added**2 * sqradius
        w = problem.padded_weights(step.weights_after, step.bias_after)
        points.append(_point(step.updates, u, w, alpha, floor, ceiling, fall))
    bound = None
    if not batch and len(rates) == 1 and rate > 0:
        from_zero = (sqradius + 2 * delta / rate) / margin**2
        moved = points[0].sqnorm != 0
        bound = points[0].potential / (rate**2 * sqradius) if moved else from_zero
    return Proof(u, margin, math.sqrt(sqradius), alpha, bound, tuple(points))


def _point(
    k: int, u: Vector, w: Vector, alpha: float, floor: float, ceiling: float, fall: float
) -> ProofPoint:
    potential = sum((wj - alpha * uj) ** 2 for wj, uj in zip(w, u, strict=True))
    return ProofPoint(k, float(dot(u, w)), floor, dot(w, w), ceiling, float(potential), fall)


def widest_separator(problem: TraceProblem) -> Vector | None:
    """The separator of largest margin over the padded rows, or None if there is none."""
    from rosenblatt.theory import max_margin

    c = problem.padding
    # (x, c) is c times (x/c, 1): the same separators, margins c times as large.
    X = problem.X if c in (None, 1) else [[value / c for value in row] for row in problem.X]
    margin = max_margin(X, problem.signs, fit_intercept=c is not None)
    if not margin.lower > 0:
        return None
    whole = margin.weights if c is None else (*margin.weights, margin.bias)
    largest = max(abs(value) for value in whole)
    return tuple(value / largest for value in whole)
