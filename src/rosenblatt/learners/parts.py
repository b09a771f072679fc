"""The arrays of some problems of a linear learner, in the layout of the kernels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from weakref import proxy

import numpy as np

from rosenblatt.kernels import learn, measures
from rosenblatt.kernels._memory import zeros
from rosenblatt.learners.examples import ONE, Examples
from rosenblatt.learners.protocol import NO_LIMITS, Array, Limits
from rosenblatt.learners.weights import State

if TYPE_CHECKING:
    from rosenblatt.learners.linear import Linear

ONE_RATE = np.ones(1, np.float32)
_BLOCK = 1 << 16  # numbers, half a megabyte of doubles
NEVER = np.array([np.nan, np.nan, 0.0])  # a rule that never learns: no margin compares with NaN


class Part:
    """The arrays of some problems that one kernel call trains together.

    ``W`` is a vector for a single problem; else (problems, features) for dense rows and (features,
    problems) for sparse ones. ``classes`` are its first class, or its negative and positive one.

    The averaging sums are lazy: `deferred` holds walks, as examples, order, rates, scores and the
    time when each began, until :meth:`settle` adds them.
    """

    clock_row = learn.CLOCK  # of the book

    learner: Linear  # a proxy: memory in a cycle would stay until garbage is collected

    def __init__(self, learner: Linear, classes: tuple[int, int], problems: int) -> None:
        self.learner, self.classes, self.problems = proxy(learner), classes, problems
        shape: tuple[int, ...] = (learner.n_features,)
        if learner.kind != "one":
            shape = (problems, *shape) if learner.dense else (*shape, problems)
        self.W, self.U, self.book = (
            zeros(shape, learner.dtype),
            np.empty(0),
            np.zeros((4, problems)),
        )
        self.before = self.before_bias = np.empty(0)
        self.mean: tuple[Any, tuple[Array, Array]] | None = None  # cached, with its key
        self.deferred: list[tuple[Examples, Array, Array, Array, float]] = []

    def __getstate__(self) -> dict[str, Any]:
        # The learner attaches itself to its parts again.
        return {**self.__dict__, "learner": None, "mean": None}

    @property
    def kernel(self) -> Any:
        """What walks."""
        return learn.walk_one if self.learner.kind == "one" else learn.walk_many

    @property
    def settling(self) -> Any:
        """What adds walks to the averaging sums."""
        return learn.settle_one if self.learner.kind == "one" else learn.settle_many

    @property
    def clock(self) -> float:
        """The weighted steps of the average so far."""
        return float(self.book[self.clock_row, 0])

    @clock.setter
    def clock(self, steps: float) -> None:
        self.book[self.clock_row, 0] = steps

    # The walk

    def room_for(self, visits: int) -> Array:
        """Room for the scores of a walk."""
        return np.empty((visits, self.problems), self.learner.dtype)

    def scores(self, seen: Array) -> Array:
        """The scores (visits, problems) that a walk has left in its room."""
        return seen

    def arguments(
        self, examples: Examples, order: Array, etas: Array, tally: Array, seen: Array
    ) -> tuple[Any, ...]:
        """What the kernel takes; batch learners correct nothing on the way."""
        learner = self.learner
        return (
            *examples.arrays, order, etas, self.W, learner.rates, self.book,
            NEVER if learner.batch else learner.rule, tally, seen, *self._scratch(),
        )  # fmt: skip

    def settling_arguments(
        self, examples: Examples, order: Array, etas: Array, seen: Array
    ) -> tuple[Any, ...]:
        """What the kernel takes that adds a walk to the averaging sums."""
        return (
            *examples.arrays, order, etas, seen, self.sums(), self.learner.rates, self.book,
            self.learner.rule, self.tally(), *self._scratch(),
        )  # fmt: skip

    def tally(self, limits: Limits = NO_LIMITS) -> Array:
        """Limits and counts as the kernels keep them."""
        tally = tally_of(self.classes, limits)
        tally[learn.JOINT] = self.learner.kind == "joint"
        return tally

    def _scratch(self) -> tuple[Any, ...]:
        """Scratch memory of the kernels for several classes."""
        return () if self.learner.kind == "one" else (np.empty((3, self.problems)),)

    def defer(
        self, examples: Examples, order: Array, etas: Array, seen: Array, time: float, end: int
    ) -> None:
        """Keep a walk that ended after so many visits for the averaging sums."""
        rates = etas if etas.size == 1 else etas[:end]
        self.deferred.append((examples, order[:end], rates, seen[:end], time))

    @property
    def deferred_bytes(self) -> int:
        """The bytes of all scores kept."""
        return sum(seen.nbytes for _, _, _, seen, _ in self.deferred)

    def settle(self) -> None:
        """Add the deferred walks to the averaging sums."""
        for examples, order, etas, seen, time in self.deferred:
            self.book[learn.TIME, 0] = time
            self.settling(*self.settling_arguments(examples, order, etas, seen))
        self.deferred.clear()

    def correct(
        self, examples: Examples, order: Array, coefficients: Array, eta: float, clock: float
    ) -> None:
        """Add rows times their coefficients (rows, problems) and the rate, all at once."""
        heap = np.zeros_like(self.W)
        wide = heap.reshape((self.problems, -1) if self.learner.dense else (-1, self.problems))
        learn.add_rows(examples.rows, order, coefficients, wide, self.learner.rates)
        self.W += self.W.dtype.type(eta) * heap
        change = eta * self.learner.rule[learn.PADDING] * coefficients.sum(axis=0)
        self.book[learn.BIAS] += change
        if self.learner.averaging:
            self.sums()[...] += clock * eta * heap.astype(np.float64)
            self.book[learn.BIAS_SUM] += clock * change

    # Weights

    def scored_by(self, averaged: bool) -> Iterator[tuple[Any, tuple[Any, ...], Array, Array]]:
        """What :func:`scored` takes to score by the present weights or their average."""
        yield self.kernel, self._scratch(), *self._now(averaged)

    def _now(self, averaged: bool) -> tuple[Array, Array]:
        """The weights as they lie, and the biases; or the mean of both after each step."""
        W, bias = self._without_room(self.W), self.book[learn.BIAS]
        if not averaged:
            return W, bias
        key = len(W), self.clock
        if self.mean is None or self.mean[0] != key:
            self.mean = None  # its memory is free before another is made
            self.mean = key, self._averaged(W, bias)
        return self.mean[1]

    def _averaged(self, W: Array, bias: Array) -> tuple[Array, Array]:
        """The means of weights and biases over all steps, as new arrays."""
        self.settle()
        steps = max(self.clock, 1e-300)
        sums, mean = self._without_room(self.sums()), np.empty_like(W)
        # In blocks that stay in the cache: doubles of all weights of text are hundreds of MB.
        step = max(1, _BLOCK * len(W) // max(1, W.size))
        for at in range(0, len(W), step):
            block = slice(at, at + step)
            np.subtract(W[block], sums[block] / steps, out=mean[block], casting="same_kind")
        return mean, bias - self.book[learn.BIAS_SUM] / steps

    def present(self, averaged: bool = False) -> tuple[Array, Array]:
        """The weights (problems, features) and the biases, or the mean of both."""
        W, bias = self._now(averaged)
        return self.shown(W), bias

    def sums(self) -> Array:
        """The averaging sums, as tall as the weights."""
        if self.U.shape != self.W.shape:
            self.U = taller(self.U, len(self.W), self.W.shape[1:], np.float64)
        return self.U

    def shown_sums(self) -> Array:
        """The averaging sums (problems, features)."""
        return self.shown(self.sums())

    def shown(self, array: Array) -> Array:
        """An array in the layout of ``W`` as (problems, features), without the room for more."""
        array = self._without_room(array)
        return array[None] if array.ndim == 1 else array if self.learner.dense else array.T

    def _without_room(self, array: Array) -> Array:
        return array if self.learner.dense else array[: self.learner.n_features]

    def forget(self) -> None:
        """Let the average begin with the next step."""
        self.U, self.mean = np.empty(0), None
        self.deferred.clear()
        self.book[learn.BIAS_SUM] = self.book[learn.CLOCK] = 0.0

    def reserve(self) -> None:
        """Make room for the learner's features; new ones weigh nothing."""
        needed = self.learner.n_features
        if needed > len(self.W):
            # Zeros cost memory when touched: ample room saves copying as features turn up.
            self.W = taller(self.W, max(needed, 2 * len(self.W)))

    def measured(self) -> tuple[Array, bool]:
        """The weights, and whether they lie problem by problem."""
        return self._without_room(self.W), self.learner.dense or self.W.ndim == 1

    def mark(self) -> None:
        """Remember the weights."""
        self.before, self.before_bias = self.W.copy(), self.book[learn.BIAS].copy()

    def unmark(self) -> None:
        """Forget the weights that were remembered."""
        self.before = self.before_bias = np.empty(0)

    def measure(self, padding: float) -> Array:
        """The squared length of each problem's weights, and of their change (problems, 2).

        The change is that since the last mark or measure. Problem by problem, so that the sums do
        not depend on how parts divide them. The bias counts as the weight of the padding, b/c.
        """
        (W, by_problem), bias = self.measured(), self.book[learn.BIAS]
        if self.before.shape != W.shape:
            self.before = taller(self.before[: len(W)], len(W))
        paddings = np.array([bias, bias - self.before_bias]) / (padding or 1.0)
        self.before_bias = bias.copy()
        found = np.zeros((2, self.problems))
        if by_problem:
            new, old = (array.reshape(self.problems, -1) for array in (W, self.before))
            measures.row_norms_and_changes(new, old, found)
        else:
            measures.norms_and_changes(W, self.before, found)
        return (found + paddings * paddings).T

    def missed(self, examples: Examples, rows: Array, enough: float) -> float:
        """The weight of the rows that a single problem gets wrong, beyond `enough` not all."""
        bias, scratch = float(self.book[learn.BIAS, 0]), np.empty((1, 1), self.W.dtype)
        if bias == 0.0 and not self.W.any():  # at the start: all scores are zero
            return examples.weight_of(rows)
        _, codes, omega = examples.arrays
        tally, quick = self.tally(), examples.screened or examples.rows
        return float(
            measures.missed_by_one(quick, codes, omega, rows, self.W, bias, tally, enough, scratch)
        )

    def kept(self) -> tuple[Array, Array]:
        """What is kept beside the weights, and the numbers of a member of the family: nothing."""
        return np.zeros((0, 0, 0)), np.zeros((0, 0))

    def restore(self, state: State, own: slice) -> None:
        """Take up what a state holds of these problems; its arrays are copied."""
        self.deferred.clear()
        self.mean = None
        self.W = self._laid_out(state.weights[own], self.W.dtype)
        if self.learner.averaging and state.sums.size:
            self.U = self._laid_out(state.sums[own], np.float64)
        self.book[learn.BIAS], self.book[learn.BIAS_SUM] = state.bias[own], state.bias_sums[own]
        self.clock = state.clock[own][0]
        if state.before is not None:
            self.before = self._laid_out(state.before.weights[own], self.W.dtype)
            self.before_bias = state.before.bias[own].copy()

    def _laid_out(self, weights: Array, dtype: Any) -> Array:
        """A copy of (problems, features) weights in the layout of ``W``."""
        if self.W.ndim == 1:
            return np.array(weights[0], dtype=dtype)
        return np.array(weights if self.learner.dense else weights.T, dtype=dtype, order="C")


def scored(
    kernel: Any, scratch: tuple[Any, ...], W: Array, bias: Array, examples: Examples, order: Array
) -> Array:
    """The scores (rows, problems) of rows: a walk that never learns."""
    seen, book = np.empty((len(order), bias.size), W.dtype), np.zeros((4, bias.size))
    book[learn.BIAS] = bias
    tally = tally_of((0, 1))
    kernel(*examples.arrays, order, ONE, W, ONE_RATE, book, NEVER, tally, seen, *scratch)
    return seen


def tally_of(classes: tuple[int, int], limits: Limits = NO_LIMITS) -> Array:
    """Limits and counts as the kernels keep them."""
    tally = np.zeros(learn.TALLY, np.int64)
    tally[learn.ALLOWED], tally[learn.RUN], tally[learn.LONGEST] = limits
    tally[learn.NEGATIVE], tally[learn.POSITIVE] = classes
    return tally


def taller(
    array: Array, rows: int, rest: tuple[int, ...] | None = None, dtype: Any = None
) -> Array:
    """A copy of an array with room for more rows, which are zero."""
    grown = zeros((rows, *(array.shape[1:] if rest is None else rest)), dtype or array.dtype)
    if array.size:
        grown[: len(array)] = array
    return grown
