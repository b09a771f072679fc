"""The exact simplex method that decides when doubles cannot.

Phase one of the revised simplex method on ``A·x = e``, ``x >= 0``, where e is the last unit vector
and A has a column ``(z_i, 1)`` for each row that needs a positive score and the columns
``(±z_h, 0)`` for each row held to the hyperplane. If the sum of the artificial variables falls to
zero, x is a contradiction: Σλ_i·z_i + Σμ_h·z_h = 0, λ >= 0, Σλ = 1. If some multipliers price out
every column, they are a separator. All numbers are whole: the inverse of the basis is kept as an
integer matrix over one common denominator (J. Edmonds (1967), Systems of distinct representatives
and linear algebra). The lexicographic rule for the leaving variable makes cycling impossible
(G. Dantzig, A. Orden, P. Wolfe (1955)), so the method always ends with one of the two answers.

With many columns each step is slow. So the first basis is the last one of the same method in
doubles (`float_simplex`), inverted exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import mul
from typing import Any

import flint
import numpy as np
from scipy import sparse

from rosenblatt.theory.search.clock import Clock
from rosenblatt.theory.search.float_simplex import likely_basis
from rosenblatt.theory.search.integer_linear_algebra import inverting_seconds
from rosenblatt.theory.search.matrices import Floats, Indices
from rosenblatt.theory.search.problem import BinaryProblem

# With fewer columns no first basis is computed; the numbers it is computed from, at most.
_FEW_COLUMNS, _NUMBERS = 8, 1 << 21


Guess = Callable[[Floats, Floats], list[int | None]]


@dataclass(frozen=True)
class ExactAnswer:
    """A separator in exact weights, or the rows of a contradiction with their coefficients.

    Coefficients of held rows may have either sign.
    """

    v: list[int] | None
    rows: list[int]
    coefficients: list[int]


def decide_exactly(
    problem: BinaryProblem,
    clock: Clock,
    prefer: Indices,
    held: Indices | None = None,
    outside: Any = None,
    guess: Guess | None = likely_basis,
) -> ExactAnswer:
    """Decide whether a v has ``z_i·v > 0`` outside and ``z_h·v = 0`` on the held rows.

    `prefer` are rows to try first; `guess` proposes the first basis from the rows in doubles.
    """
    clock.need_patience()
    held = np.empty(0, dtype=np.intp) if held is None else held
    pool = _Pool(problem, held, prefer)
    basis = _Basis(problem.width + 1)
    if guess is not None and problem.width >= _FEW_COLUMNS and problem.row_exponent is None:
        basis = _first_basis(problem, pool, held, outside, guess, clock) or basis
    while True:
        clock.left()
        y = basis.multipliers()
        if y[-1] == 0:
            return _contradiction(basis)
        v = [-x for x in y[:-1]]
        column = pool.entering(v) or pool.entering_anywhere(v, outside)
        if column is None:
            return ExactAnswer(v, [], [])
        basis.enter(*column, clock)


def _first_basis(
    problem: BinaryProblem, pool: _Pool, held: Indices, outside: Any, guess: Guess, clock: Clock
) -> _Basis | None:
    """The basis that was guessed, inverted; None if it is singular."""
    basis = _Basis(problem.width + 1)
    rows = np.arange(problem.n) if outside is None else np.flatnonzero(outside)
    few = max(4 * problem.width, _NUMBERS // problem.width)
    known = np.array(list(pool.strict), dtype=np.intp)
    rows = np.union1d(rows[:: len(rows) // few + 1], known)
    try:
        found = guess(_padded(problem, rows, 1.0), _padded(problem, held, 0.0))
    except np.linalg.LinAlgError:
        return None
    pool.admit(rows[[j for j in found if j is not None and j < len(rows)]])
    for place, j in enumerate(found):
        if j is not None and j < len(rows):
            basis.put(place, pool.strict_column(int(rows[j])))
        elif j is not None:
            opposite = (j - len(rows)) % 2
            basis.put(place, pool.held_column(int(held[(j - len(rows)) // 2]), 1 - 2 * opposite))
    return basis if basis.invert(clock) else None


def _padded(problem: BinaryProblem, rows: Indices, last: float) -> Floats:
    """The doubles of rows in the proportions of `BinaryProblem.integers`, and a last number."""
    Z = problem.block(rows)
    Z = Z.toarray() if sparse.issparse(Z) else Z
    factors = np.array(problem.integers(rows)[1], dtype=float)
    return np.hstack([Z * factors[:, None], np.full((len(rows), 1), last)])


def _contradiction(basis: _Basis) -> ExactAnswer:
    coefficients: dict[int, int] = {}
    for label, row in zip(basis.labels, basis.inverse, strict=True):
        if label is not None and row[-1]:
            i, sign = label
            coefficients[i] = coefficients.get(i, 0) + sign * int(row[-1])
    rows = [i for i, c in coefficients.items() if c]
    return ExactAnswer(None, rows, [coefficients[i] for i in rows])


Label = tuple[int, int]
Column = tuple[Label, list[int]]


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

    def entering(self, v: Sequence[int]) -> Column | None:
        """A known column that v gets wrong, or None."""
        for i, z in self.held.items():
            score = sum(map(mul, z, v))
            if score:
                return self.held_column(i, 1 if score < 0 else -1)
        worst, found = 1, None
        for i, z in self.strict.items():
            score = sum(map(mul, z, v))
            if score < worst:
                worst, found = score, i
        return None if found is None else self.strict_column(found)

    def strict_column(self, i: int) -> Column:
        """The column of a known row that needs a positive score."""
        return (i, 1), [*self.strict[i], 1]

    def held_column(self, i: int, sign: int) -> Column:
        """The column of a held row, or of its opposite."""
        return (i, sign), [*(sign * x for x in self.held[i]), 0]

    def entering_anywhere(self, v: Sequence[int], outside: Any) -> Column | None:
        """A column of any row that v gets wrong, or None when v separates all."""
        wrong = self.problem.exact_signs(v) <= 0
        if outside is not None:
            wrong &= outside
        rows = np.flatnonzero(wrong)
        if len(rows) == 0:
            return None
        if any(v):
            scores = self.problem.scores(self.problem.scaled_weights(v))[rows]
            depth = scores / np.maximum(self.problem.norms[rows], 1e-300)
            rows = rows[np.argsort(depth, kind="stable")[:32]]
        else:
            rows = rows[:: max(1, len(rows) // 32)][:32]
        self.admit(rows)
        return self.entering(v)


class _Basis:
    """The inverse of the basis as integers over `denominator`, one row per basic variable.

    The integers grow long, where FLINT's are several times faster than Python's.

    The right-hand side is the last unit vector, so the last column of the inverse holds the values
    of the basic variables. Ties are broken by the products of rows with the first basis (any basis
    with nonnegative values).
    """

    def __init__(self, size: int) -> None:
        one, zero = flint.fmpz(1), flint.fmpz(0)
        self.inverse = [[one if i == j else zero for j in range(size)] for i in range(size)]
        self.labels: list[Label | None] = [None] * size
        self.columns: list[Sequence[Any]] = [row.copy() for row in self.inverse]
        self.first: list[Sequence[Any]] | None = None
        self.denominator = one

    def put(self, place: int, column: Column) -> None:
        """Choose a column, before the basis is inverted."""
        self.labels[place], self.columns[place] = column

    def invert(self, clock: Clock) -> bool:
        """Compute the inverse from the columns and make the values nonnegative; False if singular.

        A negative artificial variable changes its sign; any other is replaced by an artificial one.
        """
        columns = [[int(x) for x in column] for column in self.columns]
        clock.allow(inverting_seconds(columns))
        matrix = flint.fmpz_mat(columns)
        determinant = matrix.det()
        if determinant == 0:
            return False
        inverse: Any = matrix.transpose().inv()
        numerators, denominator = inverse.numer_denom()
        self.denominator = abs(determinant)
        scale = self.denominator // denominator
        self.inverse = [[x * scale for x in row] for row in numerators.tolist()]
        while negative := [r for r, row in enumerate(self.inverse) if row[-1] < 0]:
            place = negative[0]
            if self.labels[place] is not None:
                self._spare(place, clock)
            self.inverse[place] = [-x for x in self.inverse[place]]
            self.columns[place] = [-x for x in self.columns[place]]
        self.first = list(self.columns)
        return True

    def _spare(self, place: int, clock: Clock) -> None:
        """Replace a basic variable by an artificial one, which is as negative."""
        row = self.inverse[place]
        j = max(range(len(row)), key=lambda j: abs(row[j]))
        sign = 1 if row[j] > 0 else -1
        direction = [sign * r[j] for r in self.inverse]
        unit = [sign * int(i == j) for i in range(len(row))]
        self._pivot(place, direction, None, unit, clock)

    def multipliers(self) -> list[int]:
        """Σ of the inverse's rows of artificial variables: the prices y, times denominator."""
        rows = [r for r, label in zip(self.inverse, self.labels, strict=True) if label is None]
        return [int(sum(column)) for column in zip(*rows, strict=True)] or [0] * len(self.inverse)

    def enter(self, label: Label, column: Sequence[int], clock: Clock) -> None:
        """Bring a column into the basis; the lexicographic rule says which variable leaves."""
        entering = [flint.fmpz(x) for x in column]
        direction = [sum(map(mul, row, entering)) for row in self.inverse]
        self._pivot(self._leaving(direction), direction, label, column, clock)

    def _pivot(
        self,
        leaving: int,
        direction: Sequence[Any],
        label: Label | None,
        column: Sequence[Any],
        clock: Clock,
    ) -> None:
        pivot, row = direction[leaving], self.inverse[leaving]
        old = self.denominator
        for i, d in enumerate(direction):
            clock.left()
            if i != leaving:
                self.inverse[i] = [
                    (pivot * x - d * p) // old for x, p in zip(self.inverse[i], row, strict=True)
                ]
        self.denominator = pivot
        self.labels[leaving], self.columns[leaving] = label, column

    def _leaving(self, direction: Sequence[Any]) -> int:
        """The lexicographically smallest row, each divided by its entry of the direction."""
        tied = [r for r, d in enumerate(direction) if d > 0]
        for j in range(-1, len(self.inverse)):
            if len(tied) == 1:
                break
            numbers = {r: self._coordinate(r, j) for r in tied}
            least = tied[0]
            for r in tied:
                if numbers[r] * direction[least] < numbers[least] * direction[r]:
                    least = r
            share, whole = numbers[least], direction[least]
            tied = [r for r in tied if numbers[r] * whole == share * direction[r]]
        return tied[0]

    def _coordinate(self, r: int, j: int) -> Any:
        """The value of a row, for j = -1, or its product with column j of the first basis."""
        row = self.inverse[r]
        if j < 0 or self.first is None:
            return row[j]
        return sum(map(mul, row, self.first[j]))
