"""What rows answer to the members of the family, whose weights lie in cells.

A cell is what is known of one feature of one problem: its weight and, by member, more. Cells lie
one after the other in a vector; that of feature j and problem c is number ``j·stride + c`` for
sparse rows (stride problems, so that a feature's cells are neighbours) and ``c·features + j`` for
dense ones. Kinds of members, by what a cell holds:

- *plain*: the weight. The weights are ``book[SCALE]`` times what the cells hold.
- *second order*: the weight and its variance σ.
- *truncated*: the weight and how much of ``book[GRAVITY]`` it has been shrunk by.
- *adaptive*: the weight, the sum z of gradients and the sum n of their squares.

The last two bring a weight up to date when it is seen. ``sums`` are the averaging sums of the
cells, empty if nothing is averaged: a change Δ adds ``book[SCALES]·Δ``.
"""

from __future__ import annotations

import numpy as np

from rosenblatt import rules
from rosenblatt.kernels.jit import REORDER, by_layout, inlined, kernel
from rosenblatt.kernels.rows import dot, rate_of, square
from rosenblatt.rules import gradient

# Rows of a book (13, problems). From SCALE on, one number for all problems, in the first column.
BIAS, BIAS_SUM, BIAS_A, BIAS_B, BIAS_W = 0, 1, 2, 3, 4
SCALE, NORM, SCALES, CLOCK, COUNT, GRAVITY, STEPS, PADDING = 5, 6, 7, 8, 9, 10, 11, 12
BOOK = 13

PLAIN = ("Pa", "Alma", "Romma", "Descent")
# Typed, as an index that mixes signed and unsigned numbers would become a float.
ONE, TWO, THREE = np.uint64(1), np.uint64(2), np.uint64(3)
MEMBERS = tuple(rules.ANSWERS)

truncated = inlined(gradient.truncated)
shrunk = inlined(rules.second_order.shrunk)
exact = inlined(rules.second_order.exact)
descent = inlined(gradient.descent)


def by_member(name, **choices):
    """A function that is another kernel by the class of its first argument, a rule.

    Choices are named by member, or by kind.
    """
    kinds = {
        "plain": PLAIN, "second_order": rules.SECOND_ORDER, "truncated": ("Truncated",),
        "adaptive": rules.ADAPTIVE,
    }  # fmt: skip
    found = {}
    for key, choice in choices.items():
        for member in kinds.get(key, MEMBERS if key == "others" else (key,)):
            found.setdefault(member, choice)
    return by_layout(name, **found)


answer = by_layout("answer", **{name: kernel(given) for name, given in rules.ANSWERS.items()})
limit = by_member(
    "limit", Pa=kernel(rules.pa_limit), Romma=kernel(rules.romma_limit),
    others=kernel(rules.no_limit),
)  # fmt: skip
weight_of = by_layout(
    "weight_of", AdaGrad=kernel(gradient.adagrad_weight), Ftrl=kernel(gradient.ftrl_weight)
)
sum_of = by_layout("sum_of", AdaGrad=kernel(gradient.adagrad_sum), Ftrl=kernel(gradient.ftrl_sum))


@kernel
def adagrad_l1(rule, book):
    """The penalty on a sum of gradients so far."""
    return rule.l1 * book[STEPS, 0]


@kernel
def ftrl_l1(rule, book):
    """The penalty on a sum of gradients."""
    return rule.l1


l1_of = by_layout("l1_of", AdaGrad=adagrad_l1, Ftrl=ftrl_l1)


# What a cell holds, by kind


@kernel
def one_deep(rule):
    """Numbers in a cell."""
    return 1


@kernel
def two_deep(rule):
    """Numbers in a cell."""
    return 2


@kernel
def three_deep(rule):
    """Numbers in a cell."""
    return 3


depth = by_member(
    "depth", plain=one_deep, second_order=two_deep, truncated=two_deep, adaptive=three_deep
)


@kernel
def plain_see(rule, cells, sums, i, book):
    """The weight in cell i, and the variance if there is one."""
    return cells[i], cells.dtype.type(0)


@kernel
def second_order_see(rule, cells, sums, i, book):
    """The weight in cell i, and its variance."""
    return cells[TWO * i], cells[TWO * i + ONE]


@kernel
def truncated_see(rule, cells, sums, i, book):
    """The weight in cell i, after it has been shrunk by what it still owes."""
    before, owed = cells[TWO * i], book[GRAVITY, 0] - cells[TWO * i + ONE]
    if owed > 0.0:
        cells[TWO * i] = truncated(np.float64(before), owed)
        cells[TWO * i + ONE] = book[GRAVITY, 0]
        if sums.size > 0:
            sums[i] += book[SCALES, 0] * (np.float64(cells[TWO * i]) - before)
    return cells[TWO * i], cells.dtype.type(0)


