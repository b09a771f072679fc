"""The exact simplex method that decides when doubles cannot.

Phase one of the revised simplex method on ``A·x = e``, ``x >= 0``, where e is the last unit vector
and A has a column ``(z_i, ‖z_i‖₁)`` for each row that needs a positive score and the columns
``(±z_h, 0)`` for each row held to the hyperplane. If the sum of the artificial variables falls to
zero, x is a contradiction: Σλ_i·z_i + Σμ_h·z_h = 0, λ >= 0, not zero. If some multipliers price out
every column, they are a separator. At each step FLINT solves with the basis in integers.

The first basis is that of HiGHS for the same program in doubles, so that few steps are left. Nearly
all values are zero, which would leave the sum as it is for many steps; so e is perturbed
(A. Charnes (1952), Optimality and degeneracy in linear programming). And if the sum still stands
for long, the first column enters, and of those tied the first leaves (R. Bland (1977), New finite
pivoting rules for the simplex method): no basis returns, so the method always ends.
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

from rosenblatt.theory.search.clock import Clock
from rosenblatt.theory.search.integer_linear_algebra import pivots, solving_seconds
from rosenblatt.theory.search.linear_program import solver_options
from rosenblatt.theory.search.matrices import Indices
from rosenblatt.theory.search.problem import BinaryProblem

# With fewer columns no first basis is computed; the numbers it is computed from, at most.
_FEW_COLUMNS, _NUMBERS = 8, 1 << 21
# The bits by which e exceeds its perturbation.
_BITS = 256
# Steps without progress, per row of the basis, after which Bland's rule chooses.
_STALLED = 4


@dataclass(frozen=True)
class ExactAnswer:
    """A separator in exact weights, or the rows of a contradiction with their coefficients.

    Coefficients of held rows may have either sign.
    """

    v: list[int] | None
    rows: list[int]
    coefficients: list[int]


class _Column(NamedTuple):
    """A column of A: its row of the problem (-1 if it is artificial), its sign, its entries."""

    row: int
    sign: int
    entries: list[int]


def decide_exactly(
    problem: BinaryProblem,
    clock: Clock,
    prefer: Indices,
    held: Indices | None = None,
    outside: Any = None,
) -> ExactAnswer:
    """Decide whether a v has ``z_i·v > 0`` outside and ``z_h·v = 0`` on the held rows.

    `prefer` are rows for the first basis.
    """
    clock.need_patience()
    held = np.empty(0, dtype=np.intp) if held is None else held
    pool, bits = _Pool(problem, held, prefer), _BITS
    if problem.width >= _FEW_COLUMNS and problem.row_exponent is None:
        prefer = _likely_rows(pool, held, outside, clock)
    known = [pool.column(i) for i in (*pool.held, *prefer.tolist())]
    basis: list[_Column] = []
    e, stalled = _unit(problem.width, bits), 0
    while True:
        basis = basis or _first_basis(known, e, clock)
        # The prices of artificial columns are one, those of the others zero.
        wanted = [int(column.row < 0) for column in basis]
        (prices,) = _solve([column.entries for column in basis], [wanted], clock)
        if prices[-1] <= 0:
            answer = _contradiction(basis, clock)
            if answer is not None:
                return answer
            # The perturbation was too large.
            bits, known = 2 * bits, [column for column in basis if column.row >= 0]
            e, basis = _unit(problem.width, bits), []
            continue
        v = [-x for x in prices[:-1]]
        bland = stalled > _STALLED * len(e)
        column = pool.entering(v, bland) or pool.entering_anywhere(v, outside)
        if column is None:
            return ExactAnswer(v, [], [])
        values, direction = _in_basis(basis, [e, column.entries], clock)
        leaving = min(
            (r for r, d in enumerate(direction) if d > 0),
            key=lambda r: (flint.fmpq(values[r], direction[r]), basis[r]),
        )
        stalled = 0 if values[leaving] else stalled + 1
        basis[leaving] = column


def _unit(width: int, bits: int) -> list[int]:
    """The last unit vector times ``2**bits``, plus small numbers."""
    e = np.random.default_rng(0).integers(1, 1 << 40, width + 1).tolist()
    e[-1] += 1 << bits
    return e


def _solve(rows: list[list[int]], right: list[list[int]], clock: Clock) -> list[list[int]]:
    """Solve a square system for some right-hand sides: solutions times one positive integer."""
    clock.allow(solving_seconds(rows))
    found: Any = flint.fmpz_mat(rows).solve(flint.fmpz_mat(right).transpose())
    return [[int(x) for x in row] for row in found.numer_denom()[0].transpose().tolist()]


def _in_basis(basis: list[_Column], vectors: list[list[int]], clock: Clock) -> list[list[int]]:
    """The coefficients of vectors in the basis, times a common positive integer."""
    rows = [list(row) for row in zip(*(column.entries for column in basis), strict=True)]
    return _solve(rows, vectors, clock)


def _likely_rows(pool: _Pool, held: Indices, outside: Any, clock: Clock) -> Indices:
    """The rows in the solution of the same program in doubles, by HiGHS."""
    problem = pool.problem
    rows = np.arange(problem.n) if outside is None else np.flatnonzero(outside)
    few = max(4 * problem.width, _NUMBERS // problem.width)
    rows = np.union1d(rows[:: len(rows) // few + 1], np.array(list(pool.strict), dtype=np.intp))
    A = problem.block(np.concatenate([rows, held]))
    A = A.toarray() if sparse.issparse(A) else A
    A = np.hstack([A, np.abs(A).sum(axis=1, keepdims=True)])
    A[len(rows) :, -1] = 0.0
    A /= np.maximum(np.abs(A).max(axis=1, keepdims=True), 1e-300)
    top = np.abs(A).max(axis=0)
    A /= np.where(top > 0, top, 1.0)
    k = A.shape[1]
    costs = np.repeat([0.0, 0.0, 1.0], [len(rows), len(held), k])
    bounds = [(0, None)] * len(rows) + [(None, None)] * len(held) + [(0, None)] * k
    e = np.append(np.zeros(k - 1), 1.0)
    result = linprog(
        costs, A_eq=np.hstack([A.T, np.eye(k)]), b_eq=e, bounds=bounds, method="highs-ds",
        options=solver_options(clock),
    )  # fmt: skip
    found = rows[result.x[: len(rows)] > 0] if result.x is not None else rows[:0]
    pool.admit(found)
    return found


def _first_basis(known: list[_Column], e: list[int], clock: Clock) -> list[_Column]:
    """Independent columns whose values are not negative, of those given; the rest is artificial."""
    while True:
        chosen, places = pivots([column.entries for column in known], clock=clock)
        basis = [known[k] for k in chosen]
        for j in sorted(set(range(len(e))) - set(places)):
            basis.append(_Column(-1, j, [int(i == j) for i in range(len(e))]))
        (values,) = _in_basis(basis, [e], clock)
        wrong = [k for k, x in enumerate(values) if x < 0]
        # Only artificial columns and those of held rows, whose last entry is zero, have opposites.
        dropped = {k for k in wrong if k < len(chosen) and basis[k].entries[-1]}
        if not dropped:
            break
        known = [column for k, column in enumerate(basis[: len(chosen)]) if k not in dropped]
    for k in wrong:
        row, sign, entries = basis[k]
        basis[k] = _Column(row, -sign, [-x for x in entries])
    return basis


def _contradiction(basis: list[_Column], clock: Clock) -> ExactAnswer | None:
    """The values of the basis for e itself, if they are a contradiction."""
    e = [0] * (len(basis) - 1) + [1]
    (values,) = _in_basis(basis, [e], clock)
    if min(values) < 0 or any(x for x, column in zip(values, basis, strict=True) if column.row < 0):
        return None
    coefficients: dict[int, int] = {}
    for column, value in zip(basis, values, strict=True):
        coefficients[column.row] = coefficients.get(column.row, 0) + column.sign * value
    rows = [i for i, c in coefficients.items() if c]
    return ExactAnswer(None, rows, [coefficients[i] for i in rows])


class _Pool:
    """The columns generated so far, and the pricing of all others."""

    def __init__(self, problem: BinaryProblem, held: Indices, prefer: Indices) -> None:
        self.problem = problem
        self.strict: dict[int, list[int]] = {}
        self.held = dict(zip(held.tolist(), problem.integers(held)[0], strict=True))
        self.admit(prefer)

    def admit(self, rows: Indices) -> None:
        """Generate the columns of some rows."""
        fresh = np.array([i for i in rows.tolist() if i not in self.strict], dtype=np.intp)
        if len(fresh):
            self.strict.update(zip(fresh.tolist(), self.problem.integers(fresh)[0], strict=True))

    def column(self, i: int, sign: int = 1) -> _Column:
        """The column of a known row; of a held one, perhaps its opposite."""
        if i in self.held:
            return _Column(i, sign, [*(sign * x for x in self.held[i]), 0])
        z = self.strict[i]
        return _Column(i, 1, [*z, sum(map(abs, z)) or 1])

    def entering(self, v: Sequence[int], bland: bool = False) -> _Column | None:
        """A known column that v gets wrong, the worst or the first, or None."""
        held = {i: sum(map(mul, z, v)) for i, z in self.held.items()}
        scores = {i: sum(map(mul, z, v)) for i, z in self.strict.items()}
        moved = [i for i, score in held.items() if score]
        wrong = [i for i, score in scores.items() if score <= 0]
        if not moved and not wrong:
            return None
        if bland:
            i = min([*moved, *wrong])
        else:
            sizes = {i: sum(map(abs, self.strict[i])) or 1 for i in wrong}
            i = (moved or sorted(wrong, key=lambda i: flint.fmpq(scores[i], sizes[i])))[0]
        return self.column(i, -1 if held.get(i, 0) > 0 else 1)

    def entering_anywhere(self, v: Sequence[int], outside: Any) -> _Column | None:
        """A column of any row that v gets wrong, or None when v separates all."""
        wrong = self.problem.exact_signs(v) <= 0
        if outside is not None:
            wrong &= outside
        rows = np.flatnonzero(wrong)
        if len(rows) == 0:
            return None
        if any(v):
            scores = self.problem.scores(self.problem.scaled_weights(v))
            rows = self.problem.worst_rows(scores, 32, wrong)
        else:
            rows = rows[:: max(1, len(rows) // 32)][:32]
        self.admit(rows)
        return self.entering(v)
