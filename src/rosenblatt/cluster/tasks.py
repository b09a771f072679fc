"""The tasks of a run: pure functions of weights, shards, epoch and settings.

Each is called with facts about the process that began the run and refuses to run where they are
others, so that a result never depends on who computed it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from rosenblatt.cluster import facts
from rosenblatt.cluster.manifest import Shard
from rosenblatt.cluster.parcels import InMemory, Parcel, taken
from rosenblatt.cluster.part_reader import Reading
from rosenblatt.cluster.shard_rows import ShardRows, rows_of
from rosenblatt.estimators.file_rows import is_held_out, near_rows
from rosenblatt.kernels.packing import Numbering
from rosenblatt.kernels.rows import Packed
from rosenblatt.learners.examples import Examples
from rosenblatt.learners.linear import Linear
from rosenblatt.learners.problems import n_problems
from rosenblatt.learners.rates import SAMPLE
from rosenblatt.learners.weights import State
from rosenblatt.training import Plan, Progress, run
from rosenblatt.training.mixing import Moves, tree_map, tree_sum
from rosenblatt.training.order import shuffled

# What an epoch counts, in the order of Moves.counts; `mixed_updates` are Σ μ_i k_i.
COUNTS = ("visits", "weight", "updates", "updated_rows", "mistakes", "mixed_updates")

Facts = tuple[tuple[str, str], ...]


class Leaf(NamedTuple):
    """A shard with what a run knows of it.

    Attributes
    ----------
    shard : Shard
    digest : str
        Of its rows.
    first : int
        The number of its first row in the data set.
    share : float
        μ, its share in the mixed weights.
    """

    shard: Shard
    digest: str = ""
    first: int = 0
    share: float = 1.0


class Survey(NamedTuple):
    """What the first pass says of a shard.

    Attributes
    ----------
    rows : int
    classes : list of str
    columns : uint32 array
        The columns that occur, in the order in which they are met.
    sampled : tuple
        Of the first rows: how many, their columns, in how many rows each occurs, and the sum of
        its squared values.
    near : int
        How many rows it takes to meet a feature that is not near.
    weighted : bool
        Whether rows have weights of their own.
    counts : list
        Bad rows, missing values by column, bytes read.
    digest : str
    """

    rows: int
    classes: list[str]
    columns: np.ndarray
    sampled: tuple[int, np.ndarray, np.ndarray, np.ndarray]
    near: int
    weighted: bool
    counts: list[Any]
    digest: str


def survey(
    shard: Shard, reading: Reading, sample: int, folder: str | None, expected: Facts
) -> Survey:
    """Read and hash a shard, and say what is in it."""
    facts.check(expected)
    rows = rows_of(shard, reading, folder)
    packed, _, omega = rows.store.arrays()
    return Survey(
        len(rows), rows.classes, np.array(rows.columns), _sampled(packed, rows.columns, sample),
        near_rows(packed), omega.size > 1, rows.counts, rows.digest,
    )  # fmt: skip


def _sampled(
    packed: Packed, columns: np.ndarray, most: int
) -> tuple[int, np.ndarray, np.ndarray, np.ndarray]:
    """Frequencies and sums of squares of the columns of the first rows."""
    n = min(most, len(packed.bases))
    near, far, rest = (int(end) for end in packed.pointers[n])
    lengths: Any = np.diff(packed.pointers[: n + 1].astype(np.int64), axis=0)
    squares = packed.bases[:n].astype(np.float64) ** 2
    places = np.concatenate(
        [packed.near[:near].astype(np.int64), packed.far[:far], packed.columns[:rest]]
    )
    values = np.concatenate(
        [
            np.repeat(squares, lengths[:, 0]),
            np.repeat(squares, lengths[:, 1]),
            packed.values[:rest].astype(np.float64) ** 2,
        ]
    )
    frequencies = np.bincount(places, minlength=len(columns))
    sums = np.bincount(places, weights=values, minlength=len(columns))
    met = np.flatnonzero(frequencies)
    met = met[np.argsort(columns[met])]
    return n, columns[met], frequencies[met].astype(np.int64), sums[met]


def sample_size(shards: int) -> int:
    """How many first rows of each shard tell the frequencies of features.

    >>> sample_size(1), sample_size(16), sample_size(1000)
    (4096, 256, 64)
    """
    return max(64, SAMPLE // shards)


class ShardData:
    """The rows of a shard, in the order of each epoch."""

    repeats, visits_all = False, True

    def __init__(self, examples: Examples, rows: np.ndarray, store: Any, about: dict[str, Any]):
        self.examples, self.rows, self.store = examples, rows, store
        self.seed, self.memory = int(about["seed"]), int(about["memory"])

    def parts(self, epoch: int, position: int = 0) -> Iterator[tuple[Examples, np.ndarray]]:
        """The rows of an epoch: the first in their order, others in random order."""
        if epoch == 1:
            yield self.examples, self.rows
        elif self.store.size <= self.memory:
            yield self.examples, shuffled(self.rows, self.seed, epoch)
        else:
            visited = np.zeros(len(self.examples), bool)
            visited[self.rows] = True
            for order in self.store.orders([self.seed, epoch]):
                yield self.examples, order[visited[order]]

    def everything(self) -> tuple[Examples, np.ndarray]:
        """All rows that are visited."""
        return self.examples, self.rows


def epoch_sum(
    leaves: tuple[Leaf, ...], common: Any, weights: Any, epoch: int, folder: str | None,
    expected: Facts,
) -> Moves:  # fmt: skip
    """One epoch over each of some shards from the same weights, what they want to change added up.

    The shards are a subtree of the tree that mixes.
    """
    facts.check(expected)
    whole, start = taken(common), taken(weights)
    sums = tree_map(leaves, lambda leaf: _epoch(leaf, whole, start, epoch, folder), _added)
    return sums.compact()


def _added(left: Moves, right: Moves) -> Moves:
    """The sum of moves; one that was made here holds all features and grows in place."""
    if left.index is None:
        return left.added(right)
    return left + right


def _epoch(leaf: Leaf, common: Parcel, weights: Parcel, epoch: int, folder: str | None) -> Moves:
    """One epoch over a shard."""
    about = common.about
    rows = rows_of(leaf.shard, reading_of(common), folder, leaf.digest)
    place = placed(rows, common)
    examples, visited, _ = examples_of_leaf(rows, leaf, common, place)
    before, bias = weights.arrays["weights"][place.index], weights.arrays["bias"]
    learner = learner_of(common, place, before, bias)
    progress = Progress(epoch=epoch - 1)
    plan = Plan(keep="average" if about["average"] else "last", max_epochs=epoch, tol=None)
    data = ShardData(examples, visited, rows.store, about)
    for _ in run(learner, data, plan, progress):
        if rows.store.size > data.memory:
            learner.settle()
    n_features = len(common.arrays["columns"])
    given = (before, bias, leaf.share, about["average"], progress)
    return touched_moves(learner.state(), *given, place.index, n_features)


def touched_moves(
    state: State, before: np.ndarray, bias: np.ndarray, share: float, average: bool,
    progress: Progress, index: np.ndarray, n_features: int,
) -> Moves:  # fmt: skip
    """What :func:`moves_of` tells, of the features alone that moved; `index` are their places."""
    moved = (state.weights != before.T).any(axis=0)
    if average:
        moved |= (state.sums != 0).any(axis=0)
    chosen = np.flatnonzero(moved)
    few = replace(state, weights=state.weights[:, chosen], before=None)
    if average:
        few = replace(few, sums=state.sums[:, chosen])
    moves = moves_of(few, before[chosen], bias, share, average, progress)
    return replace(moves, n_features=n_features, index=index[chosen])


def moves_of(
    state: State, before: np.ndarray, bias: np.ndarray, share: float, average: bool,
    progress: Progress,
) -> Moves:  # fmt: skip
    """How far an epoch has moved the weights (features, problems), and their average.

    All of it times the share, with what the epoch has counted.
    """
    ends, biases = [state.weights.T.astype(np.float64)], [state.bias]
    if average:
        clock = np.maximum(state.clock, 1e-300)
        ends.append(ends[0] - state.sums.T / clock)
        biases.append(state.bias - state.bias_sums / clock)
    start = before.astype(np.float64)
    values = np.hstack([end - start for end in ends]) * share
    record = progress.history[-1]
    counts = np.array(
        [
            progress.visits, progress.steps, record.updates, record.updated_rows, record.mistakes,
            share * record.updates,
        ]
    )  # fmt: skip
    moved = np.concatenate([end - bias for end in biases]) * share
    return Moves(len(start), None, values, moved, counts)


@lru_cache(maxsize=2)
def _numbering(name: str, common: InMemory) -> Numbering:
    """The places of the columns of all shards."""
    return Numbering(1 << common.parcel.about["bits"], common.parcel.arrays["columns"])


class Place(NamedTuple):
    """Where the features of a shard are among those of all shards."""

    index: np.ndarray  # type: ignore[assignment]
    codes: np.ndarray
    rates: np.ndarray


def placed(rows: ShardRows, common: Parcel) -> Place:
    """Where the features and classes of a shard are among those of all shards."""
    if rows.placed[0] != common.name:
        arrays, classes = common.arrays, common.about["classes"]
        index = _numbering(common.name, InMemory(common)).places_of(rows.columns).astype(np.uint32)
        numbers = {name: code for code, name in enumerate(classes)}
        codes = np.array([numbers[name] for name in rows.classes], np.int32)
        rates = arrays["rates"]
        last = np.uint32(len(rates) - 1)  # the rate of all features beyond
        own = np.append(rates[np.minimum(index, last)], rates[last])
        rows.placed = common.name, Place(index, codes, own)
    return rows.placed[1]


def examples_of_leaf(
    rows: ShardRows, leaf: Leaf, common: Parcel, place: Place
) -> tuple[Examples, np.ndarray, np.ndarray]:
    """The examples of a shard, the rows to visit, and those that are held out."""
    packed, codes, omega = rows.store.arrays()
    examples = Examples(packed, place.codes[codes], omega, len(rows.columns), rows.columns)
    about = common.about
    held = is_held_out(leaf.first, len(rows), float(about["held_out"]), int(about["seed"]))
    if omega.size > 1:
        held_rows, visited = held & (omega > 0), ~held & (omega > 0)
    else:
        held_rows, visited = held, ~held
    to_visit, to_hold = (np.flatnonzero(some).astype(np.uint64) for some in (visited, held_rows))
    return examples, to_visit, to_hold


def learner_of(common: Parcel, place: Place, W: np.ndarray, bias: np.ndarray) -> Linear:
    """A learner of a shard's features, at these weights."""
    about = common.about
    n_classes = len(about["classes"])
    learner = Linear(
        n_classes, len(place.index), multiclass=about["multiclass"],
        thresholds=(about["threshold"], about["threshold"]), padding=about["padding"],
        averaging=about["average"], rates=place.rates, dtype=np.float32,
    )  # fmt: skip
    problems = n_problems(n_classes, about["multiclass"])
    learner.restore(State(W.T, bias, np.zeros((0, 0)), np.zeros(problems), np.zeros(problems)))
    return learner


