"""Margins and radii computed exactly from witnesses, then rounded outwards to doubles."""

from __future__ import annotations

from fractions import Fraction
from math import inf, isqrt, lcm, nextafter

import numpy as np

from rosenblatt.theory.search.matrices import Indices
from rosenblatt.theory.search.problem import BinaryProblem

_FEW = 64


def lower_end(problem: BinaryProblem, exact: list[int], size: int) -> float:
    """min z·v/√size, rounded down; rows that may attain the minimum are computed exactly."""
    v = problem.scaled_weights(exact)
    s, slack = problem.scores(v), problem.slack(v)
    if problem.row_exponent is not None:
        candidates = np.arange(problem.n)
    else:
        candidates = np.flatnonzero(s - slack <= (s + slack).min())
    least = min(map(Fraction, *problem.exact_dots(exact, candidates)))
    end = root(least * least / size, up=least < 0)
    return -end if least < 0 else end


def upper_end(problem: BinaryProblem, kind: str, rows: Indices, coefficients: list[int]) -> float:
    """The length of the exact combination of the rows, rounded up."""
    by_class = kind == "geometric"
    signs = problem.y[rows].tolist()
    halves = {s: sum(c for c, t in zip(coefficients, signs, strict=True) if t == s) for s in signs}
    both = sum(halves.values())
    # For the geometric margin the coefficients of each class sum to 1/2, and there is no pad.
    shares = [
        Fraction(c, 2 * halves[s] if by_class else both)
        for c, s in zip(coefficients, signs, strict=True)
    ]
    total, common = problem.exact_combination(rows, shares)
    if by_class and problem.padded:
        total.pop()
    return root(Fraction(sum(x * x for x in total), common**2), up=True)


def root(square: Fraction, up: bool) -> float:
    """The square root as a double, rounded up or down; OverflowError beyond their range."""
    if square == 0:
        return 0.0
    shift = max(0, 140 - square.numerator.bit_length() + square.denominator.bit_length())
    shift += shift & 1
    estimate = Fraction(isqrt((square.numerator << shift) // square.denominator), 1 << (shift // 2))
    near = float(estimate)
    if up:
        end = near if Fraction(near) ** 2 >= square else nextafter(near, inf)
        if end == inf:
            raise OverflowError("the square root is beyond the range of doubles")
        return end
    return near if Fraction(near) ** 2 <= square else nextafter(near, 0.0)


def radius_end(problem: BinaryProblem) -> float:
    """The length of the longest row with its pad, too large by a few roundings at most."""
    rows = np.arange(problem.n)
    if problem.row_exponent is None:
        slack = 1.0 + (problem.width + 8) * 2.0**-52
        rows = np.flatnonzero(problem.norms * slack >= problem.norms.max())
        if len(rows) > _FEW:
            return float(problem.norms.max()) * slack
    return root(max(_square(problem, i) for i in rows.tolist()), up=True)


def _square(problem: BinaryProblem, i: int) -> Fraction:
    values = problem.values
    if problem.is_sparse:
        entries = values.data[values.indptr[i] : values.indptr[i + 1]].tolist()
    else:
        entries = values[i].tolist()
    parts = [x.as_integer_ratio() for x in entries]
    common = lcm(*(q for _, q in parts))
    total = Fraction(sum((p * (common // q)) ** 2 for p, q in parts), common**2)
    return total + 1 if problem.padded else total
