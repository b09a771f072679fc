"""Rows of each layout with members of the family: scores, variances, corrections.

The weights are in cells, see :mod:`rosenblatt.kernels.family_cells` for these, and for the book.
"""

from __future__ import annotations

import numpy as np

from rosenblatt.kernels.family_cells import (
    BIAS,
    BIAS_A,
    BIAS_B,
    BIAS_W,
    PADDING,
    by_member,
    limit,
    see,
    shift,
    sum_of,
    takes_zeros,
    weight_of,
)  # fmt: skip
from rosenblatt.kernels.jit import REORDER, by_layout, kernel
from rosenblatt.kernels.rows import dot, rate_of, square


@kernel(fastmath=REORDER)
def dense_look(rows, row, rule, cells, sums, stride, c, book):
    """The product of a row with the weights of problem c, and the variance of the row."""
    X = rows.X
    s, v, first = cells.dtype.type(0), cells.dtype.type(0), np.int64(c) * X.shape[1]
    for j in range(X.shape[1]):
        if not takes_zeros(rule) and X[row, j] == 0:
            continue
        w, spread = see(rule, cells, sums, np.uint64(first + j), book)
        s += X[row, j] * w
        v += X[row, j] * X[row, j] * spread
    return s, v


@kernel(fastmath=REORDER)
def csr_look(rows, row, rule, cells, sums, stride, c, book):
    """The same for a sparse row."""
    data, columns, pointers = rows
    s, v = cells.dtype.type(0), cells.dtype.type(0)
    for j in range(pointers[row], pointers[row + np.uint64(1)]):
        if not takes_zeros(rule) and data[j] == 0:
            continue
        w, spread = see(rule, cells, sums, np.uint64(columns[j]) * stride + c, book)
        s += data[j] * w
        v += data[j] * data[j] * spread
    return s, v


@kernel
def packed_look(rows, row, rule, cells, sums, stride, c, book):
    """The same for a packed row."""
    near, far, columns, values, bases, pointers = rows
    end, base = row + np.uint64(1), bases[row]
    s, v = cells.dtype.type(0), cells.dtype.type(0)
    for j in range(pointers[row, 0], pointers[end, 0]):
        w, spread = see(rule, cells, sums, np.uint64(near[j]) * stride + c, book)
        s += w
        v += spread
    for j in range(pointers[row, 1], pointers[end, 1]):
        w, spread = see(rule, cells, sums, np.uint64(far[j]) * stride + c, book)
        s += w
        v += spread
    s *= base
    v *= base * base
    for j in range(pointers[row, 2], pointers[end, 2]):
        w, spread = see(rule, cells, sums, np.uint64(columns[j]) * stride + c, book)
        s += values[j] * w
        v += values[j] * values[j] * spread
    return s, v


look = by_layout("look", Dense=dense_look, Csr=csr_look, Packed=packed_look)


@kernel
def dense_move(rows, row, rule, cells, sums, rates, stride, c, tau, beta, book):
    """Correct the cells of problem c by a row, its features times their rates."""
    X = rows.X
    first = np.int64(c) * X.shape[1]
    for j in range(X.shape[1]):
        if not takes_zeros(rule) and X[row, j] == 0:
            continue
        x = X[row, j] * rate_of(rates, np.uint32(j))
        shift(rule, cells, sums, np.uint64(first + j), x, tau, beta, book)


@kernel
def csr_move(rows, row, rule, cells, sums, rates, stride, c, tau, beta, book):
    """The same for a sparse row."""
    data, columns, pointers = rows
    for j in range(pointers[row], pointers[row + np.uint64(1)]):
        if not takes_zeros(rule) and data[j] == 0:
            continue
        at = columns[j]
        x = data[j] * rate_of(rates, at)
        shift(rule, cells, sums, np.uint64(at) * stride + c, x, tau, beta, book)


@kernel
def packed_move(rows, row, rule, cells, sums, rates, stride, c, tau, beta, book):
    """The same for a packed row."""
    near, far, columns, values, bases, pointers = rows
    end, base = row + np.uint64(1), bases[row]
    for j in range(pointers[row, 0], pointers[end, 0]):
        at = np.uint32(near[j])
        x = base * rate_of(rates, at)
        shift(rule, cells, sums, np.uint64(at) * stride + c, x, tau, beta, book)
    for j in range(pointers[row, 1], pointers[end, 1]):
        at = far[j]
        x = base * rate_of(rates, at)
        shift(rule, cells, sums, np.uint64(at) * stride + c, x, tau, beta, book)
    for j in range(pointers[row, 2], pointers[end, 2]):
        at = columns[j]
        x = values[j] * rate_of(rates, at)
        shift(rule, cells, sums, np.uint64(at) * stride + c, x, tau, beta, book)


move = by_layout("move", Dense=dense_move, Csr=csr_move, Packed=packed_move)


@kernel
def plain_score(rule, rows, row, cells, sums, stride, c, book):
    """The product of a row with the weights of the only problem."""
    return dot(rows, row, cells), cells.dtype.type(0)


@kernel
def cell_score(rule, rows, row, cells, sums, stride, c, book):
    """The product of a row with the weights of problem c, and the variance of the row."""
    return look(rows, row, rule, cells, sums, stride, c, book)


score = by_member("score", plain=plain_score, others=cell_score)


@kernel
def second_order_variance(rule, rows, row, cells, sums, stride, c, book):
    """The variance of a row to problem c."""
    return look(rows, row, rule, cells, sums, stride, c, book)[1]


no_variance = kernel(lambda rule, rows, row, cells, sums, stride, c, book: cells.dtype.type(0))
variance = by_member("variance", second_order=second_order_variance, others=no_variance)


@kernel
def plain_length(rule, rows, row, v, rates, margin, book, c):
    """The squared length of a padded row; 0 if the margin is beyond the limit of an update."""
    if not margin <= limit(rule):
        return 0.0
    return np.float64(square(rows, row, rates)) + book[PADDING, 0]


@kernel
def second_order_length(rule, rows, row, v, rates, margin, book, c):
    """The variance of a padded row."""
    return np.float64(v) + book[PADDING, 0] * book[BIAS_A, c]


no_length = kernel(lambda rule, rows, row, v, rates, margin, book, c: 0.0)
length = by_member(
    "length", Descent=no_length, truncated=no_length, adaptive=no_length, plain=plain_length,
    second_order=second_order_length,
)  # fmt: skip


@kernel
def plain_bias(rule, book, c, tau, beta):
    """``b += τ·c²``."""
    book[BIAS, c] += tau * book[PADDING, 0]


@kernel
def second_order_bias(rule, book, c, tau, beta):
    """``b += τ·σ·c²`` and ``σ -= β·(σ·c)²``."""
    spread = book[BIAS_A, c]
    book[BIAS, c] += tau * spread * book[PADDING, 0]
    book[BIAS_A, c] -= beta * spread * spread * book[PADDING, 0]


@kernel
def adaptive_bias(rule, book, c, tau, beta):
    """The weight of the padding feature by its own sums, without a penalty."""
    padding = np.sqrt(book[PADDING, 0])
    g = -tau * padding
    book[BIAS_A, c] += sum_of(rule, g, book[BIAS_B, c], book[BIAS_W, c])
    book[BIAS_B, c] += g * g
    book[BIAS_W, c] = weight_of(rule, book[BIAS_A, c], book[BIAS_B, c], 0.0)
    book[BIAS, c] = padding * book[BIAS_W, c]


shift_bias = by_member(
    "shift_bias", plain=plain_bias, truncated=plain_bias, second_order=second_order_bias,
    adaptive=adaptive_bias,
)  # fmt: skip