def reading_of(common: Parcel) -> Reading:
    """How the shards of a run are read."""
    from rosenblatt.data import Features

    format, features, skip, labelled, schema = common.about["reading"]
    return Reading(format, Features.from_json(features), skip, labelled, bytes.fromhex(schema))


def held_out_scores(
    leaves: tuple[Leaf, ...], common: Any, weights: Any, whole: bool, folder: str | None,
    expected: Facts,
) -> list[np.ndarray]:  # fmt: skip
    """Scores, class numbers and weights of rows held out of some shards, or of all their rows."""
    facts.check(expected)
    common, weights = taken(common), taken(weights)
    found = []
    for leaf in leaves:
        examples, chosen, learner = _to_score(leaf, common, weights, whole, folder)
        scores = np.asarray(learner.scores(examples, chosen))
        found.append([scores, examples.codes[chosen], examples.weights_of(chosen)])
    return [np.concatenate(parts) for parts in zip(*found, strict=True)]


def _to_score(
    leaf: Leaf, common: Parcel, weights: Parcel, whole: bool, folder: str | None
) -> tuple[Examples, np.ndarray, Linear]:
    """The examples of a shard, which of them to score, and a learner at the weights."""
    rows = rows_of(leaf.shard, reading_of(common), folder, leaf.digest)
    place = placed(rows, common)
    examples, visited, held = examples_of_leaf(rows, leaf, common, place)
    chosen = np.union1d(visited, held) if whole else held
    W, bias = weights.arrays["weights"][place.index], weights.arrays["bias"]
    return examples, chosen, learner_of(common, place, W, bias)


def errors(
    leaves: tuple[Leaf, ...], common: Any, weights: Any, whole: bool, folder: str | None,
    expected: Facts,
) -> np.ndarray:  # fmt: skip
    """The weight of rows held out of some shards, or of all their rows: wrong ones, and all."""
    facts.check(expected)
    common, weights = taken(common), taken(weights)
    totals = []
    for leaf in leaves:
        examples, chosen, learner = _to_score(leaf, common, weights, whole, folder)
        weight = examples.weight_of(chosen)
        error = learner.error(examples, chosen) if len(chosen) else 0.0
        wrong = error * weight if examples.omega.size > 1 else round(error * weight)
        totals.append(np.array([wrong, weight], np.float64))
    return tree_sum(totals, np.add)
