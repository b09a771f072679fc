"""The exact simplex method, which decides where doubles cannot.

Phase one of the revised simplex method on ``A·x = e``, ``x >= 0``, where e is the last unit vector
and A has a column ``(z_i, ‖z_i‖₁)`` for each inequality row, ``z_i·v > 0``, and two columns
``(±z_h, 0)`` for each equality row, ``z_h·v = 0``. If the sum of the artificial variables falls to
zero, x is a contradiction: Σλ_i·z_i + Σμ_h·z_h = 0, λ >= 0, not zero. Until then, v is minus the
dual variables. A row that v violates has a column of negative reduced cost, which is generated and
enters the basis; if there is none, v is a separator. FLINT solves with the basis in integers.

The initial basis is that of HiGHS for the same program in doubles, so few iterations remain. The
program is highly degenerate, so e is perturbed (A. Charnes (1952), Optimality and degeneracy in
linear programming). If the objective still stalls, Bland's rule chooses the pivots (R. Bland
(1977), New finite pivoting rules for the simplex method): no basis recurs, so the method ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import mul
from typing import Any, NamedTuple

import flint
import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from rosenblatt.theory.search.integer_linear_algebra import pivots, solving_seconds
from rosenblatt.theory.search.limits import Clock
from rosenblatt.theory.search.linear_program import solver_options
from rosenblatt.theory.search.matrices import Indices
from rosenblatt.theory.search.problem import BinaryProblem

# With fewer columns HiGHS is not called; the most matrix entries that it gets.
_FEW_COLUMNS, _NUMBERS = 8, 1 << 21
# The bits of the last entry of e; the perturbations have 40 bits.
_UNIT_BITS = 256
# Iterations without progress, per row of the basis, before Bland's rule is used.
_STALLED = 4


@dataclass(frozen=True)
class ExactAnswer:
    """A separator v in exact weights, or the rows and coefficients of a contradiction.

    Coefficients of equality rows may have either sign.
    """

    v: list[int] | None
    rows: list[int]
    coefficients: list[int]


class _Column(NamedTuple):
    """A column of A: its row of the problem (-1 if artificial), its sign and its entries."""

    row: int
    sign: int
    entries: list[int]


def decide_by_simplex(
    problem: BinaryProblem,
    clock: Clock,
    initial_rows: Indices,
    equality_rows: Indices | None = None,
    inequality_mask: Any = None,
) -> ExactAnswer:
    """A separator with ``z_h·v = 0`` for the equality rows, or a contradiction.

    `inequality_mask` marks the inequality rows (default: all); `initial_rows` are candidates for
    the initial basis.
    """
    clock.require_slow_steps()
    equality_rows = np.empty(0, dtype=np.intp) if equality_rows is None else equality_rows
    pool, bits = _ColumnPool(problem, equality_rows, initial_rows), _UNIT_BITS
    if problem.width >= _FEW_COLUMNS and problem.row_exponent is None:
        initial_rows = _highs_support(pool, equality_rows, inequality_mask, clock)
    candidates = [pool.column(i) for i in (*pool.equalities, *initial_rows.tolist())]
    basis: list[_Column] = []
    e, stalled = _perturbed_unit_vector(problem.width, bits), 0
    while True:
        basis = basis or _initial_basis(candidates, e, clock)
        # Artificial variables have cost one, all others zero.
        costs = [int(column.row < 0) for column in basis]
        (prices,) = _solve([column.entries for column in basis], [costs], clock)
        if prices[-1] <= 0:
            answer = _contradiction(basis, clock)
            if answer is not None:
                return answer
            # The perturbation was too large.
            bits, candidates = 2 * bits, [column for column in basis if column.row >= 0]
            e, basis = _perturbed_unit_vector(problem.width, bits), []
            continue
        v = [-x for x in prices[:-1]]
        bland = stalled > _STALLED * len(e)
        column = pool.entering(v, bland) or pool.entering_from_all_rows(v, inequality_mask)
        if column is None:
            return ExactAnswer(v, [], [])
        values, direction = _in_basis(basis, [e, column.entries], clock)
        leaving = min(
            (r for r, d in enumerate(direction) if d > 0),
            key=lambda r: (flint.fmpq(values[r], direction[r]), basis[r]),
        )
        stalled = 0 if values[leaving] else stalled + 1
        basis[leaving] = column


def _perturbed_unit_vector(width: int, bits: int) -> list[int]:
    """The last unit vector times ``2**bits``, plus a small pseudorandom perturbation."""
    e = np.random.default_rng(0).integers(1, 1 << 40, width + 1).tolist()
    e[-1] += 1 << bits
    return e


def _solve(rows: list[list[int]], right: list[list[int]], clock: Clock) -> list[list[int]]:
    """Solve a square system for several right-hand sides, up to a common positive factor."""
    clock.require(solving_seconds(rows))
    solution: Any = flint.fmpz_mat(rows).solve(flint.fmpz_mat(right).transpose())
    return [[int(x) for x in row] for row in solution.numer_denom()[0].transpose().tolist()]


def _in_basis(basis: list[_Column], vectors: list[list[int]], clock: Clock) -> list[list[int]]:
    """The coordinates of vectors in the basis, up to a common positive factor."""
    rows = [list(row) for row in zip(*(column.entries for column in basis), strict=True)]
    return _solve(rows, vectors, clock)


def _highs_support(
    pool: _ColumnPool, equality_rows: Indices, inequality_mask: Any, clock: Clock
) -> Indices:
    """The rows in the basic solution of the same program in doubles, by HiGHS."""
    problem = pool.problem
    rows = np.arange(problem.n) if inequality_mask is None else np.flatnonzero(inequality_mask)
    sample_size = max(4 * problem.width, _NUMBERS // problem.width)
    rows = np.union1d(
        rows[:: len(rows) // sample_size + 1], np.array(list(pool.inequalities), dtype=np.intp)
    )
    A = problem.block(np.concatenate([rows, equality_rows]))
    A = A.toarray() if sparse.issparse(A) else A
    A = np.hstack([A, np.abs(A).sum(axis=1, keepdims=True)])
    A[len(rows) :, -1] = 0.0
    A /= np.maximum(np.abs(A).max(axis=1, keepdims=True), 1e-300)
    top = np.abs(A).max(axis=0)
    A /= np.where(top > 0, top, 1.0)
    k = A.shape[1]
    costs = np.repeat([0.0, 0.0, 1.0], [len(rows), len(equality_rows), k])
    bounds = [(0, None)] * len(rows) + [(None, None)] * len(equality_rows) + [(0, None)] * k
    e = np.append(np.zeros(k - 1), 1.0)
    A, options = np.hstack([A.T, np.eye(k)]), solver_options(clock)
    result = linprog(costs, A_eq=A, b_eq=e, bounds=bounds, method="highs-ds", options=options)
    support = rows[result.x[: len(rows)] > 0] if result.x is not None else rows[:0]
    pool.add_columns(support)
    return support


def _initial_basis(candidates: list[_Column], e: list[int], clock: Clock) -> list[_Column]:
    """A feasible basis of independent given columns and artificial ones."""
    while True:
        chosen, pivot_rows = pivots([column.entries for column in candidates], clock=clock)
        basis = [candidates[k] for k in chosen]
        for j in sorted(set(range(len(e))) - set(pivot_rows)):
            basis.append(_Column(-1, j, [int(i == j) for i in range(len(e))]))
        (values,) = _in_basis(basis, [e], clock)
        negative = [k for k, x in enumerate(values) if x < 0]
        # Only artificial columns and those of equality rows (last entry zero) may change sign.
        dropped = {k for k in negative if k < len(chosen) and basis[k].entries[-1]}
        if not dropped:
            break
        candidates = [column for k, column in enumerate(basis[: len(chosen)]) if k not in dropped]
    for k in negative:
        row, sign, entries = basis[k]
        basis[k] = _Column(row, -sign, [-x for x in entries])
    return basis


def _contradiction(basis: list[_Column], clock: Clock) -> ExactAnswer | None:
    """The contradiction in the basic solution for the unperturbed e, or None if infeasible."""
    e = [0] * (len(basis) - 1) + [1]
    (values,) = _in_basis(basis, [e], clock)
    if min(values) < 0 or any(x for x, column in zip(values, basis, strict=True) if column.row < 0):
        return None
    coefficients: dict[int, int] = {}
    for column, value in zip(basis, values, strict=True):
        coefficients[column.row] = coefficients.get(column.row, 0) + column.sign * value
    rows = [i for i, c in coefficients.items() if c]
    return ExactAnswer(None, rows, [coefficients[i] for i in rows])


class _ColumnPool:
    """The columns generated so far, and pricing: the choice of the column that enters the basis."""

    def __init__(
        self, problem: BinaryProblem, equality_rows: Indices, initial_rows: Indices
    ) -> None:
        self.problem = problem
        self.inequalities: dict[int, list[int]] = {}
        self.equalities = dict(
            zip(equality_rows.tolist(), problem.integer_rows(equality_rows)[0], strict=True)
        )
        self.add_columns(initial_rows)

    def add_columns(self, rows: Indices) -> None:
        """Generate the columns of these rows."""
        fresh = np.array([i for i in rows.tolist() if i not in self.inequalities], dtype=np.intp)
        if len(fresh):
            self.inequalities.update(
                zip(fresh.tolist(), self.problem.integer_rows(fresh)[0], strict=True)
            )

    def column(self, i: int, sign: int = 1) -> _Column:
        """The generated column of a row; `sign` applies to equality rows."""
        if i in self.equalities:
            return _Column(i, sign, [*(sign * x for x in self.equalities[i]), 0])
        z = self.inequalities[i]
        return _Column(i, 1, [*z, sum(map(abs, z)) or 1])

    def entering(self, v: Sequence[int], bland: bool = False) -> _Column | None:
        """A generated column whose row v violates, or None if there is none.

        With Bland's rule the first one, otherwise the most violated one.
        """
        residuals = {i: sum(map(mul, z, v)) for i, z in self.equalities.items()}
        scores = {i: sum(map(mul, z, v)) for i, z in self.inequalities.items()}
        nonzero = [i for i, residual in residuals.items() if residual]
        violated = [i for i, score in scores.items() if score <= 0]
        if not nonzero and not violated:
            return None
        if bland:
            i = min([*nonzero, *violated])
        else:
            sizes = {i: sum(map(abs, self.inequalities[i])) or 1 for i in violated}
            i = (nonzero or sorted(violated, key=lambda i: flint.fmpq(scores[i], sizes[i])))[0]
        return self.column(i, -1 if residuals.get(i, 0) > 0 else 1)

    def entering_from_all_rows(self, v: Sequence[int], inequality_mask: Any) -> _Column | None:
        """A column of any inequality row that v violates, now generated, or None if v separates."""
        violated = self.problem.exact_signs(v) <= 0
        if inequality_mask is not None:
            violated &= inequality_mask
        rows = np.flatnonzero(violated)
        if len(rows) == 0:
            return None
        if any(v):
            scores = self.problem.scores(self.problem.scaled_weights(v))
            rows = self.problem.lowest_score_rows(scores, 32, violated)
        else:
            rows = rows[:: max(1, len(rows) // 32)][:32]
        self.add_columns(rows)
        return self.entering(v)
