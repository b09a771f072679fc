"""Rows that nearly equal an earlier row, found by sketches of their columns.

The columns of a row are hashed into 16 bins, and its sketch has the least hash of each bin, in 16
bits: the share of bins where two sketches agree estimates the share of columns that the rows have
in common. (One permutation hashing: P. Li, A. Owen, C.-H. Zhang, 2012.) Rows are compared if four
neighbouring bins agree.
"""

from __future__ import annotations

import numpy as np

from rosenblatt.kernels.jit import kernel
from rosenblatt.kernels.text import mixed

BINS, BAND = 16, 4
ALIKE = 0.75  # of the bins in which any of two rows has a column
MOST_TOGETHER = 16  # rows: where all rows repeat a few, some copies of each must be learned from
_EMPTY = np.uint16(0xFFFF)


@kernel
def sketch(indptr, indices, sketches, least):
    """Write the sketch of each row to `sketches` (rows, 16); `least` (16,) is scratch."""
    for row in range(len(indptr) - 1):
        for b in range(BINS):
            least[b] = ~np.uint64(0)
        for j in range(indptr[row], indptr[row + 1]):
            h = mixed(np.uint64(indices[j]) + np.uint64(1))
            b = h & np.uint64(BINS - 1)
            least[b] = min(least[b], h)
        for b in range(BINS):
            # The low bits: the high ones are small in every least hash.
            bits = np.uint16((least[b] >> np.uint64(8)) & np.uint64(0x7FFF))
            sketches[row, b] = bits if least[b] != ~np.uint64(0) else _EMPTY


@kernel
def lead(sketches, first, end, table, leaders, places):
    """Write to `leaders` the first row that each row from `first` up to `end` nearly equals.

    A row that equals none leads itself, and so does a copy after 16 rows of one leader. `places`
    has the place of each row among those of its leader. `sketches`, `leaders` and `places` are
    rings of a power of two of rows; rows are compared with those of half a ring before them, so
    that the sketches of as many further rows may be there. `table` has the last row, plus one, for
    each hash of four bins.
    """
    ring, room = np.uint64(len(sketches) - 1), np.uint64(len(table) - 1)
    most = ring >> np.uint64(1)
    for row in range(first, end):
        sketch = sketches[row & ring]
        leader, place = row, np.uint8(0)
        for band in range(0, BINS, BAND):
            key, filled = np.uint64(band + 1), 0
            for b in range(band, band + BAND):
                key = mixed(key ^ np.uint64(sketch[b])) * np.uint64(0x9E3779B97F4A7C15)
                filled += sketch[b] != _EMPTY
            slot = mixed(key) & room
            other = table[slot]
            table[slot] = row + np.uint64(1)
            if filled > 0 and other > 0 and leader == row and row - other < most:
                theirs = sketches[(other - np.uint64(1)) & ring]
                same = many = 0
                for b in range(BINS):
                    any_column = sketch[b] != _EMPTY or theirs[b] != _EMPTY
                    many += any_column
                    same += any_column and sketch[b] == theirs[b]
                before = places[(other - np.uint64(1)) & ring]
                if same >= ALIKE * many and before + 1 < MOST_TOGETHER:
                    leader = leaders[(other - np.uint64(1)) & ring]
                    place = np.uint8(before + 1)
        leaders[row & ring] = leader
        places[row & ring] = place
