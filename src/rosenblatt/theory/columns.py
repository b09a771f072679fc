"""Columns that tell the classes apart alone, strictly or weakly: found in one pass, exactly."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from scipy import sparse

from rosenblatt.theory import loops
from rosenblatt.theory.matrices import CHUNK, arrays, column_extremes
from rosenblatt.theory.problem import Problem
from rosenblatt.theory.table import clear_denominators, fraction

_FEW = 1024


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
    columns = np.arange(problem.table.d)
    if sparse.issparse(values):
        columns = _candidates(values, y)
        values = values[:, columns]
        if len(columns) == 0:
            return
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
            column, lower, upper = int(columns[j]), fraction(ceiling[j]), fraction(floor[j])
            if not problem.table.padded:
                yield LoneColumn(column, direction, Fraction(0), bool(lower < 0 < upper))
            elif lower < upper:
                yield LoneColumn(column, direction, simplest_between(lower, upper), True)
            else:
                yield LoneColumn(column, direction, lower, False)


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
        loops.count_signs(*arrays(values), sides, seen, last, count)
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
