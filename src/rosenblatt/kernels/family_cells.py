"""Cells: the numbers that members of the family keep per feature and problem.

Cells lie one after the other in a vector; the cell of feature j and problem c is number
``j·stride + c`` for sparse rows (stride problems, so that a feature's cells are neighbours) and
``c·features + j`` for dense ones. Kinds of members, by what a cell holds:

- *plain*: the weight. The weights are ``book[SCALE]`` times what the cells hold.
- *second order*: the weight and its variance σ.
- *truncated*: the weight, and how much of ``book[GRAVITY]`` was subtracted from it so far.
- *adaptive*: the weight, the sum z of gradients and the sum n of their squares.

The last two apply penalties to a weight when it is read. ``sums`` are the averaging sums of the
cells, empty if nothing is averaged: a change Δ adds ``book[SCALES]·Δ``.
"""

from __future__ import annotations

import numpy as np

from rosenblatt import rules
from rosenblatt.kernels.jit import by_layout, inlined, kernel
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
    """A function that is another kernel per class of its first argument, a rule.

    The keys of `choices` are members, kinds of members, or "others".
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


l1_of = by_layout(  # the penalty on a sum of gradients
    "l1_of",
    AdaGrad=kernel(lambda rule, book: rule.l1 * book[STEPS, 0]),
    Ftrl=kernel(lambda rule, book: rule.l1),
)
two_deep = kernel(lambda rule: 2)
depth = by_member(  # numbers per cell
    "depth", plain=kernel(lambda rule: 1), second_order=two_deep, truncated=two_deep,
    adaptive=kernel(lambda rule: 3),
)  # fmt: skip


@kernel
def plain_see(rule, cells, sums, i, book):
    """The weight in cell i, and its variance, if there is one."""
    return cells[i], cells.dtype.type(0)


@kernel
def second_order_see(rule, cells, sums, i, book):
    """The weight in cell i, and its variance."""
    return cells[TWO * i], cells[TWO * i + ONE]


@kernel
def truncated_see(rule, cells, sums, i, book):
    """The weight in cell i, after its deferred penalty."""
    before, deferred = cells[TWO * i], book[GRAVITY, 0] - cells[TWO * i + ONE]
    if deferred > 0.0:
        cells[TWO * i] = truncated(np.float64(before), deferred)
        cells[TWO * i + ONE] = book[GRAVITY, 0]
        if sums.size > 0:
            sums[i] += book[SCALES, 0] * (np.float64(cells[TWO * i]) - before)
    return cells[TWO * i], cells.dtype.type(0)


@kernel
def weigh_again(rule, cells, sums, i, before, book):
    """Compute the weight in cell i from z and n; it was `before`."""
    z, n = np.float64(cells[THREE * i + ONE]), np.float64(cells[THREE * i + TWO])
    cells[THREE * i] = weight_of(rule, z, n, l1_of(rule, book))
    if sums.size > 0:
        sums[i] += book[SCALES, 0] * (np.float64(cells[THREE * i]) - before)


@kernel
def adaptive_see(rule, cells, sums, i, book):
    """The weight in cell i, after its deferred penalty."""
    before = cells[THREE * i]
    if rule.l1 > 0.0 and before != 0.0:
        weigh_again(rule, cells, sums, i, np.float64(before), book)
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
    """``w += τ·x``; the deferred penalty was applied before."""
    change = cells.dtype.type(tau) * x
    cells[TWO * i] += change
    if sums.size > 0:
        sums[i] += book[SCALES, 0] * change


@kernel
def adaptive_shift(rule, cells, sums, i, x, tau, beta, book):
    """Add the gradient ``-τ·x`` to z and its square to n, and compute the weight from them."""
    g, before = -tau * np.float64(x), np.float64(cells[THREE * i])
    n = np.float64(cells[THREE * i + TWO])
    cells[THREE * i + ONE] += sum_of(rule, g, n, before)
    cells[THREE * i + TWO] += g * g
    weigh_again(rule, cells, sums, i, before, book)


shift = by_member(
    "shift", plain=plain_shift, second_order=second_order_shift, truncated=truncated_shift,
    adaptive=adaptive_shift,
)  # fmt: skip


# Whether entries that are zero count: reading a weight would apply its deferred penalty.
skips_zeros = kernel(lambda rule: False)
takes_zeros = by_member(
    "takes_zeros", truncated=skips_zeros, adaptive=skips_zeros, others=kernel(lambda rule: True)
)