@kernel
def adaptive_see(rule, cells, sums, i, book):
    """The weight in cell i, after the penalty of the time that has passed."""
    before = cells[THREE * i]
    if rule.l1 > 0.0 and before != 0.0:
        cells[THREE * i] = weight_of(
            rule,
            np.float64(cells[THREE * i + ONE]),
            np.float64(cells[THREE * i + TWO]),
            l1_of(rule, book),
        )
        if sums.size > 0:
            sums[i] += book[SCALES, 0] * (np.float64(cells[THREE * i]) - before)
    return cells[THREE * i], cells.dtype.type(0)


see = by_member(
    "see", plain=plain_see, second_order=second_order_see, truncated=truncated_see,
    adaptive=adaptive_see,
)  # fmt: skip


@kernel
def plain_shift(rule, cells, sums, i, x, tau, beta, book):
    """``w += τ·x`` for the entry x of a row."""
    change = cells.dtype.type(tau) * x
    cells[i] += change
    if sums.size > 0:
        sums[i] += book[SCALES, 0] * change


@kernel
def second_order_shift(rule, cells, sums, i, x, tau, beta, book):
    """``w += τ·σ·x`` and ``σ -= β·(σ·x)²``."""
    spread = cells[TWO * i + ONE] * x
    change = cells.dtype.type(tau) * spread
    cells[TWO * i] += change
    cells[TWO * i + ONE] -= cells.dtype.type(beta) * spread * spread
    if sums.size > 0:
        sums[i] += book[SCALES, 0] * change


@kernel
def truncated_shift(rule, cells, sums, i, x, tau, beta, book):
    """``w += τ·x``; the weight is up to date."""
    change = cells.dtype.type(tau) * x
    cells[TWO * i] += change
    if sums.size > 0:
        sums[i] += book[SCALES, 0] * change


@kernel
def adaptive_shift(rule, cells, sums, i, x, tau, beta, book):
    """Add the gradient ``-τ·x`` to z and its square to n, and make the weight of them."""
    g, before = -tau * np.float64(x), np.float64(cells[THREE * i])
    n = np.float64(cells[THREE * i + TWO])
    cells[THREE * i + ONE] += sum_of(rule, g, n, before)
    cells[THREE * i + TWO] += g * g
    cells[THREE * i] = weight_of(
        rule,
        np.float64(cells[THREE * i + ONE]),
        np.float64(cells[THREE * i + TWO]),
        l1_of(rule, book),
    )
    if sums.size > 0:
        sums[i] += book[SCALES, 0] * (np.float64(cells[THREE * i]) - before)


shift = by_member(
    "shift", plain=plain_shift, second_order=second_order_shift, truncated=truncated_shift,
    adaptive=adaptive_shift,
)  # fmt: skip


@kernel
def reads_zeros(rule):
    """Whether an entry of zero is looked at: it changes nothing."""
    return True


@kernel
def skips_zeros(rule):
    """Whether it is: a weight is brought up to date when it is used, which a zero does not do."""
    return False


takes_zeros = by_member(
    "takes_zeros", truncated=skips_zeros, adaptive=skips_zeros, others=reads_zeros
)


# Rows of each layout, entry by entry


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


# What a walk asks of a row


@kernel
def plain_score(rule, rows, row, cells, sums, stride, c, book):
    """The product of a row with the weights of the only problem."""
    return dot(rows, row, cells), cells.dtype.type(0)


@kernel
def other_score(rule, rows, row, cells, sums, stride, c, book):
    """The product of a row with the weights of a problem, and the variance of the row."""
    return look(rows, row, rule, cells, sums, stride, c, book)


score = by_member("score", plain=plain_score, others=other_score)


@kernel
def no_variance(rule, rows, row, cells, sums, stride, c, book):
    """Members that keep none."""
    return cells.dtype.type(0)


@kernel
def second_order_variance(rule, rows, row, cells, sums, stride, c, book):
    """The variance of a row to problem c."""
    return look(rows, row, rule, cells, sums, stride, c, book)[1]


variance = by_member("variance", second_order=second_order_variance, others=no_variance)


@kernel
def plain_length(rule, rows, row, v, rates, margin, book, c):
    """The squared length of a padded row, if the margin makes it worth knowing."""
    if not margin <= limit(rule):
        return 0.0
    return np.float64(square(rows, row, rates)) + book[PADDING, 0]


@kernel
def second_order_length(rule, rows, row, v, rates, margin, book, c):
    """The variance of a padded row."""
    return np.float64(v) + book[PADDING, 0] * book[BIAS_A, c]


@kernel
def no_length(rule, rows, row, v, rates, margin, book, c):
    """Gradient steps do not ask."""
    return 0.0


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
