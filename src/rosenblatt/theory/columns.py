"""Columns that tell the classes apart alone, strictly or weakly: found in one pass, exactly."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from scipy import sparse

from rosenblatt.theory.matrices import CHUNK, column_extremes
from rosenblatt.theory.problem import Problem
from rosenblatt.theory.table import clear_denominators, fraction


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
    values, y = problem.table.values, problem.y
    (low_p, high_p), (low_n, high_n) = (_extremes(values, y, side) for side in (1, -1))
    for direction in (1, -1):
        floor, ceiling = (low_p, high_n) if direction > 0 else (low_n, high_p)
        if problem.table.padded:
            varies = (low_p != high_p) | (low_n != high_n) | (low_p != low_n)
            found = np.flatnonzero((floor >= ceiling) & varies)
        else:
            varies = (low_p != 0) | (high_p != 0) | (low_n != 0) | (high_n != 0)
            found = np.flatnonzero((floor >= 0) & (ceiling <= 0) & varies)
        for j in found.tolist():
            lower, upper = fraction(ceiling[j]), fraction(floor[j])
            if not problem.table.padded:
                yield LoneColumn(j, direction, Fraction(0), bool(lower < 0 < upper))
            elif lower < upper:
                yield LoneColumn(j, direction, simplest_between(lower, upper), True)
            else:
                yield LoneColumn(j, direction, lower, False)


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


def _extremes(values: Any, y: Any, side: int) -> tuple[Any, Any]:
    """The least and the greatest value of each column among the rows of one class."""
    rows = np.flatnonzero(y == side)
    if sparse.issparse(values):
        part = values[rows]
        return part.min(axis=0).toarray().ravel(), part.max(axis=0).toarray().ravel()
    low = high = values[rows[0]]
    for start in range(0, len(y), CHUNK):
        chunk = values[start : start + CHUNK][y[start : start + CHUNK] == side]
        if len(chunk):
            least, greatest = column_extremes(chunk)
            low, high = np.minimum(low, least), np.maximum(high, greatest)
    return low, high
