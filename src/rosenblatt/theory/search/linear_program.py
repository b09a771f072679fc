"""A linear program in doubles that proposes a separator or a contradiction, without proof.

Maximise t subject to ``z_i·v >= t`` for the inequality rows, ``z_h·v = 0`` for the equality rows,
and ``-1 <= v <= 1``. The program is solved on a working set, to which the most violated rows are
added (constraint generation). If v has positive scores on all inequality rows, it separates; if
t = 0 on the working set, the dual variables λ >= 0, Σλ = 1 have Σλ_i·z_i = 0, a contradiction.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import linprog

from rosenblatt.theory.search.decision import Proposal
from rosenblatt.theory.search.limits import Clock
from rosenblatt.theory.search.matrices import Floats, Indices, append_column, equilibrate
from rosenblatt.theory.search.problem import BinaryProblem
from rosenblatt.theory.search.squared_hinge import penalised_newton

# From this many columns on, Newton's method is tried before the linear program.
_MANY_COLUMNS = 32
# The most rows added to the working set at a time.
_LARGE_BATCH = 1536


def lp_proposal(
    problem: BinaryProblem,
    clock: Clock,
    equality_rows: Indices | None = None,
    inequality_mask: Any = None,
    newton_first: bool = True,
) -> Proposal:
    """A separator or a contradiction by the linear program, with constraint generation.

    `equality_rows` are indices, none by default; `inequality_mask` marks the inequality rows, all
    by default. With `newton_first`, Newton's method is tried first if there are many columns.
    """
    equality_rows = np.empty(0, dtype=np.intp) if equality_rows is None else equality_rows
    candidates = (
        np.ones(problem.n, dtype=bool) if inequality_mask is None else inequality_mask.copy()
    )
    batch = max(64, min(2 * problem.width, _LARGE_BATCH))
    working = _initial_working_set(problem, candidates, 2 * batch)
    while True:
        v, weights, contradicted = _solve(problem, working, equality_rows, clock, newton_first)
        support = weights > 1e-9 * weights.max(initial=0.0)
        proposal = Proposal(v, False, working[support], weights[support])
        if contradicted:
            return proposal
        scores, error = problem.scores(v), problem.score_error(v)
        wrong = ~(scores > error)
        if inequality_mask is not None:
            wrong &= inequality_mask
        if not wrong.any():
            return Proposal(v, True, proposal.rows, proposal.weights)
        candidates[working] = False
        if not (wrong & candidates).any():
            return proposal
        # Add the rows with the lowest scores, whether violated or not.
        working = np.concatenate([working, problem.lowest_score_rows(scores, batch, candidates)])


def _initial_working_set(problem: BinaryProblem, candidates: Any, count: int) -> Indices:
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
    nearest = problem.lowest_score_rows(np.abs(scores), count // 2, candidates)
    return np.union1d(nearest, problem.lowest_score_rows(scores, count // 2, candidates))


def _solve(
    problem: BinaryProblem,
    working: Indices,
    equality_rows: Indices,
    clock: Clock,
    newton_first: bool,
) -> tuple[Floats, Floats, bool]:
    """Solve on a working set: v, the dual weights of its rows, and whether they contradict."""
    Z = problem.block(np.concatenate([working, equality_rows]))
    Z, columns, scale, rows_scale = equilibrate(Z)
    if newton_first and Z.shape[1] >= _MANY_COLUMNS and len(equality_rows) == 0:
        outcome, w, weights = penalised_newton(Z, clock.seconds_left)
        if outcome == "unsure":
            # A contradiction is most likely among the rows of large loss.
            hard = np.flatnonzero(weights > 1e-4 * weights.max())
            w, t, duals = _solve_program(Z[hard], len(hard), clock)
            outcome = "contradicted" if t <= 1e-9 else outcome
            weights = np.zeros(len(working))
            weights[hard] = duals
        if outcome != "unsure":
            v = _expand(w * scale, columns, problem.width)
            return v, weights * rows_scale, outcome == "contradicted"
    x, t, weights = _solve_program(Z, len(working), clock)
    v = _expand(x * scale, columns, problem.width)
    return v, weights * rows_scale[: len(working)], t <= 1e-9


def _expand(part: Floats, columns: Indices, width: int) -> Floats:
    """Weights of some columns as weights of all columns, scaled to a largest weight of one."""
    v = np.zeros(width)
    v[columns] = part
    return v / max(float(np.abs(v).max()), 1e-300)


def _solve_program(Z: Any, m: int, clock: Clock) -> tuple[Floats, float, Floats]:
    """Solve for v, t and the dual variables of the first m rows; the rest are equality rows."""
    k, n_equalities = Z.shape[1], Z.shape[0] - m
    A = append_column(-Z[:m], np.ones(m))
    E = append_column(Z[m:], np.zeros(n_equalities)) if n_equalities else None
    goal, bounds = np.append(np.zeros(k), -1.0), [(-1.0, 1.0)] * k + [(0.0, None)]
    zeros, options = np.zeros(n_equalities) if n_equalities else None, solver_options(clock)
    result = linprog(goal, A, np.zeros(m), E, zeros, bounds, "highs-ds", options=options)
    if result.x is None:
        clock.seconds_left()
        return np.zeros(k), 0.0, np.ones(m)
    return result.x[:-1], float(result.x[-1]), np.maximum(-result.ineqlin.marginals, 0.0)


def solver_options(clock: Clock) -> dict[str, float]:
    """The options of HiGHS: its smallest tolerances, and the time left."""
    options = dict.fromkeys(("primal_feasibility_tolerance", "dual_feasibility_tolerance"), 1e-10)
    left = clock.seconds_left()
    return options if left is None else options | {"time_limit": left}
