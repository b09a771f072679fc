"""Exact linear algebra on small integer matrices: ranks, null vectors, positive combinations.

A prime field proposes pivots (what is independent modulo a prime is independent); the answer is
solved for in integers by FLINT and checked in integers against every equation.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

import flint
import numpy as np

from rosenblatt.theory.search.clock import ENDLESS, Clock
from rosenblatt.theory.search.problem import primitive

PRIMES = (2**61 - 1, 2**62 - 57, 2**63 - 25)

Matrix = list[list[int]]

# Seconds of FLINT per entry, pivot and bit, within a factor of about two.
_SECONDS = 5e-10


def _cost(rows: Matrix, bits: int) -> float:
    """The estimated seconds to solve with these rows, whose entries have this many bits."""
    return _SECONDS * len(rows) * len(rows[0]) * min(len(rows), len(rows[0])) * bits


def inverting_seconds(rows: Matrix) -> float:
    """The estimated seconds to invert a square matrix of integers."""
    return 0.7 * len(rows) * _cost(rows, _bits(rows))


def _bits(rows: Matrix) -> int:
    return max((abs(x) for row in rows for x in row), default=0).bit_length() + 8


def pivots(
    rows: Matrix, prime: int = PRIMES[0], clock: Clock = ENDLESS
) -> tuple[list[int], list[int]]:
    """Numbers of rows and of columns on which the matrix is square and invertible.

    Their count is the rank modulo the prime: at most the true rank, and hardly ever less.

    >>> pivots([[1, 2, 3], [2, 4, 6], [0, 1, 1]])
    ([0, 2], [0, 1])
    """
    if not rows or not rows[0]:
        return [], []
    clock.allow(_cost(rows, 8))
    columns = _pivot_columns([[x % prime for x in row] for row in rows], prime)
    if not columns:
        return [], []
    transposed = [[row[j] % prime for row in rows] for j in columns]
    return _pivot_columns(transposed, prime), columns


def _pivot_columns(rows: Matrix, prime: int) -> list[int]:
    reduced, rank = flint.nmod_mat(
        len(rows), len(rows[0]), list(chain.from_iterable(rows)), prime
    ).rref()
    found: list[int] = []
    j = 0
    for i in range(rank):
        while int(reduced[i, j]) == 0:
            j += 1
        found.append(j)
        j += 1
    return found


def solve(
    rows: Matrix, right: Sequence[int], clock: Clock = ENDLESS
) -> tuple[list[int], int] | None:
    """The solution x/q of a square integer system, q > 0, or None where it is singular."""
    if not rows:
        return [], 1
    clock.allow(_cost(rows, _bits(rows)))
    try:
        x: Any = flint.fmpz_mat(rows).solve(flint.fmpz_mat([[b] for b in right]))
    except ZeroDivisionError:
        return None
    numerators, denominator = x.numer_denom()
    return [int(p) for p in numerators.entries()], int(denominator)


def vanishes(rows: Matrix, coefficients: Sequence[int]) -> bool:
    """Whether the combination of the rows with these coefficients is zero."""
    if not rows:
        return True
    total = flint.fmpz_mat([list(coefficients)]) * flint.fmpz_mat(rows)
    return all(x == 0 for x in total.entries())


def null_space(rows: Matrix, width: int, clock: Clock = ENDLESS) -> Matrix:
    """A basis of the vectors orthogonal to all rows, in whole numbers, exactly."""
    if not rows:
        return [[int(i == j) for j in range(width)] for i in range(width)]
    clock.allow(2 * _cost(rows, _bits(rows)))
    basis, nullity = flint.fmpz_mat(rows).nullspace()
    columns = basis.transpose().tolist()[:nullity]
    return [primitive([int(x) for x in column]) for column in columns]


def positive_combination(
    rows: Matrix, guess: Sequence[float], clock: Clock = ENDLESS
) -> list[int] | None:
    """Positive whole numbers λ with Σ λ_i·row_i = 0, near the guess; None if that fails.

    The rows outside a basis keep the guessed coefficients; those of the basis follow exactly.
    """
    for prime in PRIMES:
        basis, columns = pivots(rows, prime, clock)
        free = sorted(set(range(len(rows))) - set(basis))
        if not free:
            return None
        top = max(guess)
        fixed = [max(1, round(guess[i] / top * 2**40)) if len(free) > 1 else 1 for i in free]
        right = [-sum(c * rows[i][j] for c, i in zip(fixed, free, strict=True)) for j in columns]
        solved = solve([[rows[i][j] for i in basis] for j in columns], right, clock)
        if solved is None:
            continue
        numerators, denominator = solved
        coefficients = [0] * len(rows)
        for i, c in zip(free, fixed, strict=True):
            coefficients[i] = c * denominator
        for i, c in zip(basis, numerators, strict=True):
            coefficients[i] = c
        if vanishes(rows, coefficients):
            return primitive(coefficients) if min(coefficients) > 0 else None
    return None


def minimal_combination(
    rows: Matrix, coefficients: Sequence[int], clock: Clock = ENDLESS
) -> tuple[list[int], list[int]]:
    """Reduce a positive combination that vanishes until every row of it is needed.

    Returns the numbers of the rows kept and their coefficients. While the kept rows have two
    independent relations, the combination moves along the second one until a coefficient is zero.
    At the end the relation is unique, so no proper subset of the rows has one.

    >>> minimal_combination([[1], [-1], [2], [-2]], [1, 1, 1, 1])
    ([2, 3], [1, 1])
    """
    kept, weights = list(range(len(rows))), list(coefficients)
    while True:
        part = [rows[i] for i in kept]
        relation = _second_relation(part, clock)
        if relation is None:
            return kept, primitive(weights)
        if max(relation) <= 0:
            relation = [-x for x in relation]
        # The row with the smallest ratio weights/relation reaches zero first.
        best = min(
            (i for i, r in enumerate(relation) if r > 0),
            key=lambda i: _Ratio(weights[i], relation[i]),
        )
        p, q = weights[best], relation[best]
        weights = [q * w - p * r for w, r in zip(weights, relation, strict=True)]
        kept = [i for i, w in zip(kept, weights, strict=True) if w]
        weights = primitive([w for w in weights if w])


def _second_relation(rows: Matrix, clock: Clock) -> list[int] | None:
    """A relation of the rows if they have at least two independent ones, else None."""
    for prime in PRIMES:
        basis, columns = pivots(rows, prime, clock)
        if len(rows) - len(basis) < 2:
            # The rank modulo a prime is at most the true rank: there is at most one relation.
            return None
        free = sorted(set(range(len(rows))) - set(basis))[0]
        solved = solve(
            [[rows[i][j] for i in basis] for j in columns],
            [-rows[free][j] for j in columns],
            clock,
        )
        if solved is None:
            continue
        relation = [0] * len(rows)
        relation[free] = solved[1]
        for i, c in zip(basis, solved[0], strict=True):
            relation[i] = c
        if vanishes(rows, relation):
            return relation
    return None


class _Ratio:
    """p/q with q > 0, ordered without dividing."""

    def __init__(self, p: int, q: int) -> None:
        self.p, self.q = p, q

    def __lt__(self, other: _Ratio) -> bool:
        return self.p * other.q < other.p * self.q


def orthogonal_vector(
    rows: Matrix, guess: Sequence[int], clock: Clock = ENDLESS
) -> list[int] | None:
    """A vector of whole numbers orthogonal to every row, near the guess; None if that fails.

    The columns outside a basis keep the guessed weights; those of the basis follow exactly.
    """
    width = len(guess)
    for prime in PRIMES:
        basis, columns = pivots(rows, prime, clock)
        free = np.setdiff1d(np.arange(width), columns).tolist()
        right = [-sum(rows[i][j] * guess[j] for j in free) for i in basis]
        solved = solve([[rows[i][j] for j in columns] for i in basis], right, clock)
        if solved is None:
            continue
        numerators, denominator = solved
        v = [x * denominator for x in guess]
        for j, x in zip(columns, numerators, strict=True):
            v[j] = x
        if all(sum(map(int.__mul__, row, v)) == 0 for row in rows):
            return primitive(v)
    return None
