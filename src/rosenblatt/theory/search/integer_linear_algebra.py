"""Exact linear algebra on small integer matrices: ranks, null vectors, positive combinations.

Pivots are found modulo a prime (rows independent modulo a prime are independent); FLINT then solves
in integers, and the solution is checked against every equation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

import flint

from rosenblatt.theory.search.exact_numbers import primitive
from rosenblatt.theory.search.limits import NO_LIMIT, Clock

PRIMES = (2**61 - 1, 2**62 - 57, 2**63 - 25)

Matrix = list[list[int]]

# Seconds that FLINT takes per entry, pivot and bit, to within a factor of about two.
_SECONDS = 5e-10


def _estimated_seconds(rows: Matrix, bits: int) -> float:
    """Estimated seconds to solve a system with this matrix, whose entries have this many bits."""
    return _SECONDS * len(rows) * len(rows[0]) * min(len(rows), len(rows[0])) * bits


def solving_seconds(rows: Matrix) -> float:
    """Estimated seconds to solve a system with an integer matrix."""
    return _estimated_seconds(
        rows, max((abs(x) for row in rows for x in row), default=0).bit_length() + 8
    )


def pivots(
    rows: Matrix, prime: int = PRIMES[0], clock: Clock = NO_LIMIT
) -> tuple[list[int], list[int]]:
    """The indices of rows and columns that form an invertible submatrix of maximal size.

    Its size is the rank modulo the prime, which is at most the true rank, and rarely less.
    """
    if not rows or not rows[0]:
        return [], []
    clock.require(_estimated_seconds(rows, 8))
    columns = _pivot_columns([[x % prime for x in row] for row in rows], prime)
    if not columns:
        return [], []
    transposed = [[row[j] % prime for row in rows] for j in columns]
    return _pivot_columns(transposed, prime), columns


def _pivot_columns(rows: Matrix, prime: int) -> list[int]:
    reduced, rank = flint.nmod_mat(
        len(rows), len(rows[0]), list(chain.from_iterable(rows)), prime
    ).rref()
    pivots_of_rows: list[int] = []
    j = 0
    for i in range(rank):
        while int(reduced[i, j]) == 0:
            j += 1
        pivots_of_rows.append(j)
        j += 1
    return pivots_of_rows


def solve(
    rows: Matrix, right: Sequence[int], clock: Clock = NO_LIMIT
) -> tuple[list[int], int] | None:
    """Integers x and q > 0 for the solution x/q of a square system, or None if it is singular."""
    if not rows:
        return [], 1
    clock.require(solving_seconds(rows))
    try:
        x: Any = flint.fmpz_mat(rows).solve(flint.fmpz_mat([[b] for b in right]))
    except ZeroDivisionError:
        return None
    numerators, denominator = x.numer_denom()
    return [int(p) for p in numerators.entries()], int(denominator)


def vanishes(rows: Matrix, coefficients: Sequence[int]) -> bool:
    """Whether the linear combination of the rows with these coefficients is zero."""
    if not rows:
        return True
    total = flint.fmpz_mat([list(coefficients)]) * flint.fmpz_mat(rows)
    return all(x == 0 for x in total.entries())


def null_space(rows: Matrix, width: int, clock: Clock = NO_LIMIT) -> Matrix:
    """A basis of the null space of the rows, in integers."""
    if not rows:
        return [[int(i == j) for j in range(width)] for i in range(width)]
    clock.require(2 * solving_seconds(rows))
    basis, nullity = flint.fmpz_mat(rows).nullspace()
    columns = basis.transpose().tolist()[:nullity]
    return [primitive([int(x) for x in column]) for column in columns]


def _relation(
    rows: Matrix, choose: Callable[[list[int]], Sequence[int] | None], clock: Clock
) -> list[int] | None:
    """A linear relation of the rows: integers c with Σ c_i·row_i = 0, or None if none is found.

    `choose` maps the indices of the rows outside a basis to their coefficients, up to a common
    factor, or to None to give up; the coefficients of the basis are solved for.
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
        numerator_of = {i: c * denominator for i, c in chosen} | dict(
            zip(basis, numerators, strict=True)
        )
        coefficients = [numerator_of.get(i, 0) for i in range(len(rows))]
        if vanishes(rows, coefficients):
            return coefficients
    return None


def positive_combination(
    rows: Matrix, guess: Sequence[float], clock: Clock = NO_LIMIT
) -> list[int] | None:
    """Positive integers λ near the guess with Σ λ_i·row_i = 0, or None if none are found."""
    top = max(guess)

    def choose(free: list[int]) -> list[int] | None:
        if len(free) < 2:
            return [1] * len(free) or None
        return [max(1, round(guess[i] / top * 2**40)) for i in free]

    coefficients_of_rows = _relation(rows, choose, clock)
    return (
        primitive(coefficients_of_rows)
        if coefficients_of_rows is not None and min(coefficients_of_rows) > 0
        else None
    )


def minimal_combination(
    rows: Matrix, coefficients: Sequence[int], clock: Clock = NO_LIMIT
) -> tuple[list[int], list[int]]:
    """Reduce a vanishing positive combination of rows to one with a minimal set of rows.

    Returns the indices and coefficients of these rows. While the rows have two independent linear
    relations, the combination moves along the second one until a coefficient is zero. In the end
    the relation is unique, so no proper subset of the rows has one.
    """
    rows_left, weights = list(range(len(rows))), list(coefficients)
    while True:
        relation = _relation([rows[i] for i in rows_left], _one_of_several_free, clock)
        if relation is None:
            return rows_left, primitive(weights)
        if max(relation) <= 0:
            relation = [-x for x in relation]
        # Ratio test: the coefficient with the smallest weights/relation reaches zero first.
        pairs = [(w, r) for w, r in zip(weights, relation, strict=True) if r > 0]
        p, q = min(pairs, key=lambda pair: flint.fmpq(*pair))
        weights = [q * w - p * r for w, r in zip(weights, relation, strict=True)]
        rows_left = [i for i, w in zip(rows_left, weights, strict=True) if w]
        weights = primitive([w for w in weights if w])


def _one_of_several_free(free: list[int]) -> list[int] | None:
    """1 for the first free row, 0 for the others; None if the relation is unique.

    The rank modulo a prime is at most the true rank: with one free row, there is one relation.
    """
    return [1] + [0] * (len(free) - 1) if len(free) > 1 else None


def orthogonal_vector(
    rows: Matrix, guess: Sequence[int], clock: Clock = NO_LIMIT
) -> list[int] | None:
    """An integer vector near the guess that is orthogonal to every row, or None if none is found.

    It is proportional to the guess in the columns outside a basis of the columns.
    """
    columns = [list(column) for column in zip(*rows, strict=True)]
    vector = _relation(columns, lambda free: [guess[j] for j in free], clock)
    return None if vector is None else primitive(vector)
