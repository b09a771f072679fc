"""The signs of many exact sums of products at the speed of doubles.

Doubles and long integers are split into limbs of few bits. Sums of products of limbs stay below
2^53, so that a matrix product in doubles is exact; carrying from the lowest limb to the highest
then gives the sign of the sum.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rosenblatt.theory.search.matrices import Floats

# Numbers that span more bits than this are left to Python's integers.
_REACH = 400


def signs(values: Any, weights: Sequence[int], offset: int = 0) -> NDArray[np.int8] | None:
    """The sign of ``values @ weights + offset``, row by row and exactly.

    None if the values, doubles in a dense array or a CSR matrix, differ too much in size.

    Examples
    --------
    >>> signs(np.array([[0.1, -0.3], [0.5, 0.25]]), [3, 1])
    array([1, 1], dtype=int8)
    >>> signs(np.array([[0.1, -0.3], [0.5, 0.25]]), [3 * 10**40, 10**40], -(2 * 10**40))
    array([-1, -1], dtype=int8)
    """
    numbers = values.data if sparse.issparse(values) else values
    nonzero = numbers[numbers != 0]
    exponents = np.frexp(nonzero)[1]
    lowest = min(0, int(exponents.min(initial=0)) - 53)
    reach = max(1, int(exponents.max(initial=0))) - lowest
    if reach > _REACH:
        return None
    longest = max(x.bit_length() for x in (*weights, offset))
    # Each limb of a sum adds up that many products.
    terms = (len(weights) + 1) * (1 + min(reach, longest) // 8)
    bits = (53 - terms.bit_length()) // 2
    if bits < 8:
        return None
    count = -(-longest // bits) or 1
    inner = np.array([_limbs(x, bits, count) for x in weights])
    pad = _limbs(offset << -lowest, bits, -(-(longest - lowest) // bits))
    highest = -(-reach // bits)
    sums = np.zeros((values.shape[0], max(highest + count, len(pad))))
    sums[:, : len(pad)] += pad
    for place, limb in _cut(values, lowest, bits, highest):
        sums[:, place : place + count] += limb @ inner
    return _carried(sums.astype(np.int64), bits)


def _limbs(number: int, bits: int, count: int) -> list[float]:
    """A whole number as limbs with its sign, the lowest first."""
    size, mask = abs(number), (1 << bits) - 1
    sign = -1.0 if number < 0 else 1.0
    return [sign * ((size >> (bits * k)) & mask) for k in range(count)]


def _cut(values: Any, lowest: int, bits: int, count: int) -> Iterator[tuple[int, Any]]:
    """The limbs of ``values * 2**-lowest``, the highest first: each with its place."""
    rest = values.copy()
    inner: Floats = rest.data if sparse.issparse(rest) else rest
    for place in reversed(range(count)):
        unit = lowest + bits * place
        top = np.trunc(np.ldexp(inner, -unit))
        if not top.any():
            continue
        inner -= np.ldexp(top, unit)
        if sparse.issparse(rest):
            yield place, sparse.csr_array((top, rest.indices, rest.indptr), shape=rest.shape)
        else:
            yield place, top


def _carried(sums: NDArray[np.int64], bits: int) -> NDArray[np.int8]:
    carry = np.zeros(len(sums), dtype=np.int64)
    seen = np.zeros(len(sums), dtype=bool)
    for place in range(sums.shape[1]):
        carry = carry + sums[:, place]
        seen |= (carry & ((1 << bits) - 1)) != 0
        carry >>= bits
    return np.where(carry < 0, -1, (carry > 0) | seen).astype(np.int8)
