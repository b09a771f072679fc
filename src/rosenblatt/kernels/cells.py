"""Cells: what all rules but the perceptron keep per feature and problem.

Cells lie one after the other in a vector; the cell of feature j and problem c is number
``j·stride + c`` for sparse rows (stride problems, so that a feature's cells are neighbours) and
``c·features + j`` for dense ones. What a cell holds is the storage of the rule:

- *plain*: the weight. The weights are ``book[SCALE]`` times what the cells hold.
- *variances*: the weight and its variance σ.
- *adaptive*: the weight, the sum z of gradients and the sum n of their squares. A penalty is
  applied to a weight when it is read.

``rule`` is the named tuple of the numbers of a rule; its record (:mod:`rosenblatt.rules.registry`)
says which step and storage it has, and each rule is compiled as a kernel of its own when it is
first used. ``sums`` are the averaging sums of the cells, empty if nothing is averaged: a change Δ
adds ``book[SCALES]·Δ``.
"""

from __future__ import annotations

import numpy as np

from rosenblatt.kernels.jit import REORDER, by_class, by_layout, inlined, kernel
from rosenblatt.kernels.rows import dot, rate_of, square
from rosenblatt.rules.registry import rule_of

# Rows of a book (10, problems). From SCALE on, one number for all problems, in the first column.
# BIAS_A is the variance of the bias, or its sum of gradients; BIAS_B its sum of squares.
BIAS, BIAS_SUM, BIAS_A, BIAS_B, BIAS_W, SCALE, SCALES, CLOCK, STEPS, PADDING = range(10)
BOOK = 10
SMALL = 2.0**-40  # a scale below this is multiplied into the cells
# Typed, as an index that mixes signed and unsigned numbers would become a float.
ONE, TWO, THREE = np.uint64(1), np.uint64(2), np.uint64(3)


def by_storage(name, **choices):
    """A function that is another kernel for each storage of the rule, its first argument."""
    return by_class(name, lambda numbers: choices[rule_of(numbers).storage].py_func)


def declare(record):
    """Let kernels call the functions of a rule, and the functions that these call."""
    for function in record.functions:
        inlined(function)


# The functions of a rule.
step = by_class("step", lambda numbers: rule_of(numbers).step)
weight_of = by_class("weight_of", lambda numbers: rule_of(numbers).weight)
increment_of = by_class("increment_of", lambda numbers: rule_of(numbers).increment)
penalty_of = by_class("penalty_of", lambda numbers: rule_of(numbers).penalty)


margin_limit = by_class("margin_limit", lambda numbers: rule_of(numbers).limit)


@kernel
def step_alone(rule, margin, square, weight, eta):
    """τ, and 0 for β."""
    return step(rule, margin, square, weight, eta), 0.0


@kernel
def step_of_both(rule, margin, square, weight, eta):
    """τ and β."""
    return step(rule, margin, square, weight, eta)


coefficients = by_storage(
    "coefficients", plain=step_alone, variances=step_of_both, adaptive=step_alone
)
DEPTH = {"plain": 1, "variances": 2, "adaptive": 3}  # numbers per cell
depth = by_storage(
    "depth",
    plain=kernel(lambda rule: 1),
    variances=kernel(lambda rule: 2),
    adaptive=kernel(lambda rule: 3),
)


# One cell


@kernel
def plain_read(rule, cells, sums, i, book, penalty):
    """The weight in cell i, and 0 for its variance."""
    return cells[i], cells.dtype.type(0)


@kernel
def variances_read(rule, cells, sums, i, book, penalty):
    """The weight in cell i, and its variance."""
    return cells[TWO * i], cells[TWO * i + ONE]


@kernel
def recompute_weight(rule, cells, sums, i, before, book, penalty):
    """Compute the weight in cell i from z and n; it was `before`."""
    z, n = np.float64(cells[THREE * i + ONE]), np.float64(cells[THREE * i + TWO])
    cells[THREE * i] = weight_of(rule, z, n, penalty)
    if sums.size > 0:
        sums[i] += book[SCALES, 0] * (np.float64(cells[THREE * i]) - before)


