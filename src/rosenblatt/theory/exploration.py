"""The first look at a problem: descend on a part of the rows, and add those that it gets wrong.

Most problems are decided here, in some tens of passes over that part.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import nnls

from rosenblatt.theory.balance import MOST_COLUMNS, balances, short
from rosenblatt.theory.clock import Clock
from rosenblatt.theory.descent import descend
from rosenblatt.theory.insist import insist
from rosenblatt.theory.problem import Problem
from rosenblatt.theory.proposal import Proposal, equilibrate
from rosenblatt.theory.table import Floats, Indices

# Numbers in the first part of the rows; it has at least four rows a column.
_PART = 1 << 13
_ROUNDS = 8
# From here on, Newton's steps are sooner done than exact solving.
_MANY_COLUMNS = 64
# Up to here, non-negative least squares find a minimal contradiction sooner than least squares.
_FEW_COLUMNS = 128


def explore(problem: Problem, clock: Clock) -> Proposal:
    """A separator that is clear on every row, a balance, or where the descent ended."""
    count = _part(problem)
    working = np.arange(problem.n)
    if problem.n > 2 * count:
        working = working[:: problem.n // count]
    v = np.zeros(problem.width)
    parted = False
    for _ in range(_ROUNDS):
        more = problem.table.is_sparse and len(working) < problem.n
        # Any sparse sample may miss a column; one that was separated before is a hard case.
        outcome, v, weights = _descend(problem, working, v, clock, hard=parted or not more)
        support = np.flatnonzero(weights)
        here = Proposal(v, False, working[support], weights[support], outcome == "balanced")
        if outcome == "unsure" and more:
            count *= 4
            working = np.union1d(working, np.arange(0, problem.n, max(1, problem.n // count)))
            continue
        if outcome != "separated":
            break
        parted = True
        scores = problem.scores(v)
        wrong = ~(scores > problem.slack(v))
        if not wrong.any():
            return Proposal(v, True, here.rows, here.weights)
        wrong[working] = False
        if not wrong.any():
            break
        working = np.concatenate([working, _hardest(problem, scores, working, wrong, count)])
        count *= 2
    return here


def _part(problem: Problem) -> int:
    """How many rows to begin with."""
    table = problem.table
    numbers = table.values.nnz if table.is_sparse else problem.n * table.d
    return max(_PART * problem.n // max(numbers, 1), 4 * problem.width)


def _hardest(problem: Problem, scores: Floats, working: Indices, wrong: Any, count: int) -> Indices:
    """The rows that are most wrong, and those that would be next."""
    depth = scores / np.maximum(problem.norms, 1e-300)
    depth[working] = np.inf
    size = min(int(wrong.sum()), count) + count // 8
    if size < problem.n - len(working):
        fresh = np.argpartition(depth, size)[:size]
    else:
        fresh = np.arange(problem.n)
    return np.asarray(fresh[np.isfinite(depth[fresh])])


def _descend(
    problem: Problem, working: Indices, v: Floats, clock: Clock, hard: bool
) -> tuple[str, Floats, Floats]:
    """On some rows: the outcome, scaled weights, and the weights of the rows.

    `hard` rows of many columns get Newton's steps too.
    """
    Z, columns, scale, rows_scale = equilibrate(problem.block(working))
    table = problem.table
    sure = table.row_exponent is None and len(columns) == np.count_nonzero(table.column_top) + int(
        table.padded
    )

    def pulls(losses: Floats) -> Floats:
        return short(losses * rows_scale)

    def balanced(losses: Floats) -> bool:
        return sure and balances(Z, pulls(losses) / rows_scale)

    outcome, w, losses = descend(Z, v[columns] / scale, balanced, clock.left)
    if outcome == "unsure" and hard and _MANY_COLUMNS < len(columns) <= MOST_COLUMNS:
        outcome, w, losses = insist(Z, w, balanced, clock.left)
    full = np.zeros(problem.width)
    full[columns] = w * scale
    return outcome, full, pulls(losses)


def vertex(problem: Problem, hint: Proposal) -> Proposal | None:
    """A contradiction on as few rows as the columns and one, among the rows of a proposal.

    Non-negative least squares for ``Σλ_i·z_i = 0, Σλ = 1`` end on independent rows (C. Lawson,
    R. Hanson, 1974, Solving Least Squares Problems, chapter 23).
    """
    if problem.width > _FEW_COLUMNS or len(hint.rows) < 2:
        return None
    pulls = hint.weights * problem.norms[hint.rows]
    count = 8 * problem.width + 64
    while True:
        count = min(count, len(hint.rows))
        largest = np.argpartition(-pulls, count // 2)[: count // 2]
        among = np.union1d(largest, np.linspace(0, len(pulls) - 1, count // 2).astype(np.intp))
        rows = hint.rows[among]
        Z, columns, _, rows_scale = equilibrate(problem.block(rows))
        Z = Z.toarray() if sparse.issparse(Z) else Z
        right = np.zeros(len(columns) + 1)
        right[-1] = 1.0
        try:
            found, left = nnls(np.vstack([Z.T, np.ones(len(rows))]), right)
        except RuntimeError:
            return None
        if left < 1e-10:
            kept = found > 0
            return Proposal(hint.v, False, rows[kept], found[kept] * rows_scale[kept])
        if count == len(hint.rows):
            return None
        count *= 4
