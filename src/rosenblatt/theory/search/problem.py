"""One binary problem ``Zv > 0``: rows ``z_i = y_i·(x_i, 1)``, in doubles and exactly.

Weights come in two forms. *Scaled* weights are doubles that go with the scaled doubles of the
table; *exact* weights are integers that go with the original values.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import gcd
from operator import mul
from typing import Any

import flint
import numpy as np
from numpy.typing import NDArray

from rosenblatt.theory.search import exact_sign_products as limbs
from rosenblatt.theory.search.exact_table import ExactTable, scaled_double
from rosenblatt.theory.search.matrices import CHUNK, Floats, Indices, scale_rows

Signs = NDArray[np.int8]
# From this many rows on, their exact signs are computed together.
_MANY = 64


class BinaryProblem:
    """The premultiplied, padded rows of two classes.

    Parameters
    ----------
    table : ExactTable
        The rows.
    y : array of -1 and +1
        The class of each row.
    rounded : bool
        Whether values of the table are the nearest doubles of the exact ones.
    """

    def __init__(self, table: ExactTable, y: Floats, rounded: bool = False) -> None:
        self.table, self.y, self.rounded = table, y, rounded
        self.n, self.width, self.norms = table.n, table.width, table.norms

    def scores(self, v: Floats) -> Floats:
        """``Zv`` in doubles, for scaled weights."""
        t = self.table
        with np.errstate(all="ignore"):
            s = t.approx @ v[: t.d]
            if t.padded:
                s += v[t.d] * t.pad_column()
            s *= self.y
        return np.asarray(s)

    def combine(self, weights: Floats) -> Floats:
        """``Z'weights`` in doubles, in the scaled coordinates."""
        t = self.table
        pulls = weights * self.y
        inner = np.asarray(t.approx.T @ pulls)
        return np.append(inner, np.sum(pulls * t.pad_column())) if t.padded else inner

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

    def block(self, rows: Indices) -> Any:
        """Some rows in doubles, as a new dense array or CSR matrix."""
        return scale_rows(self.table.block(rows), self.y[rows])

    def integers(self, rows: Indices, columns: Indices | None = None) -> list[list[int]]:
        """Some rows exactly, each times a positive integer."""
        return [
            row if sign > 0 else [-x for x in row]
            for row, sign in zip(self.table.integers(rows, columns), self.y[rows], strict=True)
        ]

    def exact_weights(self, v: Floats) -> list[int]:
        """Scaled weights as exact ones, up to a positive factor."""
        exponents = [*self.table.column_exponent.tolist(), 0][: self.width]
        parts = [float(x).as_integer_ratio() for x in v]
        shifts = [1 - q.bit_length() - e for (_, q), e in zip(parts, exponents, strict=True)]
        lowest = min((s for (p, _), s in zip(parts, shifts, strict=True) if p), default=0)
        return primitive(
            [p << (s - lowest) if p else 0 for (p, _), s in zip(parts, shifts, strict=True)]
        )

    def scaled_weights(self, exact: Sequence[int]) -> Floats:
        """Exact weights as scaled ones, times a power of two, each to the nearest double."""
        exponents = [*self.table.column_exponent.tolist(), 0][: self.width]
        top = max(x.bit_length() + e for x, e in zip(exact, exponents, strict=True) if x)
        return np.array(
            [scaled_double(Fraction(x), top - e) for x, e in zip(exact, exponents, strict=True)]
        )

    def exact_signs(self, exact: Sequence[int]) -> Signs:
        """The sign of ``z_i·v`` for every row, exactly, for exact weights.

        Doubles decide where the score exceeds its error bound; integers decide the rest.
        """
        if not any(exact):
            return np.zeros(self.n, dtype=np.int8)
        v = self.scaled_weights(exact)
        if self.doubles_are_exact(exact):
            v = np.array([float(x) for x in exact])
            return np.sign(self.scores(v)).astype(np.int8)
        s, slack = self.scores(v), self.slack(v)
        signs = np.zeros(self.n, dtype=np.int8)
        signs[s > slack] = 1
        signs[s < -slack] = -1
        close = np.flatnonzero(signs == 0)
        few = CHUNK if self.table.is_sparse else max(1, min(CHUNK, 4_000_000 // self.width))
        for start in range(0, len(close), few):
            signs[close[start : start + few]] = self.signs(exact, close[start : start + few])
        return signs

    def signs(self, exact: Sequence[int], rows: Indices) -> Signs:
        """The sign of ``z_i·v`` for some rows, exactly."""
        t = self.table
        if len(rows) >= _MANY and (t.values.dtype.kind == "f" or t.integral):
            columns = np.flatnonzero([x != 0 for x in exact[: t.d]])
            part = t.values[rows][:, columns].astype(np.float64, copy=False)
            offset = exact[t.d] if t.padded else 0
            found = limbs.signs(part, [exact[j] for j in columns.tolist()], offset)
            if found is not None:
                return (found * self.y[rows]).astype(np.int8)
        return np.array([(x > 0) - (x < 0) for x in self.exact_dots(exact, rows)], dtype=np.int8)

    def is_weak_separator(self, exact: Sequence[int]) -> bool:
        """Whether no row is on the wrong side, and some row is not on the hyperplane, exactly."""
        signs = self.exact_signs(exact)
        return bool((signs >= 0).all() and (signs > 0).any())

    def exact_dots(self, exact: Sequence[int], rows: Indices) -> list[int]:
        """``z_i·v`` for some rows in integers, each up to a positive factor."""
        if self.table.is_sparse:
            return self._sparse_dots(exact, rows)
        columns = np.array([j for j, x in enumerate(exact) if x], dtype=np.intp)
        weights = [exact[j] for j in columns]
        return [sum(map(mul, row, weights)) for row in self.integers(rows, columns)]

    def exact_products(self, exact: Sequence[int]) -> tuple[list[int], int]:
        """``(x_i, 1)·v`` for every row: integers, and the exponent of their common power of two.

        Not for tables of fractions.
        """
        columns = np.array([j for j, x in enumerate(exact[: self.table.d]) if x], dtype=np.intp)
        weights = [exact[j] for j in columns]
        offset = exact[self.table.d] if self.table.padded else 0
        found: list[tuple[list[int], int]] = []
        for start in range(0, self.n, CHUNK):
            numbers, exponent = self.table.whole_block(slice(start, start + CHUNK), columns)
            pad = offset << -exponent
            found.append(([sum(map(mul, row, weights)) + pad for row in numbers], exponent))
        lowest = min(exponent for _, exponent in found)
        return [x << (exponent - lowest) for part, exponent in found for x in part], lowest

    def _sparse_dots(self, exact: Sequence[int], rows: Indices) -> list[int]:
        used = np.array([x != 0 for x in exact[: self.table.d]])
        columns, numbers, pads, ends = self.table.integer_entries(rows, used)
        weights = [exact[j] for j in columns]
        products = list(map(mul, numbers, weights))
        offset = exact[self.table.d] if self.table.padded else 0
        signs = self.y[rows].tolist()
        return [
            (sum(products[a:b]) + pad * offset) * int(sign)
            for a, b, pad, sign in zip(ends, ends[1:], pads, signs, strict=False)
        ]

    def exact_combination(self, rows: Indices, coefficients: list[int]) -> list[int]:
        """``Σ c_i z_i`` of the rows of `integers`: columns that are not zero, the pad last."""
        if not self.table.is_sparse:
            whole = flint.fmpz_mat([coefficients]) * flint.fmpz_mat(self.integers(rows))
            return [int(x) for x in whole.entries()]
        columns, numbers, pads, ends = self.table.integer_entries(rows, np.ones(self.table.d, bool))
        signed = [c * int(s) for c, s in zip(coefficients, self.y[rows].tolist(), strict=True)]
        sums: dict[int, int] = {}
        for factor, a, b in zip(signed, ends, ends[1:], strict=False):
            for j, x in zip(columns[a:b], numbers[a:b], strict=True):
                sums[j] = sums.get(j, 0) + factor * x
        padded = [sum(map(mul, signed, pads))] if self.table.padded else []
        return [*sums.values(), *padded]

    def doubles_are_exact(self, exact: Sequence[int]) -> bool:
        """Whether the signs of `scores` are exact."""
        t = self.table
        if t.row_exponent is not None:
            return False
        if t.integral and sum(map(abs, exact)) * float(self.norms.max()) < 2.0**53:
            return True
        # x·(±2^k) + θ has one rounding, which keeps the sign.
        terms = [x for x in exact[: t.d] if x]
        held = t.integral or t.values.dtype.kind == "f"
        one = len(terms) <= 1 and all(abs(x) & (abs(x) - 1) == 0 for x in terms)
        return held and one and all(abs(x) < 2**53 for x in exact)


def active_columns(problem: BinaryProblem, rows: Indices) -> Indices:
    """The columns that are not zero in all of these rows, of a sparse table; all of a dense one."""
    table = problem.table
    if not table.is_sparse:
        return np.arange(problem.width)
    part = table.values[rows]
    columns = np.unique(part.indices[part.data != 0]).astype(np.intp)
    return np.append(columns, table.d) if table.padded else columns


def primitive(numbers: Sequence[int]) -> list[int]:
    """Integers divided by their greatest common divisor.

    >>> primitive([6, -9, 0])
    [2, -3, 0]
    """
    common = gcd(*numbers)
    return [x // common for x in numbers] if common > 1 else list(numbers)
