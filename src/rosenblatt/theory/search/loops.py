"""Loops over the numbers of sparse rows, compiled: SciPy has none for these, or slower ones.

Rows are given as in a CSR matrix: the numbers of row i and their columns lie in `values` and
`columns` from ``ends[i]`` to ``ends[i + 1]``. Indices are unsigned, so that the compiler need not
think of negative ones. Results go to an array that the caller provides, `out`.
"""

from __future__ import annotations

import numpy as np

from rosenblatt.compiled.jit import kernel


@kernel
def times(ends, columns, values, x, out):
    """The product of each row and x."""
    for i in range(len(out)):
        total = 0.0
        for k in range(ends[i], ends[i + 1]):
            total += values[k] * x[columns[k]]
        out[i] = total


@kernel
def combine(ends, columns, values, weights, out):
    """Add the rows, each times its weight."""
    for i in range(len(weights)):
        weight = weights[i]
        if weight != 0:
            for k in range(ends[i], ends[i + 1]):
                out[columns[k]] += weight * values[k]


@kernel
def gram(ends, columns, values, out):
    """Add the products of columns, to the upper triangle."""
    for i in range(len(ends) - 1):
        for k in range(ends[i], ends[i + 1]):
            one, value = columns[k], values[k]
            for j in range(k, ends[i + 1]):
                other = columns[j]
                if one <= other:
                    out[one, other] += value * values[j]
                else:
                    out[other, one] += value * values[j]


@kernel
def tops(columns, values, out):
    """Raise each column's number to its largest absolute value."""
    for k in range(len(values)):
        out[columns[k]] = max(out[columns[k]], abs(values[k]))


@kernel
def column_squares(columns, values, out):
    """Add the squares of each column."""
    for k in range(len(values)):
        out[columns[k]] += values[k] * values[k]


@kernel
def row_squares(ends, values, out):
    """The sum of squares of each row."""
    for i in range(len(out)):
        total = 0.0
        for k in range(ends[i], ends[i + 1]):
            total += values[k] * values[k]
        out[i] = total


@kernel
def scale_rows(ends, values, factors):
    """Multiply each row by its factor, in place."""
    for i in range(len(factors)):
        for k in range(ends[i], ends[i + 1]):
            values[k] *= factors[i]


@kernel
def scale_columns(columns, values, factors):
    """Multiply each column by its factor, in place."""
    for k in range(len(values)):
        values[k] *= factors[columns[k]]


@kernel
def pick(starts, columns, values, pads, pad_column, ends, out_columns, out):
    """Copy the rows that start there to where they are to end; last in each, its pad if any."""
    padded = np.uint64(len(pads) > 0)
    for i in range(len(starts)):
        start, at = starts[i], ends[i]
        count = ends[i + 1] - at - padded
        for k in range(count):
            out_columns[at + k], out[at + k] = columns[start + k], values[start + k]
        if padded:
            out_columns[at + count], out[at + count] = pad_column, pads[i]


@kernel
def count_signs(ends, columns, values, sides, first, last, out):
    """Count the numbers of each side, sign (positive, negative) and column in some of the rows."""
    for i in range(first, last):
        side = sides[i]
        for k in range(ends[i], ends[i + 1]):
            out[side, 0, columns[k]] += values[k] > 0
            out[side, 1, columns[k]] += values[k] < 0
