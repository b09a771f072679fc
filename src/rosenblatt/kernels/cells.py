"""Cells: what all rules but the perceptron keep per feature and problem.

Cells lie one after the other in a vector; the cell of feature j and problem c is number
``j·stride + c`` for sparse rows (stride problems, so that a feature's cells are neighbours) and
``c·features + j`` for dense ones. What a cell holds is the storage of the rule
(:mod:`rosenblatt.rules.storage`). The weights are ``book[SCALE]`` times what the cells hold; a
penalty is applied to a weight when it is read.

``rule`` is the named tuple of the numbers of a rule; its record (:mod:`rosenblatt.rules.registry`)
says which step and storage it has, and each rule is compiled as a kernel of its own when it is
first used. ``sums`` are the averaging sums of the cells, empty if nothing is averaged: a change Δ
adds ``book[SCALES]·Δ``.
"""

from __future__ import annotations

import numpy as np

from rosenblatt.kernels.jit import REORDER, by_class, by_layout, chosen_by_class, inlined, kernel
from rosenblatt.kernels.rows import dot, rate_of, square
from rosenblatt.rules import storage
from rosenblatt.rules.registry import rule_of
from rosenblatt.rules.storage import BIAS_A, PADDING, SCALE, SCALES, STEPS

SMALL = 2.0**-40  # a scale below this is multiplied into the cells


def declare(record):
    """Let kernels call the functions of a rule and of its storage, and those that they call."""
    for function in (*record.functions, *record.storage.functions):
        inlined(function)


# The functions of a rule.
step = by_class("step", lambda numbers: rule_of(numbers).step)
penalty_of = by_class("penalty_of", lambda numbers: rule_of(numbers).penalty)
margin_limit = by_class("margin_limit", lambda numbers: rule_of(numbers).limit)
chosen_by_class(storage.weight_of, lambda numbers: rule_of(numbers).weight)
chosen_by_class(storage.increment_of, lambda numbers: rule_of(numbers).increment)


# The functions of a storage, on one cell.
read_weight = by_class("read_weight", lambda numbers: rule_of(numbers).storage.read)
update_cell = by_class("update_cell", lambda numbers: rule_of(numbers).storage.update)
update_bias = by_class("update_bias", lambda numbers: rule_of(numbers).storage.update_bias)


def by_fact(name, fact, if_so, if_not):
    """A function that is one kernel for the storages of which a fact holds, and another if not."""
    return by_class(name, lambda numbers: (if_so if fact(rule_of(numbers)) else if_not).py_func)


def has_variances(record):
    """Whether the storage of a rule has variances."""
    return record.storage.has_variances


@kernel
def step_alone(rule, margin, square, weight, eta):
    """τ, and 0 for β."""
    return step(rule, margin, square, weight, eta), 0.0


@kernel
def step_of_both(rule, margin, square, weight, eta):
    """τ and β."""
    return step(rule, margin, square, weight, eta)


coefficients = by_fact("coefficients", has_variances, step_of_both, step_alone)
# Whether entries that are zero count: reading a weight may apply its deferred penalty.
takes_zeros = by_fact(
    "takes_zeros",
    lambda record: record.storage.weigh is None,
    kernel(lambda rule: True),
    kernel(lambda rule: False),
)


def depth_of(numbers):
    """A function that returns the numbers per cell, which the compiler takes for a constant."""
    depth = rule_of(numbers).storage.depth
    return lambda rule: depth


depth = by_class("depth", depth_of)


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


score = by_fact("score", lambda record: record.storage.depth == 1, plain_score, cell_score)


@kernel
def variance_of(rule, rows, row, cells, sums, stride, c, book):
    """The variance of a row to problem c."""
    return dot_and_variance(rows, row, rule, cells, sums, stride, c, book)[1]


no_variance = kernel(lambda rule, rows, row, cells, sums, stride, c, book: cells.dtype.type(0))
variance = by_fact("variance", has_variances, variance_of, no_variance)


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
    if has_variances(record):
        return padded_variance.py_func
    return (squared_length if record.uses_square else no_length).py_func


length = by_class("length", _length_for)


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
