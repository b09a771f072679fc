"""Hashed rows of a table with what a lift adds: piecewise linear knots, and pairs of columns.

A number x between two knots has two entries, the shares by which it is near each; so do the coarser
resolutions that take every 4th, 16th, ... knot. In pairs a number is in one of 2 and of 4
intervals, near two knots of 4, 8, ... intervals, and at the finest of these levels in one interval,
unless all its values are knots. A category is its hash at all levels, and so is a missing number,
which is near no knot. A pair has an entry for each two parts that a row is near, the product of
their shares; a triple has such entries for intervals, of 2 and of 4. The value that most rows
have in a column is in no pair: what it would add the other column has by itself.

Two columns' parts a and b are hashed to the lowest bits of ``mix(a·K + b)``, K as for n-grams.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rosenblatt.kernels.jit import inlined, kernel
from rosenblatt.kernels.text import GRAM, mixed

KNOT = 64  # added to resolutions, to tell them from levels
TRIPLE_LEVELS = 2  # of intervals at which three columns are crossed
STRIDE_BITS = 2  # a coarser resolution takes every 4th knot of the next finer one


class Plan(NamedTuple):
    """What the kernel needs of a lift; columns are numbered as the cells of a row.

    `source` is the row of the numbers of a column, or -1 - j for a category in the straight entry
    j; the knots of number i are ``knots[knot_ends[i]:knot_ends[i + 1]]``.
    """

    seeds: np.ndarray  # uint64, of each column
    source: np.ndarray  # int64
    absent: np.ndarray  # uint32, the hashed column of a missing value
    usual: np.ndarray  # float64, the number or hashed column that most rows have, or NaN
    levels: np.ndarray  # int64, of each column in pairs: 1 for categories
    is_binned: np.ndarray  # bool, of each column: whether its finest level has no shares
    knots: np.ndarray
    knot_ends: np.ndarray  # int64
    resolutions: np.ndarray  # int64, of the curve of each column: 0 without one
    curves: np.ndarray  # as the knots: those of curves
    curve_ends: np.ndarray  # int64
    pairs: np.ndarray  # int64 (pairs, 2)
    triples: np.ndarray  # int64 (triples, 3)


@inlined
def hashed_part(seed, kind, number):
    """The hash of a part of a column: of a knot of a resolution, or of a level."""
    return mixed(seed * GRAM + (np.uint64(kind) << np.uint64(32)) + np.uint64(number))


@inlined
def hashed_pair(a, b):
    """The hash of a pair of parts."""
    return mixed(a * GRAM + b)


@inlined
def place_and_share(x, knots, first, last, stride):
    """The interval of x among every ``stride``-th of the knots, and the share of its upper end."""
    low, high = first + 1, last
    while low < high:
        middle = (low + high) >> 1
        if knots[middle] <= x:
            low = middle + 1
        else:
            high = middle
    place = (low - first - 1) // stride
    a = knots[first + place * stride]
    b = knots[min(first + (place + 1) * stride, last)]
    return place, min(max((x - a) / (b - a), 0.0), 1.0)


@inlined
def stride_of(intervals, level):
    """Every which knot is one of a level: of 2, 4, and again 4, 8, ... intervals."""
    return max(1, -(-intervals // (1 << (level + 1 if level < 2 else level))))


@inlined
def is_in_bins(level, levels, is_binned):
    """Whether a number is in one interval at a level, instead of near two knots."""
    return is_binned if level + 1 == levels else level < 2


@kernel
def lift_rows(
    plan, straight, values, numbers, mask, units, parts, shares, indptr, columns, out, owners
):
    """Write rows: their straight entries times ``units[0]``, then knots, then pairs.

    `parts` and `shares` are scratch (columns, levels, 2). `owners`, unless empty, gets the number
    of the straight entry, column, pair or triple of each entry, which are numbered in that order.
    """
    seeds, source, absent, usual, levels, is_binned, knots, knot_ends = plan[:8]
    resolutions, curves, curve_ends, pairs, triples = plan[8:]
    n, m, d = straight.shape[0], straight.shape[1], seeds.size
    end = 0
    for row in range(n):
        start = end
        for j in range(m):
            columns[end], out[end] = straight[row, j], values[row, j] * units[0]
            end += 1
        if owners.size > 0:
            for j in range(m):
                owners[start + j] = j
        for c in range(d):
            i, start = source[c], end
            shares[c, :, 0], shares[c, :, 1] = 1.0, 0.0
            if i < 0 or np.isnan(numbers[i, row]):
                code = straight[row, -1 - i] if i < 0 else absent[c]
                parts[c, :, 0] = hashed_part(seeds[c], 0, code)
                if i < 0 and code == usual[c]:
                    shares[c, :, 0] = 0.0
                continue
            x = numbers[i, row]
            first, last = knot_ends[i], knot_ends[i + 1] - 1
            intervals = last - first
            for level in range(levels[c]):
                stride = stride_of(intervals, level)
                place, share = place_and_share(x, knots, first, last, stride)
                if is_in_bins(level, levels[c], is_binned[c]):
                    share = 0.0
                for side in range(2):
                    parts[c, level, side] = hashed_part(seeds[c], level + 1, place + side)
                shares[c, level, 0], shares[c, level, 1] = 1.0 - share, share
                if x == usual[c]:
                    shares[c, level, :] = 0.0
            first, last = curve_ends[i], curve_ends[i + 1] - 1
            for resolution in range(resolutions[c]):
                stride = 1 << (STRIDE_BITS * resolution)
                place, share = place_and_share(x, curves, first, last, stride)
                for side in range(2):
                    part = share if side == 1 else 1.0 - share
                    if part > 0.0:
                        hashed = hashed_part(seeds[c], KNOT + resolution, place + side)
                        columns[end], out[end] = hashed & mask, part * units[1]
                        end += 1
            if owners.size > 0:
                owners[start:end] = m + c
        for p in range(pairs.shape[0]):
            a, b = pairs[p, 0], pairs[p, 1]
            start = end
            for level in range(max(levels[a], levels[b])):
                one, other = min(level, levels[a] - 1), min(level, levels[b] - 1)
                for side in range(4):
                    left, right = side >> 1, side & 1
                    share = shares[a, one, left] * shares[b, other, right]
                    if share > 0.0:
                        hashed = hashed_pair(parts[a, one, left], parts[b, other, right])
                        columns[end], out[end] = hashed & mask, share * units[2]
                        end += 1
            if owners.size > 0:
                owners[start:end] = m + d + p
        for t in range(triples.shape[0]):
            a, b, c = triples[t, 0], triples[t, 1], triples[t, 2]
            start = end
            for level in range(min(TRIPLE_LEVELS, max(levels[a], levels[b], levels[c]))):
                one, two = min(level, levels[a] - 1), min(level, levels[b] - 1)
                three = min(level, levels[c] - 1)
                for side in range(8):
                    i, j, k = side >> 2, (side >> 1) & 1, side & 1
                    share = shares[a, one, i] * shares[b, two, j] * shares[c, three, k]
                    if share > 0.0:
                        pair = hashed_pair(parts[a, one, i], parts[b, two, j])
                        hashed = hashed_pair(pair, parts[c, three, k])
                        columns[end], out[end] = hashed & mask, share * units[2]
                        end += 1
            if owners.size > 0:
                owners[start:end] = m + d + pairs.shape[0] + t
        indptr[row + 1] = end
    return end
