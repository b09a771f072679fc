"""Columns that tell the classes apart alone, strictly or weakly: found in one pass, exactly."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from rosenblatt.theory.search.exact_table import clear_denominators, fraction
from rosenblatt.theory.search.matrices import CHUNK, column_extremes, count_signs
from rosenblatt.theory.search.problem import Problem

_FEW = 2048


@dataclass(frozen=True)
class LoneColumn:
    """``direction·x_column`` against a threshold puts every row on its side.

    With ``strict`` no row lies on the threshold itself.
    """

    column: int
    direction: int
    threshold: Fraction
    strict: bool

    def exact_weights(self, width: int, padded: bool) -> list[int]:
        """The hyperplane of this rule in whole numbers."""
        scale, offset = clear_denominators([Fraction(1), -self.threshold])
        weights = [0] * width
        weights[self.column] = self.direction * scale
        if padded:
            weights[-1] = self.direction * offset
        return weights


def lone_columns(problem: Problem) -> Iterator[LoneColumn]:
    """The columns that separate the classes alone, at least weakly."""
    values, y, padded = problem.table.values, problem.y, problem.table.padded
    columns = np.arange(problem.table.d)
    if sparse.issparse(values):
        columns = _candidates(values, y)
        sides = _sparse_sides(values[:, columns], y) if len(columns) else None
    else:
        sides = _sides(values, y, padded)
    if sides is None:
        return
    varies = _varies(*sides, padded)
    for direction in (1, -1):
        below, above = sides[::direction]
        for j in np.flatnonzero(_is_apart(below, above, padded) & varies).tolist():
            lower, upper = fraction(below.high[j]), fraction(above.low[j])
            column = int(columns[j])
            if not padded:
                yield LoneColumn(column, direction, Fraction(0), bool(lower < 0 < upper))
            elif lower < upper:
                yield LoneColumn(column, direction, simplest_between(lower, upper), True)
            else:
                yield LoneColumn(column, direction, lower, False)


class _Side(NamedTuple):
    """The least and the greatest value of each column among the rows of one class."""

    low: Any
    high: Any


def _is_apart(below: _Side, above: _Side, padded: bool) -> Any:
    """Where a threshold is between two sides, or zero if there is no pad."""
    return above.low >= below.high if padded else (above.low >= 0) & (below.high <= 0)


def _varies(one: _Side, other: _Side, padded: bool) -> Any:
    """Where not all values are the same, or not all zero if there is no pad."""
    same = one.low if padded else 0
    return (one.low != same) | (one.high != same) | (other.low != same) | (other.high != same)


def simplest_between(lower: Fraction, upper: Fraction) -> Fraction:
    """The fraction of smallest denominator strictly between two numbers.

    >>> simplest_between(Fraction(19, 10), Fraction(3))
    Fraction(2, 1)
    >>> simplest_between(Fraction(3, 10), Fraction(4, 10))
    Fraction(1, 3)
    """
    if lower < 0 < upper:
        return Fraction(0)
    if upper <= 0:
        return -simplest_between(-upper, -lower)
    whole = lower.__floor__()
    if whole + 1 < upper:
        return Fraction(whole + 1)
    if upper == whole + 1 and lower == whole:
        return Fraction(2 * whole + 1, 2)
    # Both ends lie between the same whole numbers: turn the fractional parts over.
    if lower == whole:
        return whole + Fraction(1, (1 / (upper - whole)).__floor__() + 1)
    return whole + 1 / simplest_between(1 / (upper - whole), 1 / (lower - whole))


def _candidates(values: Any, y: Any) -> Any:
    """The columns of a CSR matrix that the signs of their values, zeros too, do not rule out.

    The first rows rule out most of them; when all are, the rest is not looked at.
    """
    n, d = values.shape
    sides, count = (y > 0).astype(np.uint8), np.zeros((2, 2, d), dtype=np.int64)
    seen = 0
    while True:
        last = min(n, max(_FEW, 4 * seen))
        count_signs(values, sides, slice(seen, last), count)
        seen = last
        columns = _not_ruled_out(count, np.bincount(sides[:seen], minlength=2))
        if seen == n or len(columns) == 0:
            return columns


def _not_ruled_out(count: Any, rows: Any) -> Any:
    """The columns that may separate, from the signs counted in so many rows of either side."""
    above, below, many = count[:, 0], count[:, 1], rows[:, None]
    # The least value of each side is at most, and the greatest at least, of this sign.
    low = np.where(below > 0, -1, np.where(above < many, 0, 1))
    high = np.where(above > 0, 1, np.where(below < many, 0, -1))
    return np.flatnonzero((low[1] >= high[0]) | (low[0] >= high[1]))


def _sides(values: Any, y: Any, padded: bool) -> tuple[_Side, _Side] | None:
    """The sides of -1 and +1 of a dense matrix, or None if no column tells them apart.

    The first rows rule out most columns; when all are, the rest is not looked at.
    """
    start, size = 0, _FEW
    sides = [_Side(row, row) for row in (values[np.argmax(y == side)] for side in (-1, 1))]
    while start < len(y):
        part, of = values[start : start + size], y[start : start + size]
        for k, side in enumerate((-1, 1)):
            rows = part[of == side]
            if len(rows):
                low, high = column_extremes(rows)
                sides[k] = _Side(np.minimum(sides[k].low, low), np.maximum(sides[k].high, high))
        below, above = sides
        apart = _is_apart(below, above, padded) | _is_apart(above, below, padded)
        if not apart.any():
            return None
        start, size = start + size, min(4 * size, CHUNK)
    return sides[0], sides[1]


def _sparse_sides(values: Any, y: Any) -> tuple[_Side, _Side]:
    """The sides of -1 and +1 of a sparse matrix."""

    def side(rows: Any) -> _Side:
        return _Side(rows.min(axis=0).toarray().ravel(), rows.max(axis=0).toarray().ravel())

    return side(values[np.flatnonzero(y < 0)]), side(values[np.flatnonzero(y > 0)])