@kernel
def adaptive_read(rule, cells, sums, i, book, penalty):
    """The weight in cell i, after its deferred penalty, and 0 for its variance."""
    before = cells[THREE * i]
    if penalty > 0.0 and before != 0.0:
        recompute_weight(rule, cells, sums, i, np.float64(before), book, penalty)
    return cells[THREE * i], cells.dtype.type(0)


read_weight = by_storage(
    "read_weight", plain=plain_read, variances=variances_read, adaptive=adaptive_read
)


@kernel
def plain_update(rule, cells, sums, i, x, tau, beta, book, penalty):
    """``w += τ·x`` for the entry x of a row."""
    change = cells.dtype.type(tau) * x
    cells[i] += change
    if sums.size > 0:
        sums[i] += book[SCALES, 0] * change


@kernel
def variances_update(rule, cells, sums, i, x, tau, beta, book, penalty):
    """``w += τ·σ·x`` and ``σ -= β·(σ·x)²``."""
    spread = cells[TWO * i + ONE] * x
    change = cells.dtype.type(tau) * spread
    cells[TWO * i] += change
    cells[TWO * i + ONE] -= cells.dtype.type(beta) * spread * spread
    if sums.size > 0:
        sums[i] += book[SCALES, 0] * change


@kernel
def adaptive_update(rule, cells, sums, i, x, tau, beta, book, penalty):
    """Add the gradient ``-τ·x`` to z and its square to n, and compute the weight from them."""
    g, before = -tau * np.float64(x), np.float64(cells[THREE * i])
    n = np.float64(cells[THREE * i + TWO])
    cells[THREE * i + ONE] += increment_of(rule, g, n, before)
    cells[THREE * i + TWO] += g * g
    recompute_weight(rule, cells, sums, i, before, book, penalty)


update_cell = by_storage(
    "update_cell", plain=plain_update, variances=variances_update, adaptive=adaptive_update
)
# Whether entries that are zero count: reading a weight would apply its deferred penalty.
takes_zeros = by_storage(
    "takes_zeros",
    plain=kernel(lambda rule: True),
    variances=kernel(lambda rule: True),
    adaptive=kernel(lambda rule: False),
)


# One row


@kernel(fastmath=REORDER)
def dense_dot_and_variance(rows, row, rule, cells, sums, stride, c, book):
    """The product of a row with the weights of problem c, and the variance of the row."""
    penalty = penalty_of(rule, book[STEPS, 0])
    X = rows.X
    s, v, first = cells.dtype.type(0), cells.dtype.type(0), np.int64(c) * X.shape[1]
    for j in range(X.shape[1]):
        if not takes_zeros(rule) and X[row, j] == 0:
            continue
        w, spread = read_weight(rule, cells, sums, np.uint64(first + j), book, penalty)
        s += X[row, j] * w
        v += X[row, j] * X[row, j] * spread
    return s, v


@kernel(fastmath=REORDER)
def csr_dot_and_variance(rows, row, rule, cells, sums, stride, c, book):
    """The same for a sparse row."""
    penalty = penalty_of(rule, book[STEPS, 0])
    data, columns, pointers = rows
    s, v = cells.dtype.type(0), cells.dtype.type(0)
    for j in range(pointers[row], pointers[row + np.uint64(1)]):
        if not takes_zeros(rule) and data[j] == 0:
            continue
        w, spread = read_weight(
            rule, cells, sums, np.uint64(columns[j]) * stride + c, book, penalty
        )
        s += data[j] * w
        v += data[j] * data[j] * spread
    return s, v


