"""Checks and keys of rows, one pass each at memory speed."""

from __future__ import annotations

import numpy as np

from rosenblatt.kernels.jit import by_layout, kernel


@kernel
def folded(words, j):
    """The bits of a number, the high half mixed into the low; zero for both signs of zero."""
    word, half, one = words[j], words.dtype.type(4 * words.itemsize), words.dtype.type(1)
    doubled = words.dtype.type(word << one)  # loses the sign bit
    return word ^ (word >> half) if doubled != 0 else words.dtype.type(0)


@kernel
def dense_keys(rows, chosen, multipliers, out):
    """A number for each chosen row that tells rows apart: its bits times random odd numbers.

    The bits are folded first, as products only carry upwards. Zeros add nothing, so that a sparse
    copy of the rows gets the same numbers, whatever the order of its entries.
    """
    words = rows.X
    for i in range(chosen.size):
        h = multipliers.dtype.type(0)
        # Unsigned: an index that may be negative is checked, which is four times slower.
        start = chosen[i] * np.uint64(multipliers.size)
        for j in range(multipliers.size):
            h += folded(words, start + np.uint64(j)) * multipliers[j]
        out[i] = h


@kernel
def csr_keys(rows, chosen, multipliers, out):
    """A number for each chosen sparse row that tells rows apart, as for dense rows."""
    words, columns, pointers = rows
    for i in range(chosen.size):
        h = multipliers.dtype.type(0)
        for j in range(pointers[chosen[i]], pointers[chosen[i] + np.uint64(1)]):
            h += folded(words, j) * multipliers[columns[j]]
        out[i] = h


keys = by_layout("keys", Dense=dense_keys, Csr=csr_keys)
"""Keys of rows whose numbers are given as unsigned words; dense ones as one flat array."""


@kernel
def bad_pointer(pointers, entries):
    """The first row whose pointers do not rise or leave the entries; the number of rows if none."""
    n = pointers.size - 1
    if pointers[0] != 0:
        return 0
    for row in range(n):
        if pointers[row + 1] < pointers[row] or pointers[row + 1] > entries:
            return row
    return n


@kernel
def largest(columns):
    """The largest of some columns, as an unsigned number; 0 of none."""
    top = np.uint32(0)
    for j in range(columns.size):
        top = max(top, columns[j])
    return top


@kernel
def repeats(pointers, columns, last):
    """Whether a row has a column twice; `last` (columns,) of zeros is scratch."""
    for row in range(pointers.size - 1):
        for j in range(pointers[row], pointers[row + 1]):
            if last[columns[j]] == row + 1:
                return True
            last[columns[j]] = row + 1
    return False
