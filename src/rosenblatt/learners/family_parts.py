"""The cells of some problems of a member of the family, in the layout of the kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rosenblatt import rules
from rosenblatt.kernels import family
from rosenblatt.kernels._memory import zeros
from rosenblatt.kernels.family_cells import (
    BIAS,
    BIAS_A,
    BIAS_SUM,
    BOOK,
    CLOCK,
    PADDING,
    SCALE,
    SCALES,
)  # fmt: skip
from rosenblatt.learners.examples import Examples
from rosenblatt.learners.linear import ONE_RATE
from rosenblatt.learners.protocol import Array
from rosenblatt.learners.weights import State

if TYPE_CHECKING:
    from rosenblatt.learners.family import Family


def depth_of(rule: Any) -> int:
    """How many numbers a cell holds.

    >>> depth_of(rules.second_order.Arow(1.0))
    2
    """
    name = type(rule).__name__
    if name in rules.ADAPTIVE:
        return 3
    return 2 if name in rules.SECOND_ORDER or name == "Truncated" else 1


class FamilyPart:
    """The arrays of some problems that one kernel call trains together.

    ``cells`` is a vector: (problems, features, depth) for dense rows, (features, problems, depth)
    for sparse ones. ``classes`` are the negative and the positive class.
    """

    def __init__(self, rule: Any, classes: tuple[int, int], problems: int, learner: Family) -> None:
        self.rule, self.classes, self.problems, self.learner = rule, classes, problems, learner
        self.depth, self.has_variances = depth_of(rule), type(rule).__name__ in rules.SECOND_ORDER
        self.room = learner.n_features
        self.cells = zeros((problems * self.room * self.depth,), learner.dtype)
        if self.has_variances:
            self._wide(self.cells)[..., 1] = self._variances(0, self.room)
        self.sums, self.book = self.no_sums(), np.zeros((BOOK, problems))
        self.book[SCALE], self.book[PADDING] = 1.0, learner.padding**2
        self.book[BIAS_A] = 1.0 if self.has_variances else 0.0

    @property
    def kernel(self) -> Any:
        """What walks."""
        return family.walk_joint if self.learner.joint else family.walk_one

    def no_sums(self) -> Array:
        """Averaging sums of nothing; empty if nothing is averaged."""
        size = self.problems * self.room if self.learner.averaging else 0
        return zeros((size,), np.float64)

    def arguments(
        self, examples: Examples, order: Array, etas: Array, tally: Array, seen: Array
    ) -> tuple[Any, ...]:
        """What the kernel takes."""
        plain = self.depth == 1 or type(self.rule).__name__ == "Truncated"
        rates = self.learner.rates if plain else ONE_RATE
        return (
            *examples.arrays, order, etas, self.cells, self.sums, rates, self.book, self.rule,
            tally, seen,
        )  # fmt: skip

    def _variances(self, first: int, end: int) -> Array:
        """The variances that features begin with."""
        rates = self.learner.rates
        return rates[np.minimum(np.arange(first, end), rates.size - 1)]

    def _wide(self, cells: Array, depth: int | None = None) -> Array:
        """A view of cells as (problems, features, depth), with the room for more."""
        shape = (self.problems, self.room) if self.learner.dense else (self.room, self.problems)
        wide = cells.reshape(*shape, depth or self.depth)
        return wide if self.learner.dense else wide.transpose(1, 0, 2)

    def _now(self) -> tuple[Array, Array]:
        """Cells and sums in which no weight owes a penalty, as (problems, features, ...)."""
        cells, sums, n = self.cells, self.sums, self.learner.n_features
        if getattr(self.rule, "l1", 0.0) > 0.0:
            cells, sums = cells.copy(), sums.copy()
            family.bring_up_to_date(self.rule, cells, sums, self.book)
        wide = self._wide(sums, 1)[:, :n, 0] if sums.size else np.zeros((self.problems, 0))
        return self._wide(cells)[:, :n], wide

    def weights(self) -> Array:
        """The weights (problems, features), where they lie if possible."""
        raw, scale = self._now()[0][..., 0], self.book[SCALE, 0]
        return raw if scale == 1.0 else (raw * scale).astype(raw.dtype)

    def mean(self) -> tuple[Array, Array]:
        """The mean of the weights after each step, and of the biases."""
        steps, (cells, sums) = self.book[CLOCK, 0], self._now()
        total = cells[..., 0] * self.book[SCALES, 0] - sums
        return (total / steps).astype(self.cells.dtype), self.book[BIAS_SUM] / steps

    def sums_shown(self) -> Array:
        """The averaging sums as (problems, features)."""
        return self._wide(self.sums, 1)[:, : self.learner.n_features, 0]

    def kept(self) -> Array:
        """The cells as (problems, features, depth), if the weights do not tell all of them."""
        if self.depth == 1 and self.book[SCALE, 0] == 1.0:
            return np.zeros((self.problems, 0, 0))
        return self._wide(self.cells)[:, : self.learner.n_features]

    def reserve(self) -> None:
        """Make room for the learner's features; new ones have weight 0 and first variances."""
        needed, before = self.learner.n_features, self.room
        if needed <= before:
            return
        old, sums = self._wide(self.cells), self._wide(self.sums, 1) if self.sums.size else None
        self.room = max(needed, 2 * before)
        self.cells, self.sums = (
            zeros((self.problems * self.room * self.depth,), old.dtype),
            (self.no_sums()),
        )
        wide = self._wide(self.cells)
        wide[:, :before] = old
        if self.has_variances:
            wide[:, before:, 1] = self._variances(before, self.room)
        if sums is not None:
            self._wide(self.sums, 1)[:, :before] = sums

    def restore(self, state: State, own: slice) -> None:
        """Take up what a state holds of these problems; NaN stands for what has yet to begin."""
        fresh = FamilyPart(self.rule, self.classes, self.problems, self.learner)
        self.room, self.cells, self.sums = fresh.room, fresh.cells, fresh.sums
        wide = self._wide(self.cells)
        cells = state.cells[own]
        if cells.size:
            wide[...] = np.where(np.isnan(cells), wide, cells)
        else:
            wide[..., 0] = state.weights[own]
        if self.sums.size and state.sums.size:
            self._wide(self.sums, 1)[..., 0] = state.sums[own]
        if state.book.size:
            book = state.book[:, own]
            self.book = np.where(np.isnan(book), fresh.book, book)
        else:
            self.book = fresh.book
            self.book[BIAS] = state.bias[own]
            self._restart_norm()

    def _restart_norm(self) -> None:
        """Measure weights that were given."""
        w = self.weights().astype(np.float64)
        padding = self.learner.padding
        self.book[family.NORM, 0] = float((w * w).sum())
        if padding > 0:
            self.book[family.NORM, 0] += float((self.book[BIAS] ** 2).sum()) / padding**2