@kernel
def packed_dot_and_variance(rows, row, rule, cells, sums, stride, c, book):
    """The same for a packed row."""
    penalty = penalty_of(rule, book[STEPS, 0])
    near, far, columns, values, bases, pointers = rows
    end, base = row + np.uint64(1), bases[row]
    s, v = cells.dtype.type(0), cells.dtype.type(0)
    for j in range(pointers[row, 0], pointers[end, 0]):
        w, spread = read_weight(rule, cells, sums, np.uint64(near[j]) * stride + c, book, penalty)
        s += w
        v += spread
    for j in range(pointers[row, 1], pointers[end, 1]):
        w, spread = read_weight(rule, cells, sums, np.uint64(far[j]) * stride + c, book, penalty)
        s += w
        v += spread
    s *= base
    v *= base * base
    for j in range(pointers[row, 2], pointers[end, 2]):
        w, spread = read_weight(
            rule, cells, sums, np.uint64(columns[j]) * stride + c, book, penalty
        )
        s += values[j] * w
        v += values[j] * values[j] * spread
    return s, v


dot_and_variance = by_layout(
    "dot_and_variance",
    Dense=dense_dot_and_variance,
    Csr=csr_dot_and_variance,
    Packed=packed_dot_and_variance,
)


@kernel
def dense_update_row(rows, row, rule, cells, sums, rates, stride, c, tau, beta, book):
    """Correct the cells of problem c by a row, its features times their rates."""
    penalty = penalty_of(rule, book[STEPS, 0])
    X = rows.X
    first = np.int64(c) * X.shape[1]
    for j in range(X.shape[1]):
        if not takes_zeros(rule) and X[row, j] == 0:
            continue
        x = X[row, j] * rate_of(rates, np.uint32(j))
        update_cell(rule, cells, sums, np.uint64(first + j), x, tau, beta, book, penalty)


@kernel
def csr_update_row(rows, row, rule, cells, sums, rates, stride, c, tau, beta, book):
    """The same for a sparse row."""
    penalty = penalty_of(rule, book[STEPS, 0])
    data, columns, pointers = rows
    for j in range(pointers[row], pointers[row + np.uint64(1)]):
        if not takes_zeros(rule) and data[j] == 0:
            continue
        at = columns[j]
        x = data[j] * rate_of(rates, at)
        update_cell(rule, cells, sums, np.uint64(at) * stride + c, x, tau, beta, book, penalty)


@kernel
def packed_update_row(rows, row, rule, cells, sums, rates, stride, c, tau, beta, book):
    """The same for a packed row."""
    penalty = penalty_of(rule, book[STEPS, 0])
    near, far, columns, values, bases, pointers = rows
    end, base = row + np.uint64(1), bases[row]
    for j in range(pointers[row, 0], pointers[end, 0]):
        at = np.uint32(near[j])
        x = base * rate_of(rates, at)
        update_cell(rule, cells, sums, np.uint64(at) * stride + c, x, tau, beta, book, penalty)
    for j in range(pointers[row, 1], pointers[end, 1]):
        at = far[j]
        x = base * rate_of(rates, at)
        update_cell(rule, cells, sums, np.uint64(at) * stride + c, x, tau, beta, book, penalty)
    for j in range(pointers[row, 2], pointers[end, 2]):
        at = columns[j]
        x = values[j] * rate_of(rates, at)
        update_cell(rule, cells, sums, np.uint64(at) * stride + c, x, tau, beta, book, penalty)


update_row = by_layout(
    "update_row", Dense=dense_update_row, Csr=csr_update_row, Packed=packed_update_row
)


@kernel
def plain_score(rule, rows, row, cells, sums, stride, c, book):
    """The product of a row with the weights of the only problem, and 0 for its variance."""
    return dot(rows, row, cells), cells.dtype.type(0)


@kernel
def cell_score(rule, rows, row, cells, sums, stride, c, book):
    """The product of a row with the weights of problem c, and the variance of the row."""
    return dot_and_variance(rows, row, rule, cells, sums, stride, c, book)


