"""Checks and keys of rows, one pass each at memory speed.

A key is made of the bits of a row as if it were multiplied by the power of two that brings its
largest number between 1 and 2. So keys stay as they are when all rows are multiplied by a power of
two, and with them the order in which training visits the rows.
"""

from __future__ import annotations

import numpy as np

from rosenblatt.kernels.jit import by_layout, kernel


@kernel
def folded(words, j, exponent):
    """The bits of a number of a row with this exponent, the high half mixed into the low.

    Zero for both signs of zero.
    """
    half = words.dtype.type(4 * words.itemsize)
    # One more: the bits of 1.0 end in zeros, which no odd multiplier moves.
    word = words.dtype.type(words[j] - exponent + words.dtype.type(1))
    return word ^ (word >> half) if without_sign(words, j) != 0 else words.dtype.type(0)


@kernel
def without_sign(words, j):
    """The bits of a number but its sign, moved to the front: they grow with its size."""
    return words.dtype.type(words[j] << words.dtype.type(1))


@kernel
def infinity_of(words):
    """The bits of infinity without the sign."""
    return words.dtype.type(0xFF000000 if words.itemsize == 4 else 0xFFE0000000000000)


@kernel
def exponent_of(words, top):
    """The bits of the exponent of a number that is given without its sign."""
    return words.dtype.type((top & infinity_of(words)) >> words.dtype.type(1))


@kernel
def dense_keys(rows, chosen, multipliers, out, tops):
    """A number for each chosen row that tells rows apart: its bits times random odd numbers.

    The bits are folded first, as products only carry upwards. Zeros add nothing, so that a sparse
    copy of the rows gets the same numbers, whatever the order of its entries. ``tops`` gets the
    size of the largest number of each row, which tells multiples of a row by powers of two apart.
    """
    words = rows.X
    for i in range(chosen.size):
        top, h = words.dtype.type(0), multipliers.dtype.type(0)
        # Unsigned: an index that may be negative is checked, which is four times slower.
        start = chosen[i] * np.uint64(multipliers.size)
        for j in range(multipliers.size):
            top = max(top, without_sign(words, start + np.uint64(j)))
        exponent = exponent_of(words, top)
        for j in range(multipliers.size):
            h += folded(words, start + np.uint64(j), exponent) * multipliers[j]
        out[i], tops[i] = h, top


@kernel
def csr_keys(rows, chosen, multipliers, out, tops):
    """A number for each chosen sparse row that tells rows apart, as for dense rows."""
    words, columns, pointers = rows
    for i in range(chosen.size):
        top, h = words.dtype.type(0), multipliers.dtype.type(0)
        start, end = pointers[chosen[i]], pointers[chosen[i] + np.uint64(1)]
        for j in range(start, end):
            top = max(top, without_sign(words, j))
        exponent = exponent_of(words, top)
        for j in range(start, end):
            h += folded(words, j, exponent) * multipliers[columns[j]]
        out[i], tops[i] = h, top


keys = by_layout("keys", Dense=dense_keys, Csr=csr_keys)
"""Keys of rows whose numbers are given as unsigned words; dense ones as one flat array."""


@kernel
def repeats(pointers, columns, last):
    """Whether a row has a column twice; `last` (columns,) of zeros is scratch."""
    for row in range(pointers.size - 1):
        for j in range(pointers[row], pointers[row + 1]):
            if last[columns[j]] == row + 1:
                return True
            last[columns[j]] = row + 1
    return False
