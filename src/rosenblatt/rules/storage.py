"""Storages: what a rule keeps per feature, and how an update changes it.

Each storage is one record (:class:`Storage`). Its functions `read`, `update` and `update_bias` are
compiled into the kernels, which walk over cells: the numbers of feature j and problem c lie at
``i·depth``, ..., where i counts features and problems, and the first of them is the weight (over
``book[SCALE]``). ``sums`` are the averaging sums of the cells, empty if nothing is averaged: a
change Δ of a weight adds ``book[SCALES]·Δ``. `define` is the same update of one cell in plain
Python, for the reference.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

# Rows of a book (10, problems). From SCALE on, one number for all problems, in the first column.
# BIAS_A is the variance of the bias, or its sum of gradients; BIAS_B its sum of squares.
BIAS, BIAS_SUM, BIAS_A, BIAS_B, BIAS_W, SCALE, SCALES, CLOCK, STEPS, PADDING = range(10)
BOOK = 10
# Typed, as an index that mixes signed and unsigned numbers would become a float.
ONE, TWO, THREE = np.uint64(1), np.uint64(2), np.uint64(3)

Cell = tuple[float, ...]


def weight_of(rule: Any, z: float, n: float, penalty: float) -> Any:
    """The weight that a rule makes of the sums z and n."""
    return _record(rule).weight(rule, z, n, penalty)


def increment_of(rule: Any, g: float, n: float, w: float) -> Any:
    """What a rule adds to z for a gradient g."""
    return _record(rule).increment(rule, g, n, w)


def _record(rule: Any) -> Any:
    from rosenblatt.rules.registry import rule_of  # the registry names storages

    return rule_of(type(rule))


def ready(rule: Any, cells: Any, sums: Any, i: Any, book: Any, penalty: Any) -> Any:
    """The weight in a cell of its own, and 0 for its variance."""
    return cells[i], cells.dtype.type(0)


def nothing_moves(cells: Any, book: Any, ratio: Any, moved: Any, sums: Any) -> None:
    """What is kept beside the weights does not depend on the scale of the columns."""


@dataclass(frozen=True)
class Storage:
    """What rules keep per feature.

    Attributes
    ----------
    name : str
    depth : int
        The numbers per cell; the first is the weight.
    define : callable
        ``define(rule, cell, x, tau, beta)``, the cell after an update by the entry x of a row, with
        τ that of the row, signed.
    update : callable
        The same for the kernels: ``update(rule, cells, sums, i, x, tau, beta, book, penalty)``.
    update_bias : callable
        The same for the bias: ``update_bias(rule, book, c, tau, beta)``, which has the rows
        ``BIAS``, ``BIAS_A``, ``BIAS_B`` and ``BIAS_W`` of the book for its numbers.
    read : callable
        ``read(rule, cells, sums, i, book, penalty)``: the weight, and its variance or 0.
    weigh : callable, optional
        The weight of a cell by its other numbers and a penalty, ``weigh(rule, cell, penalty)``.
    has_variances : bool
        Whether a step returns (τ, β), and gets the variance of a row, instead of its length.
    start : callable, optional
        ``start(cells, rates)`` writes what new cells (..., features, depth) begin with, if that is
        not zero.
    bias_start : float
        What ``BIAS_A`` begins with.
    signed : int
        How many of the first numbers of a cell change sign where the classes of a pair change
        places; ``BIAS_A`` does if there are more than one.
    rescale : callable
        ``rescale(cells, book, ratio, moved, sums)`` for columns that are moved down, and then
        multiplied by a ratio; cells are (problems, features, depth).
    """

    name: str
    depth: int
    define: Callable[..., Cell]
    update: Callable[..., Any]
    update_bias: Callable[..., Any]
    read: Callable[..., Any] = ready
    weigh: Callable[..., float] | None = None
    has_variances: bool = False
    start: Callable[..., None] | None = None
    bias_start: float = 0.0
    signed: int = 1
    rescale: Callable[..., None] = nothing_moves

    @property
    def functions(self) -> tuple[Callable[..., Any], ...]:
        """The functions that kernels call."""
        return self.read, self.update, self.update_bias


# The weight


def plain_definition(rule: Any, cell: Cell, x: float, tau: float, beta: float) -> Cell:
    """``w += τ·x``."""
    return (cell[0] + tau * x,)


def plain_update(
    rule: Any, cells: Any, sums: Any, i: Any, x: Any, tau: Any, beta: Any, book: Any, penalty: Any
) -> None:
    """``w += τ·x`` for the entry x of a row."""
    change = cells.dtype.type(tau) * x
    cells[i] += change
    if sums.size > 0:
        sums[i] += book[SCALES, 0] * change


def plain_bias(rule: Any, book: Any, c: Any, tau: Any, beta: Any) -> None:
    """``b += τ·c²``."""
    book[BIAS, c] += tau * book[PADDING, 0]


def move_weights(cells: Any, book: Any, ratio: Any, moved: Any, sums: Any) -> None:
    """The biases tell how far the weights went up or down."""
    shift_weights(cells, book, ratio, moved, sums, np.float64(1.0))


def shift_weights(cells: Any, book: Any, growth: Any, moved: Any, sums: Any, share: Any) -> None:
    """Move weights and their averaging sums by a share of what the biases say, and let them grow.

    Without a padding there are no biases, nor centres.
    """
    units = max(book[PADDING, 0], 1e-300)
    pushes = book[BIAS] / units
    late = pushes * book[SCALES, 0] - book[BIAS_SUM] / units
    cells[..., 0] -= np.outer(pushes / book[SCALE, 0], moved) * share
    cells[..., 0] *= growth
    if sums.size:
        sums -= np.outer(late, moved) * share
        sums *= growth


PLAIN = Storage("plain", 1, plain_definition, plain_update, plain_bias, rescale=move_weights)


# The weight and its variance σ


def variances_definition(rule: Any, cell: Cell, x: float, tau: float, beta: float) -> Cell:
    """``w += τ·σ·x`` and ``σ -= β·(σ·x)²``."""
    w, spread = cell
    pull = spread * x
    return w + tau * pull, spread - beta * pull * pull


def variances_read(rule: Any, cells: Any, sums: Any, i: Any, book: Any, penalty: Any) -> Any:
    """The weight in cell i, and its variance."""
    return cells[TWO * i], cells[TWO * i + ONE]


def variances_update(
    rule: Any, cells: Any, sums: Any, i: Any, x: Any, tau: Any, beta: Any, book: Any, penalty: Any
) -> None:
    """``w += τ·σ·x`` and ``σ -= β·(σ·x)²`` for the entry x of a row."""
    spread = cells[TWO * i + ONE] * x
    change = cells.dtype.type(tau) * spread
    cells[TWO * i] += change
    cells[TWO * i + ONE] -= cells.dtype.type(beta) * spread * spread
    if sums.size > 0:
        sums[i] += book[SCALES, 0] * change


def variances_bias(rule: Any, book: Any, c: Any, tau: Any, beta: Any) -> None:
    """``b += τ·σ·c²`` and ``σ -= β·(σ·c)²``."""
    spread = book[BIAS_A, c]
    book[BIAS, c] += tau * spread * book[PADDING, 0]
    book[BIAS_A, c] -= beta * spread * spread * book[PADDING, 0]


def first_variances(cells: Any, rates: Any) -> None:
    """The variances begin with the rates of the features."""
    cells[..., 1] = rates


def move_variances(cells: Any, book: Any, ratio: Any, moved: Any, sums: Any) -> None:
    """A variance follows from the squares of its column, and the weights from it."""
    variances = cells[..., 1]
    later = 1.0 / (1.0 + (1.0 / variances - 1.0) * ratio * ratio)
    growth, share = ratio * later / variances, variances / book[BIAS_A][:, None]
    shift_weights(cells, book, growth, moved, sums, share)
    variances[...] = later


VARIANCES = Storage(
    "variances",
    2,
    variances_definition,
    variances_update,
    variances_bias,
    read=variances_read,
    has_variances=True,
    start=first_variances,
    bias_start=1.0,
    rescale=move_variances,
)


# The weight, the sum z of gradients and the sum n of their squares


def adaptive_definition(rule: Any, cell: Cell, x: float, tau: float, beta: float) -> Cell:
    """Add the gradient ``g = -τ·x`` to z and its square to n."""
    w, z, n = cell
    g = -tau * x
    return w, z + increment_of(rule, g, n, w), n + g * g


def adaptive_weight(rule: Any, cell: Cell, penalty: float) -> float:
    """The weight by z and n."""
    return float(weight_of(rule, cell[1], cell[2], penalty))


def recompute_weight(
    rule: Any, cells: Any, sums: Any, i: Any, before: Any, book: Any, penalty: Any
) -> None:
    """Compute the weight in cell i from z and n; it was `before`."""
    z, n = np.float64(cells[THREE * i + ONE]), np.float64(cells[THREE * i + TWO])
    cells[THREE * i] = weight_of(rule, z, n, penalty)
    if sums.size > 0:
        sums[i] += book[SCALES, 0] * (np.float64(cells[THREE * i]) - before)


def adaptive_read(rule: Any, cells: Any, sums: Any, i: Any, book: Any, penalty: Any) -> Any:
    """The weight in cell i, after its deferred penalty, and 0 for its variance."""
    before = cells[THREE * i]
    if penalty > 0.0 and before != 0.0:
        recompute_weight(rule, cells, sums, i, np.float64(before), book, penalty)
    return cells[THREE * i], cells.dtype.type(0)


def adaptive_update(
    rule: Any, cells: Any, sums: Any, i: Any, x: Any, tau: Any, beta: Any, book: Any, penalty: Any
) -> None:
    """Add the gradient ``-τ·x`` to z and its square to n, and compute the weight from them."""
    g, before = -tau * np.float64(x), np.float64(cells[THREE * i])
    n = np.float64(cells[THREE * i + TWO])
    cells[THREE * i + ONE] += increment_of(rule, g, n, before)
    cells[THREE * i + TWO] += g * g
    recompute_weight(rule, cells, sums, i, before, book, penalty)


def adaptive_bias(rule: Any, book: Any, c: Any, tau: Any, beta: Any) -> None:
    """The weight of the padding feature by its own sums, without a penalty."""
    padding = np.sqrt(book[PADDING, 0])
    g = -tau * padding
    book[BIAS_A, c] += increment_of(rule, g, book[BIAS_B, c], book[BIAS_W, c])
    book[BIAS_B, c] += g * g
    book[BIAS_W, c] = weight_of(rule, book[BIAS_A, c], book[BIAS_B, c], 0.0)
    book[BIAS, c] = padding * book[BIAS_W, c]


def move_sums(cells: Any, book: Any, ratio: Any, moved: Any, sums: Any) -> None:
    """The sums become about those of the new columns; weights change when they are updated."""
    units = max(book[PADDING, 0], 1e-300)
    pushes, squares = book[BIAS_A] / math.sqrt(units), book[BIAS_B] / units
    cells[..., 1] = (cells[..., 1] - np.outer(pushes, moved)) * ratio
    cells[..., 2] = (cells[..., 2] + np.outer(squares, moved * moved)) * ratio * ratio


ADAPTIVE = Storage(
    "adaptive",
    3,
    adaptive_definition,
    adaptive_update,
    adaptive_bias,
    read=adaptive_read,
    weigh=adaptive_weight,
    signed=2,
    rescale=move_sums,
)

STORAGES = {storage.name: storage for storage in (PLAIN, VARIANCES, ADAPTIVE)}
