"""Weights of many classes by pairs of feature and class, and the part that learns them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rosenblatt.kernels import learn, pairs
from rosenblatt.kernels._memory import zeros
from rosenblatt.kernels.pairs import Lists
from rosenblatt.learners import Spec
from rosenblatt.learners.examples import Examples
from rosenblatt.learners.parts import NEVER, Part, Visits, with_rows
from rosenblatt.learners.protocol import Array, Limits
from rosenblatt.learners.weights import State

MOST_CLASSES = 1 << 16  # numbers of classes take two bytes
_FIRST_ROOM = 1 << 22  # pairs; places that are not used take no memory


@dataclass(frozen=True, eq=False)
class PairWeights:
    """A matrix of weights (features, classes), of which only some pairs are stored.

    The pairs of feature f are in ``pointers[f] : pointers[f+1]``, in ascending order of classes.
    NumPy functions take it as the whole matrix.

    Examples
    --------
    >>> weights = PairWeights.of(np.array([[0.0, 2.0], [0.0, 0.0]], np.float32))
    >>> weights.shape, weights.classes.tolist(), weights.values.tolist(), weights[0].tolist()
    ((2, 2), [1], [2.0], [0.0, 2.0])
    """

    pointers: Array  # uint64 (features + 1,)
    classes: Array  # uint16 (pairs,)
    values: Array  # float32
    n_classes: int

    @classmethod
    def of(cls, matrix: Array, is_stored: Array | None = None) -> PairWeights:
        """The pairs of a matrix that are stored, by default those that are not zero."""
        features, classes = np.nonzero(matrix if is_stored is None else is_stored)
        pointers = np.searchsorted(features, np.arange(len(matrix) + 1)).astype(np.uint64)
        values = matrix[features, classes].astype(np.float32)
        return cls(pointers, classes.astype(np.uint16), values, matrix.shape[1])

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of features and of classes."""
        return len(self.pointers) - 1, self.n_classes

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the weights."""
        return self.values.dtype

    @property
    def counts(self) -> Array:
        """The number of pairs of each feature."""
        return np.diff(self.pointers).astype(np.int64)

    @property
    def lists(self) -> tuple[Array, Array, Array, Array]:
        """Where lists start and end, classes and weights, for the kernels."""
        return self.pointers[:-1], self.pointers[1:], self.classes, self.values

    def __len__(self) -> int:
        return len(self.pointers) - 1

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        matrix = np.zeros(self.shape, dtype or self.values.dtype)
        matrix[np.repeat(np.arange(len(self)), self.counts), self.classes] = self.values
        return matrix

    def __getitem__(self, places: Any) -> Array:
        """The weights of some features, as a matrix; or of one, as a vector."""
        if isinstance(places, tuple):
            return np.asarray(self)[places]
        chosen = np.atleast_1d(np.arange(len(self))[places])
        matrix = np.asarray(self.take(chosen))
        return matrix[0] if np.ndim(places) == 0 and not isinstance(places, slice) else matrix

    def checked(self) -> PairWeights:
        """These weights; raises ValueError unless each feature lists classes in ascending order."""
        counts, size = np.diff(self.pointers.astype(np.int64)), len(self.values)
        types = (self.pointers.dtype, self.classes.dtype) == (np.uint64, np.uint16)
        if not types or int(self.pointers[0]) != 0 or (counts < 0).any():
            raise ValueError("the lists of pairs make no sense")
        ascends = np.diff(self.classes.astype(np.int64), prepend=-1) > 0
        firsts = self.pointers[:-1][counts > 0].astype(np.int64)
        ascends[firsts[firsts < len(ascends)]] = True
        fits = len(self.classes) == size == int(self.pointers[-1]) and ascends.all()
        if not fits or (self.classes >= self.n_classes).any():
            raise ValueError("the pairs of features and classes do not fit")
        return self

    def take(self, features: Array) -> PairWeights:
        """The weights of some features alone, in their order."""
        counts = self.counts[features]
        pointers = np.append(0, np.cumsum(counts)).astype(np.uint64)
        ahead = self.pointers[features].astype(np.int64) - pointers[:-1].astype(np.int64)
        if (
            int(pointers[-1]) == len(self.values) and not ahead.any()
        ):  # only empty lists are left out
            return replace(self, pointers=pointers)
        chosen = np.repeat(ahead, counts) + np.arange(int(pointers[-1]))
        return PairWeights(pointers, self.classes[chosen], self.values[chosen], self.n_classes)

    def with_values(self, values: Array) -> PairWeights:
        """Other weights of the same pairs, without those of zero."""
        if values.all():
            return replace(self, values=values)
        kept = values != 0
        before = np.append(0, np.cumsum(kept))
        pointers = before[self.pointers.astype(np.int64)].astype(np.uint64)
        return PairWeights(pointers, self.classes[kept], values[kept], self.n_classes)

    def among(self, classes: list[int]) -> PairWeights:
        """The weights of some classes alone, in ascending order."""
        numbers = np.full(self.n_classes, self.n_classes)
        numbers[classes] = np.arange(len(classes))
        chosen = numbers < self.n_classes
        few = self.with_values(np.where(chosen[self.classes], self.values, np.float32(0)))
        return replace(few, classes=numbers[few.classes].astype(np.uint16), n_classes=len(classes))

    def renumbered(self, numbers: Array, n_classes: int) -> PairWeights:
        """The same weights where class c has the number ``numbers[c]``."""
        classes, values = self.classes.copy(), self.values.copy()
        scratch = np.full(n_classes, np.nan, values.dtype)
        pairs.renumber(self.pointers, classes, values, numbers.astype(np.uint16), scratch)
        return PairWeights(self.pointers, classes, values, n_classes)

    def score(self, examples: Examples, order: Array, bias: Array) -> Array:
        """The scores (rows, classes) of packed rows."""
        scores = np.empty((len(order), self.n_classes), self.values.dtype)
        pairs.score_packed(examples.rows, order, *self.lists, bias, scores)
        return scores


class PairPart(Part):
    """The weights of perceptrons of many classes, by the pairs that were ever updated."""

    def __init__(self, *group: Any) -> None:
        super().__init__(*group)
        self.book = np.zeros((learn.BOOK, self.problems))
        self.mean: tuple[Any, PairWeights] | None = None  # cached, with its key
        self._empty(_FIRST_ROOM)
        self.change(self.spec)

    def _empty(self, room: int) -> None:
        """Lists without pairs, and room for some."""
        W, sums = zeros((room,), np.float32), room if self.spec.averaging else 0
        starts, ends = (zeros((self.n_features,), np.uint64) for _ in range(2))
        heads = np.zeros(pairs.HEADS, np.uint64)
        heads[pairs.TOP] = 2  # links are 0 where there is no next list
        classes, U = zeros((room,), np.uint16), zeros((sums,), np.float64)
        self.lists = Lists(starts, ends, classes, W, U, W.view(np.uint32), heads)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "mean": None}

    def change(self, spec: Spec) -> None:
        """Continue with other thresholds and another padding."""
        self.spec = spec
        self.bias_unit = spec.padding or 1.0
        self.rule = np.array([*spec.rule, spec.padding * spec.padding])

    # The walk

    def kernel(self, *arguments: Any) -> None:
        """Walk, and make room for pairs whenever there is too little."""
        before, after = arguments[:5], arguments[5:]
        while pairs.walk_pairs(*before, self.lists, *after):
            self._grow()

    def _grow(self) -> None:
        """Double the places for pairs."""
        room = 2 * len(self.lists.W)
        for name in ("classes", "W", "U"):
            array = getattr(self.lists, name)
            if array.size:
                self.lists = self.lists._replace(**{name: with_rows(array, room)})
        self.lists = self.lists._replace(links=self.lists.W.view(np.uint32))

    def score_buffer(self, visits: int) -> Array:
        """An uninitialised array for the scores of one visit."""
        return np.empty((1, self.problems), self.spec.dtype)

    def arguments(
        self, visits: Visits, limits: Limits, counts: Array, seen: Array
    ) -> tuple[Any, ...]:
        """The arguments of the kernel but for the lists."""
        examples, order, etas = visits
        rule = NEVER if self.spec.batch else self.rule
        own = self.spec.rates, self.book, rule, self.task(limits), counts, seen
        return (*examples.arrays, order, etas, *own, np.empty((3, self.problems)))

    # Weights

    def scorers(self, averaged: bool) -> Iterator[Callable[[Examples, Array], Array]]:
        """What scores by the current weights or their average."""
        weights, bias = self.present(averaged)
        yield lambda examples, order: weights.score(examples, order, bias)

    def present(self, averaged: bool = False) -> tuple[PairWeights, Array]:
        """The weights or their average, and the biases."""
        bias = self.book[learn.BIAS]
        if not averaged:
            return self._gathered(np.empty(0), 1.0), bias
        steps, key = max(self.clock, 1e-300), (self.n_features, self.clock)
        if self.mean is None or self.mean[0] != key:
            self.mean = None  # its memory is free before another is made
            self.mean = key, self._gathered(self.lists.U, steps)
        return self.mean[1], bias - self.book[learn.BIAS_SUM] / steps

    def _gathered(self, sums: Array, steps: float) -> PairWeights:
        """The pairs whose weights, or averages, are not zero."""
        starts, ends, classes, W, *_ = self._lists()
        most = int((ends - starts).sum()) + 1
        pointers = np.zeros(len(starts) + 1, np.uint64)
        to_classes, values = np.empty(most, np.uint16), np.empty(most, W.dtype)
        to = pointers, to_classes, values
        pairs.gather(starts, ends, classes, W, sums, steps, self.problems, *to)
        count = int(pointers[-1])
        return PairWeights(pointers, to_classes[:count], values[:count], self.problems)

    def _lists(self) -> Lists:
        """The lists of the features there are."""
        n = self.n_features
        return self.lists._replace(starts=self.lists.starts[:n], ends=self.lists.ends[:n])

    def by_problem(self, array: Any) -> Any:
        """The array: pairs are in the order of features."""
        return array

    def sums_by_problem(self) -> Array:
        """The averaging sums of all pairs, in their order."""
        return self._all(self.lists.U)

    def _all(self, array: Array) -> Array:
        """What the pairs have, list by list."""
        starts, ends = (a.astype(np.int64) for a in self._lists()[:2])
        counts = ends - starts
        ahead = starts - (np.cumsum(counts) - counts)
        return array[np.repeat(ahead, counts) + np.arange(int(counts.sum()))]

    def own_state(self, with_cells: bool) -> tuple[Array, Array]:
        """Nothing: weights, sums and biases are all."""
        return np.zeros((0, 0, 0)), np.zeros((0, 0))

    def all_pairs(self) -> PairWeights:
        """The current weights of all pairs, those of zero as well, for which there are sums."""
        starts, ends, classes, W, *_ = self._lists()
        pointers = np.append(0, np.cumsum(ends - starts)).astype(np.uint64)
        return PairWeights(pointers, self._all(classes), self._all(W), self.problems)

    def restart_average(self) -> None:
        """Start the average at the next step."""
        self.lists.U[: int(self.lists.heads[pairs.TOP])] = 0.0
        self.mean = None
        self.book[learn.BIAS_SUM] = self.book[learn.CLOCK] = 0.0

    def reserve(self, n_features: int) -> None:
        """Add features without pairs."""
        self.n_features = n_features
        if n_features > len(self.lists.starts):
            room = max(n_features, 2 * len(self.lists.starts))
            starts, ends = with_rows(self.lists.starts, room), with_rows(self.lists.ends, room)
            self.lists = self.lists._replace(starts=starts, ends=ends)

    def restore(self, state: State, places: slice) -> None:
        """Continue from a state, whose weights are pairs or a matrix (problems, features)."""
        weights: Any = state.weights
        sums = state.sums if self.spec.averaging else np.empty(0)
        if not isinstance(weights, PairWeights):
            is_stored = weights.T != 0
            if sums.size:
                is_stored |= sums.T != 0
                sums = sums.T[is_stored]
            weights = PairWeights.of(weights.T, is_stored)
        self.n_features, self.mean = len(weights), None
        counts = weights.counts
        rooms = np.where(counts > 0, 2, 0)
        while (is_small := rooms < counts).any():
            rooms[is_small] *= 2
        rooms[counts == self.problems] = self.problems + self.problems % 2
        starts = 2 + np.cumsum(rooms) - rooms
        top = 2 + int(rooms.sum())
        room = _FIRST_ROOM
        while room < top:
            room *= 2
        self._empty(room)
        lists = self.lists
        lists.starts[:], lists.ends[:] = starts, starts + counts
        lists.heads[pairs.TOP] = top
        first = weights.pointers[:-1].astype(np.int64)
        at = np.repeat(starts - first, counts) + np.arange(len(weights.values))
        lists.classes[at], lists.W[at] = weights.classes, weights.values
        if sums.size:
            lists.U[at] = sums
        self.book[learn.BIAS], self.book[learn.BIAS_SUM] = state.bias, state.bias_sums
        self.clock = state.clock[0]

    # Measures

    def mark(self) -> None:
        """Nothing: a change of the weights is not measured."""

    def measure(self) -> Array:
        """The squared norms of the weights; how much they changed is not known."""
        squares = np.zeros(self.problems)
        pairs.squares(*self._lists()[:4], squares)
        paddings = self.bias / self.bias_unit
        return np.stack([squares + paddings * paddings, np.full(self.problems, np.nan)], axis=1)
