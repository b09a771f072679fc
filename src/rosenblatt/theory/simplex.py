"""The exact simplex method that decides when doubles cannot.

Phase one of the revised simplex method on ``A·x = e``, ``x >= 0``, where e is the last unit vector
and A has a column ``(z_i, 1)`` for each row that needs a positive score and the columns
``(±z_h, 0)`` for each row held to the hyperplane. If the sum of the artificial variables falls to
zero, x is a contradiction: Σλ_i·z_i + Σμ_h·z_h = 0, λ >= 0, Σλ = 1. If some multipliers price out
every column, they are a separator. All numbers are whole: the inverse of the basis is kept as an
integer matrix over one common denominator (J. Edmonds (1967), Systems of distinct representatives
and linear algebra). The lexicographic rule for the leaving variable makes cycling impossible
(G. Dantzig, A. Orden, P. Wolfe (1955)), so the method always ends with one of the two answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cmp_to_key
from operator import mul
from typing import Any

import flint
import numpy as np

from rosenblatt.theory.clock import Clock
from rosenblatt.theory.matrices import Indices
from rosenblatt.theory.problem import Problem


@dataclass(frozen=True)
class ExactAnswer:
    """A separator in exact weights, or the rows of a contradiction with their coefficients.

    Coefficients of held rows may have either sign.
    """

    v: list[int] | None
    rows: list[int]
    coefficients: list[int]


def decide_exactly(
    problem: Problem,
    clock: Clock,
    prefer: Indices,
    held: Indices | None = None,
    outside: Any = None,
) -> ExactAnswer:
    """Decide whether a v has ``z_i·v > 0`` outside and ``z_h·v = 0`` on the held rows.

    `prefer` are rows to try first.
    """
    clock.need_patience()
    held = np.empty(0, dtype=np.intp) if held is None else held
    basis = _Basis(problem.width + 1)
    pool = _Pool(problem, held, prefer)
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


def _contradiction(basis: _Basis) -> ExactAnswer:
    coefficients: dict[int, int] = {}
    for label, row in zip(basis.labels, basis.inverse, strict=True):
        if label is not None and row[-1]:
            i, sign = label
            coefficients[i] = coefficients.get(i, 0) + sign * int(row[-1])
    rows = [i for i, c in coefficients.items() if c]
    return ExactAnswer(None, rows, [coefficients[i] for i in rows])


Label = tuple[int, int]


class _Pool:
    """The columns met so far, and how to find one that improves."""

    def __init__(self, problem: Problem, held: Indices, prefer: Indices) -> None:
        self.problem = problem
        self.strict: dict[int, list[int]] = {}
        self.held = dict(zip(held.tolist(), problem.integers(held), strict=True))
        self._admit(prefer)

    def _admit(self, rows: Indices) -> None:
        fresh = np.array([i for i in rows.tolist() if i not in self.strict], dtype=np.intp)
        if len(fresh):
            self.strict.update(zip(fresh.tolist(), self.problem.integers(fresh), strict=True))

    def entering(self, v: Sequence[int]) -> tuple[Label, list[int]] | None:
        """A known column that v gets wrong, or None."""
        for i, z in self.held.items():
            score = sum(map(mul, z, v))
            if score:
                sign = 1 if score < 0 else -1
                return (i, sign), [*(sign * x for x in z), 0]
        worst, found = 1, None
        for i, z in self.strict.items():
            score = sum(map(mul, z, v))
            if score < worst:
                worst, found = score, i
        return None if found is None else ((found, 1), [*self.strict[found], 1])

    def entering_anywhere(self, v: Sequence[int], outside: Any) -> tuple[Label, list[int]] | None:
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
        self._admit(rows)
        return self.entering(v)


class _Basis:
    """The inverse of the basis as whole numbers over `denominator`, one row a basic variable.

    The numbers grow long, and FLINT's are several times faster then than Python's.

    The right-hand side is the last unit vector, so the last column of the inverse holds the
    values of the basic variables.
    """

    def __init__(self, size: int) -> None:
        one, zero = flint.fmpz(1), flint.fmpz(0)
        self.inverse = [[one if i == j else zero for j in range(size)] for i in range(size)]
        self.labels: list[Label | None] = [None] * size
        self.denominator = one

    def multipliers(self) -> list[int]:
        """Σ of the inverse's rows of artificial variables: the prices y, times denominator."""
        rows = [r for r, label in zip(self.inverse, self.labels, strict=True) if label is None]
        return [int(sum(column)) for column in zip(*rows, strict=True)] or [0] * len(self.inverse)

    def enter(self, label: Label, column: Sequence[int], clock: Clock) -> None:
        """Bring a column into the basis in place of the lexicographically first to fall to zero."""
        entering = [flint.fmpz(x) for x in column]
        direction = [sum(map(mul, row, entering)) for row in self.inverse]
        rising = [r for r, d in enumerate(direction) if d > 0]

        def order(a: int, b: int) -> int:
            return self._compare(direction, a, b)

        leaving = min(rising, key=cmp_to_key(order))
        pivot, row = direction[leaving], self.inverse[leaving]
        old = self.denominator
        for i, d in enumerate(direction):
            clock.left()
            if i != leaving:
                self.inverse[i] = [
                    (pivot * x - d * p) // old for x, p in zip(self.inverse[i], row, strict=True)
                ]
        self.denominator = pivot
        self.labels[leaving] = label

    def _compare(self, direction: Sequence[int], a: int, b: int) -> int:
        """Order of rows a and b, each divided by its entry of the direction, value first."""
        first, second = self.inverse[a], self.inverse[b]
        for j in range(-1, len(first) - 1):
            left, right = first[j] * direction[b], second[j] * direction[a]
            if left != right:
                return -1 if left < right else 1
        return 0
