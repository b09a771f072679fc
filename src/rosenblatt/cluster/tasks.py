"""The tasks of a run: pure functions of weights, shards, epoch and settings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from rosenblatt.cluster.engines import Parcel
from rosenblatt.cluster.manifest import Shard
from rosenblatt.cluster.shards import Reading, ShardRows, rows_of
from rosenblatt.estimators.file_rows import is_held_out, near_rows
from rosenblatt.kernels.packing import Numbering
from rosenblatt.kernels.rows import Packed
from rosenblatt.learners.examples import Examples
from rosenblatt.learners.linear import Linear
from rosenblatt.learners.rates import SAMPLE, packed_frequencies
from rosenblatt.learners.weights import State
from rosenblatt.training import Plan, Progress, run
from rosenblatt.training.mixing import Moves, tree_map, tree_sum
from rosenblatt.training.order import shuffled

# What an epoch counts, in the order of Moves.counts; `mixed_updates` are Σ μ_i k_i.
COUNTS = ("visits", "weight", "updates", "updated_rows", "mistakes", "mixed_updates")

Sampled = tuple[int, np.ndarray, np.ndarray, np.ndarray]


class Leaf(NamedTuple):
    """A shard with what a run knows of it."""

    shard: Shard
    digest: str = ""  # of its rows
    first: int = 0  # the number of its first row in the data set
    share: float = 1.0  # μ, its share in the mixed weights


class Survey(NamedTuple):
    """What the first pass says of a shard."""

    rows: int
    classes: list[str]
    columns: np.ndarray  # those that occur, in the order in which they are met
    sampled: Sampled
    near: int  # how many rows it takes to meet a feature that is not near
    weighted: bool  # whether rows have weights of their own
    counts: list[Any]  # bad rows, missing values by column, bytes read
    digest: str


def survey(shard: Shard, reading: Reading, sample: int, folder: str | None) -> Survey:
    """Read and hash a shard, and say what is in it."""
    rows = rows_of(shard, reading, folder)
    packed, _, omega = rows.store.arrays()
    return Survey(
        len(rows), rows.classes, np.array(rows.columns), _sampled(packed, rows.columns, sample),
        near_rows(packed), omega.size > 1, rows.counts, rows.digest,
    )  # fmt: skip


def _sampled(packed: Packed, columns: np.ndarray, most: int) -> Sampled:
    """Of the first rows: how many, their columns, in how many rows each is, its sum of squares."""
    n = min(most, len(packed.bases))
    frequencies, sums = packed_frequencies(packed, n, len(columns))
    met = np.flatnonzero(frequencies)
    met = met[np.argsort(columns[met])]
    return n, columns[met], frequencies[met].astype(np.int64), sums[met]


def sample_size(shards: int) -> int:
    """How many first rows of each shard tell the frequencies of features.

    >>> sample_size(1), sample_size(16), sample_size(1000)
    (4096, 256, 64)
    """
    return max(64, SAMPLE // shards)


@lru_cache(maxsize=2)
def _numbering(common: Parcel) -> Numbering:
    """The places of the columns of all shards."""
    return Numbering(1 << common.about["bits"], common.arrays["columns"])


class Place(NamedTuple):
    """Where the features of a shard are among those of all shards."""

    index: np.ndarray  # type: ignore[assignment]
    codes: np.ndarray
    rates: np.ndarray


def _placed(rows: ShardRows, common: Parcel) -> Place:
    """Where the features and classes of a shard are among those of all shards."""
    if rows.placed[0] != common.name:
        rates, classes = common.arrays["rates"], common.about["classes"]
        index = _numbering(common).places_of(rows.columns).astype(np.uint32)
        codes = np.array([classes.index(name) for name in rows.classes], np.int32)
        rows.placed = common.name, Place(index, codes, rates_at(rates, index))
    return rows.placed[1]


def rates_at(rates: np.ndarray, places: np.ndarray) -> np.ndarray:
    """The rates of some places, and that of all features beyond."""
    last = np.uint32(len(rates) - 1)
    return np.append(rates[np.minimum(places, last)], rates[last])


@dataclass
class AtWork:
    """A shard that a task works on: its rows, where its features are, a learner at the weights.

    A run visits its rows (:class:`rosenblatt.training.order.Data`).
    """

    leaf: Leaf
    about: dict[str, Any]
    rows: ShardRows
    place: Place
    examples: Examples
    visited: np.ndarray
    held: np.ndarray  # the rows that are held out
    start: dict[str, np.ndarray]  # the weights (features, problems) of all shards, and biases
    learner: Linear

    repeats, visits_all = False, True

    def parts(self, epoch: int, position: int = 0) -> Iterator[tuple[Examples, np.ndarray]]:
        """The rows of an epoch: the first in their order, others in random order."""
        store, seed = self.rows.store, int(self.about["seed"])
        if store.size <= int(self.about["memory"]):
            rows = self.visited if epoch == 1 else shuffled(self.visited, seed, epoch)
            yield self.examples, rows
            return
        is_visited = np.zeros(len(self.examples), bool)
        is_visited[self.visited] = True
        for order in store.orders(None if epoch == 1 else [seed, epoch]):
            yield self.examples, order[is_visited[order]]
            self.learner.settle()

    def to_score(self, whole: bool) -> np.ndarray:
        """The rows that are held out, or all of them."""
        return np.union1d(self.visited, self.held) if whole else self.held


def at_work(leaf: Leaf, common: Parcel, weights: Parcel, folder: str | None) -> AtWork:
    """Open a shard for a task, with a learner of its features at the weights."""
    start, about = weights.arrays, common.about
    rows = rows_of(leaf.shard, Reading.from_json(about["reading"]), folder, leaf.digest)
    place = _placed(rows, common)
    packed, codes, omega = rows.store.arrays()
    examples = Examples(packed, place.codes[codes], omega, len(rows.columns), rows.columns)
    held = is_held_out(leaf.first, len(rows), float(about["held_out"]), int(about["seed"]))
    counting = omega > 0 if omega.size > 1 else np.True_
    visited, kept = (np.flatnonzero(some & counting).astype(np.uint64) for some in (~held, held))
    n_classes, threshold = len(about["classes"]), about["threshold"]
    learner = Linear(
        n_classes, len(place.index), multiclass=about["multiclass"],
        thresholds=(threshold, threshold), padding=about["padding"],
        averaging=about["average"], rates=place.rates, dtype=np.float32,
    )  # fmt: skip
    learner.restore(fresh_state(start["weights"][place.index], start["bias"]))
    return AtWork(leaf, about, rows, place, examples, visited, kept, start, learner)


def fresh_state(weights: np.ndarray, bias: np.ndarray) -> State:
    """The state of a learner that begins an epoch at weights (features, problems)."""
    zeros = np.zeros(len(bias))
    return State(weights.T, bias, np.zeros((0, 0)), zeros, zeros)


def epoch_sum(
    leaves: tuple[Leaf, ...], common: Any, weights: Any, folder: str | None, epoch: int
) -> Moves:
    """One epoch over each of some shards from the same weights, what they want to change added up.

    The shards are a subtree of the tree that mixes.
    """

    def moved(leaf: Leaf) -> Moves:
        shard = at_work(leaf, common, weights, folder)
        given = (epoch, shard.start, leaf.share, shard.place.index)
        return epoch_moves(shard.learner, shard, Plan(), *given)

    return tree_map(leaves, moved, _added).compact()


def _added(left: Moves, right: Moves) -> Moves:
    """The sum of moves; one that was made here holds all features and grows in place."""
    return left.added(right) if left.index is None else left + right


def epoch_moves(
    learner: Linear, data: Any, plan: Plan, epoch: int, start: dict[str, np.ndarray], share: float,
    index: np.ndarray | None,
) -> Moves:  # fmt: skip
    """How far an epoch of a learner that is at the start moves the weights, and their average.

    All of it times the share, with what the epoch has counted. With an `index`, the places of the
    learner's features among all, only the features that moved are told.
    """
    average, progress = learner.averaging, Progress(epoch=epoch - 1)
    W, bias = start["weights"], start["bias"]
    before = W if index is None else W[index]
    keep = "average" if average else "last"
    for _ in run(learner, data, replace(plan, keep=keep, max_epochs=epoch, tol=None), progress):
        pass
    state, told = learner.state(), None
    chosen: Any = slice(None)
    if index is not None:
        moved = (state.weights != before.T).any(axis=0)
        if average:
            moved |= (state.sums != 0).any(axis=0)
        chosen = np.flatnonzero(moved)
        told = index[chosen]
    ends, biases = [state.weights[:, chosen].T.astype(np.float64)], [state.bias]
    if average:
        clock = np.maximum(state.clock, 1e-300)
        ends.append(ends[0] - state.sums[:, chosen].T / clock)
        biases.append(state.bias - state.bias_sums / clock)
    begin, record = before[chosen].astype(np.float64), progress.history[-1]
    values = np.hstack([end - begin for end in ends]) * share
    counts = np.array(
        [
            progress.visits, progress.steps, record.updates, record.updated_rows, record.mistakes,
            share * record.updates,
        ]
    )  # fmt: skip
    moves = np.concatenate([end - bias for end in biases]) * share
    return Moves(len(W), told, values, moves, counts)


def held_out_scores(
    leaves: tuple[Leaf, ...], common: Any, weights: Any, folder: str | None, whole: bool
) -> list[np.ndarray]:
    """Scores, class numbers and weights of rows held out of some shards, or of all their rows."""
    found = []
    for shard in (at_work(leaf, common, weights, folder) for leaf in leaves):
        chosen, examples = shard.to_score(whole), shard.examples
        scores = np.asarray(shard.learner.scores(examples, chosen))
        found.append([scores, examples.codes[chosen], examples.weights_of(chosen)])
    return [np.concatenate(parts) for parts in zip(*found, strict=True)]


def errors(
    leaves: tuple[Leaf, ...], common: Any, weights: Any, folder: str | None, whole: bool
) -> np.ndarray:
    """The weight of rows held out of some shards, or of all their rows: wrong ones, and all."""
    sums = []
    for shard in (at_work(leaf, common, weights, folder) for leaf in leaves):
        chosen, examples = shard.to_score(whole), shard.examples
        weight = examples.weight_of(chosen)
        error = shard.learner.error(examples, chosen) if len(chosen) else 0.0
        wrong = error * weight if examples.omega.size > 1 else round(error * weight)
        sums.append(np.array([wrong, weight], np.float64))
    return tree_sum(sums, np.add)
