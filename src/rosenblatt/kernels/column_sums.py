"""Sums of the numbers of each column, and rows with their columns centred and scaled."""

from __future__ import annotations

import numpy as np

from rosenblatt.kernels.jit import by_layout, kernel

# Rows of the sums: how often a column is not zero; of its distances from its first number, and of
# their squares; of its squares.
FILLED, MOVED, MOVED_SQUARED, SQUARED = range(4)
SUMS = 4


@kernel
def dense_sums(rows, omega, first, sums):
    """Add all rows, times their weights, to the sums; ``first`` is one of the rows."""
    X, weighted = rows.X, np.int64(omega.size > 1)
    for i in range(X.shape[0]):
        weight = omega[i * weighted]
        if weight > 0.0:
            for j in range(X.shape[1]):
                x = np.float64(X[i, j])
                moved = x - first[j]
                sums[FILLED, j] += weight if x != 0.0 else 0.0
                sums[MOVED, j] += weight * moved
                sums[MOVED_SQUARED, j] += weight * (moved * moved)
                sums[SQUARED, j] += weight * (x * x)


@kernel
def csr_sums(rows, omega, first, sums):
    """The same for sparse rows; the distances are left out, as most of them are equal."""
    weighted = np.int64(omega.size > 1)
    for i in range(rows.pointers.size - 1):
        weight = omega[i * weighted]
        if weight > 0.0:
            for k in range(rows.pointers[i], rows.pointers[i + 1]):
                x, j = np.float64(rows.data[k]), rows.columns[k]
                sums[FILLED, j] += weight if x != 0.0 else 0.0
                sums[SQUARED, j] += weight * (x * x)


@kernel
def packed_sums(rows, n, first, counts, squares):
    """Add to `counts` in how many of n packed rows a column from `first` on is, and its squares."""
    near, far, columns, values, bases, pointers = rows
    for i in range(n):
        square = np.float64(bases[i]) * np.float64(bases[i])
        for k in range(pointers[i, 0], pointers[i + 1, 0]):
            if near[k] >= first:
                counts[near[k] - first] += 1
                squares[near[k] - first] += square
        for k in range(pointers[i, 1], pointers[i + 1, 1]):
            if far[k] >= first:
                counts[far[k] - first] += 1
                squares[far[k] - first] += square
    for k in range(pointers[0, 2], pointers[n, 2]):
        if columns[k] >= first:
            counts[columns[k] - first] += 1
            squares[columns[k] - first] += np.float64(values[k]) * np.float64(values[k])


add_sums = by_layout("add_sums", Dense=dense_sums, Csr=csr_sums)


@kernel
def scale_rows(X, centre, factors, out):
    """``out = (X - centre)·factors`` for dense rows."""
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            out[i, j] = (np.float64(X[i, j]) - centre[j]) * factors[j]


@kernel
def scale_and_add(X, order, centre, factors, limit, first, sums, out):
    """Scale the rows of an order into ``out`` and add them to the sums, row by row.

    Stops before a row that the scale does not fit: one with a number larger than `limit`, or with
    another number in a column that had a single one (factor 0). Returns how many rows it took.
    """
    for i in range(order.size):
        row, largest = order[i], 0.0
        for j in range(X.shape[1]):
            moved = np.float64(X[row, j]) - centre[j]
            scaled = moved * factors[j]
            out[row, j] = scaled
            size = abs(scaled)
            if factors[j] == 0.0 and moved != 0.0:
                size = np.inf
            largest = size if size > largest else largest
        if largest > limit:
            return i
        for j in range(X.shape[1]):
            x = np.float64(X[row, j])
            moved = x - first[j]
            sums[FILLED, j] += 1.0 if x != 0.0 else 0.0
            sums[MOVED, j] += moved
            sums[MOVED_SQUARED, j] += moved * moved
            sums[SQUARED, j] += x * x
    return order.size
