"""Iterative parameter mixing: an epoch on shards, and the learner whose walk is such an epoch.

An epoch walks over every shard from the same weights w. Shard i ends at w_i, and the weights are
mixed: ``w + Σ μ_i (w_i - w)``, Σ μ_i = 1 (R. McDonald, K. Hall, G. Mann (2010), Distributed
training strategies for the structured perceptron). Tasks are pure functions of weights, shards,
epoch and settings. Sums are of float64, in a tree that depends on the number of shards alone, and
are rounded once: the mixed weights are the same, bit for bit, whoever computed which part of the
tree, in whatever order.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from rosenblatt.cluster.engines import Broadcast, Engine, Task, tree_map, tree_sum
from rosenblatt.cluster.manifest import Shard
from rosenblatt.cluster.shards import Reading, hashed_rows
from rosenblatt.jobs.held_out import is_held_out
from rosenblatt.jobs.options import TrainOptions
from rosenblatt.jobs.run import spec_of
from rosenblatt.kernels.packing import Numbering
from rosenblatt.learners import make
from rosenblatt.learners.examples import Examples
from rosenblatt.learners.protocol import NO_LIMITS, Array, Limits, Tally
from rosenblatt.learners.weights import State, Weights
from rosenblatt.training import Plan, Progress, run
from rosenblatt.training.order import shuffled

_DENSE_FROM = 0.5  # share of the features from which listing them costs more than it saves


@dataclass(frozen=True)
class Delta:
    """The sum of the weight changes of some shards, each times its share μ.

    Attributes
    ----------
    n_features : int
    index : uint32 array or None
        The features that change, each once; None if `values` holds all features.
    values : float64 array (features, numbers per feature)
    bias : float64 array (numbers per feature,)
    counts : float64 array
        What the shards counted, summed without shares.

    Examples
    --------
    >>> one = Delta(9, np.array([1, 4], "u4"), np.array([[0.5], [1.0]]), np.zeros(1), np.ones(1))
    >>> both = one + Delta(9, np.array([4], "u4"), np.array([[0.25]]), np.ones(1), np.ones(1))
    >>> both.values.ravel().tolist(), both.compact().index.tolist(), both.counts
    ([0.0, 0.5, 0.0, 0.0, 1.25, 0.0, 0.0, 0.0, 0.0], [1, 4], array([2.]))
    """

    n_features: int
    index: Array | None
    values: Array
    bias: Array
    counts: Array

    def __add__(self, other: Delta) -> Delta:
        return Delta(
            self.n_features, None, self.dense(), self.bias.copy(), self.counts.copy()
        ).add_in_place(other)

    def add_in_place(self, other: Delta) -> Delta:
        """Add another delta to this one, which must hold all features."""
        assert self.index is None, "only a delta of all features is added to in place"
        if other.index is None:
            self.values[...] += other.values
        else:
            self.values[other.index] += other.values
        self.bias[...] += other.bias
        self.counts[...] += other.counts
        return self

    def compact(self) -> Delta:
        """The same with an `index`, if few features change."""
        if self.index is not None:
            return self
        moves = self.values[:, 0] != 0
        for column in self.values.T[1:]:
            moves |= column != 0
        places = np.flatnonzero(moves)
        if len(places) >= _DENSE_FROM * self.n_features:
            return self
        return replace(self, index=places.astype(np.uint32), values=self.values[places])

    def dense(self) -> Array:
        """The changes of all features, as a new array."""
        if self.index is None:
            return self.values.copy()
        whole = np.zeros((self.n_features, self.values.shape[1]))
        whole[self.index] = self.values
        return whole


class Leaf(NamedTuple):
    """A shard of a run: a leaf of the tree in which results are summed."""

    shard: Shard
    digest: str = ""  # a hash of its rows
    first: int = 0  # the number of its first row in the data set
    share: float = 1.0  # μ, its share in the mixed weights


class _Places(NamedTuple):
    """The features and classes of a shard in the numbering of all shards."""

    features: Array
    codes: Array
    rates: Array  # of the shard's features, then of features beyond


@lru_cache(maxsize=2)
def _numbering(common: Broadcast) -> Numbering:
    return Numbering(1 << common.about["bits"], common.arrays["columns"])


class OpenShard:
    """A shard opened by a task: its rows, and a learner of its features at the broadcast weights.

    It is the data of a run over the shard (:class:`rosenblatt.training.order.Data`). Rows of
    positive weight are `visited` or `held_out`. `start` holds the broadcast weights (features,
    problems) and biases, of the features of all shards.
    """

    repeats, visits_all = False, True

    def __init__(
        self, leaf: Leaf, common: Broadcast, weights: Broadcast, folder: str | None
    ) -> None:
        about = common.about
        self.leaf, self.start = leaf, weights.arrays
        self.options = TrainOptions(**about["options"])
        reading = Reading.from_json(about["reading"])
        self.rows = hashed_rows(leaf.shard, reading, folder, leaf.digest)
        places = self._places(common)
        packed, codes, omega = self.rows.store.arrays()
        columns = self.rows.columns
        self.features = places.features
        self.examples = Examples(packed, places.codes[codes], omega, len(columns), columns)
        numbers = leaf.first + np.arange(len(self.rows))
        is_held = is_held_out(numbers, about["held_out"], self.options.seed)
        weighs = omega > 0 if omega.size > 1 else np.True_
        self.visited = np.flatnonzero(~is_held & weighs).astype(np.uint64)
        self.held_out = np.flatnonzero(is_held & weighs).astype(np.uint64)
        spec = spec_of(self.options, places.rates)
        self.learner: Any = make(spec, len(about["classes"]), len(columns))
        start = self.start["weights"][self.features]
        self.learner.restore(fresh_state(start, self.start["bias"]))

    def _places(self, common: Broadcast) -> _Places:
        """Where the features and classes of the shard are among those of all shards; cached."""
        rows = self.rows
        if rows.aligned[0] != common.name:
            classes, rates = common.about["classes"], common.arrays["rates"]
            features = _numbering(common).places_of(rows.columns).astype(np.uint32)
            codes = np.array([classes.index(name) for name in rows.classes], np.int32)
            last = np.uint32(len(rates) - 1)
            rates = np.append(rates[np.minimum(features, last)], rates[last])
            rows.aligned = common.name, _Places(features, codes, rates)
        return rows.aligned[1]

    def parts(self, epoch: int, position: int = 0) -> Iterator[tuple[Examples, Array]]:
        """The examples, and the rows of an epoch: of the first as read, of others shuffled."""
        store, seed = self.rows.store, self.options.seed
        if store.size <= self.options.rows_memory:
            rows = self.visited if epoch == 1 else shuffled(self.visited, seed, epoch)
            yield self.examples, rows
            return
        is_visited = np.zeros(len(self.examples), bool)
        is_visited[self.visited] = True
        for order in store.orders(None if epoch == 1 else [seed, epoch]):
            yield self.examples, order[is_visited[order]]

    def everything(self) -> tuple[Examples, Array]:
        """The examples, and the rows that an epoch visits."""
        return self.examples, self.visited

    def scored(self, whole: bool) -> Array:
        """The held-out rows, or all rows."""
        return np.union1d(self.visited, self.held_out) if whole else self.held_out


def fresh_state(weights: Array, bias: Array) -> State:
    """The state of a learner that begins an epoch at weights (features, problems)."""
    zeros = np.zeros(len(bias))
    return State(weights.T, bias, np.zeros((0, 0)), zeros, zeros)


def epoch_sum(
    leaves: tuple[Leaf, ...], common: Broadcast, weights: Broadcast, folder: str | None, epoch: int
) -> Delta:
    """The weight changes of one epoch on each of some shards, a subtree, summed (a task)."""

    def delta_of(leaf: Leaf) -> Delta:
        return _epoch_delta(OpenShard(leaf, common, weights, folder), epoch)

    return tree_map(leaves, delta_of, _add).compact()


def _add(left: Delta, right: Delta) -> Delta:
    """The sum; `left` is overwritten if it holds all features: only sums made here do."""
    return left.add_in_place(right) if left.index is None else left + right


def _epoch_delta(shard: OpenShard, epoch: int) -> Delta:
    """Run one epoch over a shard; returns the change of the weights, and of their average."""
    learner, progress, share = shard.learner, Progress(epoch=epoch - 1), shard.leaf.share
    average = learner.averaging
    plan = Plan(keep="average" if average else "last", max_epochs=epoch, tol=None)
    for _ in run(learner, shard, plan, progress):
        pass
    W, bias, state = shard.start["weights"], shard.start["bias"], learner.state()
    before = W[shard.features]
    changed = (state.weights != before.T).any(axis=0)
    if average:
        changed |= (state.sums != 0).any(axis=0)
    chosen = np.flatnonzero(changed)
    ends, biases = [state.weights[:, chosen].T.astype(np.float64)], [state.bias]
    if average:
        clock = np.maximum(state.clock, 1e-300)
        ends.append(ends[0] - state.sums[:, chosen].T / clock)
        biases.append(state.bias - state.bias_sums / clock)
    begin, record = before[chosen].astype(np.float64), progress.history[-1]
    values = np.hstack([end - begin for end in ends]) * share
    moved = np.concatenate([end - bias for end in biases]) * share
    counts = np.array(
        [progress.visits, progress.steps, record.updates, record.updated_rows, record.mistakes]
    )
    return Delta(len(W), shard.features[chosen], values, moved, counts)


def held_out_scores(
    leaves: tuple[Leaf, ...], common: Broadcast, weights: Broadcast, folder: str | None, whole: bool
) -> list[Array]:
    """The scores, class codes and weights of held-out rows, or of all rows (a task)."""
    scored = []
    for shard in (OpenShard(leaf, common, weights, folder) for leaf in leaves):
        rows, examples = shard.scored(whole), shard.examples
        scores = shard.learner.problems.of_classes(shard.learner.scores(examples, rows))
        scored.append([scores, examples.codes[rows], examples.weights_of(rows)])
    return [np.concatenate(arrays) for arrays in zip(*scored, strict=True)]


def errors(
    leaves: tuple[Leaf, ...], common: Broadcast, weights: Broadcast, folder: str | None, whole: bool
) -> Array:
    """The weight of wrong predictions, and of all, on held-out rows or on all rows (a task)."""
    sums = []
    for shard in (OpenShard(leaf, common, weights, folder) for leaf in leaves):
        rows, examples = shard.scored(whole), shard.examples
        weight = examples.weight_of(rows)
        error = shard.learner.error(examples, rows) if len(rows) else 0.0
        wrong = error * weight if examples.omega.size > 1 else round(error * weight)
        sums.append(np.array([wrong, weight], np.float64))
    return tree_sum(sums, np.add)


class Shards:
    """All shards as the data of a run (:class:`rosenblatt.training.order.Data`).

    Shares are in proportion to the number of rows of each shard that an epoch visits.
    """

    repeats, visits_all = False, True

    def __init__(self, leaves: Sequence[Leaf], visits: Sequence[int]) -> None:
        self.visits, self.epoch = sum(visits), 0
        self.leaves = [
            leaf._replace(share=n / self.visits) for leaf, n in zip(leaves, visits, strict=True)
        ]

    def parts(self, epoch: int, position: int = 0) -> Iterator[tuple[Shards, range]]:
        """The shards, and the visits of the epoch, all in one walk."""
        self.epoch = epoch
        yield self, range(self.visits)


class MixedLearner:
    """Weights that workers train on shards and that are mixed after each epoch.

    `common` holds what all tasks of the run need: columns, rates, classes, settings.
    """

    batch = True
    averaging = False  # there are no averaging sums for a run on one machine to go on from

    def __init__(self, engine: Engine, common: Broadcast, weights: Array, bias: Array) -> None:
        self.engine, self.common = engine, common
        self.averages = bool(common.about["options"]["average"])
        self.W, self.bias = weights, bias
        self.restart_average()
        self._shared_common: Any = None
        self._before: Weights | None = None

    def walk(
        self, examples: Shards, order: range, etas: Array, limits: Limits = NO_LIMITS
    ) -> Tally:
        """Run one epoch on every shard and mix the weights."""
        with self._tasks(epoch_sum, examples.leaves, self.weights(), examples.epoch) as tasks:
            delta = self.engine.reduce(tasks, Delta.__add__)
        self._mix(delta)
        visits, weight, updates, updated_rows, mistakes = delta.counts.tolist()
        return Tally(int(visits), weight, int(updates), int(updated_rows), mistakes, 0, None)

    @contextmanager
    def _tasks(
        self, function: Any, leaves: Sequence[Leaf], weights: Weights, *arguments: Any
    ) -> Iterator[list[Task]]:
        """Broadcast weights until the block ends; the tasks that call a function at them."""
        W = np.ascontiguousarray(weights.weights.T)
        broadcast = Broadcast({"weights": W, "bias": np.asarray(weights.bias)}, {})
        if self._shared_common is None:
            self._shared_common = self.engine.share(self.common)
        shared = self.engine.share(broadcast)
        constant = (self._shared_common, shared, self.engine.row_cache, *arguments)
        try:
            # A block of shards is a subtree of the tree of sums.
            yield [Task(function, (block, *constant)) for block in self.engine.blocks(leaves)]
        finally:
            self.engine.release(shared)

    def _mix(self, delta: Delta) -> None:
        """Add a delta to the weights, rounding once, and the epoch to the average."""
        problems = self.W.shape[1]
        index = slice(None) if delta.index is None else delta.index
        before = self.W[index].astype(np.float64)
        if self.averages:
            self._sum += self.W
            self._sum[index] += delta.values[:, problems:]
            self._bias_sum += self.bias + delta.bias[problems:]
            self._epochs += 1
        W = self.W.copy()
        W[index] = before + delta.values[:, :problems]
        W += 0.0  # no negative zeros: whether there are any depends on how deltas were sent
        self.W, self.bias = W, self.bias + delta.bias[:problems]

    def mark(self) -> None:
        """Remember the weights."""
        self._before = Weights(self.W, self.bias)

    def measure(self) -> tuple[float, float]:
        """The norm of all weights, and of their change since the last measure or mark."""
        then = self._before or Weights(np.zeros_like(self.W), np.zeros_like(self.bias))
        norm = _norm(self.W, self.bias)
        change = _norm(self.W - then.weights, self.bias - then.bias)
        self.mark()
        return norm, change

    def weights(self, averaged: bool = False) -> Weights:
        """The weights (problems, features) and biases, or their average over epochs."""
        if not averaged or not self._epochs:
            return Weights(self.W.T, self.bias)
        mean = (self._sum / self._epochs).astype(self.W.dtype)
        return Weights(mean.T, self._bias_sum / self._epochs)

    snapshot = weights  # arrays are replaced, never changed

    def restart_average(self) -> None:
        """Start the average with the next epoch."""
        self._epochs = 0
        self._sum = np.zeros(self.W.shape) if self.averages else np.zeros((0, 0))
        self._bias_sum = np.zeros(len(self.bias))

    def error_on(self, leaves: Sequence[Leaf], averaged: bool, whole: bool = False) -> float:
        """The share of wrong predictions on held-out rows of shards, or on all rows."""
        with self._tasks(errors, leaves, self.weights(averaged), whole) as tasks:
            wrong, weight = self.engine.reduce(tasks, np.add)
        return float(wrong / weight) if weight > 0 else math.nan

    def scores_on(
        self, leaves: Sequence[Leaf], weights: Weights, whole: bool = False
    ) -> list[Array]:
        """The scores by `weights`, class codes and weights of held-out rows, or of all rows."""
        with self._tasks(held_out_scores, leaves, weights, whole) as tasks:
            blocks = list(self.engine.stream(tasks))
        return [np.concatenate(arrays) for arrays in zip(*blocks, strict=True)]

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return len(self.common.about["classes"])

    def state(self) -> State:
        """The last weights, for a run that starts from the model."""
        return fresh_state(self.W, self.bias)

    def arrays(self) -> dict[str, Array]:
        """The state of training, for :meth:`restore`."""
        return {
            "weights": self.W,
            "bias": self.bias,
            "sum": self._sum,
            "bias_sum": self._bias_sum,
            "epochs": np.array([self._epochs]),
        }

    def restore(self, arrays: dict[str, Array]) -> None:
        """Restore what :meth:`arrays` returned; raises a ValueError if it does not fit."""
        for name, expected in self.arrays().items():
            array = arrays[name]
            if array.shape != expected.shape or array.dtype != expected.dtype:
                raise ValueError(f"{name} is {array.dtype}{array.shape}, not {expected.shape}")
            if not np.isfinite(array).all():
                raise ValueError(f"{name} holds numbers that are not finite")
        self.W, self.bias = arrays["weights"], arrays["bias"]
        self._sum, self._bias_sum = arrays["sum"].copy(), arrays["bias_sum"].copy()
        self._epochs = int(arrays["epochs"][0])
        self.mark()


def _norm(W: Array, bias: Array) -> float:
    return math.sqrt(float(np.einsum("ij,ij", W, W, dtype=np.float64)) + float(bias @ bias))
