"""The rows of a data set, twice: the exact values, and doubles for speed.

The doubles propose; the exact values decide. A double is an integer times a power of two, so every
table of doubles is a table of integers up to a positive factor per row; integers of any size and
fractions are never converted to doubles.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rosenblatt.theory.search.matrices import (
    Floats,
    Indices,
    column_top,
    squared_lengths,
    take_rows,
)

# Columns and rows whose largest entry lies within these bounds need no scaling: their squares and
# their products with weights of ordinary size stay within the range of doubles.
_SMALL, _LARGE = 2.0**-200, 2.0**200
# Below every exponent there is: that of zero.
_NOTHING = -(10**9)


class ExactTable:
    """A checked matrix with its double approximation, scaled by powers of two where needed.

    Attributes
    ----------
    values
        The exact matrix: float64 or integers (dense or CSR), or fractions (dense objects).
    approx
        float64, ``values * 2**-column_exponent * 2**-row_exponent`` to within a rounding.
    padded
        Whether the rows are followed by an implicit column of ones.
    """

    def __init__(self, values: Any, padded: bool) -> None:
        self.values = values
        self.padded = padded
        self.n, self.d = values.shape
        self.width = self.d + int(padded)
        self.column_exponent = np.zeros(self.d, dtype=np.int64)
        self.row_exponent: NDArray[np.int64] | None = None
        if values.dtype == object:
            self._scale_fractions()
            return
        self.approx = values.astype(np.float64, copy=False)
        self.norms = self._norms()
        if self._needs_scaling():
            self._scale_doubles(self.column_top)

    def part(self, rows: Indices) -> ExactTable:
        """Some of the rows as a table of their own."""
        return ExactTable(self.values[rows], self.padded)

    @property
    def is_sparse(self) -> bool:
        """Whether the rows are stored sparsely."""
        return sparse.issparse(self.values)

    @cached_property
    def column_top(self) -> Floats:
        """The largest absolute value of each column, before any scaling; not for fractions."""
        return column_top(self.approx)

    def _needs_scaling(self) -> bool:
        if not np.isfinite(self.norms).all() or (self.norms < _SMALL).any():
            return True
        top = self.column_top[self.column_top > 0]
        return bool(((top < _SMALL) | (top > _LARGE)).any())

    @cached_property
    def integral(self) -> bool:
        """Whether every value is an integer that its unscaled double represents exactly."""
        if self.row_exponent is not None or self.values.dtype == object:
            return False
        data = self.approx.data if self.is_sparse else self.approx
        if self.values.dtype.kind == "f":
            return all(
                bool(np.array_equal(part, np.rint(part)))
                for part in np.array_split(data, max(1, data.size >> 18))
            )
        return data.size == 0 or float(np.abs(data).max()) <= 2.0**53

    def pad_column(self) -> Any:
        """The doubles of the column of ones: 1, or one number per row after scaling."""
        return 1.0 if self.row_exponent is None else np.ldexp(1.0, -self.row_exponent)

    def _norms(self) -> Floats:
        A = self.approx
        with np.errstate(over="ignore", under="ignore"):
            squares = squared_lengths(A)
            if self.padded:
                squares = squares + self.pad_column() ** 2
            return np.sqrt(squares)

    def _scale_doubles(self, top: Floats) -> None:
        exponent = np.frexp(top)[1].astype(np.int64)
        self.column_exponent = np.where(top > 0, exponent, 0)
        A = self.approx
        if self.is_sparse:
            A = A.copy()
            mantissa, e = np.frexp(A.data)
            e = e - self.column_exponent[A.indices]
            rows = np.repeat(np.arange(self.n), np.diff(A.indptr))
            largest = np.full(self.n, _NOTHING)
            np.maximum.at(largest, rows[A.data != 0], e[A.data != 0])
            A.data = _ldexp(mantissa, e - self._set_row_exponent(largest)[rows])
            self.approx = A
        else:
            mantissa, e = np.frexp(A)
            e = e - self.column_exponent
            largest = np.where(A != 0, e, _NOTHING).max(axis=1)
            self.approx = _ldexp(mantissa, e - self._set_row_exponent(largest)[:, None])
        self.norms = self._norms()

    def _set_row_exponent(self, top: NDArray[np.int64]) -> NDArray[np.int64]:
        top = np.where(top < _NOTHING // 2, 0, top)
        self.row_exponent = np.maximum(top, 0) if self.padded else top
        return self.row_exponent

    def _scale_fractions(self) -> None:
        exponents = np.array([[_exponent(q) for q in row] for row in self.values], dtype=np.int64)
        top = exponents.max(axis=0)
        self.column_exponent = np.where(top < _NOTHING // 2, 0, top)
        rows = self._set_row_exponent((exponents - self.column_exponent).max(axis=1))
        shifts = (rows[:, None] + self.column_exponent).tolist()
        self.approx = np.array(
            [
                [scaled_double(q, e) for q, e in zip(row, row_shifts, strict=True)]
                for row, row_shifts in zip(self.values, shifts, strict=True)
            ],
            dtype=np.float64,
        )
        self.norms = self._norms()

    def block(self, rows: Indices) -> Any:
        """The doubles of some rows with their pad, as a new dense array or CSR matrix."""
        if not self.padded:
            return take_rows(self.approx, rows)
        pads = np.ones(len(rows)) if self.row_exponent is None else self.pad_column()[rows]
        return take_rows(self.approx, rows, pads)

    def integers(self, rows: Indices, columns: Indices | None = None) -> list[list[int]]:
        """Some rows with their pad, exactly, each times a positive integer.

        `columns` selects some of the `width` columns.
        """
        if columns is None:
            columns = np.arange(self.width)
        inner = columns[columns < self.d]
        pads = len(columns) - len(inner)
        part = self.values[rows]
        part = part[:, inner].toarray() if self.is_sparse else part[:, inner]
        if part.dtype == object:
            return [clear_denominators([*row, *[Fraction(1)] * pads]) for row in part]
        if part.dtype.kind in "iu":
            return [[*row, *[1] * pads] for row in part.tolist()]
        return integer_rows(np.hstack([part, np.ones((len(part), pads))]))

    def integer_entries(
        self, rows: Indices, used: Any
    ) -> tuple[list[int], list[int], list[int], list[int]]:
        """The entries of some rows of a sparse table in the `used` columns, exactly.

        Each row is multiplied by a positive integer. Returns the entries' columns and values, the
        pad of each row, and where each row begins and ends.
        """
        part = self.values[rows]
        kept = used[part.indices]
        owner = np.repeat(np.arange(len(rows)), np.diff(part.indptr))[kept]
        ends = [0, *np.cumsum(np.bincount(owner, minlength=len(rows))).tolist()]
        columns, data = part.indices[kept].tolist(), part.data[kept]
        if part.dtype.kind in "iu":
            return columns, data.tolist(), [1] * len(rows), ends
        digits, exponent = _digits(data)
        lowest = _lowest(exponent, owner, len(rows))
        shift = np.where(digits != 0, exponent - lowest[owner], 0)
        numbers = [m << s for m, s in zip(digits.tolist(), shift.tolist(), strict=True)]
        return columns, numbers, [1 << -e for e in lowest.tolist()], ends

    def whole_block(self, rows: slice, columns: Indices) -> tuple[list[list[int]], int]:
        """Some rows and columns as integers times a power of two, whose exponent is returned.

        The exponent is not positive. Not for fractions.
        """
        part = self.values[rows][:, columns]
        part = part.toarray() if self.is_sparse else part
        if part.dtype.kind in "iu":
            return part.tolist(), 0
        digits, exponent = _digits(part)
        lowest = min(0, int(exponent.min(initial=0)))
        shift = np.where(digits != 0, exponent - lowest, 0)
        return _shifted(digits, shift), lowest

    def row_factors(self, rows: Indices) -> list[Fraction]:
        """The factor by which `integers` multiplies each of these rows."""
        part = self.values[rows]
        if part.dtype.kind in "iu":
            return [Fraction(1)] * len(rows)
        if part.dtype == object:
            return [Fraction(math.lcm(*(q.denominator for q in row))) for row in part]
        if self.is_sparse:
            owner = np.repeat(np.arange(len(rows)), np.diff(part.indptr))
            lowest = _lowest(_digits(part.data)[1], owner, len(rows))
        else:
            lowest = _digits(part)[1].min(axis=1, initial=0)
        return [Fraction(1 << -e) for e in lowest.tolist()]


def integer_rows(block: Floats) -> list[list[int]]:
    """Doubles as integers: each row times the smallest power of two that makes it integral.

    >>> integer_rows(np.array([[0.5, -3.0], [4.0, 8.0]]))
    [[1, -6], [4, 8]]
    """
    if block.size == 0:
        return [[] for _ in block]
    if float(np.abs(block).max()) < 2.0**53 and np.array_equal(block, np.rint(block)):
        whole: list[list[int]] = block.astype(np.int64).tolist()
        return whole
    digits, exponent = _digits(block)
    shift = exponent - np.minimum(exponent.min(axis=1, keepdims=True), 0)
    return _shifted(digits, np.where(digits != 0, shift, 0))


def _shifted(digits: NDArray[np.int64], shift: NDArray[np.int64]) -> list[list[int]]:
    return [
        [m << s for m, s in zip(ms, ss, strict=True)]
        for ms, ss in zip(digits.tolist(), shift.tolist(), strict=True)
    ]


def _digits(values: Floats) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Doubles as odd integers times powers of two; the exponent of zero is very high."""
    mantissa, exponent = np.frexp(values)
    digits = np.ldexp(mantissa, 53).astype(np.int64)
    # Move the trailing zeros of the 53 bits to the exponent.
    low = digits & -digits
    zeros = np.frexp(np.maximum(low, 1).astype(np.float64))[1].astype(np.int64) - 1
    digits >>= zeros
    return digits, np.where(digits != 0, exponent - 53 + zeros, np.iinfo(np.int32).max)


def _lowest(exponent: Indices, owner: Indices, rows: int) -> NDArray[np.int64]:
    """The lowest exponent of the entries of each row, at most zero."""
    lowest = np.zeros(rows, dtype=np.int64)
    np.minimum.at(lowest, owner, exponent)
    return lowest


def clear_denominators(row: Sequence[Fraction]) -> list[int]:
    """Fractions times the least common multiple of their denominators."""
    common = math.lcm(*(q.denominator for q in row))
    return [q.numerator * (common // q.denominator) for q in row]


def _exponent(q: Fraction) -> int:
    """About log2 of |q|; very low for zero."""
    if q == 0:
        return _NOTHING
    return abs(q.numerator).bit_length() - q.denominator.bit_length()


def scaled_double(q: Fraction, exponent: int) -> float:
    """The double nearest to ``q * 2**-exponent``."""
    if exponent >= 0:
        return float(Fraction(q.numerator, q.denominator << exponent))
    return float(Fraction(q.numerator << -exponent, q.denominator))


def _ldexp(mantissa: Floats, exponent: Any) -> Floats:
    with np.errstate(under="ignore"):
        return np.ldexp(mantissa, np.clip(exponent, -2000, 2000).astype(np.int32))
