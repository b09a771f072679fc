"""Exact linear algebra on small integer matrices: ranks, null vectors, positive combinations.

A prime field proposes pivots (what is independent modulo a prime is independent); the answer is
solved for in integers by FLINT and checked in integers against every equation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

import flint

from rosenblatt.theory.search.clock import ENDLESS, Clock
from rosenblatt.theory.search.exact_numbers import primitive

PRIMES = (2**61 - 1, 2**62 - 57, 2**63 - 25)

Matrix = list[list[int]]

# Seconds of FLINT per entry, pivot and bit, within a factor of about two.
_SECONDS = 5e-10


def _cost(rows: Matrix, bits: int) -> float:
    """The estimated seconds to solve with these rows, whose entries have this many bits."""
    return _SECONDS * len(rows) * len(rows[0]) * min(len(rows), len(rows[0])) * bits


def solving_seconds(rows: Matrix) -> float:
    """The estimated seconds to solve with a matrix of integers."""
    return _cost(rows, max((abs(x) for row in rows for x in row), default=0).bit_length() + 8)


def pivots(
    rows: Matrix, prime: int = PRIMES[0], clock: Clock = ENDLESS
) -> tuple[list[int], list[int]]:
    """Numbers of rows and of columns on which the matrix is square and invertible.

    Their count is the rank modulo the prime: at most the true rank, and hardly ever less.
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
    clock.allow(solving_seconds(rows))
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
    clock.allow(2 * solving_seconds(rows))
    basis, nullity = flint.fmpz_mat(rows).nullspace()
    columns = basis.transpose().tolist()[:nullity]
    return [primitive([int(x) for x in column]) for column in columns]


def _relation(
    rows: Matrix, choose: Callable[[list[int]], Sequence[int] | None], clock: Clock
) -> list[int] | None:
    """Whole numbers c with Σ c_i·row_i = 0, up to a factor as chosen; None if that fails.

    `choose` gets the numbers of the rows outside a basis and returns their coefficients, or None to
    give up; those of the basis follow exactly.
    """
    for prime in PRIMES:
        basis, columns = pivots(rows, prime, clock)
        free = sorted(set(range(len(rows))) - set(basis))
        fixed = choose(free)
        if fixed is None:
            return None
        chosen = [(i, c) for i, c in zip(free, fixed, strict=True) if c]
        right = [-sum(c * rows[i][j] for i, c in chosen) for j in columns]
        solved = solve([[rows[i][j] for i in basis] for j in columns], right, clock)
        if solved is None:
            continue
        numerators, denominator = solved
        found = {i: c * denominator for i, c in chosen} | dict(zip(basis, numerators, strict=True))
        coefficients = [found.get(i, 0) for i in range(len(rows))]
        if vanishes(rows, coefficients):
            return coefficients
    return None


def positive_combination(
    rows: Matrix, guess: Sequence[float], clock: Clock = ENDLESS
) -> list[int] | None:
    """Positive whole numbers λ with Σ λ_i·row_i = 0, near the guess; None if that fails."""
    top = max(guess)

    def choose(free: list[int]) -> list[int] | None:
        if len(free) < 2:
            return [1] * len(free) or None
        return [max(1, round(guess[i] / top * 2**40)) for i in free]

    found = _relation(rows, choose, clock)
    return primitive(found) if found is not None and min(found) > 0 else None


def minimal_combination(
    rows: Matrix, coefficients: Sequence[int], clock: Clock = ENDLESS
) -> tuple[list[int], list[int]]:
    """Reduce a positive combination that vanishes until every row of it is needed.

    Returns the numbers of the rows kept and their coefficients. While the kept rows have two
    independent relations, the combination moves along the second one until a coefficient is zero.
    At the end the relation is unique, so no proper subset of the rows has one.
    """
    kept, weights = list(range(len(rows))), list(coefficients)
    while True:
        relation = _relation([rows[i] for i in kept], _first_of_several, clock)
        if relation is None:
            return kept, primitive(weights)
        if max(relation) <= 0:
            relation = [-x for x in relation]
        # The row with the smallest ratio weights/relation reaches zero first.
        pairs = [(w, r) for w, r in zip(weights, relation, strict=True) if r > 0]
        p, q = min(pairs, key=lambda pair: flint.fmpq(*pair))
        weights = [q * w - p * r for w, r in zip(weights, relation, strict=True)]
        kept = [i for i, w in zip(kept, weights, strict=True) if w]
        weights = primitive([w for w in weights if w])


def _first_of_several(free: list[int]) -> list[int] | None:
    # The rank modulo a prime is at most the true rank: with one free row, there is one relation.
    return [1] + [0] * (len(free) - 1) if len(free) > 1 else None


def orthogonal_vector(
    rows: Matrix, guess: Sequence[int], clock: Clock = ENDLESS
) -> list[int] | None:
    """A vector of whole numbers orthogonal to every row, near the guess; None if that fails.

    The columns outside a basis keep the guessed weights; those of the basis follow exactly.
    """
    columns = [list(column) for column in zip(*rows, strict=True)]
    found = _relation(columns, lambda free: [guess[j] for j in free], clock)
    return None if found is None else primitive(found)
