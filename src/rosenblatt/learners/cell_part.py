"""The parts of a linear learner that learn by a rule other than the perceptron's."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from rosenblatt.kernels import cells as kernels
from rosenblatt.kernels import learn, rule_walks
from rosenblatt.kernels._memory import zeros
from rosenblatt.learners import Spec
from rosenblatt.learners.parts import ONE_RATE, Part, Scorer, Visits, scored
from rosenblatt.learners.protocol import Array, Limits
from rosenblatt.learners.weights import State
from rosenblatt.rules.registry import Rule, rule_of
from rosenblatt.rules.storage import (
    BIAS,
    BIAS_A,
    BIAS_SUM,
    BOOK,
    CLOCK,
    PADDING,
    SCALE,
    SCALES,
    Storage,
)


class CellPart(Part):
    """The cells of some problems: weights with what their rule keeps beside them.

    See :mod:`rosenblatt.kernels.cells`. Averaging sums are not lazy.
    """

    clock_row = CLOCK

    def __init__(self, *group: Any) -> None:
        super().__init__(*group)
        self._begin()

    @property
    def kernel(self) -> Any:
        """The kernel that walks."""
        return rule_walks.walk_jointly if self.kind == "joint" else rule_walks.walk_problem

    def change(self, spec: Spec) -> None:
        """Continue with other numbers of the rule and another padding."""
        self.spec = spec
        self.book[PADDING] = spec.padding**2

    def rescale(self, ratio: Array, moved: Array) -> None:
        """Continue with columns that are moved down, and then multiplied by a ratio.

        The weights become about what the same updates by rows of that scale would have made.
        """
        sums = self._wide(self.cell_sums, 1)[..., 0] if self.cell_sums.size else self.cell_sums
        self.storage.rescale(self._wide(self.cells), self.book, ratio, moved, sums)

    @property
    def record(self) -> Rule:
        """The record of the rule."""
        return rule_of(type(self.spec.rule))

    @property
    def storage(self) -> Storage:
        """What the rule keeps per feature."""
        return self.record.storage

    def _begin(self) -> None:
        """Allocate cells, sums and book, for zero weights."""
        kernels.declare(self.record)
        self.depth = self.storage.depth
        self.room = self.n_features
        self.cells = zeros((self.problems * self.room * self.depth,), self.spec.dtype)
        self._start(self._wide(self.cells), 0)
        self.cell_sums = self._no_sums()
        self.book = np.zeros((BOOK, self.problems))
        self.book[SCALE], self.book[PADDING] = 1.0, self.spec.padding**2
        self.book[BIAS_A] = self.storage.bias_start

    def _no_sums(self) -> Array:
        """Averaging sums of zero; empty if nothing is averaged."""
        size = self.problems * self.room if self.spec.averaging else 0
        return zeros((size,), np.float64)

    def score_buffer(self, visits: int) -> Array:
        """An uninitialised array for scores; a single problem also notes its corrections."""
        return np.empty((visits, max(2, self.problems)), self.spec.dtype)

    def scores(self, seen: Array) -> Array:
        """The scores (visits, problems) in the buffer of a walk."""
        return seen[:, : self.problems]

    def arguments(
        self, visits: Visits, limits: Limits, counts: Array, seen: Array
    ) -> tuple[Any, ...]:
        """The arguments of the kernel."""
        examples, order, etas = visits
        rates = self.spec.rates if self.depth == 1 else ONE_RATE
        return (
            *examples.arrays,
            order,
            etas,
            self.cells,
            self.cell_sums,
            rates,
            self.book,
            self.spec.rule,
            self.task(limits),
            counts,
            seen,
        )

    def _start(self, cells: Array, first: int) -> None:
        """Write what the cells from the `first` feature on begin with; they are zero."""
        if self.storage.start is not None:
            rates = self.spec.rates
            self.storage.start(
                cells, rates[np.minimum(np.arange(first, self.room), rates.size - 1)]
            )

    def _wide(self, cells: Array, depth: int | None = None) -> Array:
        """A view of all cells as (problems, features, depth), reserved ones included."""
        shape = (self.problems, self.room) if self.spec.dense else (self.room, self.problems)
        wide = cells.reshape(*shape, depth or self.depth)
        return wide if self.spec.dense else wide.transpose(1, 0, 2)

    def present(self, averaged: bool = False) -> tuple[Array, Array]:
        """The weights (problems, features), all penalties applied, and the biases."""
        cells, sums = self.cells, self.cell_sums
        n = self.n_features
        if self.record.penalty(self.spec.rule, 1.0) > 0.0:
            cells, sums = cells.copy(), sums.copy()
            kernels.apply_penalties(self.spec.rule, cells, sums, self.book)
        raw = self._wide(cells)[:, :n, 0]
        if averaged and self.clock > 0:
            total = raw * self.book[SCALES, 0] - self._wide(sums, 1)[:, :n, 0]
            return (total / self.clock).astype(raw.dtype), self.book[BIAS_SUM] / self.clock
        scale = self.book[SCALE, 0]
        return raw if scale == 1.0 else (raw * scale).astype(raw.dtype), self.book[BIAS]

    def scorers(self, averaged: bool) -> Iterator[Scorer]:
        """What scores by the current weights or their average, one per problem."""
        for w, bias in zip(*self.present(averaged), strict=True):
            w, bias = np.ascontiguousarray(w), np.array([bias])
            yield partial(scored, learn.walk_one, (), w, bias)

    def sums_by_problem(self) -> Array:
        """The averaging sums (problems, features)."""
        return self._wide(self.cell_sums, 1)[:, : self.n_features, 0]

    def restart_average(self) -> None:
        """Start the average at the next step."""
        self.cell_sums = self._no_sums()
        self.book[BIAS_SUM] = self.book[CLOCK] = self.book[SCALES] = 0.0

    def measured(self) -> tuple[Array, bool]:
        """The weights, and whether they are (problems, features)."""
        weights, dense = self.present()[0], self.spec.dense
        return np.array(weights if dense else weights.T, order="C"), dense

    @property
    def needs_cells(self) -> bool:
        """Whether the weights do not determine the cells."""
        return self.depth > 1 or bool(self.book[SCALE, 0] != 1.0)

    def own_state(self, with_cells: bool) -> tuple[Array, Array]:
        """The cells (problems, features, depth), or an empty array; and the book."""
        if not with_cells:
            return np.zeros((self.problems, 0, 0)), self.book
        return self._wide(self.cells)[:, : self.n_features], self.book

    def reserve(self, n_features: int) -> None:
        """Add cells for new features, with zero weights and initial variances."""
        self.n_features, before = n_features, self.room
        if n_features <= before:
            return
        old = self._wide(self.cells)
        old_sums = self._wide(self.cell_sums, 1) if self.cell_sums.size else None
        self.room = max(n_features, 2 * before)
        self.cells = zeros((self.problems * self.room * self.depth,), old.dtype)
        self.cell_sums = self._no_sums()
        wide = self._wide(self.cells)
        wide[:, :before] = old
        self._start(wide[:, before:], before)
        if old_sums is not None:
            self._wide(self.cell_sums, 1)[:, :before] = old_sums

    def restore(self, state: State, places: slice) -> None:
        """Continue from the problems at `places` of a state; NaN stands for initial values."""
        self.n_features = state.weights.shape[1]
        self._begin()
        wide, cells = self._wide(self.cells), state.cells[places]
        if cells.size:
            wide[...] = np.where(np.isnan(cells), wide, cells)
        else:
            wide[..., 0] = state.weights[places]
        if self.cell_sums.size and state.sums.size:
            self._wide(self.cell_sums, 1)[..., 0] = state.sums[places]
        if state.book.size:
            self.book = np.where(np.isnan(state.book[:, places]), self.book, state.book[:, places])
        else:
            self.book[BIAS] = state.bias[places]
        if state.before is not None:
            weights = state.before.weights[places]
            self.before = np.array(weights if self.spec.dense else weights.T, order="C")
            self.before_bias = state.before.bias[places].copy()
