"""Doubles and fractions as integers times a common factor."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.theory.search.matrices import Floats


def integer_multiples(block: NDArray[Any]) -> tuple[list[list[int]], list[int]]:
    """Rows of any numeric type times the integers that make them integral, and these factors."""
    ones = [1] * len(block)
    if block.dtype == object:
        factors = [math.lcm(*(q.denominator for q in row)) for row in block]
        return [clear_denominators(row) for row in block], factors
    if block.dtype.kind in "iu" or block.size == 0:
        return block.tolist(), ones
    if float(np.abs(block).max()) < 2.0**53 and np.array_equal(block, np.rint(block)):
        return block.astype(np.int64).tolist(), ones
    mantissas, exponent = odd_mantissas(block)
    lowest = np.minimum(exponent.min(axis=1), 0)
    shift = np.where(mantissas != 0, exponent - lowest[:, None], 0)
    rows = [
        [m << s for m, s in zip(ms, ss, strict=True)]
        for ms, ss in zip(mantissas.tolist(), shift.tolist(), strict=True)
    ]
    return rows, [1 << -e for e in lowest.tolist()]


def odd_mantissas(values: Floats) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Doubles as odd integers times powers of two; zero has a very large exponent."""
    mantissa, exponent = np.frexp(values)
    mantissas = np.ldexp(mantissa, 53).astype(np.int64)
    # Move the trailing zeros of the 53 bits to the exponent.
    low = mantissas & -mantissas
    zeros = np.frexp(np.maximum(low, 1).astype(np.float64))[1].astype(np.int64) - 1
    mantissas >>= zeros
    return mantissas, np.where(mantissas != 0, exponent - 53 + zeros, np.iinfo(np.int32).max)


def clear_denominators(row: Sequence[Fraction]) -> list[int]:
    """Fractions times the least common multiple of their denominators, as integers."""
    common = math.lcm(*(q.denominator for q in row))
    return [q.numerator * (common // q.denominator) for q in row]


def primitive(numbers: Sequence[int]) -> list[int]:
    """Integers divided by their greatest common divisor.

    >>> primitive([6, -9, 0])
    [2, -3, 0]
    """
    common = math.gcd(*numbers)
    return [x // common for x in numbers] if common > 1 else list(numbers)


def scaled_double(q: Fraction | int, exponent: int) -> float:
    """The double nearest to ``q * 2**-exponent``: integer division rounds once."""
    if exponent >= 0:
        return q.numerator / (q.denominator << exponent)
    return (q.numerator << -exponent) / q.denominator


def proportional_integers(doubles: Floats, exponents: Sequence[int]) -> list[int]:
    """Integers proportional to ``x * 2**-exponent`` of each double x, exactly.

    >>> proportional_integers(np.array([0.75, -3.0]), [0, 1])
    [1, -2]
    """
    parts = [x.as_integer_ratio() for x in doubles.tolist()]
    shifts = [1 - q.bit_length() - e for (_, q), e in zip(parts, exponents, strict=True)]
    lowest = min((s for (p, _), s in zip(parts, shifts, strict=True) if p), default=0)
    return primitive(
        [p << (s - lowest) if p else 0 for (p, _), s in zip(parts, shifts, strict=True)]
    )
