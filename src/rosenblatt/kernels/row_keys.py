"""Checks and keys of rows, one pass each at memory speed."""

from __future__ import annotations

import numpy as np

from rosenblatt.kernels.jit import by_layout, kernel


@kernel
def folded(words, j):
    """The bits of a number, the high half mixed into the low; zero for both signs of zero."""
    word, half = words[j], words.dtype.type(4 * words.itemsize)
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
def csr_survey(rows, first, last, multipliers, keys):
    """Look once at rows `first` to `last`: whether they are finite, and their keys, if wanted."""
    words, columns, pointers = rows
    infinite = infinity_of(words)
    for row in range(first, last):
        top, h = words.dtype.type(0), words.dtype.type(0)
        for j in range(pointers[row], pointers[row + 1]):
            top = max(top, without_sign(words, j))
            if multipliers.size > 0:
                h += folded(words, j) * multipliers[columns[j]]
        if top >= infinite:
            return False
        if multipliers.size > 0:
            keys[row] = h
    return True


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
