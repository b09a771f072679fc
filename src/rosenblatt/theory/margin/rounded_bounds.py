"""Bounds of margins and radii, computed exactly and rounded outwards to doubles."""

from __future__ import annotations

from fractions import Fraction
from math import inf, isqrt, lcm, nextafter

import numpy as np

from rosenblatt.theory.search.matrices import Indices
from rosenblatt.theory.search.problem import BinaryProblem

_FEW = 64


def margin_lower_bound(problem: BinaryProblem, exact: list[int], size: int) -> float:
    """``min z_i·v/√size`` rounded down; rows that may attain the minimum are computed exactly."""
    v = problem.scaled_weights(exact)
    s, error = problem.scores(v), problem.score_error(v)
    if problem.row_exponent is not None:
        candidates = np.arange(problem.n)
    else:
        candidates = np.flatnonzero(s - error <= (s + error).min())
    least = min(map(Fraction, *problem.exact_dots(exact, candidates)))
    end = rounded_sqrt(least * least / size, up=least < 0)
    return -end if least < 0 else end


def margin_upper_bound(
    problem: BinaryProblem, kind: str, rows: Indices, coefficients: list[int]
) -> float:
    """The norm of the convex combination of the rows, rounded up."""
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
    return rounded_sqrt(Fraction(sum(x * x for x in total), common**2), up=True)


def rounded_sqrt(square: Fraction, up: bool) -> float:
    """The square root as a double, rounded up or down; raises OverflowError if it is too large."""
    if square == 0:
        return 0.0
    shift = max(0, 140 - square.numerator.bit_length() + square.denominator.bit_length())
    shift += shift & 1
    estimate = Fraction(isqrt((square.numerator << shift) // square.denominator), 1 << (shift // 2))
    near = float(estimate)
    if up:
        end = near if Fraction(near) ** 2 >= square else nextafter(near, inf)
        if end == inf:
            raise OverflowError("the square root exceeds the range of doubles")
        return end
    return near if Fraction(near) ** 2 <= square else nextafter(near, 0.0)


def radius_upper_bound(problem: BinaryProblem) -> float:
    """The largest norm of a row with its pad, rounded up by at most a few units of rounding."""
    rows = np.arange(problem.n)
    if problem.row_exponent is None:
        error = 1.0 + (problem.width + 8) * 2.0**-52
        rows = np.flatnonzero(problem.norms * error >= problem.norms.max())
        if len(rows) > _FEW:
            return float(problem.norms.max()) * error
    return rounded_sqrt(max(_squared_norm(problem, i) for i in rows.tolist()), up=True)


def _squared_norm(problem: BinaryProblem, i: int) -> Fraction:
    values = problem.values
    if problem.is_sparse:
        entries = values.data[values.indptr[i] : values.indptr[i + 1]].tolist()
    else:
        entries = values[i].tolist()
    parts = [x.as_integer_ratio() for x in entries]
    common = lcm(*(q for _, q in parts))
    total = Fraction(sum((p * (common // q)) ** 2 for p, q in parts), common**2)
    return total + 1 if problem.padded else total
