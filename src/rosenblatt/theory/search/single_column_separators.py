"""Single columns that separate the classes, strictly or weakly: found exactly, in one pass."""

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

# Rows per class that rule out most columns before all rows are read.
_SAMPLE_ROWS = 1024


@dataclass(frozen=True)
class ColumnSeparator:
    """A rule on one column: ``direction * (x - threshold)`` is nonnegative for the class +1 and
    nonpositive for the class -1; positive and negative if `strict`.
    """

    column: int
    direction: int
    threshold: Fraction
    strict: bool

    def exact_weights(self, width: int, padded: bool) -> list[int]:
        """The hyperplane of this rule, in integers."""
        scale, offset = clear_denominators([Fraction(1), -self.threshold])
        weights = [0] * width
        weights[self.column] = self.direction * scale
        if padded:
            weights[-1] = self.direction * offset
        return weights


def column_separators(problem: BinaryProblem) -> Iterator[ColumnSeparator]:
    """The single columns that separate the classes, strictly or weakly."""
    values, y = problem.values, problem.y
    padded = problem.padded
    columns = _candidates(values, y, padded)
    if len(columns) == 0:
        return
    ranges = _class_ranges(values if len(columns) == values.shape[1] else values[:, columns], y)
    varies = _varies(*ranges, padded)
    for direction in (1, -1):
        below, above = ranges[::direction]
        for j in np.flatnonzero(_has_threshold(below, above, padded) & varies).tolist():
            lower, upper = fraction(below.high[j]), fraction(above.low[j])
            column = int(columns[j])
            if not padded:
                yield ColumnSeparator(column, direction, Fraction(0), bool(lower < 0 < upper))
            elif lower < upper:
                yield ColumnSeparator(column, direction, simplest_between(lower, upper), True)
            else:
                yield ColumnSeparator(column, direction, lower, False)


class _ClassRange(NamedTuple):
    """The minimum and the maximum of each column over the rows of one class."""

    low: Any
    high: Any


def _has_threshold(below: _ClassRange, above: _ClassRange, padded: bool) -> Any:
    """A mask of the columns with a threshold between two classes (zero if there is no offset)."""
    return above.low >= below.high if padded else (above.low >= 0) & (below.high <= 0)


def _varies(one: _ClassRange, other: _ClassRange, padded: bool) -> Any:
    """A mask of the columns that are not constant (not zero, if there is no offset)."""
    same = one.low if padded else 0
    return (one.low != same) | (one.high != same) | (other.low != same) | (other.high != same)


def _candidates(values: Any, y: Any, padded: bool) -> Indices:
    """The columns that the first rows of each class do not rule out."""
    rows = np.concatenate([np.flatnonzero(y == side)[:_SAMPLE_ROWS] for side in (-1, 1)])
    below, above = _class_ranges(values[rows], y[rows])
    return np.flatnonzero(
        _has_threshold(below, above, padded) | _has_threshold(above, below, padded)
    )


def simplest_between(lower: Fraction, upper: Fraction) -> Fraction:
    """The fraction of smallest denominator strictly between two fractions.

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


def _class_ranges(values: Any, y: Any) -> tuple[_ClassRange, _ClassRange]:
    """The range of each column in the class -1 and in the class +1."""
    below, above = (_class_range(values, np.flatnonzero(y == side)) for side in (-1, 1))
    return below, above


def _class_range(values: Any, rows: Any) -> _ClassRange:
    if sparse.issparse(values):
        part = values[rows]
        return _ClassRange(part.min(axis=0).toarray().ravel(), part.max(axis=0).toarray().ravel())
    low = high = values[rows[0]]
    for start in range(0, len(rows), CHUNK):
        lowest, highest = column_extremes(values[rows[start : start + CHUNK]])
        low, high = np.minimum(low, lowest), np.maximum(high, highest)
    return _ClassRange(low, high)
