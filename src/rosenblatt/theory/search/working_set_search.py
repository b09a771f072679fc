"""Descent on a working set of rows, to which the rows that the result misclassifies are added.

Most problems are decided here, in a few dozen passes over the working set.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import sparse
from scipy.optimize import nnls

from rosenblatt.theory.search.approximate_gordan import MAX_COLUMNS, balance, round_weights
from rosenblatt.theory.search.column_dependencies import (
    NullVector,
    exact_null_space,
    reduce_columns,
    weak_separator,
)
from rosenblatt.theory.search.decision import Proposal
from rosenblatt.theory.search.limits import Clock
from rosenblatt.theory.search.matrices import Floats, Indices, equilibrate
from rosenblatt.theory.search.problem import BinaryProblem
from rosenblatt.theory.search.squared_hinge import MAX_STEPS, Descent, descend

# Matrix entries of the first working set, which has at least four rows per column.
_INITIAL_NUMBERS = 1 << 13
_ROUNDS = 8
# Steps of a descent before other methods are tried, in a thorough search.
_SHORT_STEPS = 150
# Matrix entries that a continued descent may read.
_LONG_NUMBERS = 1 << 28
# Up to this width, nonnegative least squares is faster than Newton's method.
_FEW_COLUMNS = 128


@np.errstate(over="ignore", invalid="ignore")
def descent_proposal(
    problem: BinaryProblem, clock: Clock, thorough: bool = False, dependencies: bool = True
) -> Proposal:
    """Search by descent for a separator or a balance, or return where the descent ended.

    A `thorough` search also tries null vectors and a longer descent. Without `dependencies`,
    linearly dependent columns are not searched for.
    """
    v = np.zeros(problem.width)
    if not problem.norms.any():
        return Proposal(v, False, np.empty(0, dtype=np.intp), np.empty(0))
    numbers = problem.values.nnz if problem.is_sparse else problem.n * problem.d
    count = max(_INITIAL_NUMBERS * problem.n // max(numbers, 1), 4 * problem.width)
    rows = np.arange(problem.n)
    if problem.n > 2 * count:
        rows = rows[:: problem.n // count]
    thorough = thorough and problem.width <= MAX_COLUMNS
    enlarged, dependencies_searched = False, not dependencies
    for _ in range(_ROUNDS):
        working_set = _WorkingSet(problem, rows, clock)
        outcome, proposal = working_set.descend(v, _SHORT_STEPS if thorough else MAX_STEPS)
        can_grow = (thorough or problem.is_sparse) and len(rows) < problem.n
        if outcome == "unsure" and (enlarged or not can_grow):
            reduced = None if dependencies_searched else reduce_columns(problem, clock)
            dependencies_searched = True
            if reduced is not None:
                return replace(proposal, reduced=reduced)
            if thorough:
                outcome, proposal = working_set.resolve(proposal)
        v = proposal.v
        if outcome == "unsure" and can_grow:
            # The working set may lack rows that use some columns: enlarge it.
            count, enlarged = 4 * count, True
            rows = np.union1d(rows, np.arange(0, problem.n, max(1, problem.n // count)))
            continue
        if outcome != "separated":
            break
        scores = problem.scores(v)
        misclassified = ~(scores > problem.score_error(v))
        if not misclassified.any():
            return Proposal(v, True, proposal.rows, proposal.weights)
        misclassified[rows] = False
        if not misclassified.any():
            break
        others = np.ones(problem.n, dtype=bool)
        others[rows] = False
        size = min(int(misclassified.sum()), count) + count // 8
        rows = np.concatenate([rows, problem.lowest_score_rows(scores, size, others)])
        count, enlarged = 2 * count, True
    return proposal


class _WorkingSet:
    """Some rows of a problem, equilibrated for a descent.

    Methods return the outcome of the descent and the proposal.
    """

    def __init__(self, problem: BinaryProblem, rows: Indices, clock: Clock) -> None:
        self.problem, self.rows = problem, rows
        self.clock = clock
        equilibrated = equilibrate(problem.block(rows, signed=False), problem.y[rows])
        self.Z, self.columns, self.scale, self.rows_scale = equilibrated
        self.can_prove_balance = problem.row_exponent is None and (
            len(self.columns) == problem.width
            or len(self.columns) == np.count_nonzero(problem.column_max_abs) + int(problem.padded)
        )

    def descend(self, v: Floats, *limits: int) -> tuple[str, Proposal]:
        """Descend from v; the limits are `steps` and `numbers` of :func:`descend`."""
        w = v[self.columns] / self.scale
        return self._proposal(descend(self.Z, w, self._balanced, self.clock.seconds_left, *limits))

    def resolve(self, proposal: Proposal) -> tuple[str, Proposal]:
        """Try further methods after an unsure descent, cheapest first."""
        weak = self._weak_by_null_vectors(proposal)
        if weak is None:
            outcome, proposal = self.descend(proposal.v, MAX_STEPS, _LONG_NUMBERS)
            if outcome != "unsure":
                return outcome, proposal
            weak = self._weak_by_null_vectors(proposal)
        return ("unsure", proposal) if weak is None else ("weakly separated", weak)

    def _weak_by_null_vectors(self, proposal: Proposal) -> Proposal | None:
        """A weak separator in the null space of the rows, if they are a balance except for it."""
        vectors = exact_null_space(self.problem, proposal.rows)
        weak = weak_separator(self.problem, vectors) if vectors else None
        weights = None if weak is None else _balance_of_independent(self.problem, proposal, vectors)
        if weak is None or weights is None:
            return None
        support = np.flatnonzero(weights)
        return replace(
            proposal,
            rows=proposal.rows[support],
            weights=weights[support],
            null_vectors=tuple(b for b in vectors if not b.is_unit),
            weak_separator=tuple(weak),
        )

    def _balanced(self, losses: Floats) -> Floats | None:
        return balance(self.Z, losses, self.rows_scale) if self.can_prove_balance else None

    def _proposal(self, descent: Descent) -> tuple[str, Proposal]:
        v = np.zeros(self.problem.width)
        v[self.columns] = descent.w * self.scale
        balanced = descent.outcome == "balanced"
        weights = descent.losses if balanced else round_weights(descent.losses * self.rows_scale)
        support = np.flatnonzero(weights)
        return descent.outcome, Proposal(v, False, self.rows[support], weights[support], balanced)


def _balance_of_independent(
    problem: BinaryProblem, proposal: Proposal, vectors: list[NullVector]
) -> Floats | None:
    """A balance of the proposed rows without the dependent columns of their null vectors."""
    independent = np.setdiff1d(np.arange(problem.width), [b.dependent_column for b in vectors])
    Z, _, _, rows_scale = equilibrate(problem.block(proposal.rows)[:, independent])
    return balance(Z, proposal.weights / rows_scale, rows_scale)


def nnls_contradiction(problem: BinaryProblem, proposal: Proposal) -> Proposal | None:
    """A contradiction of at most width + 1 of the proposed rows, or None if none is found.

    Nonnegative least squares for ``Σλ_i·z_i = 0, Σλ = 1`` has a solution with independent support
    rows (C. Lawson, R. Hanson, 1974, Solving Least Squares Problems, chapter 23).
    """
    if problem.width > _FEW_COLUMNS or len(proposal.rows) < 2:
        return None
    sizes = proposal.weights * problem.norms[proposal.rows]
    count = 8 * problem.width + 64
    while True:
        count = min(count, len(proposal.rows))
        largest = np.argpartition(-sizes, count // 2)[: count // 2]
        sample = np.union1d(largest, np.linspace(0, len(sizes) - 1, count // 2).astype(np.intp))
        rows = proposal.rows[sample]
        Z, columns, _, rows_scale = equilibrate(problem.block(rows))
        Z = Z.toarray() if sparse.issparse(Z) else Z
        target = np.zeros(len(columns) + 1)
        target[-1] = 1.0
        try:
            solution, residual = nnls(np.vstack([Z.T, np.ones(len(rows))]), target)
        except RuntimeError:
            return None
        if residual < 1e-10:
            support = solution > 0
            return Proposal(
                proposal.v, False, rows[support], solution[support] * rows_scale[support]
            )
        if count == len(proposal.rows):
            return None
        count *= 4