score = by_storage("score", plain=plain_score, variances=cell_score, adaptive=cell_score)


@kernel
def variance_of(rule, rows, row, cells, sums, stride, c, book):
    """The variance of a row to problem c."""
    return dot_and_variance(rows, row, rule, cells, sums, stride, c, book)[1]


no_variance = kernel(lambda rule, rows, row, cells, sums, stride, c, book: cells.dtype.type(0))
variance = by_storage("variance", plain=no_variance, variances=variance_of, adaptive=no_variance)


@kernel
def squared_length(rule, rows, row, v, rates, book, c):
    """The squared length of a padded row."""
    return np.float64(square(rows, row, rates)) + book[PADDING, 0]


@kernel
def padded_variance(rule, rows, row, v, rates, book, c):
    """The variance of a padded row."""
    return np.float64(v) + book[PADDING, 0] * book[BIAS_A, c]


no_length = kernel(lambda rule, rows, row, v, rates, book, c: 0.0)


def _length_for(numbers):
    record = rule_of(numbers)
    if record.storage == "variances":
        return padded_variance.py_func
    return (squared_length if record.uses_square else no_length).py_func


length = by_class("length", _length_for)


# The bias


@kernel
def plain_bias(rule, book, c, tau, beta):
    """``b += τ·c²``."""
    book[BIAS, c] += tau * book[PADDING, 0]


@kernel
def variances_bias(rule, book, c, tau, beta):
    """``b += τ·σ·c²`` and ``σ -= β·(σ·c)²``."""
    spread = book[BIAS_A, c]
    book[BIAS, c] += tau * spread * book[PADDING, 0]
    book[BIAS_A, c] -= beta * spread * spread * book[PADDING, 0]


@kernel
def adaptive_bias(rule, book, c, tau, beta):
    """The weight of the padding feature by its own sums, without a penalty."""
    padding = np.sqrt(book[PADDING, 0])
    g = -tau * padding
    book[BIAS_A, c] += increment_of(rule, g, book[BIAS_B, c], book[BIAS_W, c])
    book[BIAS_B, c] += g * g
    book[BIAS_W, c] = weight_of(rule, book[BIAS_A, c], book[BIAS_B, c], 0.0)
    book[BIAS, c] = padding * book[BIAS_W, c]


update_bias = by_storage(
    "update_bias", plain=plain_bias, variances=variances_bias, adaptive=adaptive_bias
)


# After a step


@kernel
def fold(rule, cells, sums, book):
    """Multiply the scale into the cells, and adjust the sums to that.

    The sums take the change of each cell: dividing ``book[SCALES]`` by a small scale instead would
    make the average the difference of two huge numbers.
    """
    scale = book[SCALE, 0]
    for i in range(cells.size):
        before = np.float64(cells[i])
        cells[i] *= scale
        if sums.size > 0:
            sums[i] += book[SCALES, 0] * (np.float64(cells[i]) - before)
    book[SCALE, 0] = 1.0


@kernel
def decay(rule, cells, sums, book, eta, weight):
    """The penalty λ₂ on all weights, not on biases."""
    if rule.l2 > 0.0:
        factor = 1.0 - eta * weight * rule.l2
        book[SCALE, 0] *= factor if factor > 0.0 else 0.0
        if book[SCALE, 0] < SMALL:
            fold(rule, cells, sums, book)


no_decay = kernel(lambda rule, cells, sums, book, eta, weight: None)
shrink = by_class(
    "shrink", lambda numbers: (decay if rule_of(numbers).decays else no_decay).py_func
)


@kernel
def apply_penalties(rule, cells, sums, book):
    """Apply all deferred penalties."""
    penalty = penalty_of(rule, book[STEPS, 0])
    for i in range(cells.size // depth(rule)):
        read_weight(rule, cells, sums, np.uint64(i), book, penalty)
