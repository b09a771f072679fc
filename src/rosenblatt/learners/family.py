"""Learners of the family: every member, for two or more classes, on rows of every layout."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from weakref import proxy

import numpy as np

from rosenblatt.kernels import cells as kernels
from rosenblatt.kernels import learn
from rosenblatt.kernels._memory import zeros
from rosenblatt.kernels.cells import BIAS, BIAS_A, BIAS_SUM, BOOK, CLOCK, PADDING, SCALE, SCALES
from rosenblatt.learners.examples import Examples
from rosenblatt.learners.linear import Linear
from rosenblatt.learners.parts import ONE_RATE, Part
from rosenblatt.learners.problems import groups_of
from rosenblatt.learners.protocol import NO_LIMITS, Array, Limits
from rosenblatt.learners.weights import State, Weights
from rosenblatt.rules.registry import rule_of


class Family(Linear):
    """A member of the family with explicit weights.

    One against the rest and one against one are binary problems with a walk each; classes that
    learn jointly share one walk.

    Parameters
    ----------
    spec, n_classes, n_features
        As for :func:`rosenblatt.learners.make`, which makes them.
    """

    is_perceptron = False

    def _use_spec(self) -> None:
        super()._use_spec()
        self.member = self.spec.rule
        for part in getattr(self, "parts", ()):
            part.book[PADDING] = self.padding**2

    def _groups(self) -> list[tuple[tuple[int, int], int]]:
        if self.n_classes > 2 and self.multiclass == "ovr":
            return [((learn.REST, c), 1) for c in range(self.n_classes)]
        return groups_of(self.n_classes, self.multiclass, 1)

    def _new_part(self, classes: tuple[int, int], problems: int) -> Part:
        return FamilyPart(self, classes, problems)

    def _limits(self, limits: Limits) -> Limits:
        return limits if len(self.parts) == 1 else NO_LIMITS

    def _is_updated(self, scores: Array, truth: Array, seen: list[Array]) -> Array:
        return np.logical_or.reduce([s[:, 1] > 0 for s in seen])

    def is_separating(self, examples: Examples, rows: Array) -> bool:
        """Whether none of the rows would be corrected."""
        twin = self.untrained(self.n_features, self.dense)
        twin.restore(self.state())
        return twin.walk(examples, rows).updates == 0

    def row_updates(
        self, examples: Examples, order: Array, etas: Array, epochs: int
    ) -> Array | None:
        """None: counts of corrections do not determine the weights."""
        return None

    def is_at(self, snapshot: Weights) -> bool:
        """False: equal weights do not prove a cycle, as there is more state."""
        return False


class FamilyPart(Part):
    """The cells of some problems of a member, see :mod:`rosenblatt.kernels.cells`.

    Averaging sums are not lazy. ``classes`` are the negative class, or
    :data:`~rosenblatt.kernels.learn.REST`, and the positive class.
    """

    clock_row = CLOCK
    learner: Family

    def __init__(self, learner: Family, classes: tuple[int, int], problems: int) -> None:
        self.learner, self.classes, self.problems = proxy(learner), classes, problems
        self.record = rule_of(type(learner.member))
        kernels.declare(self.record)
        self.has_variances = self.record.storage == "variances"
        self.depth = kernels.depth(learner.member)
        self.before = self.before_bias = np.empty(0)
        self.mean = None
        self.deferred = []
        self._begin()

    @property
    def kernel(self) -> Any:
        """The kernel that walks."""
        return kernels.walk_jointly if self.learner.problems.joint else kernels.walk_problem

    def _begin(self) -> None:
        """Allocate cells, sums and book, for zero weights."""
        learner, self.room = self.learner, self.learner.n_features
        self.cells = zeros((self.problems * self.room * self.depth,), learner.dtype)
        if self.has_variances:
            self._wide(self.cells)[..., 1] = self._variances(0, self.room)
        self.sums_, self.book = self._no_sums(), np.zeros((BOOK, self.problems))
        self.book[SCALE], self.book[PADDING] = 1.0, learner.padding**2
        self.book[BIAS_A] = float(self.has_variances)

    def _no_sums(self) -> Array:
        """Averaging sums of zero; empty if nothing is averaged."""
        size = self.problems * self.room if self.learner.averaging else 0
        return zeros((size,), np.float64)

    def score_buffer(self, visits: int) -> Array:
        """An uninitialised array for scores; a single problem also notes its corrections."""
        return np.empty((visits, max(2, self.problems)), self.learner.dtype)

    def scores(self, seen: Array) -> Array:
        """The scores (visits, problems) in the buffer of a walk."""
        return seen[:, : self.problems]

    def arguments(
        self, examples: Examples, order: Array, etas: Array, tally: Array, seen: Array
    ) -> tuple[Any, ...]:
        """The arguments of the kernel."""
        rates = self.learner.rates if self.record.storage == "plain" else ONE_RATE
        return (
            *examples.arrays, order, etas, self.cells, self.sums_, rates, self.book,
            self.learner.member, tally, seen,
        )  # fmt: skip

    def defer(self, *walked: Any) -> None:
        """Do nothing: the sums are not lazy."""

    def settle(self) -> None:
        """Do nothing: the sums are not lazy."""

    def _variances(self, first: int, end: int) -> Array:
        """The initial variances of some features."""
        rates = self.learner.rates
        return rates[np.minimum(np.arange(first, end), rates.size - 1)]

    def _wide(self, cells: Array, depth: int | None = None) -> Array:
        """A view of all cells as (problems, features, depth), reserved ones included."""
        shape = (self.problems, self.room) if self.learner.dense else (self.room, self.problems)
        wide = cells.reshape(*shape, depth or self.depth)
        return wide if self.learner.dense else wide.transpose(1, 0, 2)

    def present(self, averaged: bool = False) -> tuple[Array, Array]:
        """The weights (problems, features), all penalties applied, and the biases."""
        cells, sums, n = self.cells, self.sums_, self.learner.n_features
        if self.record.penalty(self.learner.member, 1.0) > 0.0:
            cells, sums = cells.copy(), sums.copy()
            kernels.apply_penalties(self.learner.member, cells, sums, self.book)
        raw = self._wide(cells)[:, :n, 0]
        if averaged and self.clock > 0:
            total = raw * self.book[SCALES, 0] - self._wide(sums, 1)[:, :n, 0]
            return (total / self.clock).astype(raw.dtype), self.book[BIAS_SUM] / self.clock
        scale = self.book[SCALE, 0]
        return raw if scale == 1.0 else (raw * scale).astype(raw.dtype), self.book[BIAS]

    def scorers(self, averaged: bool) -> Iterator[tuple[Any, tuple[Any, ...], Array, Array]]:
        """The first arguments of :func:`scored`, for each problem."""
        for w, bias in zip(*self.present(averaged), strict=True):
            yield learn.walk_one, (), np.ascontiguousarray(w), np.array([bias])

    def sums_by_problem(self) -> Array:
        """The averaging sums (problems, features)."""
        return self._wide(self.sums_, 1)[:, : self.learner.n_features, 0]

    def restart_average(self) -> None:
        """Start the average at the next step."""
        self.sums_ = self._no_sums()
        self.book[BIAS_SUM] = self.book[CLOCK] = self.book[SCALES] = 0.0

    def measured(self) -> tuple[Array, bool]:
        """The weights, and whether they are (problems, features)."""
        weights, dense = self.present()[0], self.learner.dense
        return np.array(weights if dense else weights.T, order="C"), dense

    def mark(self) -> None:
        """Store the weights."""
        self.before, self.before_bias = self.measured()[0], self.book[BIAS].copy()

    def measure(self, padding: float) -> Array:
        """Squared norms as of other learners, except that the bias is not divided by c."""
        return super().measure(1.0)

    def extra_state(self) -> tuple[Array, Array]:
        """The cells (problems, features, depth), empty if the weights determine them; the book."""
        if self.depth == 1 and all(part.book[SCALE, 0] == 1.0 for part in self.learner.parts):
            return np.zeros((self.problems, 0, 0)), self.book
        return self._wide(self.cells)[:, : self.learner.n_features], self.book

    def reserve(self) -> None:
        """Add cells for new features of the learner, with zero weights and initial variances."""
        needed, before = self.learner.n_features, self.room
        if needed <= before:
            return
        old = self._wide(self.cells)
        old_sums = self._wide(self.sums_, 1) if self.sums_.size else None
        self.room = max(needed, 2 * before)
        self.cells = zeros((self.problems * self.room * self.depth,), old.dtype)
        self.sums_ = self._no_sums()
        wide = self._wide(self.cells)
        wide[:, :before] = old
        if self.has_variances:
            wide[:, before:, 1] = self._variances(before, self.room)
        if old_sums is not None:
            self._wide(self.sums_, 1)[:, :before] = old_sums

    def restore(self, state: State, own: slice) -> None:
        """Continue from the problems `own` of a state; NaN stands for initial values."""
        self._begin()
        self._restore_cells(state.weights[own], state.cells[own])
        if self.sums_.size and state.sums.size:
            self._wide(self.sums_, 1)[..., 0] = state.sums[own]
        if state.book.size:
            self.book = np.where(np.isnan(state.book[:, own]), self.book, state.book[:, own])
        else:
            self.book[BIAS] = state.bias[own]
        if state.before is not None:
            weights = state.before.weights[own]
            self.before = np.array(weights if self.learner.dense else weights.T, order="C")
            self.before_bias = state.before.bias[own].copy()

    def _restore_cells(self, weights: Array, cells: Array) -> None:
        wide = self._wide(self.cells)
        if cells.size:
            wide[...] = np.where(np.isnan(cells), wide, cells)
        else:
            wide[..., 0] = weights
