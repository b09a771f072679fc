"""Margins and radii computed from witnesses in whole numbers, rounded outwards to doubles."""

from __future__ import annotations

from fractions import Fraction
from math import inf, isqrt, lcm, nextafter

import numpy as np

from rosenblatt.theory.problem import Problem
from rosenblatt.theory.table import Indices, fraction

_FEW = 64


def lower_end(problem: Problem, exact: list[int], size: int) -> float:
    """min z·v/√size, rounded down; the rows that may hold the minimum are looked at exactly."""
    v = problem.scaled_weights(exact)
    s, slack = problem.scores(v), problem.slack(v)
    if problem.table.row_exponent is not None:
        candidates = np.arange(problem.n)
    else:
        candidates = np.flatnonzero(s - slack <= (s + slack).min())
    dots = problem.exact_dots(exact, candidates)
    factors = _factors(problem, candidates, exact)
    least = min(Fraction(p) / f for p, f in zip(dots, factors, strict=True))
    end = root(least * least / size, up=least < 0)
    return -end if least < 0 else end


def _factors(problem: Problem, rows: Indices, exact: list[int]) -> list[Fraction]:
    """What `exact_dots` multiplies each of these rows by."""
    table = problem.table
    if table.values.dtype.kind in "iu":
        return [Fraction(1)] * len(rows)
    columns = np.array([j for j, x in enumerate(exact[: table.d]) if x], dtype=np.intp)
    part = table.values[rows][:, columns]
    part = part.toarray() if table.is_sparse else part
    return [Fraction(lcm(*(x.as_integer_ratio()[1] for x in row))) for row in part.tolist()]


def upper_end(problem: Problem, kind: str, rows: Indices, coefficients: list[int]) -> float:
    """The length of the exact combination of the rows, rounded up."""
    table, y = problem.table, problem.y
    sides = [sum(c for c, i in zip(coefficients, rows, strict=True) if y[i] == s) for s in (1, -1)]
    by_class = kind == "geometric"
    total: dict[int, Fraction] = {}
    for i, c in zip(rows.tolist(), coefficients, strict=True):
        sign = 1 if y[i] > 0 else -1
        weight = Fraction(c * sign, sides[0 if sign > 0 else 1] if by_class else sum(sides))
        row = table.values[[i]]
        if table.is_sparse:
            entries = zip(row.indices.tolist(), row.data.tolist(), strict=True)
        else:
            entries = zip(range(table.d), row[0].tolist(), strict=True)
        for j, x in entries:
            if x:
                total[j] = total.get(j, Fraction(0)) + weight * fraction(x)
        if table.padded and not by_class:
            total[table.d] = total.get(table.d, Fraction(0)) + weight
    square = sum((x * x for x in total.values()), Fraction(0))
    return root(square / 4 if by_class else square, up=True)


def root(square: Fraction, up: bool) -> float:
    """The square root as a double, rounded to the asked side; OverflowError if there is none."""
    if square == 0:
        return 0.0
    shift = max(0, 140 - square.numerator.bit_length() + square.denominator.bit_length())
    shift += shift & 1
    estimate = Fraction(isqrt((square.numerator << shift) // square.denominator), 1 << (shift // 2))
    near = float(estimate)
    if up:
        return near if Fraction(near) ** 2 >= square else nextafter(near, inf)
    return near if Fraction(near) ** 2 <= square else nextafter(near, 0.0)


def radius_end(problem: Problem) -> float:
    """The length of the longest row with its pad, at most a few roundings too large."""
    rows = np.arange(problem.n)
    if problem.table.row_exponent is None:
        slack = 1.0 + (problem.width + 8) * 2.0**-52
        rows = np.flatnonzero(problem.norms * slack >= problem.norms.max())
        if len(rows) > _FEW:
            return float(problem.norms.max()) * slack
    return root(max(_square(problem, i) for i in rows.tolist()), up=True)


def _square(problem: Problem, i: int) -> Fraction:
    row = problem.table.values[[i]]
    entries = row.data.tolist() if problem.table.is_sparse else row[0].tolist()
    total = sum((fraction(x) ** 2 for x in entries), Fraction(0))
    return total + 1 if problem.table.padded else total
