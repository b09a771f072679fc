"""The tasks of an epoch: pure functions of weights, shards, epoch and settings."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from rosenblatt.cluster.engines import Broadcast
from rosenblatt.cluster.manifest import Shard
from rosenblatt.cluster.mixing import Delta, tree_map, tree_sum
from rosenblatt.cluster.shards import Reading, ShardRows, hashed_rows
from rosenblatt.jobs.options import TrainOptions
from rosenblatt.jobs.rows import is_held_out, spec_of
from rosenblatt.kernels.packing import Numbering
from rosenblatt.learners import make
from rosenblatt.learners.examples import Examples
from rosenblatt.learners.linear import Linear
from rosenblatt.learners.weights import State
from rosenblatt.training import Plan, Progress, run
from rosenblatt.training.order import shuffled

# What an epoch counts, in the order of Delta.counts.
COUNTS = ("visits", "weight", "updates", "updated_rows", "mistakes")


class Leaf(NamedTuple):
    """A shard of a run: a leaf of the tree in which results are summed."""

    shard: Shard
    digest: str = ""  # a hash of its rows
    first: int = 0  # the number of its first row in the data set
    share: float = 1.0  # μ, its share in the mixed weights


class Aligned(NamedTuple):
    """The features and classes of a shard in the numbering of all shards."""

    features: np.ndarray
    codes: np.ndarray
    rates: np.ndarray  # of its own features, then of features beyond


@lru_cache(maxsize=2)
def _numbering(common: Broadcast) -> Numbering:
    return Numbering(1 << common.about["bits"], common.arrays["columns"])


def _align(rows: ShardRows, common: Broadcast) -> Aligned:
    """Find the features and classes of a shard among those of all shards; cached."""
    if rows.aligned[0] != common.name:
        classes = common.about["classes"]
        features = _numbering(common).places_of(rows.columns).astype(np.uint32)
        codes = np.array([classes.index(name) for name in rows.classes], np.int32)
        rates = rates_at(common.arrays["rates"], features)
        rows.aligned = common.name, Aligned(features, codes, rates)
    return rows.aligned[1]


def rates_at(rates: np.ndarray, features: np.ndarray) -> np.ndarray:
    """The rates of some features, then that of all features beyond."""
    last = np.uint32(len(rates) - 1)
    return np.append(rates[np.minimum(features, last)], rates[last])


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
        self.leaf, self.about, self.start = leaf, common.about, weights.arrays
        reading = Reading.from_json(self.about["reading"])
        self.rows = hashed_rows(leaf.shard, reading, folder, leaf.digest)
        self.aligned = _align(self.rows, common)
        packed, codes, omega = self.rows.store.arrays()
        columns = self.rows.columns
        self.examples = Examples(packed, self.aligned.codes[codes], omega, len(columns), columns)
        self.options = TrainOptions(**self.about["options"])
        share = float(self.about["held_out"])
        held = is_held_out(leaf.first, len(self.rows), share, self.options.seed)
        weighs = omega > 0 if omega.size > 1 else np.True_
        self.visited = np.flatnonzero(~held & weighs).astype(np.uint64)
        self.held_out = np.flatnonzero(held & weighs).astype(np.uint64)
        self.learner = self._learner()

    def _learner(self) -> Linear:
        features = self.aligned.features
        spec = spec_of(self.options, None, self.aligned.rates)
        learner: Linear = make(spec, len(self.about["classes"]), len(features))
        learner.restore(fresh_state(self.start["weights"][features], self.start["bias"]))
        return learner

    def parts(self, epoch: int, position: int = 0) -> Iterator[tuple[Examples, np.ndarray]]:
        """The examples, and the rows of an epoch: of the first as read, of others shuffled."""
        store, seed = self.rows.store, self.options.seed
        if store.size <= self.options.memory:
            rows = self.visited if epoch == 1 else shuffled(self.visited, seed, epoch)
            yield self.examples, rows
            return
        is_visited = np.zeros(len(self.examples), bool)
        is_visited[self.visited] = True
        for order in store.orders(None if epoch == 1 else [seed, epoch]):
            yield self.examples, order[is_visited[order]]
            self.learner.settle()

    def everything(self) -> tuple[Examples, np.ndarray]:
        """The examples, and the rows that an epoch visits."""
        return self.examples, self.visited

    def scored(self, whole: bool) -> np.ndarray:
        """The held-out rows, or all rows."""
        return np.union1d(self.visited, self.held_out) if whole else self.held_out


def fresh_state(weights: np.ndarray, bias: np.ndarray) -> State:
    """The state of a learner that begins an epoch at weights (features, problems)."""
    zeros = np.zeros(len(bias))
    return State(weights.T, bias, np.zeros((0, 0)), zeros, zeros)


def epoch_sum(
    leaves: tuple[Leaf, ...], common: Broadcast, weights: Broadcast, folder: str | None, epoch: int
) -> Delta:
    """The weight changes of one epoch on each of some shards, a subtree, summed."""

    def delta_of(leaf: Leaf) -> Delta:
        return epoch_delta(OpenShard(leaf, common, weights, folder), epoch)

    return tree_map(leaves, delta_of, _add).compact()


def _add(left: Delta, right: Delta) -> Delta:
    """The sum; `left` is overwritten if it holds all features: only sums made here do."""
    return left.add_in_place(right) if left.index is None else left + right


def epoch_delta(shard: OpenShard, epoch: int) -> Delta:
    """Run one epoch over a shard; returns the change of the weights, and of their average."""
    learner, progress, share = shard.learner, Progress(epoch=epoch - 1), shard.leaf.share
    average, features = learner.averaging, shard.aligned.features
    plan = Plan(keep="average" if average else "last", max_epochs=epoch, tol=None)
    for _ in run(learner, shard, plan, progress):
        pass
    W, bias, state = shard.start["weights"], shard.start["bias"], learner.state()
    before = W[features]
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
    counts = np.array(
        [progress.visits, progress.steps, record.updates, record.updated_rows, record.mistakes]
    )
    moved = np.concatenate([end - bias for end in biases]) * share
    return Delta(len(W), features[chosen], values, moved, counts)


def held_out_scores(
    leaves: tuple[Leaf, ...], common: Broadcast, weights: Broadcast, folder: str | None, whole: bool
) -> list[np.ndarray]:
    """The scores, class codes and weights of held-out rows of some shards, or of all rows."""
    found = []
    for shard in (OpenShard(leaf, common, weights, folder) for leaf in leaves):
        rows, examples = shard.scored(whole), shard.examples
        scores = np.asarray(shard.learner.scores(examples, rows))
        found.append([scores, examples.codes[rows], examples.weights_of(rows)])
    return [np.concatenate(parts) for parts in zip(*found, strict=True)]


def errors(
    leaves: tuple[Leaf, ...], common: Broadcast, weights: Broadcast, folder: str | None, whole: bool
) -> np.ndarray:
    """The weight of wrong predictions and of all, on held-out rows of some shards or all rows."""
    sums = []
    for shard in (OpenShard(leaf, common, weights, folder) for leaf in leaves):
        rows, examples = shard.scored(whole), shard.examples
        weight = examples.weight_of(rows)
        error = shard.learner.error(examples, rows) if len(rows) else 0.0
        wrong = error * weight if examples.omega.size > 1 else round(error * weight)
        sums.append(np.array([wrong, weight], np.float64))
    return tree_sum(sums, np.add)
