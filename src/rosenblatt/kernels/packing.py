"""Hashed columns numbered in the order in which they are first met, and rows packed by them.

Frequent features are met early, so that their weights are close together: of a table of 2²²
weights an epoch mostly touches a small part, and no model holds a weight that no row used. The
number of a column is its *place*.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rosenblatt.kernels._memory import zeros
from rosenblatt.kernels.jit import kernel, prefetch
from rosenblatt.kernels.pairs import score_pairs
from rosenblatt.kernels.rows import NEAR, Packed
from rosenblatt.kernels.text import Rows

PLACES_AHEAD = 32  # entries between the prefetch of a column's place and its use
MOST_BITS = 26  # a table of the places of 2^26 columns takes 256 MB


class Numbering:
    """The places of columns, assigned as columns are met.

    Parameters
    ----------
    n_columns : int
        The number of columns.
    columns : uint32 array, optional
        Columns that have places already: the i-th has place i.

    Examples
    --------
    >>> numbering = Numbering(1024)
    >>> rows = Rows(np.array([0, 3], np.uint64), np.array([700, 3, 9], "u4"), np.ones(3, "f4"))
    >>> numbering.pack(rows, Packed.room(1, 3)).near.tolist()
    [0, 1, 2]
    >>> len(numbering), numbering.columns.tolist()
    (3, [700, 3, 9])
    """

    def __init__(self, n_columns: int, columns: np.ndarray | None = None) -> None:
        self._places = zeros((n_columns,), np.uint32)
        self._columns = np.empty(0, dtype=np.uint32)
        self._count = 0
        if columns is not None:
            self._columns = np.array(columns, dtype=np.uint32)
            self._count = len(columns)
            self._places[self._columns] = np.arange(1, self._count + 1, dtype=np.uint32)

    def __len__(self) -> int:
        return self._count

    @property
    def columns(self) -> np.ndarray:
        """The columns that have places, by place."""
        return self._columns[: self._count]

    def places_of(self, columns: np.ndarray) -> np.ndarray:
        """The place of each column, -1 if it has none."""
        return self._places[columns].astype(np.int64) - 1

    def pack(self, rows: Rows, room: Packed, common: float = 0.0) -> Packed:
        """Pack rows into `room`, columns as their places; new columns get the next places.

        `common` is the value that most entries have, which is kept once per row; if it is not known
        (0), that is the least value of the row.
        """
        # One more than there can be, as packing writes a column before it knows whether it is new.
        most = min(self._count + len(rows.indices), len(self._places)) + 1
        if most > len(self._columns):
            grown = np.empty(min(2 * most, len(self._places) + 1), dtype=np.uint32)
            grown[: self._count] = self.columns
            self._columns = grown
        self._count = _pack(rows, room, self._places, self._columns, self._count, common)
        return room.filled()

    def score(self, rows: Rows, W: Any, bias: np.ndarray) -> np.ndarray:
        """Scores (rows, problems) by the weights ``W`` of places; other columns have weight 0.

        The weights are a matrix, or lists of pairs.
        """
        out = np.empty((len(rows.indptr) - 1, W.shape[1]), dtype=np.float32)
        if not isinstance(W, np.ndarray):
            score_pairs(*rows, self._places, *W.lists, bias, out)
            return out
        score(rows.indptr, rows.indices, rows.values, self._places, W, bias, out)
        return out


def _pack(
    rows: Rows, room: Packed, places: np.ndarray, met: np.ndarray, count: int, common: float
) -> int:
    indptr, columns, values = rows
    base = np.float32(common).view(np.uint32)
    bits = room._replace(values=room.values.view(np.uint32), bases=room.bases.view(np.uint32))
    return int(
        pack(indptr, columns, values.view(np.uint32), places, met, np.uint32(count), base, bits)
    )


def used_places(W: np.ndarray, U: np.ndarray) -> np.ndarray:
    """The places whose weights, or averaging sums, are not all zero.

    >>> used_places(np.array([[0.0], [2.0]]), np.zeros((2, 1))).tolist()
    [1]
    """
    used = np.array(W.any(axis=1))
    used[: len(U)] |= U.any(axis=1)
    return np.flatnonzero(used).astype(np.uint32)


@kernel
def pack(indptr, columns, bits, places, met, count, common, rows):
    """Pack CSR rows; returns the number of columns that have places then.

    `bits` are the values as integers: the base of a row is the least of them, which of positive
    values is the least value; or `common`, unless that is 0. ``places`` holds one more than the
    place of each column, 0 if it has none. Each entry is written to all three parts and kept in one
    of them, and each column to `met`, so that there is no branch to mispredict.
    """
    near, far, numbered, values, bases, pointers = rows
    near_end = far_end = end = np.uint64(0)
    one, ahead = np.uint64(1), np.uint64(PLACES_AHEAD)
    for row in range(bases.size):
        base = bits[indptr[row]] if indptr[row] < indptr[row + 1] else np.uint32(0)
        if common > 0:
            base = common
        else:
            for j in range(indptr[row], indptr[row + 1]):
                base = bits[j] if bits[j] < base else base
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


@kernel
def score(pointers, columns, values, places, W, bias, out):
    """The scores of CSR rows by the weights of places.

    Places are prefetched, and halfway to their use also their weights.
    """
    one, problems = np.uint32(1), np.uint64(out.shape[1])
    entries, ahead, half = columns.size, np.uint64(PLACES_AHEAD), np.uint64(PLACES_AHEAD // 2)
    for row in range(out.shape[0]):
        for c in range(problems):
            out[row, c] = bias[c]
        for j in range(pointers[row], pointers[row + 1]):
            if j + ahead < entries:
                prefetch(places, columns[j + ahead])
                soon = places[columns[j + half]]
                if soon > 0:
                    prefetch(W, np.uint64(soon - one) * problems)
            place = places[columns[j]]
            if place > 0:
                for c in range(problems):
                    out[row, c] += values[j] * W[place - one, c]
