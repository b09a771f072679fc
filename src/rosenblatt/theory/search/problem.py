"""One binary problem ``Zv > 0``: rows ``z_i = y_i·(x_i, 1)``, in doubles and exactly.

The doubles propose; the exact values decide. A double is an integer times a power of two, so every
row of doubles is a row of integers up to a positive factor; integers of any size and fractions are
never converted to doubles.

Weights come in two forms. *Scaled* weights are doubles that go with the scaled doubles of the
rows; *exact* weights are integers that go with the original values.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from math import lcm
from operator import mul
from typing import Any

import flint
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rosenblatt.theory.checker.input_data import binary_signs, check_matrix
from rosenblatt.theory.search.exact_numbers import (
    odd_digits,
    scaled_double,
    whole_numbers,
    whole_rows,
)
from rosenblatt.theory.search.matrices import (
    CHUNK,
    Floats,
    Indices,
    append_column,
    column_top,
    scale_rows,
    squared_lengths,
)
from rosenblatt.theory.search.scaled_doubles import scale_doubles, scale_fractions

Signs = NDArray[np.int8]
# Columns and rows whose largest entry lies within these bounds need no scaling: their squares and
# their products with weights of ordinary size stay within the range of doubles.
_SMALL, _LARGE = 2.0**-200, 2.0**200


class BinaryProblem:
    """The rows of two classes.

    Parameters
    ----------
    values
        The exact matrix: float64 or integers (dense or CSR), or fractions (dense objects).
    y : array of -1 and +1
        The class of each row.
    padded : bool
        Whether the rows are followed by an implicit column of ones.
    rounded : bool
        Whether values are the nearest doubles of the exact ones.

    Attributes
    ----------
    approx
        The values in float64, without pad or sign, and scaled by powers of two where needed:
        ``values * 2**-column_exponent * 2**-row_exponent`` to within a rounding. `row_exponent` is
        None if nothing had to be scaled.
    """

    def __init__(self, values: Any, y: Floats, padded: bool, rounded: bool = False) -> None:
        self.values, self.y, self.padded, self.rounded = values, y, padded, rounded
        self.n, self.d = values.shape
        self.width = self.d + int(padded)
        self.is_sparse = sparse.issparse(values)
        self.column_exponent = np.zeros(self.d, dtype=np.int64)
        self.row_exponent: NDArray[np.int64] | None = None
        if values.dtype == object:
            self._take(scale_fractions(values, padded))
            return
        self._take((values.astype(np.float64, copy=False), self.column_exponent, None))
        if self._needs_scaling():
            self._take(scale_doubles(self.approx, self.column_top, padded))

    @classmethod
    def of(cls, X: Any, y: Any, padded: bool) -> BinaryProblem:
        """The problem of checked data; the second class in sorted order counts as +1."""
        values = check_matrix(X)
        return cls(values, binary_signs(y, values.shape[0]), padded)

    def _take(self, scaled: tuple[Any, Any, Any]) -> None:
        self.approx, self.column_exponent, self.row_exponent = scaled
        with np.errstate(over="ignore", under="ignore"):
            squares = squared_lengths(self.approx)
            if self.padded:
                squares = squares + self._pads() ** 2
            self.norms = np.sqrt(squares)

    def _needs_scaling(self) -> bool:
        if not np.isfinite(self.norms).all() or (self.norms < _SMALL).any():
            return True
        top = self.column_top[self.column_top > 0]
        return bool(((top < _SMALL) | (top > _LARGE)).any())

    def part(self, rows: Indices) -> BinaryProblem:
        """Some of the rows as a problem of their own."""
        return BinaryProblem(self.values[rows], self.y[rows], self.padded, self.rounded)

    @cached_property
    def column_top(self) -> Floats:
        """The largest absolute value of each column, before any scaling; not for fractions."""
        return column_top(self.approx)

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

    def _pads(self) -> Any:
        """The doubles of the column of ones: 1, or one number per row after scaling."""
        return 1.0 if self.row_exponent is None else np.ldexp(1.0, -self.row_exponent)

    def scores(self, v: Floats) -> Floats:
        """``Zv`` in doubles, for scaled weights."""
        with np.errstate(all="ignore"):
            s = self.approx @ v[: self.d]
            if self.padded:
                s += v[self.d] * self._pads()
            s *= self.y
        return np.asarray(s)

    def combine(self, weights: Floats) -> Floats:
        """``Z'weights`` in doubles, in the scaled coordinates."""
        pulls = weights * self.y
        inner = np.asarray(self.approx.T @ pulls)
        return np.append(inner, np.sum(pulls * self._pads())) if self.padded else inner

    def slack(self, v: Floats) -> Floats:
        """A bound for the rounding error of each of `scores`.

        A sum of m products is off by at most m·u·Σ|z_j||v_j| (u = 2^-53) in any order of adding,
        and the doubles of z and v by another u each; Cauchy-Schwarz bounds the sum. Twice that is
        taken, and what underflow can lose is added.
        """
        size = float(np.linalg.norm(v))
        tiny = (self.width + 1) * 2.0**-1060 * (1.0 + size)
        with np.errstate(all="ignore"):
            return (self.width + 8) * 2.0**-52 * size * self.norms + tiny

    def worst_rows(self, scores: Floats, count: int, among: Any) -> Indices:
        """Up to `count` rows with the lowest scores relative to their norms.

        `among` marks the rows to choose from.
        """
        rows = np.flatnonzero(among)
        if count >= len(rows):
            return rows
        depth = scores[rows] / np.maximum(self.norms[rows], 1e-300)
        return np.asarray(rows[np.argpartition(depth, count)[:count]])

    def block(self, rows: Indices, signed: bool = True) -> Any:
        """Some rows in doubles with their pad, as a new dense array or CSR matrix."""
        part = self.approx[rows]
        if self.padded:
            part = append_column(part, np.broadcast_to(self._pads(), self.n)[rows])
        return scale_rows(part, self.y[rows]) if signed else part

    def integers(
        self, rows: Indices, columns: Indices | None = None
    ) -> tuple[list[list[int]], list[int]]:
        """Some rows exactly, each times a positive integer; and these factors.

        `columns` selects some of the `width` columns.
        """
        columns = np.arange(self.width) if columns is None else columns
        inner = columns[columns < self.d]
        part = self.values[rows][:, inner]
        part = part.toarray() if self.is_sparse else part
        pads = np.ones((len(part), len(columns) - len(inner)), dtype=part.dtype)
        whole, factors = whole_rows(np.hstack([part, pads]))
        signs = self.y[rows].tolist()
        return [
            row if sign > 0 else [-x for x in row] for row, sign in zip(whole, signs, strict=True)
        ], factors

    def exact_weights(self, v: Floats) -> list[int]:
        """Scaled weights as exact ones, up to a positive factor."""
        return whole_numbers(v, [*self.column_exponent.tolist(), 0][: self.width])

    def scaled_weights(self, exact: Sequence[int]) -> Floats:
        """Exact weights as scaled ones, times a power of two, each to the nearest double."""
        exponents = [*self.column_exponent.tolist(), 0][: self.width]
        top = max(x.bit_length() + e for x, e in zip(exact, exponents, strict=True) if x)
        return np.array([scaled_double(x, top - e) for x, e in zip(exact, exponents, strict=True)])

    def exact_signs(self, exact: Sequence[int]) -> Signs:
        """The sign of ``z_i·v`` for every row, exactly, for exact weights.

        Doubles decide where the score exceeds its error bound; integers decide the rest.
        """
        if not any(exact):
            return np.zeros(self.n, dtype=np.int8)
        if self.doubles_are_exact(exact):
            v = np.array([float(x) for x in exact])
            return np.sign(self.scores(v)).astype(np.int8)
        v = self.scaled_weights(exact)
        s, slack = self.scores(v), self.slack(v)
        signs = np.zeros(self.n, dtype=np.int8)
        signs[s > slack] = 1
        signs[s < -slack] = -1
        close = np.flatnonzero(signs == 0)
        few = CHUNK if self.is_sparse else max(1, min(CHUNK, 4_000_000 // self.width))
        for start in range(0, len(close), few):
            signs[close[start : start + few]] = self.signs(exact, close[start : start + few])
        return signs

    def signs(self, exact: Sequence[int], rows: Indices) -> Signs:
        """The sign of ``z_i·v`` for some rows, exactly."""
        dots, _ = self.exact_dots(exact, rows)
        return np.array([(x > 0) - (x < 0) for x in dots], dtype=np.int8)

    def is_weak_separator(self, exact: Sequence[int]) -> bool:
        """Whether no row is on the wrong side, and some row is not on the hyperplane, exactly."""
        signs = self.exact_signs(exact)
        return bool((signs >= 0).all() and (signs > 0).any())

    def exact_dots(self, exact: Sequence[int], rows: Indices) -> tuple[list[int], list[int]]:
        """``z_i·v`` for some rows in integers, each times a positive integer; and these factors."""
        if self.values.dtype == object:
            matrix, factors = self.integers(rows)
            return [sum(map(mul, row, exact)) for row in matrix], factors
        used = np.array([x != 0 for x in exact[: self.d]])
        columns, numbers, ends, factors = self._entries(rows, used)
        products = list(map(mul, numbers, [exact[j] for j in columns]))
        offset = exact[self.d] if self.padded else 0
        signs = self.y[rows].astype(int).tolist()
        return [
            (sum(products[a:b]) + factor * offset) * sign
            for a, b, factor, sign in zip(ends, ends[1:], factors, signs, strict=False)
        ], factors

    def exact_combination(
        self, rows: Indices, coefficients: Sequence[Fraction]
    ) -> tuple[list[int], int]:
        """``Σ c_i z_i`` exactly: the columns that are not empty, the pad last; over an integer."""
        if self.is_sparse:
            columns, numbers, ends, factors = self._entries(rows, np.ones(self.d, dtype=bool))
        else:
            matrix, factors = self.integers(rows)
        shares = [c / f for c, f in zip(coefficients, factors, strict=True)]
        common = lcm(*(share.denominator for share in shares))
        whole = [share.numerator * (common // share.denominator) for share in shares]
        if not self.is_sparse:
            total = flint.fmpz_mat([whole]) * flint.fmpz_mat(matrix)
            return [int(x) for x in total.entries()], common
        signed = list(map(mul, whole, self.y[rows].astype(int).tolist()))
        sums: dict[int, int] = {}
        for factor, a, b in zip(signed, ends, ends[1:], strict=False):
            for j, x in zip(columns[a:b], numbers[a:b], strict=True):
                sums[j] = sums.get(j, 0) + factor * x
        pads = [sum(map(mul, signed, factors))] if self.padded else []
        return [*sums.values(), *pads], common

    def _entries(
        self, rows: Indices, used: Any
    ) -> tuple[list[int], list[int], list[int], list[int]]:
        """The entries of some rows in the `used` columns, exactly; not for fractions.

        Their columns, their values times a positive factor per row, where each row begins and
        ends, and the factors.
        """
        part = sparse.csr_array(self.values[rows])
        kept = used[part.indices]
        owner = np.repeat(np.arange(len(rows)), np.diff(part.indptr))[kept]
        numbers, factors = part.data[kept].tolist(), [1] * len(rows)
        if part.dtype.kind == "f":
            digits, exponent = odd_digits(part.data[kept])
            lowest = np.zeros(len(rows), dtype=np.int64)
            np.minimum.at(lowest, owner, exponent)
            shift = np.where(digits != 0, exponent - lowest[owner], 0)
            numbers = [m << s for m, s in zip(digits.tolist(), shift.tolist(), strict=True)]
            factors = [1 << -e for e in lowest.tolist()]
        ends = [0, *np.cumsum(np.bincount(owner, minlength=len(rows))).tolist()]
        return part.indices[kept].tolist(), numbers, ends, factors

    def doubles_are_exact(self, exact: Sequence[int]) -> bool:
        """Whether the signs of `scores` are exact."""
        if self.row_exponent is not None:
            return False
        if self.integral and sum(map(abs, exact)) * float(self.norms.max()) < 2.0**53:
            return True
        # x·(±2^k) + θ has one rounding, which keeps the sign.
        terms = [x for x in exact[: self.d] if x]
        held = self.integral or self.values.dtype.kind == "f"
        one = len(terms) <= 1 and all(abs(x) & (abs(x) - 1) == 0 for x in terms)
        return held and one and all(abs(x) < 2**53 for x in exact)

    def active_columns(self, rows: Indices) -> Indices:
        """The columns that are not zero in all of these rows, if sparse; all if dense."""
        if not self.is_sparse:
            return np.arange(self.width)
        part = self.values[rows]
        columns = np.unique(part.indices[part.data != 0]).astype(np.intp)
        return np.append(columns, self.d) if self.padded else columns
