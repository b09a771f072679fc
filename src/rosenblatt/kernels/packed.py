"""Sparse rows packed for learning: columns by their places, and one value for most of a row.

Most words of a text stand in it once, so that most entries of its row share a value, the row's
*base*; and most of them are of the features met first, which are the frequent ones. So a row comes
in three parts: *near*, the places below 65,536 of entries that have the base as their value, two
bytes each; *far*, the other places with that value, four bytes; and all other entries as columns
and values. A text takes less than half the bytes of plain rows, and its score one product for all
that shares a value: ``base · (sum of weights) + values · weights``.

Rows without a value in common, as those of numbers, have all but one entry in the last part.

Each feature has a learning rate of its own, `rates`, the last of which is that of all features
beyond (:class:`rosenblatt.kernels.compact.Rarity`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rosenblatt.compiled.jit import kernel, prefetch

NEAR = 1 << 16
AHEAD = 2  # rows between asking for a row's entries and reading them
FAR = 1 << 23  # bytes of weights beyond which they are asked for ahead of time, too
PLACES_AHEAD = 32  # entries between asking for the place of a column and reading it


class Packed(NamedTuple):
    """Packed rows: part k of row i begins at ``pointers[i, k]`` and ends at ``pointers[i+1, k]``.

    Attributes
    ----------
    near : uint16 array
        Places below 65,536 whose value is the base of their row.
    far : uint32 array
        Other places whose value is the base of their row.
    columns, values : uint32 and float32 arrays
        All other entries.
    bases : float32 array (rows,)
        The base of each row.
    pointers : uint64 array (rows + 1, 3)
        Where the three parts of each row begin.
    """

    near: np.ndarray
    far: np.ndarray
    columns: np.ndarray
    values: np.ndarray
    bases: np.ndarray
    pointers: np.ndarray

    @classmethod
    def room(cls, rows: int, entries: int) -> Packed:
        """Room for so many rows and entries, and one more, as packing writes before it decides."""
        return cls(
            np.empty(entries + 1, np.uint16),
            np.empty(entries + 1, np.uint32),
            np.empty(entries + 1, np.uint32),
            np.empty(entries + 1, np.float32),
            np.empty(rows, np.float32),
            np.zeros((rows + 1, 3), np.uint64),
        )

    def filled(self) -> Packed:
        """The part of a room that is in use."""
        near, far, rest = map(int, self.pointers[-1])
        return self._replace(
            near=self.near[:near],
            far=self.far[:far],
            columns=self.columns[:rest],
            values=self.values[:rest],
        )


@kernel
def dot(rows, row, w):
    """The score of a row with one weight vector.

    The sums go in turn into several, so that none has to wait for each of its additions; vector
    instructions that gather weights would be slower.
    """
    near, far, columns, values, bases, pointers = rows
    end = row + np.uint64(1)
    a = b = c = d = w.dtype.type(0)
    for j in range(pointers[row, 0], pointers[end, 0]):
        a, b, c, d = b, c, d, a + w[near[j]]
    for j in range(pointers[row, 1], pointers[end, 1]):
        a, b, c, d = b, c, d, a + w[far[j]]
    ones = (a + b) + (c + d)
    a = b = c = d = w.dtype.type(0)
    for j in range(pointers[row, 2], pointers[end, 2]):
        a, b, c, d = b, c, d, a + values[j] * w[columns[j]]
    return bases[row] * ones + ((a + b) + (c + d))


@kernel
def dots(rows, row, W, s):
    """The inner products of a row with all problems, into s."""
    near, far, columns, values, bases, pointers = rows
    end = row + np.uint64(1)
    for c in range(s.size):
        s[c] = 0
    for j in range(pointers[row, 0], pointers[end, 0]):
        w = W[near[j]]
        for c in range(s.size):
            s[c] += w[c]
    for j in range(pointers[row, 1], pointers[end, 1]):
        w = W[far[j]]
        for c in range(s.size):
            s[c] += w[c]
    for c in range(s.size):
        s[c] *= bases[row]
    for j in range(pointers[row, 2], pointers[end, 2]):
        x, w = values[j], W[columns[j]]
        for c in range(s.size):
            s[c] += x * w[c]


@kernel
def add(w, tau, rows, row, rates):
    """``w += tau·rates·x``, in the precision of w."""
    near, far, columns, values, bases, pointers = rows
    end, last = row + np.uint64(1), np.uint32(rates.size - 1)
    t, base = w.dtype.type(tau), bases[row]
    for j in range(pointers[row, 0], pointers[end, 0]):
        at = np.uint32(near[j])
        w[at] += t * (base * rates[min(at, last)])
    for j in range(pointers[row, 1], pointers[end, 1]):
        w[far[j]] += t * (base * rates[min(far[j], last)])
    for j in range(pointers[row, 2], pointers[end, 2]):
        w[columns[j]] += t * (values[j] * rates[min(columns[j], last)])


@kernel
def add_to_all(W, taus, rows, row, rates, wrong):
    """``W[:, c] += taus[c]·rates·x`` for all problems c, of which `wrong` many have a tau."""
    if 4 * wrong <= taus.size:
        for c in range(taus.size):
            if taus[c] != 0.0:
                add(W[:, c], taus[c], rows, row, rates)
        return
    near, far, columns, values, bases, pointers = rows
    end, last = row + np.uint64(1), np.uint32(rates.size - 1)
    for j in range(pointers[row, 0], pointers[end, 0]):
        at = np.uint32(near[j])
        _add_entry(W[at], taus, bases[row] * rates[min(at, last)])
    for j in range(pointers[row, 1], pointers[end, 1]):
        _add_entry(W[far[j]], taus, bases[row] * rates[min(far[j], last)])
    for j in range(pointers[row, 2], pointers[end, 2]):
        _add_entry(W[columns[j]], taus, values[j] * rates[min(columns[j], last)])


@kernel
def _add_entry(w, taus, x):
    for c in range(taus.size):
        w[c] += taus[c] * x


@kernel
def square(rows, row, rates):
    """The squared length of a row, each feature by its rate: what a correction adds to a score."""
    near, far, columns, values, bases, pointers = rows
    end, last = row + np.uint64(1), np.uint32(rates.size - 1)
    ones = np.float32(0)
    for j in range(pointers[row, 0], pointers[end, 0]):
        ones += rates[min(np.uint32(near[j]), last)]
    for j in range(pointers[row, 1], pointers[end, 1]):
        ones += rates[min(far[j], last)]
    s = bases[row] * bases[row] * ones
    for j in range(pointers[row, 2], pointers[end, 2]):
        s += values[j] * values[j] * rates[min(columns[j], last)]
    return s


@kernel
def fetch(rows, order, i):
    """Ask for the entries of the row `AHEAD` steps from now."""
    near, far, columns, values, _, pointers = rows
    if i + AHEAD < order.size:
        row = order[i + AHEAD]
        end = row + np.uint64(1)
        for j in range(pointers[row, 0], pointers[end, 0], 32):
            prefetch(near, j)
        for j in range(pointers[row, 1], pointers[end, 1], 16):
            prefetch(far, j)
        for j in range(pointers[row, 2], pointers[end, 2], 16):
            prefetch(columns, j)
            prefetch(values, j)


@kernel
def fetch_weights(rows, order, i, w):
    """Ask for the weights that the next row will meet; those of near places are near already."""
    _, far, columns, _, _, pointers = rows
    if i + 1 < order.size:
        row = order[i + 1]
        end = row + np.uint64(1)
        for j in range(pointers[row, 1], pointers[end, 1]):
            prefetch(w, far[j])
        for j in range(pointers[row, 2], pointers[end, 2]):
            prefetch(w, columns[j])


@kernel
def fetch_all_weights(rows, order, i, w, problems):
    """Ask for the weights of all problems that the next row will meet; w is W, laid flat."""
    near, far, columns, _, _, pointers = rows
    if i + 1 < order.size:
        row, width, line = order[i + 1], np.uint64(problems), np.uint64(64 // w.itemsize)
        end = row + np.uint64(1)
        for j in range(pointers[row, 0], pointers[end, 0]):
            at = np.uint64(near[j]) * width
            for k in range(at, at + width, line):
                prefetch(w, k)
        for j in range(pointers[row, 1], pointers[end, 1]):
            at = np.uint64(far[j]) * width
            for k in range(at, at + width, line):
                prefetch(w, k)
        for j in range(pointers[row, 2], pointers[end, 2]):
            at = np.uint64(columns[j]) * width
            for k in range(at, at + width, line):
                prefetch(w, k)


@kernel
def pack(indptr, columns, bits, places, met, count, rows):
    """Pack plain rows, giving new columns the next places; how many have places then.

    `bits` are the values as integers: the base is the least of a row, which of the positive values
    is the least one. A column without a place has 0 in `places`, any other one more than its place.
    Each entry is written to all three parts and kept in one of them, and each column to `met`, so
    that there is no branch that a processor could guess wrong.
    """
    near, far, numbered, values, bases, pointers = rows
    near_end = far_end = end = np.uint64(0)
    one, ahead = np.uint64(1), np.uint64(PLACES_AHEAD)
    for row in range(bases.size):
        base = bits[indptr[row]] if indptr[row] < indptr[row + 1] else np.uint32(0)
        for j in range(indptr[row], indptr[row + 1]):
            base = min(base, bits[j])
        bases[row] = base
        for j in range(indptr[row], indptr[row + 1]):
            if j + ahead < columns.size:
                prefetch(places, columns[j + ahead])
            column = columns[j]
            place = places[column]
            is_new = place == 0
            met[count] = column
            count += np.uint32(is_new)
            place = count if is_new else place
            places[column] = place
            place -= np.uint32(1)
            shared, is_near = np.uint64(bits[j] == base), np.uint64(place < np.uint32(NEAR))
            near[near_end] = np.uint16(place)
            far[far_end] = place
            numbered[end], values[end] = place, bits[j]
            near_end += shared & is_near
            far_end += shared & (one - is_near)
            end += one - shared
        pointers[row + 1, 0], pointers[row + 1, 1], pointers[row + 1, 2] = near_end, far_end, end
    return count
