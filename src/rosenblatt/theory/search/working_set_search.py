"""Descent on a working set of rows, which grows by the rows that the result gets wrong.

Most problems are decided here, in some tens of passes over the working set.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import sparse
from scipy.optimize import nnls

from rosenblatt.theory.search.approximate_gordan import MOST_COLUMNS, balance, round_weights
from rosenblatt.theory.search.clock import Clock
from rosenblatt.theory.search.column_dependencies import (
    NullVector,
    null_space_of,
    reduce_columns,
    weak_separator,
)
from rosenblatt.theory.search.decision import Proposal
from rosenblatt.theory.search.descent import MOST_STEPS, descend
from rosenblatt.theory.search.matrices import Floats, Indices, equilibrate
from rosenblatt.theory.search.problem import BinaryProblem
from rosenblatt.theory.search.squared_hinge_newton import Descent, reweighted_newton

# Numbers in the first working set; it has at least four rows per column.
_FIRST = 1 << 13
_ROUNDS = 8
# Steps of a descent before other methods are tried, if the search is thorough.
_SHORT = 150
# Numbers that later steps may read.
_LONG = 1 << 28
# Up to here, non-negative least squares find a minimal contradiction faster than Newton's method.
_FEW_COLUMNS = 128


@np.errstate(over="ignore", invalid="ignore")
def explore(
    problem: BinaryProblem, clock: Clock, thorough: bool = False, dependencies: bool = True
) -> Proposal:
    """A separator that is clear on every row, a balance, null vectors, or where the descent ended.

    A `thorough` search finds hidden balances. Without `dependencies`, columns that are combinations
    of others are not looked for.
    """
    v = np.zeros(problem.width)
    if not problem.norms.any():
        return Proposal(v, False, np.empty(0, dtype=np.intp), np.empty(0))
    numbers = problem.values.nnz if problem.is_sparse else problem.n * problem.d
    count = max(_FIRST * problem.n // max(numbers, 1), 4 * problem.width)
    working = np.arange(problem.n)
    if problem.n > 2 * count:
        working = working[:: problem.n // count]
    thorough = thorough and problem.width <= MOST_COLUMNS
    hard, searched = False, not dependencies
    for _ in range(_ROUNDS):
        part = _WorkingSet(problem, working, clock)
        outcome, here = part.descend(v, _SHORT if thorough else MOST_STEPS)
        more = (thorough or problem.is_sparse) and len(working) < problem.n
        if outcome == "unsure" and (hard or not more):
            better = None if searched else reduce_columns(problem, clock)
            searched = True
            if better is not None:
                return replace(here, reduced=better)
            if thorough:
                outcome, here = part.resolve(here)
        v = here.v
        if outcome == "unsure" and more:
            # The sample may lack rows with some column: take more.
            count, hard = 4 * count, True
            working = np.union1d(working, np.arange(0, problem.n, max(1, problem.n // count)))
            continue
        if outcome != "separated":
            break
        scores = problem.scores(v)
        wrong = ~(scores > problem.slack(v))
        if not wrong.any():
            return Proposal(v, True, here.rows, here.weights)
        wrong[working] = False
        if not wrong.any():
            break
        others = np.ones(problem.n, dtype=bool)
        others[working] = False
        size = min(int(wrong.sum()), count) + count // 8
        working = np.concatenate([working, problem.worst_rows(scores, size, others)])
        count, hard = 2 * count, True
    return here


class _WorkingSet:
    """Some rows of a problem, scaled for a descent.

    Methods return the outcome and the result as a proposal.
    """

    def __init__(self, problem: BinaryProblem, rows: Indices, clock: Clock) -> None:
        self.problem, self.rows, self.clock = problem, rows, clock
        found = equilibrate(problem.block(rows, signed=False), problem.y[rows])
        self.Z, self.columns, self.scale, self.rows_scale = found
        self.sure = problem.row_exponent is None and (
            len(self.columns) == problem.width
            or len(self.columns) == np.count_nonzero(problem.column_top) + int(problem.padded)
        )

    def descend(self, v: Floats, *limits: int) -> tuple[str, Proposal]:
        """Steps of a descent; the limits are those of :func:`descend`."""
        w = v[self.columns] / self.scale
        return self._proposal(descend(self.Z, w, self._balanced, self.clock.left, *limits))

    def resolve(self, here: Proposal) -> tuple[str, Proposal]:
        """What can be tried where a descent is unsure, cheapest first."""
        found = self._decided_by_null_vectors(here)
        if found is None:
            outcome, here = self.descend(here.v, MOST_STEPS, _LONG)
            if outcome != "unsure":
                return outcome, here
            w = here.v[self.columns] / self.scale
            outcome, here = self._proposal(
                reweighted_newton(self.Z, w, self._balanced, self.clock.left)
            )
            if outcome != "unsure":
                return outcome, here
            found = self._decided_by_null_vectors(here)
        return ("unsure", here) if found is None else ("weakly separated", found)

    def _decided_by_null_vectors(self, here: Proposal) -> Proposal | None:
        """A weak separator in the null space of these rows, if they are a balance otherwise."""
        vectors = null_space_of(self.problem, here.rows)
        weak = weak_separator(self.problem, vectors) if vectors else None
        weights = None if weak is None else _balance_without_leads(self.problem, here, vectors)
        if weak is None or weights is None:
            return None
        kept = np.flatnonzero(weights)
        return replace(
            here,
            rows=here.rows[kept],
            weights=weights[kept],
            null_vectors=tuple(b for b in vectors if not b.is_unit),
            weak=tuple(weak),
        )

    def _balanced(self, losses: Floats) -> Floats | None:
        return balance(self.Z, losses, self.rows_scale) if self.sure else None

    def _proposal(self, reached: Descent) -> tuple[str, Proposal]:
        v = np.zeros(self.problem.width)
        v[self.columns] = reached.w * self.scale
        balanced = reached.outcome == "balanced"
        weights = reached.losses if balanced else round_weights(reached.losses * self.rows_scale)
        support = np.flatnonzero(weights)
        return reached.outcome, Proposal(v, False, self.rows[support], weights[support], balanced)


def _balance_without_leads(
    problem: BinaryProblem, here: Proposal, vectors: list[NullVector]
) -> Floats | None:
    """Weights in balance near those of a proposal, without the leads of its null vectors."""
    kept = np.setdiff1d(np.arange(problem.width), [b.lead for b in vectors])
    Z, _, _, rows_scale = equilibrate(problem.block(here.rows)[:, kept])
    return balance(Z, here.weights / rows_scale, rows_scale)


def nnls_contradiction(problem: BinaryProblem, hint: Proposal) -> Proposal | None:
    """A contradiction of at most width + 1 rows among the rows of a proposal, if there is one.

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
