"""One binary problem ``Zv > 0``: rows ``z_i = y_i·(x_i, 1)``, in doubles and exactly.

Doubles propose, exact values decide. A double is an integer times a power of two, so every row of
doubles is a row of integers up to a positive factor. Exact integers and fractions are not rounded.

Weights come in two forms. *Scaled* weights are doubles and apply to the scaled doubles of the rows;
*exact* weights are integers and apply to the original values.
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
    integer_multiples,
    odd_mantissas,
    proportional_integers,
    scaled_double,
)
from rosenblatt.theory.search.matrices import (
    CHUNK,
    Floats,
    Indices,
    append_column,
    column_max_abs,
    scale_rows,
    squared_row_norms,
)

Signs = NDArray[np.int8]
Exponents = NDArray[np.int64]
# Columns and rows whose largest entry lies within these bounds need no scaling: their squares, and
# products with weights of ordinary size, neither overflow nor underflow.
_SMALL, _LARGE = 2.0**-200, 2.0**200
# Stands for the exponent of zero: less than any other.
_ZERO_EXPONENT = -(10**9)


class BinaryProblem:
    """The rows of two classes, as signed rows z_i.

    Parameters
    ----------
    values
        The exact matrix: float64 or integers (dense or CSR), or fractions (dense objects).
    y : array of -1 and +1
        The class of each row.
    padded : bool
        Whether an implicit column of ones (the pad, for the offset) follows the others.
    rounded : bool
        Whether the values are exact ones rounded to doubles.

    Attributes
    ----------
    approx
        The values in float64, without pad and sign, scaled by powers of two if necessary:
        ``values * 2**-column_exponent * 2**-row_exponent``, rounded. `row_exponent` is None if no
        scaling is necessary.
    """

    def __init__(self, values: Any, y: Floats, padded: bool, rounded: bool = False) -> None:
        self.values, self.y = values, y
        self.padded, self.rounded = padded, rounded
        self.n, self.d = values.shape
        self.width = self.d + int(padded)
        self.is_sparse = sparse.issparse(values)
        self.column_exponent = np.zeros(self.d, dtype=np.int64)
        self.row_exponent: NDArray[np.int64] | None = None
        if values.dtype == object:
            self._set_scaled(_scale_fractions(values, padded))
            return
        self._set_scaled((values.astype(np.float64, copy=False), self.column_exponent, None))
        if self._needs_scaling():
            self._set_scaled(_scale_doubles(self.approx, self.column_max_abs, padded))

    @classmethod
    def from_data(cls, X: Any, y: Any, padded: bool) -> BinaryProblem:
        """The problem of unchecked data X, y; the second class in sorted order is +1."""
        values = check_matrix(X)
        return cls(values, binary_signs(y, values.shape[0]), padded)

    def _set_scaled(self, scaled: tuple[Any, Any, Any]) -> None:
        self.approx, self.column_exponent, self.row_exponent = scaled
        with np.errstate(over="ignore", under="ignore"):
            squares = squared_row_norms(self.approx)
            if self.padded:
                squares = squares + self._pad_column() ** 2
            self.norms = np.sqrt(squares)

    def _needs_scaling(self) -> bool:
        if not np.isfinite(self.norms).all() or (self.norms < _SMALL).any():
            return True
        top = self.column_max_abs[self.column_max_abs > 0]
        return bool(((top < _SMALL) | (top > _LARGE)).any())

    def subset(self, rows: Indices) -> BinaryProblem:
        """The problem with these rows only."""
        return BinaryProblem(self.values[rows], self.y[rows], self.padded, self.rounded)

    @cached_property
    def column_max_abs(self) -> Floats:
        """The largest absolute value in each column, before scaling; not for fractions."""
        return column_max_abs(self.approx)

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

    def _pad_column(self) -> Any:
        """The column of ones in doubles: 1, or one number per row if scaled."""
        return 1.0 if self.row_exponent is None else np.ldexp(1.0, -self.row_exponent)

    def scores(self, v: Floats) -> Floats:
        """``Zv`` in doubles, for scaled weights."""
        with np.errstate(all="ignore"):
            s = self.approx @ v[: self.d]
            if self.padded:
                s += v[self.d] * self._pad_column()
            s *= self.y
        return np.asarray(s)

    def combine(self, weights: Floats) -> Floats:
        """``Z'weights`` in doubles, in the scaled coordinates."""
        signed_weights = weights * self.y
        inner = np.asarray(self.approx.T @ signed_weights)
        return (
            np.append(inner, np.sum(signed_weights * self._pad_column())) if self.padded else inner
        )

    def score_error(self, v: Floats) -> Floats:
        """An upper bound for the rounding error of each of the `scores`.

        A sum of m products has an error of at most m·u·Σ|z_j||v_j| (u = 2^-53) in any order of
        summation; rounding z and v to doubles adds u each. The Cauchy-Schwarz inequality bounds the
        sum. The result is twice that bound, plus a bound for underflow.
        """
        size = float(np.linalg.norm(v))
        tiny = (self.width + 1) * 2.0**-1060 * (1.0 + size)
        with np.errstate(all="ignore"):
            return (self.width + 8) * 2.0**-52 * size * self.norms + tiny

    def lowest_score_rows(self, scores: Floats, count: int, candidates: Any) -> Indices:
        """Up to `count` rows with the lowest scores relative to their norms.

        `candidates` is a mask of the rows to choose from.
        """
        rows = np.flatnonzero(candidates)
        if count >= len(rows):
            return rows
        relative = scores[rows] / np.maximum(self.norms[rows], 1e-300)
        return np.asarray(rows[np.argpartition(relative, count)[:count]])

    def block(self, rows: Indices, signed: bool = True) -> Any:
        """Some rows in doubles with the pad, as a new dense array or CSR matrix."""
        part = self.approx[rows]
        if self.padded:
            part = append_column(part, np.broadcast_to(self._pad_column(), self.n)[rows])
        return scale_rows(part, self.y[rows]) if signed else part

    def integer_rows(
        self, rows: Indices, columns: Indices | None = None
    ) -> tuple[list[list[int]], list[int]]:
        """Some rows in integers, each times a positive integer, and these factors.

        `columns` selects some of the `width` columns.
        """
        columns = np.arange(self.width) if columns is None else columns
        inner = columns[columns < self.d]
        part = self.values[rows][:, inner]
        part = part.toarray() if self.is_sparse else part
        pads = np.ones((len(part), len(columns) - len(inner)), dtype=part.dtype)
        integers, factors = integer_multiples(np.hstack([part, pads]))
        signs = self.y[rows].tolist()
        return [
            row if sign > 0 else [-x for x in row]
            for row, sign in zip(integers, signs, strict=True)
        ], factors

    def exact_weights(self, v: Floats) -> list[int]:
        """Scaled weights converted to exact ones, up to a positive factor."""
        return proportional_integers(v, [*self.column_exponent.tolist(), 0][: self.width])

    def scaled_weights(self, exact: Sequence[int]) -> Floats:
        """Exact weights converted to scaled ones, up to a power of two, each rounded to nearest."""
        exponents = [*self.column_exponent.tolist(), 0][: self.width]
        top = max(x.bit_length() + e for x, e in zip(exact, exponents, strict=True) if x)
        return np.array([scaled_double(x, top - e) for x, e in zip(exact, exponents, strict=True)])

    def exact_signs(self, exact: Sequence[int]) -> Signs:
        """The exact sign of ``z_i·v`` for every row, for exact weights.

        Doubles decide where the score exceeds its rounding error; integers decide the rest.
        """
        if not any(exact):
            return np.zeros(self.n, dtype=np.int8)
        if self.doubles_are_exact(exact):
            v = np.array([float(x) for x in exact])
            return np.sign(self.scores(v)).astype(np.int8)
        v = self.scaled_weights(exact)
        s, error = self.scores(v), self.score_error(v)
        signs = np.zeros(self.n, dtype=np.int8)
        signs[s > error] = 1
        signs[s < -error] = -1
        undecided = np.flatnonzero(signs == 0)
        chunk = CHUNK if self.is_sparse else max(1, min(CHUNK, 4_000_000 // self.width))
        for start in range(0, len(undecided), chunk):
            signs[undecided[start : start + chunk]] = self.exact_row_signs(
                exact, undecided[start : start + chunk]
            )
        return signs

    def exact_row_signs(self, exact: Sequence[int], rows: Indices) -> Signs:
        """The exact sign of ``z_i·v`` for some rows, in integers."""
        dots, _ = self.exact_dots(exact, rows)
        return np.array([(x > 0) - (x < 0) for x in dots], dtype=np.int8)

    def is_weak_separator(self, exact: Sequence[int]) -> bool:
        """Whether all scores are nonnegative and some score is positive, exactly."""
        signs = self.exact_signs(exact)
        return bool((signs >= 0).all() and (signs > 0).any())

    def exact_dots(self, exact: Sequence[int], rows: Indices) -> tuple[list[int], list[int]]:
        """``z_i·v`` for some rows in integers, each times a positive integer, and these factors."""
        if self.values.dtype == object:
            matrix, factors = self.integer_rows(rows)
            return [sum(map(mul, row, exact)) for row in matrix], factors
        used = np.array([x != 0 for x in exact[: self.d]])
        columns, numbers, pointer, factors = self._entries(rows, used)
        products = list(map(mul, numbers, [exact[j] for j in columns]))
        offset = exact[self.d] if self.padded else 0
        signs = self.y[rows].astype(int).tolist()
        return [
            (sum(products[a:b]) + factor * offset) * sign
            for a, b, factor, sign in zip(pointer, pointer[1:], factors, signs, strict=False)
        ], factors

    def exact_combination(
        self, rows: Indices, coefficients: Sequence[Fraction]
    ) -> tuple[list[int], int]:
        """``Σ c_i z_i`` exactly: numerators of the nonempty columns, the pad last; denominator."""
        if self.is_sparse:
            columns, numbers, pointer, factors = self._entries(rows, np.ones(self.d, dtype=bool))
        else:
            matrix, factors = self.integer_rows(rows)
        ratios = [c / f for c, f in zip(coefficients, factors, strict=True)]
        common = lcm(*(share.denominator for share in ratios))
        integers = [share.numerator * (common // share.denominator) for share in ratios]
        if not self.is_sparse:
            total = flint.fmpz_mat([integers]) * flint.fmpz_mat(matrix)
            return [int(x) for x in total.entries()], common
        signed = list(map(mul, integers, self.y[rows].astype(int).tolist()))
        sums: dict[int, int] = {}
        for factor, a, b in zip(signed, pointer, pointer[1:], strict=False):
            for j, x in zip(columns[a:b], numbers[a:b], strict=True):
                sums[j] = sums.get(j, 0) + factor * x
        pads = [sum(map(mul, signed, factors))] if self.padded else []
        return [*sums.values(), *pads], common

    def _entries(
        self, rows: Indices, used: Any
    ) -> tuple[list[int], list[int], list[int], list[int]]:
        """The entries of some rows in the `used` columns as integers, in CSR form.

        Returns the column indices, the entries times a positive integer per row, the row pointer,
        and these factors. The values must not be fractions.
        """
        part = sparse.csr_array(self.values[rows])
        in_used = used[part.indices]
        row_of = np.repeat(np.arange(len(rows)), np.diff(part.indptr))[in_used]
        numbers, factors = part.data[in_used].tolist(), [1] * len(rows)
        if part.dtype.kind == "f":
            mantissas, exponent = odd_mantissas(part.data[in_used])
            lowest = np.zeros(len(rows), dtype=np.int64)
            np.minimum.at(lowest, row_of, exponent)
            shift = np.where(mantissas != 0, exponent - lowest[row_of], 0)
            numbers = [m << s for m, s in zip(mantissas.tolist(), shift.tolist(), strict=True)]
            factors = [1 << -e for e in lowest.tolist()]
        pointer = [0, *np.cumsum(np.bincount(row_of, minlength=len(rows))).tolist()]
        return part.indices[in_used].tolist(), numbers, pointer, factors

    def doubles_are_exact(self, exact: Sequence[int]) -> bool:
        """Whether `scores` have exact signs for these weights."""
        if self.row_exponent is not None:
            return False
        if self.integral and sum(map(abs, exact)) * float(self.norms.max()) < 2.0**53:
            return True
        # x·(±2^k) + θ is rounded once, which preserves the sign.
        terms = [x for x in exact[: self.d] if x]
        representable = self.integral or self.values.dtype.kind == "f"
        single_power = len(terms) <= 1 and all(abs(x) & (abs(x) - 1) == 0 for x in terms)
        return representable and single_power and all(abs(x) < 2**53 for x in exact)

    def nonzero_columns(self, rows: Indices) -> Indices:
        """The columns that are nonzero in some of these rows if sparse; all columns if dense."""
        if not self.is_sparse:
            return np.arange(self.width)
        part = self.values[rows]
        columns = np.unique(part.indices[part.data != 0]).astype(np.intp)
        return np.append(columns, self.d) if self.padded else columns


# Values whose squares or products would exceed the range of doubles are scaled by powers of two.
# The scaled doubles are the values times ``2**-column_exponent * 2**-row_exponent``, rounded.


def _scale_doubles(A: Any, top: Floats, padded: bool) -> tuple[Any, Exponents, Exponents]:
    """Scale a dense array or CSR matrix of doubles; `top` is the maximum modulus per column."""
    columns = np.where(top > 0, np.frexp(top)[1].astype(np.int64), 0)
    if not sparse.issparse(A):
        mantissa, e = np.frexp(A)
        e = e - columns
        rows = _row_exponents(np.where(A != 0, e, _ZERO_EXPONENT).max(axis=1), padded)
        return _ldexp(mantissa, e - rows[:, None]), columns, rows
    mantissa, e = np.frexp(A.data)
    e = e - columns[A.indices]
    row_of = np.repeat(np.arange(A.shape[0]), np.diff(A.indptr))
    largest = np.full(A.shape[0], _ZERO_EXPONENT)
    np.maximum.at(largest, row_of[A.data != 0], e[A.data != 0])
    rows = _row_exponents(largest, padded)
    data = _ldexp(mantissa, e - rows[row_of])
    return sparse.csr_array((data, A.indices, A.indptr), shape=A.shape), columns, rows


def _scale_fractions(values: NDArray[Any], padded: bool) -> tuple[Floats, Exponents, Exponents]:
    """Scale an array of fractions, converted to doubles."""
    flat = values.ravel().tolist()
    sizes = [q.numerator.bit_length() - q.denominator.bit_length() for q in flat]
    exponents = np.where(values != 0, np.array(sizes).reshape(values.shape), _ZERO_EXPONENT)
    top = exponents.max(axis=0)
    columns = np.where(top < _ZERO_EXPONENT // 2, 0, top)
    rows = _row_exponents((exponents - columns).max(axis=1), padded)
    scales = (rows[:, None] + columns).ravel().tolist()
    approx = np.array(list(map(scaled_double, flat, scales)))
    return approx.reshape(values.shape), columns, rows


def _row_exponents(top: Exponents, padded: bool) -> Exponents:
    top = np.where(top < _ZERO_EXPONENT // 2, 0, top)
    return np.maximum(top, 0) if padded else top


def _ldexp(mantissa: Floats, exponent: Any) -> Floats:
    with np.errstate(under="ignore"):
        return np.ldexp(mantissa, np.clip(exponent, -2000, 2000).astype(np.int32))
