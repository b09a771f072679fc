"""The rows of the data as integers, computed by the checker itself.

A double is an integer times a power of two, so every row is a row of integers over a denominator of
its own. None of the code that finds certificates is used here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import lcm
from operator import mul
from typing import Any

import flint
import numpy as np
from scipy import sparse

_CHUNK = 1 << 14


class RefutedError(Exception):
    """A claim of the certificate does not hold."""


def require(condition: Any, otherwise: str) -> None:
    """Refute the certificate unless the condition holds."""
    if not condition:
        raise RefutedError(otherwise)


class SignedRows:
    """The rows as whole numbers, each row over a denominator of its own."""

    def __init__(self, values: Any, sides: Any, padded: bool) -> None:
        self.values, self.sides, self.padded = values, sides, padded
        self.d = values.shape[1]
        self.used = np.flatnonzero(sides)

    def signed(self, rows: Sequence[int]) -> tuple[list[list[int]], list[int]]:
        """Some rows times their side, with the pad, and the number each was multiplied by."""
        matrix, scales = [], []
        for i in rows:
            entries = self._row(i)
            scale = lcm(*(q.denominator for q in entries.values()))
            row = [0] * self.d
            side = int(self.sides[i])
            for j, q in entries.items():
                row[j] = side * q.numerator * (scale // q.denominator)
            matrix.append([*row, side * scale] if self.padded else row)
            scales.append(scale)
        return matrix, scales

    def signed_matrix(self, rows: Sequence[int]) -> tuple[Any, list[int]]:
        """As `signed`, in one array of Python's integers."""
        part = self.values[list(rows)]
        whole, scales = _whole(part.toarray() if sparse.issparse(part) else part, 2**62)
        whole, scales = whole.astype(object), scales.astype(object)
        if self.padded:
            whole = np.hstack([whole, scales[:, None]])
        return whole * self.sides[list(rows)].astype(object)[:, None], scales.tolist()

    def scale(self, i: int) -> int:
        """The denominator of a row."""
        return lcm(*(q.denominator for q in self._row(i).values()))

    def combination(self, rows: Sequence[int], coefficients: Sequence[int]) -> list[int]:
        """The sum of the `signed` rows times whole numbers, without empty columns; the pad last."""
        if not sparse.issparse(self.values):
            total = flint.fmpz_mat([list(coefficients)]) * flint.fmpz_mat(self.signed(rows)[0])
            return [int(x) for x in total.entries()]
        sums: dict[int, int] = {}
        pad = 0
        for i, c in zip(rows, coefficients, strict=True):
            entries, scale, factor = self._row(i), self.scale(i), c * int(self.sides[i])
            for j, q in entries.items():
                sums[j] = sums.get(j, 0) + factor * q.numerator * (scale // q.denominator)
            pad += factor * scale
        return [*sums.values(), *([pad] if self.padded else [])]

    def occurs(self, columns: Any) -> bool:
        """Whether any row has a number but zero in one of these columns."""
        part = self.values[self.used][:, columns[columns < self.d]]
        return bool((part != 0).sum() > 0)

    def _row(self, i: int) -> dict[int, Fraction]:
        row = self.values[[i]]
        if sparse.issparse(row):
            found = zip(row.indices.tolist(), row.data.tolist(), strict=True)
        else:
            found = zip(range(self.d), row[0].tolist(), strict=True)
        return {j: Fraction(*x.as_integer_ratio()) for j, x in found if x}

    def _entries(self) -> Iterator[tuple[Any, list[int], list[int], list[int], list[int]]]:
        """Chunks of the rows of a sparse matrix in whole numbers, the nonzeros only.

        The rows, the columns and the numbers of their entries, where each row begins and ends among
        them, and the denominator of each row.
        """
        for start in range(0, len(self.used), _CHUNK):
            rows = self.used[start : start + _CHUNK]
            part = self.values[rows]
            owner = np.repeat(np.arange(len(rows)), np.diff(part.indptr))
            if part.dtype.kind == "f":
                digits, exponent = _digits(part.data)
                lowest = np.zeros(len(rows), dtype=np.int64)
                np.minimum.at(lowest, owner, exponent)
                shift = (exponent - lowest[owner]).tolist()
                numbers = [m << s for m, s in zip(digits.tolist(), shift, strict=True)]
                scales = [1 << -e for e in lowest.tolist()]
            else:
                numbers, scales = part.data.tolist(), [1] * len(rows)
            yield rows, part.indices.tolist(), numbers, part.indptr.tolist(), scales

    def scores(self, weights: Sequence[int], bias: int) -> Iterator[tuple[int, int]]:
        """``side·(w·x + b)`` of every row as a whole number, and its denominator."""
        require(len(weights) == self.d, "the hyperplane has another number of columns")
        require(self.padded or bias == 0, "an offset where none is allowed")
        if sparse.issparse(self.values):
            for rows, columns, numbers, ends, scales in self._entries():
                products = list(map(mul, numbers, [weights[j] for j in columns]))
                sides = self.sides[rows].tolist()
                for a, b, scale, side in zip(ends, ends[1:], scales, sides, strict=False):
                    yield side * (sum(products[a:b]) + bias * scale), scale
            return
        for rows, matrix, scales in self._chunks(weights, bias):
            dots = matrix @ np.array([w for w in weights if w] or [0], dtype=matrix.dtype)
            dots = (dots + bias * scales) * self.sides[rows]
            yield from zip(dots.tolist(), scales.tolist(), strict=True)

    def _chunks(self, weights: Sequence[int], bias: int) -> Iterator[tuple[Any, Any, Any]]:
        """Rows in whole numbers, the columns with a weight only."""
        columns = np.flatnonzero([bool(w) for w in weights])
        total = sum(map(abs, weights)) + abs(bias)
        for start in range(0, len(self.used), _CHUNK):
            rows = self.used[start : start + _CHUNK]
            part = self.values[rows][:, columns if len(columns) else [0]]
            part = part.toarray() if sparse.issparse(part) else part
            yield rows, *_whole(part, total)

    def squares(self) -> Iterator[Fraction]:
        """The squared length of every row with its pad."""
        if sparse.issparse(self.values):
            for _, _, numbers, ends, scales in self._entries():
                squares = list(map(mul, numbers, numbers))
                for a, b, scale in zip(ends, ends[1:], scales, strict=False):
                    yield Fraction(sum(squares[a:b]), scale * scale) + int(self.padded)
            return
        ones = [1] * self.d
        for _, matrix, scales in self._chunks(ones, 1):
            exact = matrix.astype(object)
            sums = (exact * exact).sum(axis=1)
            for total, scale in zip(sums.tolist(), scales.tolist(), strict=True):
                yield Fraction(total, scale * scale) + int(self.padded)

    def lone_columns(self) -> dict[int, tuple[int, Fraction, Fraction]]:
        """Columns that separate alone: their direction and the gap that a threshold must lie in."""
        found: dict[int, tuple[int, Fraction, Fraction]] = {}
        plus, minus = (self.values[np.flatnonzero(self.sides == s)] for s in (1, -1))
        (low_p, high_p), (low_n, high_n) = _ends(plus), _ends(minus)
        for direction, lower, upper in ((1, high_n, low_p), (-1, high_p, low_n)):
            inside = lower < upper if self.padded else (lower < 0) & (upper > 0)
            for j in np.flatnonzero(inside).tolist():
                ends = (*lower[[j]].tolist(), *upper[[j]].tolist())
                a, b = (Fraction(*x.as_integer_ratio()) for x in ends)
                found[j] = (direction, a, b)
        return found


def _ends(part: Any) -> tuple[Any, Any]:
    low, high = part.min(axis=0), part.max(axis=0)
    if sparse.issparse(part):
        low, high = low.toarray().ravel(), high.toarray().ravel()
    return low, high


def _whole(part: Any, total: int) -> tuple[Any, Any]:
    """A block of numbers as whole numbers and the denominator of each row.

    Machine integers where no sum of products with weights of this `total` can overflow; Python's
    integers otherwise.
    """
    if part.dtype == object:
        scales = np.array([lcm(*(q.denominator for q in row)) for row in part], dtype=object)
        whole = [[int(q * s) for q in row] for row, s in zip(part, scales, strict=True)]
        return np.array(whole, dtype=object).reshape(part.shape), scales
    if part.dtype.kind == "f" and not np.array_equal(part, np.rint(part)):
        return _whole_doubles(part)
    top = max(1, abs(int(part.max())), abs(int(part.min())))
    if top * total < 2**62 and (part.dtype.kind != "f" or top < 2**53):
        return part.astype(np.int64), np.ones(len(part), dtype=np.int64)
    ones = np.array([1] * len(part), dtype=object)
    if part.dtype.kind == "f":
        exact = np.array([[int(x) for x in row] for row in part.tolist()], dtype=object)
        return exact, ones
    return part.astype(object), ones


def _whole_doubles(part: Any) -> tuple[Any, Any]:
    digits, exponent = _digits(part)
    lowest = np.minimum(exponent.min(axis=1), 0)
    shift = exponent - lowest[:, None]
    whole = np.left_shift(digits.astype(object), shift.astype(object))
    return whole, np.array([1 << -int(e) for e in lowest], dtype=object)


def _digits(values: Any) -> tuple[Any, Any]:
    """Doubles as whole numbers times powers of two: the numbers and the exponents."""
    mantissa, exponent = np.frexp(values)
    digits = np.ldexp(mantissa, 53).astype(np.int64)
    return digits, np.where(digits != 0, exponent.astype(np.int64) - 53, 0)
