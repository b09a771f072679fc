"""Hash keys of rows, and duplicate columns, in one pass each.

A key is computed from the bits of a row after scaling by the power of two that brings its largest
number between 1 and 2. So keys, and with them the order in which training visits the rows, do not
change when all rows are multiplied by a power of two.
"""

from __future__ import annotations

import numpy as np

from rosenblatt.kernels.jit import by_layout, kernel


@kernel
def folded(words, j, exponent):
    """The bits of a number scaled by an exponent, the high half mixed into the low; 0 for ±0."""
    one, half = words.dtype.type(1), words.dtype.type(4 * words.itemsize)
    if words.dtype.type(words[j] << one) == 0:
        return words.dtype.type(0)
    # One more: the bits of 1.0 end in zeros, which no odd multiplier moves.
    word = words.dtype.type(words[j] - exponent + one)
    return word ^ (word >> half)


@kernel
def exponent_of(words, top):
    """The exponent bits of a number that is given without its sign."""
    mask = words.dtype.type(0xFF000000 if words.itemsize == 4 else 0xFFE0000000000000)
    return words.dtype.type((top & mask) >> words.dtype.type(1))


@kernel
def dense_keys(rows, chosen, multipliers, out, tops):
    """A hash key for each chosen row: its bits times random odd numbers, summed.

    The bits are folded first, as products only carry upwards. Zeros add nothing, so that a sparse
    copy of the rows has the same keys, whatever the order of its entries. ``tops`` gets the bits of
    the largest magnitude of each row, shifted left by one: they distinguish rows that differ by a
    power of two, and NaN and infinity are the largest.
    """
    words, one = rows.X, rows.X.dtype.type(1)
    for i in range(chosen.size):
        top, h = words.dtype.type(0), multipliers.dtype.type(0)
        # Unsigned: an index that may be negative is checked, which is four times slower.
        start = chosen[i] * np.uint64(multipliers.size)
        for j in range(multipliers.size):
            bits = words.dtype.type(words[start + np.uint64(j)] << one)
            top = bits if bits > top else top
        exponent = exponent_of(words, top)
        for j in range(multipliers.size):
            h += folded(words, start + np.uint64(j), exponent) * multipliers[j]
        out[i], tops[i] = h, top


@kernel
def csr_keys(rows, chosen, multipliers, out, tops):
    """The same for sparse rows."""
    words, columns, pointers = rows
    one = words.dtype.type(1)
    for i in range(chosen.size):
        top, h = words.dtype.type(0), multipliers.dtype.type(0)
        start, end = pointers[chosen[i]], pointers[chosen[i] + np.uint64(1)]
        for j in range(start, end):
            bits = words.dtype.type(words[j] << one)
            top = bits if bits > top else top
        exponent = exponent_of(words, top)
        for j in range(start, end):
            h += folded(words, j, exponent) * multipliers[columns[j]]
        out[i], tops[i] = h, top


# The numbers of the rows are given as unsigned words; those of dense rows as one flat array.
keys = by_layout("keys", Dense=dense_keys, Csr=csr_keys)


@kernel
def repeats(pointers, columns, last):
    """Whether a row has a column twice; `last` (columns,) of zeros is scratch."""
    for row in range(pointers.size - 1):
        for j in range(pointers[row], pointers[row + 1]):
            if last[columns[j]] == row + 1:
                return True
            last[columns[j]] = row + 1
    return False
