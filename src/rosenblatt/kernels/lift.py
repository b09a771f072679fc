"""Hashed rows of a table with what a lift adds: piecewise linear knots, and pairs of columns.

A number x between two knots has two entries, the shares by which it is near each; so do the coarser
resolutions that take every 4th, 16th, ... knot. In pairs a number is the bin that it falls into, at
each depth of a binary tree; a category is its hash at every depth. A pair has an entry for each
depth, hashed from its two bins. A missing number is near no knot, and has a bin of its own.

Two columns' bins a and b are hashed to the lowest bits of ``mix(a·K + b)``, K as for n-grams.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rosenblatt.kernels.jit import inlined, kernel
from rosenblatt.kernels.text import GRAM, mixed

KNOT = 64  # added to resolutions, to tell them from depths
STRIDE_BITS = 2  # a coarser resolution takes every 4th knot of the next finer one


class Plan(NamedTuple):
    """What the kernel needs of a lift; columns are numbered as the cells of a row.

    `source` is the row of the numbers of a column, or -1 - j for a category in the straight entry
    j; knots and edges of number i are ``knots[knot_ends[i]:knot_ends[i + 1]]`` and likewise.
    """

    seeds: np.ndarray  # uint64, of each column
    source: np.ndarray  # int64
    absent: np.ndarray  # uint32, the hashed column of a missing value
    knots: np.ndarray
    knot_ends: np.ndarray  # int64
    edges: np.ndarray
    edge_ends: np.ndarray  # int64
    depths: np.ndarray  # int64, of each column: 1 for categories
    pairs: np.ndarray  # int64 (pairs, 2)


@inlined
def hashed_part(seed, kind, number):
    """The hash of a part of a column: of a knot of a resolution, or of a bin at a depth."""
    return mixed(seed * GRAM + (np.uint64(kind) << np.uint64(32)) + np.uint64(number))


@inlined
def hashed_pair(a, b):
    """The hash of a pair of bins."""
    return mixed(a * GRAM + b)


@inlined
def steps_below(x, steps, first, end):
    """How many of the increasing ``steps[first:end]`` are at most x."""
    low, high = first, end
    while low < high:
        middle = (low + high) >> 1
        if steps[middle] <= x:
            low = middle + 1
        else:
            high = middle
    return low - first


@kernel
def lift_rows(plan, straight, values, numbers, mask, units, scratch, indptr, columns, out, owners):
    """Write rows: their straight entries times ``units[0]``, then knots, then pairs.

    `owners`, unless empty, gets the number of the straight entry, column or pair of each entry:
    0, 1, ... for straight entries, then columns, then pairs.
    """
    seeds, source, absent, knots, knot_ends, edges, edge_ends, depths, pairs = plan
    n, m, d = straight.shape[0], straight.shape[1], seeds.size
    end = 0
    for row in range(n):
        for j in range(m):
            columns[end], out[end] = straight[row, j], values[row, j] * units[0]
            if owners.size > 0:
                owners[end] = j
            end += 1
        for c in range(d):
            if source[c] < 0:
                scratch[c, 0] = hashed_part(seeds[c], 0, straight[row, -1 - source[c]])
                continue
            i = source[c]
            x = numbers[i, row]
            if np.isnan(x):
                for level in range(depths[c]):
                    scratch[c, level] = hashed_part(seeds[c], 0, absent[c])
                continue
            code = steps_below(x, edges, edge_ends[i], edge_ends[i + 1])
            for level in range(depths[c]):
                scratch[c, level] = hashed_part(
                    seeds[c], level + 1, code >> (depths[c] - 1 - level)
                )
            first, last = knot_ends[i], knot_ends[i + 1] - 1
            if last - first < 2:
                continue
            at = steps_below(x, knots, first + 1, last)
            resolution, stride = 0, 1
            while resolution == 0 or (last - first) // stride > 2:
                low = at // stride
                a = knots[first + low * stride]
                b = knots[min(first + (low + 1) * stride, last)]
                share = (x - a) / (b - a)
                share = min(max(share, 0.0), 1.0)
                for side in range(2):
                    part = share if side == 1 else 1.0 - share
                    if part > 0.0:
                        columns[end] = hashed_part(seeds[c], KNOT + resolution, low + side) & mask
                        out[end] = part * units[1]
                        if owners.size > 0:
                            owners[end] = m + c
                        end += 1
                resolution, stride = resolution + 1, stride << STRIDE_BITS
        for p in range(pairs.shape[0]):
            a, b = pairs[p, 0], pairs[p, 1]
            for level in range(max(depths[a], depths[b])):
                one = scratch[a, min(level, depths[a] - 1)]
                other = scratch[b, min(level, depths[b] - 1)]
                columns[end] = hashed_pair(one, other) & mask
                out[end] = units[2]
                if owners.size > 0:
                    owners[end] = m + d + p
                end += 1
        indptr[row + 1] = end
    return end
