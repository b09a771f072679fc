"""A linear program in doubles that proposes a separator or a contradiction; it proves nothing.

Maximise t subject to ``z_i·v >= t`` for the rows, ``z_h·v = 0`` for the rows held to the
hyperplane, and ``-1 <= v <= 1``. The program is solved on a working set, the rows that violate its
solution most are added, and so on. If t > 0 holds on all rows, v separates; if t = 0 on the working
set, the dual values λ >= 0, Σλ = 1 satisfy Σλ_i·z_i = 0: these rows contradict each other.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import linprog

from rosenblatt.theory.search.clock import Clock
from rosenblatt.theory.search.decision import Proposal
from rosenblatt.theory.search.matrices import Floats, Indices, append_column, equilibrate
from rosenblatt.theory.search.problem import BinaryProblem
from rosenblatt.theory.search.squared_hinge_newton import fit

# From this many columns on, Newton's method is tried before the linear program.
_MANY_COLUMNS = 32
# Rows added at a time, at most.
_LARGE_BATCH = 1536


def propose(
    problem: BinaryProblem,
    clock: Clock,
    held: Indices | None = None,
    outside: Any = None,
    quick: bool = True,
) -> Proposal:
    """Solve the linear program by adding rows.

    `held` are rows kept on the hyperplane; `outside` marks the rows that need a positive score
    (default: all). With `quick`, Newton's method comes first where there are many columns.
    """
    held = np.empty(0, dtype=np.intp) if held is None else held
    candidates = np.ones(problem.n, dtype=bool) if outside is None else outside.copy()
    batch = max(64, min(2 * problem.width, _LARGE_BATCH))
    working = _first_rows(problem, candidates, 2 * batch)
    while True:
        v, weights, contradicted = _solve(problem, working, held, clock, quick)
        support = weights > 1e-9 * weights.max(initial=0.0)
        here = Proposal(v, False, working[support], weights[support])
        if contradicted:
            return here
        scores, slack = problem.scores(v), problem.slack(v)
        wrong = ~(scores > slack)
        if outside is not None:
            wrong &= outside
        if not wrong.any():
            return Proposal(v, True, here.rows, here.weights)
        candidates[working] = False
        if not (wrong & candidates).any():
            return here
        # Add the rows with the worst scores, whether violated or not.
        working = np.concatenate([working, problem.worst_rows(scores, batch, candidates)])


def _first_rows(problem: BinaryProblem, candidates: Any, count: int) -> Indices:
    """Rows near the boundary between the classes, by a few batch perceptron steps on a sample."""
    rows = np.flatnonzero(candidates)
    if len(rows) <= count:
        return rows
    sample = rows[:: max(1, len(rows) // 4096)][:8192]
    Z = problem.block(sample)
    norms = np.maximum(problem.norms[sample], 1e-300)
    v = Z.T @ (1.0 / norms)
    for _ in range(10):
        wrong = (Z @ v) <= 0
        if not wrong.any():
            break
        v = v + Z[wrong].T @ (1.0 / norms[wrong])
    scores = problem.scores(v)
    nearest = problem.worst_rows(np.abs(scores), count // 2, candidates)
    return np.union1d(nearest, problem.worst_rows(scores, count // 2, candidates))


def _solve(
    problem: BinaryProblem, working: Indices, held: Indices, clock: Clock, quick: bool
) -> tuple[Floats, Floats, bool]:
    """Solve on some rows: v, the weights of the rows, and whether these are a contradiction."""
    Z = problem.block(np.concatenate([working, held]))
    Z, columns, scale, rows_scale = equilibrate(Z)
    if quick and Z.shape[1] >= _MANY_COLUMNS and len(held) == 0:
        outcome, w, weights = fit(Z, clock.left)
        if outcome == "unsure":
            # If rows contradict each other, they are most likely among these.
            hard = np.flatnonzero(weights > 1e-4 * weights.max())
            w, t, duals = _program(Z[hard], len(hard), clock)
            outcome = "contradicted" if t <= 1e-9 else outcome
            weights = np.zeros(len(working))
            weights[hard] = duals
        if outcome != "unsure":
            v = _spread(w * scale, columns, problem.width)
            return v, weights * rows_scale, outcome == "contradicted"
    x, t, weights = _program(Z, len(working), clock)
    v = _spread(x * scale, columns, problem.width)
    return v, weights * rows_scale[: len(working)], t <= 1e-9


def _spread(part: Floats, columns: Indices, width: int) -> Floats:
    """Weights of some columns as weights of all columns, scaled to a maximum of one."""
    v = np.zeros(width)
    v[columns] = part
    return v / max(float(np.abs(v).max()), 1e-300)


def _program(Z: Any, m: int, clock: Clock) -> tuple[Floats, float, Floats]:
    """The linear program: v, t and the dual values of the first m rows; the others are held."""
    k, held = Z.shape[1], Z.shape[0] - m
    A = append_column(-Z[:m], np.ones(m))
    E = append_column(Z[m:], np.zeros(held)) if held else None
    goal, bounds = np.append(np.zeros(k), -1.0), [(-1.0, 1.0)] * k + [(0.0, None)]
    zeros, options = np.zeros(held) if held else None, solver_options(clock)
    result = linprog(goal, A, np.zeros(m), E, zeros, bounds, "highs-ds", options=options)
    if result.x is None:
        clock.left()
        return np.zeros(k), 0.0, np.ones(m)
    return result.x[:-1], float(result.x[-1]), np.maximum(-result.ineqlin.marginals, 0.0)


def solver_options(clock: Clock) -> dict[str, float]:
    """The options of HiGHS: the smallest tolerances, and the time that is left."""
    options = dict.fromkeys(("primal_feasibility_tolerance", "dual_feasibility_tolerance"), 1e-10)
    left = clock.left()
    return options if left is None else options | {"time_limit": left}
