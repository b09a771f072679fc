"""The parts of a linear learner: the problems that one kernel call trains together."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from rosenblatt.kernels import learn, measures
from rosenblatt.kernels._memory import zeros
from rosenblatt.kernels.learn import Task
from rosenblatt.learners import Spec
from rosenblatt.learners.examples import ONE, Examples
from rosenblatt.learners.protocol import NO_LIMITS, Array, Limits
from rosenblatt.learners.weights import State

ONE_RATE = np.ones(1, np.float32)
_BLOCK = 1 << 16  # numbers, half a megabyte of doubles
NEVER = np.array([np.nan, np.nan, 0.0])  # a rule that never learns: no margin compares with NaN

Visits = tuple[Examples, Array, Array]  # examples, the rows to visit, learning rates
Scorer = Callable[[Examples, Array], Array]  # the scores (rows, problems) of rows of an order


class Part:
    """The problems that one kernel call trains together, and what they keep.

    There is one subclass for each way to keep it: :class:`LazyPart` for the perceptron,
    :class:`rosenblatt.learners.pairs.PairPart` for that of many classes of text,
    :class:`rosenblatt.learners.cell_part.CellPart` for all other rules. Each has a `kernel` with
    its `arguments`, a `score_buffer` and the `scores` in it; `present` and `scorers` for the
    weights and their average; and `change`, `rescale`, `reserve`, `restart_average`, `own_state`,
    `restore`.

    Parameters
    ----------
    spec : Spec
    kind : {"one", "each", "joint"}
        A single problem; or one per class, each against the rest or all jointly.
    classes : (int, int)
        Its first class, or its negative class, which may be
        :data:`~rosenblatt.kernels.learn.REST`, and its positive class.
    problems, n_features : int
    is_alone : bool
        Whether the learner has no other part.
    """

    book: Array  # numbers per problem: biases, clocks; its rows are those of the kernel
    clock_row = learn.CLOCK
    bias_unit = 1.0  # a measure divides biases by it

    def __init__(
        self,
        spec: Spec,
        kind: str,
        classes: tuple[int, int],
        problems: int,
        n_features: int,
        is_alone: bool,
    ) -> None:
        self.spec = spec
        self.kind = kind
        self.classes = classes
        self.problems = problems
        self.n_features = n_features
        self.is_alone = is_alone
        self.before = self.before_bias = np.empty(0)  # the weights at the last mark

    @property
    def bias(self) -> Array:
        """The biases."""
        return self.book[learn.BIAS]

    @property
    def clock(self) -> float:
        """The weighted steps of the average so far."""
        return float(self.book[self.clock_row, 0])

    @clock.setter
    def clock(self, steps: float) -> None:
        self.book[self.clock_row, 0] = steps

    def task(self, limits: Limits = NO_LIMITS) -> Task:
        """The classes and the limits of a walk, for the kernels."""
        return Task(*self.classes, self.kind == "joint", limits.longest)

    @property
    def needs_cells(self) -> bool:
        """Whether the weights do not determine what the part keeps."""
        return False

    def by_problem(self, array: Array) -> Array:
        """A view of an array in the layout of the rows as (problems, features)."""
        array = self._used(array)
        return array[None] if array.ndim == 1 else array if self.spec.dense else array.T

    def _used(self, array: Array) -> Array:
        return array if self.spec.dense else array[: self.n_features]

    def measured(self) -> tuple[Array, bool]:
        """The weights, and whether they are (problems, features)."""
        raise NotImplementedError

    def mark(self) -> None:
        """Store the weights."""
        self.before, self.before_bias = self.measured()[0].copy(), self.bias.copy()

    def unmark(self) -> None:
        """Drop the stored weights."""
        self.before = self.before_bias = np.empty(0)

    def measure(self) -> Array:
        """The squared norms of the weights and of their change since the last mark or measure.

        (problems, 2): one sum per problem, so that they do not depend on how problems are divided
        into parts.
        """
        (W, is_by_problem), bias = self.measured(), self.bias
        if self.before.shape != W.shape:
            self.before = with_rows(self.before[: len(W)], len(W))
        paddings = np.array([bias, bias - self.before_bias]) / self.bias_unit
        self.before_bias = bias.copy()
        squares = np.zeros((2, self.problems))
        if is_by_problem:
            new, old = (array.reshape(self.problems, -1) for array in (W, self.before))
            measures.row_norms_and_changes(new, old, squares)
        else:
            measures.norms_and_changes(W, self.before, squares)
        return (squares + paddings * paddings).T


class LazyPart(Part):
    """The weights of perceptrons.

    ``W`` is a vector for a single problem; else (problems, features) for dense rows and (features,
    problems) for sparse ones.
    """

    def __init__(self, *group: Any) -> None:
        super().__init__(*group)
        shape: tuple[int, ...] = (self.n_features,)
        if self.kind != "one":
            shape = (self.problems, *shape) if self.spec.dense else (*shape, self.problems)
        self.W = zeros(shape, self.spec.dtype)
        self.U = np.empty(0)
        self.book = np.zeros((learn.BOOK, self.problems))
        self.mean: tuple[Any, tuple[Array, Array]] | None = None  # cached, with its key
        self.change(self.spec)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "mean": None}

    def change(self, spec: Spec) -> None:
        """Continue with other thresholds and another padding."""
        self.spec = spec
        self.bias_unit = spec.padding or 1.0  # the bias is the weight of the padding, times that
        self.rule = np.array([*spec.rule, spec.padding * spec.padding])

    @property
    def kernel(self) -> Any:
        """The kernel that walks."""
        return learn.walk_one if self.kind == "one" else learn.walk_many

    def rescale(self, ratio: Array, moved: Array) -> None:
        """Continue with columns that are moved down, and then multiplied by a ratio.

        The weights become what the same updates by rows of that scale would have made.
        """
        self.mean = None
        padding = self.rule[learn.PADDING]
        for array, biases in ((self.W, learn.BIAS), (self.U, learn.BIAS_SUM)):
            if array.size:
                weights = self.by_problem(array)
                if padding > 0:
                    weights -= np.outer(self.book[biases] / padding, moved)
                weights *= ratio

    # The walk

    def score_buffer(self, visits: int) -> Array:
        """An uninitialised array for the scores of a walk."""
        return np.empty((visits, self.problems), self.spec.dtype)

    def scores(self, seen: Array) -> Array:
        """The scores (visits, problems) in the buffer of a walk."""
        return seen

    def arguments(
        self, visits: Visits, limits: Limits, counts: Array, seen: Array
    ) -> tuple[Any, ...]:
        """The arguments of the kernel; batch learners correct nothing during a walk."""
        examples, order, etas = visits
        return (
            *examples.arrays,
            order,
            etas,
            (self.W, self.sums() if self.spec.averaging else no_sums(self.W)),
            self.spec.rates,
            self.book,
            NEVER if self.spec.batch else self.rule,
            self.task(limits),
            counts,
            seen,
            *self._scratch(),
        )

    def _scratch(self) -> tuple[Any, ...]:
        """Scratch memory of the kernels for several classes."""
        return () if self.kind == "one" else (np.empty((3, self.problems)),)

    def correct(
        self, examples: Examples, order: Array, coefficients: Array, eta: float, clock: float
    ) -> None:
        """Add rows times their coefficients (rows, problems) and the rate."""
        heap = np.zeros_like(self.W)
        wide = heap.reshape((self.problems, -1) if self.spec.dense else (-1, self.problems))
        learn.add_rows(examples.rows, order, coefficients, wide, self.spec.rates)
        self.W += self.W.dtype.type(eta) * heap
        change = eta * self.rule[learn.PADDING] * coefficients.sum(axis=0)
        self.book[learn.BIAS] += change
        if self.spec.averaging:
            self.sums()[...] += clock * eta * heap.astype(np.float64)
            self.book[learn.BIAS_SUM] += clock * change

    # Weights

    def scorers(self, averaged: bool) -> Iterator[Scorer]:
        """What scores by the current weights or their average."""
        yield partial(scored, self.kernel, self._scratch(), *self._now(averaged))

    def _now(self, averaged: bool) -> tuple[Array, Array]:
        """The weights in their layout, and the biases; or the averages of both."""
        W, bias = self._used(self.W), self.book[learn.BIAS]
        if not averaged:
            return W, bias
        if not self.is_alone:  # the learner caches the average of all parts
            return self._averaged(W, bias)
        key = len(W), self.clock
        cached = self.mean  # other threads may score at the same time
        if cached is None or cached[0] != key:
            cached = self.mean = None  # its memory is free before another is made
            cached = self.mean = key, self._averaged(W, bias)
        return cached[1]

    def _averaged(self, W: Array, bias: Array) -> tuple[Array, Array]:
        """The means of weights and biases over all steps, as new arrays."""
        steps = max(self.clock, 1e-300)
        sums, mean = self._used(self.sums()), np.empty_like(W)
        # In blocks that fit the cache: all weights of a text model as doubles are hundreds of MB.
        step = max(1, _BLOCK * len(W) // max(1, W.size))
        for at in range(0, len(W), step):
            block = slice(at, at + step)
            np.subtract(W[block], sums[block] / steps, out=mean[block], casting="same_kind")
        return mean, bias - self.book[learn.BIAS_SUM] / steps

    def present(self, averaged: bool = False) -> tuple[Array, Array]:
        """The weights (problems, features) and the biases, or the mean of both."""
        W, bias = self._now(averaged)
        return self.by_problem(W), bias

    def sums(self) -> Array:
        """The averaging sums, in the shape of the weights."""
        if self.U.shape != self.W.shape:
            self.U = with_rows(self.U, len(self.W), self.W.shape[1:], np.float64)
        return self.U

    def sums_by_problem(self) -> Array:
        """The averaging sums (problems, features)."""
        return self.by_problem(self.sums())

    def restart_average(self) -> None:
        """Start the average at the next step."""
        self.U, self.mean = np.empty(0), None
        self.book[learn.BIAS_SUM] = self.book[learn.CLOCK] = 0.0

    def reserve(self, n_features: int) -> None:
        """Add rows for new features, with zero weights."""
        self.n_features = n_features
        if n_features > len(self.W):
            # Untouched zeros take no memory: doubling saves copies as features are added.
            self.W = with_rows(self.W, max(n_features, 2 * len(self.W)))

    def measured(self) -> tuple[Array, bool]:
        """The weights, and whether they are (problems, features)."""
        return self._used(self.W), self.spec.dense or self.W.ndim == 1

    def misclassified(self, examples: Examples, rows: Array, enough: float) -> float:
        """The weight of the rows misclassified by a single problem; may stop beyond `enough`."""
        bias, scratch = float(self.book[learn.BIAS, 0]), np.empty((1, 1), self.W.dtype)
        if bias == 0.0 and not self.W.any():  # before learning all scores are zero
            return examples.weight_of(rows)
        _, codes, omega = examples.arrays
        quick = examples.screened or examples.rows
        return float(
            measures.missed_by_one(
                quick, codes, omega, rows, self.W, bias, self.task(), enough, scratch
            )
        )

    def own_state(self, with_cells: bool) -> tuple[Array, Array]:
        """Nothing: the weights and biases are all."""
        return np.zeros((0, 0, 0)), np.zeros((0, 0))

    def restore(self, state: State, places: slice) -> None:
        """Continue from the problems at `places` of a state; its arrays are copied."""
        self.n_features = state.n_features
        self.mean = None
        self.W = self._laid_out(state.weights[places], self.W.dtype)
        if self.spec.averaging and state.sums.size:
            self.U = self._laid_out(state.sums[places], np.float64)
        self.book[learn.BIAS], self.book[learn.BIAS_SUM] = (
            state.bias[places],
            state.bias_sums[places],
        )
        self.clock = state.clock[places][0]
        if state.before is not None:
            self.before = self._laid_out(state.before.weights[places], self.W.dtype)
            self.before_bias = state.before.bias[places].copy()

    def _laid_out(self, weights: Array, dtype: Any) -> Array:
        """A copy of (problems, features) weights in the layout of ``W``."""
        if self.W.ndim == 1:
            return np.array(weights[0], dtype=dtype)
        return np.array(weights if self.spec.dense else weights.T, dtype=dtype, order="C")


class BoundWalk:
    """Repeated walks over the same arrays, for examples that come one by one.

    The kernel arguments are converted once.

    Parameters
    ----------
    learner : Linear
    examples, order, etas
        As for :meth:`Linear.walk`; their contents may change between two walks.
    """

    def __init__(self, learner: Any, examples: Examples, order: Array, etas: Array) -> None:
        self.learner, self._walks = learner, []
        rooms = [part.score_buffer(len(order)) for part in learner.parts]
        self._counts = [counts_of() for _ in learner.parts]
        self._scores = [part.scores(seen) for part, seen in zip(learner.parts, rooms, strict=True)]
        for part, seen, counts in zip(learner.parts, rooms, self._counts, strict=True):
            arguments = part.arguments((examples, order, etas), NO_LIMITS, counts, seen)
            self._walks.append(part.kernel.bound(*arguments))

    def __call__(self) -> Array:
        """Learn; returns the scores (rows, problems) before learning, valid until the next call."""
        for walk in self._walks:
            walk()
        return self._scores[0] if len(self._scores) == 1 else np.hstack(self._scores)

    @property
    def updates(self) -> int:
        """The number of updates of all walks so far."""
        return sum(int(counts[learn.UPDATES]) for counts in self._counts)


def scored(
    kernel: Any, scratch: tuple[Any, ...], W: Array, bias: Array, examples: Examples, order: Array
) -> Array:
    """The scores (rows, problems) of rows, by a walk that never learns."""
    seen, book = np.empty((len(order), bias.size), W.dtype), np.zeros((learn.BOOK, bias.size))
    book[learn.BIAS] = bias
    weights, task, counts = (W, no_sums(W)), Task(), counts_of()
    kernel(
        *examples.arrays, order, ONE, weights, ONE_RATE, book, NEVER, task, counts, seen, *scratch
    )
    return seen


def no_sums(weights: Array) -> Array:
    """Averaging sums of weights that are not averaged."""
    return np.empty((0,) * weights.ndim)


def counts_of(run: int = 0) -> Array:
    """Counts of a walk that begins after a run of right answers."""
    counts = np.zeros(learn.COUNTS, np.int64)
    counts[learn.RUN] = run
    return counts


def with_rows(
    array: Array, rows: int, rest: tuple[int, ...] | None = None, dtype: Any = None
) -> Array:
    """A copy of an array with this number of rows; the new ones are zero."""
    grown = zeros((rows, *(array.shape[1:] if rest is None else rest)), dtype or array.dtype)
    if array.size:
        grown[: len(array)] = array
    return grown
