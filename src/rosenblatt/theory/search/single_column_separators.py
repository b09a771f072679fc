"""Columns that separate the classes alone, strictly or weakly: found in one pass, exactly."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from rosenblatt.theory.checker.input_data import fraction
from rosenblatt.theory.search.exact_numbers import clear_denominators
from rosenblatt.theory.search.matrices import CHUNK, Indices, column_extremes
from rosenblatt.theory.search.problem import BinaryProblem

# Rows of each class that rule out most columns before all rows are read.
_FEW = 1024


@dataclass(frozen=True)
class ColumnSeparator:
    """Column `column`, times `direction`, is above a threshold for one class, below for the other.

    If `strict`, no row lies on the threshold itself.
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


def column_separators(problem: BinaryProblem) -> Iterator[ColumnSeparator]:
    """The columns that separate the classes alone, at least weakly."""
    values, y, padded = problem.values, problem.y, problem.padded
    columns = _candidates(values, y, padded)
    if len(columns) == 0:
        return
    sides = _sides(values if len(columns) == values.shape[1] else values[:, columns], y)
    varies = _varies(*sides, padded)
    for direction in (1, -1):
        below, above = sides[::direction]
        for j in np.flatnonzero(_is_apart(below, above, padded) & varies).tolist():
            lower, upper = fraction(below.high[j]), fraction(above.low[j])
            column = int(columns[j])
            if not padded:
                yield ColumnSeparator(column, direction, Fraction(0), bool(lower < 0 < upper))
            elif lower < upper:
                yield ColumnSeparator(column, direction, simplest_between(lower, upper), True)
            else:
                yield ColumnSeparator(column, direction, lower, False)


class _Side(NamedTuple):
    """The minimum and the maximum of each column over the rows of one class."""

    low: Any
    high: Any


def _is_apart(below: _Side, above: _Side, padded: bool) -> Any:
    """Which columns have a threshold between two classes (zero if there is no offset)."""
    return above.low >= below.high if padded else (above.low >= 0) & (below.high <= 0)


def _varies(one: _Side, other: _Side, padded: bool) -> Any:
    """Which columns are not constant (not zero if there is no offset)."""
    same = one.low if padded else 0
    return (one.low != same) | (one.high != same) | (other.low != same) | (other.high != same)


def _candidates(values: Any, y: Any, padded: bool) -> Indices:
    """The columns that the first rows of each class do not rule out."""
    rows = np.concatenate([np.flatnonzero(y == side)[:_FEW] for side in (-1, 1)])
    below, above = _sides(values[rows], y[rows])
    return np.flatnonzero(_is_apart(below, above, padded) | _is_apart(above, below, padded))


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
    # Both ends lie between the same integers: invert the fractional parts.
    if lower == whole:
        return whole + Fraction(1, (1 / (upper - whole)).__floor__() + 1)
    return whole + 1 / simplest_between(1 / (upper - whole), 1 / (lower - whole))


def _sides(values: Any, y: Any) -> tuple[_Side, _Side]:
    """The ranges of each column among the rows of -1 and of +1."""
    below, above = (_side(values, np.flatnonzero(y == side)) for side in (-1, 1))
    return below, above


def _side(values: Any, rows: Any) -> _Side:
    if sparse.issparse(values):
        part = values[rows]
        return _Side(part.min(axis=0).toarray().ravel(), part.max(axis=0).toarray().ravel())
    low = high = values[rows[0]]
    for start in range(0, len(rows), CHUNK):
        lowest, highest = column_extremes(values[rows[start : start + CHUNK]])
        low, high = np.minimum(low, lowest), np.maximum(high, highest)
    return _Side(low, high)
