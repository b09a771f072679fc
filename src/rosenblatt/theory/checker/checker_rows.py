"""The rows of the data as integers, computed by the checker itself.

A double is an integer times a power of two, so every row is a row of integers over a denominator of
its own. None of the code that finds certificates is used here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import lcm
from typing import Any

import numpy as np
from scipy import sparse

# Read at a time: rows of a sparse matrix, values of a dense one.
_ROWS = 1 << 14
_VALUES = 1 << 20


class RefutedError(Exception):
    """A claim of the certificate does not hold."""


def require(condition: Any, otherwise: str) -> None:
    """Refute the certificate unless the condition holds."""
    if not condition:
        raise RefutedError(otherwise)


class SignedRows:
    """The rows ``side·(x, 1)`` as integers, each over a denominator of its own.

    Sides are 1, -1, or 0 for a row of neither class; without `padded` rows have no last 1.
    """

    def __init__(self, values: Any, sides: Any, padded: bool) -> None:
        self.values, self.sides = values, sides
        self.padded = padded
        self.d = values.shape[1]
        self.used = np.flatnonzero(sides)

    def signed(self, rows: Sequence[int], coefficients: Sequence[int] | None = None) -> Any:
        """Some rows as a matrix of Python integers, each times its denominator.

        With coefficients, each times its coefficient and the common denominator.
        """
        owner, columns, numbers, pads, _ = self._scaled(rows, coefficients)
        matrix = np.zeros((len(rows), self.d + int(self.padded)), dtype=object)
        matrix[owner, columns] = numbers
        if self.padded:
            matrix[:, self.d] = pads
        return matrix

    def combination(self, rows: Sequence[int], coefficients: Sequence[int]) -> tuple[Any, int]:
        """The sum of rows times integers: one integer per column, and their denominator."""
        _, columns, numbers, pads, common = self._scaled(rows, coefficients)
        total = np.zeros(self.d + int(self.padded), dtype=object)
        np.add.at(total, columns, numbers)
        if self.padded:
            total[self.d] = pads.sum()
        return total, common

    def _scaled(
        self, rows: Sequence[int], coefficients: Sequence[int] | None
    ) -> tuple[Any, Any, Any, Any, int]:
        """The entries of some rows as for `signed`, their pads, and the common denominator."""
        owner, columns, numbers, scales = _entries(self.values[list(rows)])
        common, factors = lcm(*scales), self.sides[list(rows)].astype(object)
        if coefficients is not None:
            factors *= np.array(coefficients, dtype=object) * (common // scales)
        return owner, columns, numbers * factors[owner], scales * factors, common

    def scores(self, weights: Sequence[int], bias: int) -> Iterator[tuple[int, int]]:
        """``side·(w·x + b)`` of every row as an integer, and its denominator."""
        require(len(weights) == self.d, "the hyperplane has another number of columns")
        require(self.padded or bias == 0, "an offset where none is allowed")
        w = np.array(weights, dtype=object)
        total = max(1, sum(map(abs, weights)) + abs(bias))
        for rows, part in self._chunks():
            if _largest(part, total) < 2**62:
                whole, scales = part.astype(np.int64), np.ones(len(rows), dtype=np.int64)
                scores = whole @ w.astype(np.int64)
            else:
                owner, columns, numbers, scales = _entries(part, used=w != 0)
                scores = _row_sums(owner, numbers * w[columns], len(rows))
            signed = (scores + bias * scales) * self.sides[rows]
            yield from zip(signed.tolist(), scales.tolist(), strict=True)

    def squares(self) -> Iterator[Fraction]:
        """The squared length of every row with its pad."""
        for rows, part in self._chunks():
            if _largest(part, _largest(part, self.d)) < 2**62:
                whole, scales = part.astype(np.int64), np.ones(len(rows), dtype=np.int64)
                sums = (whole * whole).sum(axis=1)
            else:
                owner, _, numbers, scales = _entries(part)
                sums = _row_sums(owner, numbers * numbers, len(rows))
            for total, scale in zip(sums.tolist(), scales.tolist(), strict=True):
                yield Fraction(total, scale * scale) + int(self.padded)

    def occurs(self, columns: Any) -> bool:
        """Whether any row has a nonzero value in one of these columns."""
        part = self.values[self.used][:, columns[columns < self.d]]
        return bool((part != 0).sum() > 0)

    def lone_columns(self) -> dict[int, tuple[int, Fraction, Fraction]]:
        """Columns that separate alone: their direction and the gap that a threshold must lie in."""
        separators: dict[int, tuple[int, Fraction, Fraction]] = {}
        plus, minus = (self.values[np.flatnonzero(self.sides == s)] for s in (1, -1))
        (low_p, high_p), (low_n, high_n) = _ranges(plus), _ranges(minus)
        for direction, lower, upper in ((1, high_n, low_p), (-1, high_p, low_n)):
            inside = lower < upper if self.padded else (lower < 0) & (upper > 0)
            for j in np.flatnonzero(inside).tolist():
                ends = (*lower[[j]].tolist(), *upper[[j]].tolist())
                a, b = (Fraction(*x.as_integer_ratio()) for x in ends)
                separators[j] = (direction, a, b)
        return separators

    def _chunks(self) -> Iterator[tuple[Any, Any]]:
        """The numbers of some rows and their values, until all rows with a side have been."""
        size = _ROWS if sparse.issparse(self.values) else max(1, _VALUES // self.d)
        for start in range(0, len(self.used), size):
            rows = self.used[start : start + size]
            yield rows, self.values[rows]


def _ranges(part: Any) -> tuple[Any, Any]:
    """The least and the largest value of each column."""
    low, high = part.min(axis=0), part.max(axis=0)
    if sparse.issparse(part):
        low, high = low.toarray().ravel(), high.toarray().ravel()
    return low, high


def _largest(part: Any, factor: int) -> int:
    """The largest absolute value, at least 1, times `factor`; 2^62 if one is not an integer."""
    values = part.data if sparse.issparse(part) else part
    kind = values.dtype.kind
    if kind == "O" or (kind == "f" and not np.array_equal(values, np.rint(values))):
        return 2**62
    return max(1, int(values.max(initial=0)), -int(values.min(initial=0))) * factor


def _entries(part: Any, used: Any = None) -> tuple[Any, Any, Any, Any]:
    """The entries of some rows as Python integers: row, column and number, row by row.

    The numbers are the values times a denominator per row, which comes last. With `used`, a flag
    per column, entries of other columns are left out.
    """
    n, d = part.shape
    if sparse.issparse(part):
        owner, columns = np.repeat(np.arange(n), np.diff(part.indptr)), part.indices
        values = part.data
    else:
        owner, columns = np.repeat(np.arange(n), d), np.tile(np.arange(d), n)
        values = part.ravel()
    if used is not None:
        in_used = used[columns]
        owner, columns = owner[in_used], columns[in_used]
        values = values[in_used]
    scales = np.array([1] * n, dtype=object)
    if values.dtype == object:
        # As objects: NumPy makes doubles of a list of integers of which one is in [2^63, 2^64).
        denominators = np.array([q.denominator for q in values], dtype=object)
        numerators = np.array([q.numerator for q in values], dtype=object)
        np.lcm.at(scales, owner, denominators)
        assert set(map(type, scales)) <= {int}, "a denominator is not a whole number"
        return owner, columns, numerators * (scales[owner] // denominators), scales
    if values.dtype.kind != "f":
        return owner, columns, values.astype(object), scales
    mantissa, exponent = np.frexp(values)
    digits = np.ldexp(mantissa, 53).astype(np.int64)
    exponent = np.where(digits != 0, exponent.astype(np.int64) - 53, 0)
    lowest = np.zeros(n, dtype=np.int64)
    np.minimum.at(lowest, owner, exponent)
    numbers = np.left_shift(digits.astype(object), (exponent - lowest[owner]).astype(object))
    return owner, columns, numbers, np.left_shift(scales, (-lowest).astype(object))


def _row_sums(owner: Any, numbers: Any, n: int) -> Any:
    """The sum of the numbers of each of n rows; `owner`, the row of each number, is sorted."""
    sums = np.zeros(n, dtype=object)
    if len(owner):
        rows, first = np.unique(owner, return_index=True)
        sums[rows] = np.add.reduceat(numbers, first)
    return sums
