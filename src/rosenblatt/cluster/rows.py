"""The rows of all shards: the first pass over them, and what a run needs to know of them."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from rosenblatt.cluster.engines import Broadcast, Engine
from rosenblatt.cluster.manifest import Manifest, Shard
from rosenblatt.cluster.mixing import Leaf, MixedLearner, Shards
from rosenblatt.cluster.shards import Reading, hashed_rows
from rosenblatt.data.features import Features
from rosenblatt.data.labels import sorted_labels
from rosenblatt.data.source import MOST_CLASSES, MOST_NAMED, TOO_MANY
from rosenblatt.errors import DataError, listed
from rosenblatt.jobs.held_out import is_held_out
from rosenblatt.jobs.options import TrainOptions
from rosenblatt.kernels.packing import Numbering
from rosenblatt.kernels.rows import Packed
from rosenblatt.learners.parts import ONE_RATE
from rosenblatt.learners.problems import n_problems
from rosenblatt.learners.protocol import UNLIMITED, Array
from rosenblatt.learners.rates import SAMPLE, IdfScales, packed_frequencies, rarity_by
from rosenblatt.models.model import Model
from rosenblatt.training import Progress

FEW_ROWS = 10_000  # of a shard, below which accuracy falls
_REFIT_SHARE = 0.05  # of rows held out, from which on a refit on all rows pays


class Sample(NamedTuple):
    """The first rows of a shard."""

    rows: int
    columns: Array  # those that occur, increasing
    frequencies: Array  # the number of rows with each
    squares: Array  # the sum of squares of each


class ShardSummary(NamedTuple):
    """What the first pass finds in a shard."""

    rows: int
    classes: list[str]
    columns: Array  # in the order in which they are met
    sample: Sample
    late: Sample  # columns that the sample lacks, in all rows; empty for text
    bad: int  # rows that were left out
    missing: dict[str, int]  # missing values by column
    strays: dict[str, int]  # cells of another kind by column, and some of them with their places
    named_strays: list[Any]
    bytes: int
    digest: str


def summarize(shard: Shard, reading: Reading, most: int, folder: str | None) -> ShardSummary:
    """Read and hash a shard, and sample at most so many rows (a task)."""
    rows = hashed_rows(shard, reading, folder)
    packed, columns = rows.store.arrays()[0], np.array(rows.columns)
    sample = _sample(packed, columns, most)
    first = len(columns) if reading.features.is_text else int(np.isin(columns, sample[1]).sum())
    late = _sample(packed, columns, len(rows), first)
    bad, missing, strays, named, size = rows.counts
    return ShardSummary(
        len(rows),
        rows.classes,
        columns,
        sample,
        late,
        bad,
        missing,
        strays,
        named,
        size,
        rows.digest,
    )


def _sample(packed: Packed, columns: Array, most: int, first: int = 0) -> Sample:
    """Columns in some first rows; those that are met first are not looked at."""
    rows = min(most, len(packed.bases)) if first < len(columns) else 0
    frequencies, squares = packed_frequencies(packed, rows, len(columns), first)
    places = np.flatnonzero(frequencies)
    places = places[np.argsort(columns[first:][places])]
    sizes = frequencies[places].astype(np.int64), squares[places]
    return Sample(rows, columns[first:][places], *sizes)


def sample_size(shards: int) -> int:
    """How many first rows of each shard the frequencies of features are counted in.

    >>> sample_size(1), sample_size(16), sample_size(1000)
    (4096, 256, 64)
    """
    return max(64, SAMPLE // shards)


class ShardWarning(UserWarning):
    """Shards are so small that mixing costs accuracy."""


class ShardedRows:
    """The rows of all shards (:class:`rosenblatt.jobs.run.Rows`).

    Shards of `valid`, if given, decide the number of epochs; else a share of the rows is held out,
    which is small for large data sets. A `start` model decides about classes and scales, and its
    features come first.

    Attributes
    ----------
    leaves, counts, held : list
        The shards for training, and the number of rows, and of held-out rows, of each.
    valid_leaves : list
        The shards of `valid`.
    classes, columns, rarity
        The names of the classes; the features, those of the first shard as they are met, then the
        others; the scales of the features, for text.
    """

    most_visits = UNLIMITED  # an epoch on all shards is one step

    def __init__(
        self,
        engine: Engine,
        manifest: Manifest,
        reading: Reading,
        options: TrainOptions,
        *,
        valid: Manifest | None = None,
        start: Model | None = None,
    ) -> None:
        self.engine, self.manifest, self.reading = engine, manifest, reading
        self.valid, self.start = valid, start
        self.shards = len(manifest)
        self.source = reading.open(tuple(part for shard in manifest.shards for part in shard))
        self.held_out, self.seed = options.held_out(valid is not None), options.seed
        self._takes_rates = options.rates != "none"

    def begin(self) -> None:
        """Let the workers read and hash all shards, and merge what they find."""
        most, valid = sample_size(self.shards), self.valid.shards if self.valid else ()
        summaries = self._summaries([*self.manifest.shards, *valid], most)
        trained, validated = summaries[: self.shards], summaries[self.shards :]
        self.counts = [summary.rows for summary in trained]
        firsts = accumulate(self.counts[:-1], initial=0)
        self.leaves = [
            Leaf(shard, summary.digest, first)
            for shard, summary, first in zip(self.manifest.shards, trained, firsts, strict=True)
        ]
        self.valid_leaves = [
            Leaf(shard, summary.digest) for shard, summary in zip(valid, validated, strict=True)
        ]
        self.held = [
            int(is_held_out(leaf.first + np.arange(rows), self.held_out, self.seed).sum())
            for leaf, rows in zip(self.leaves, self.counts, strict=True)
        ]
        self.bytes = sum(summary.bytes for summary in trained)
        columns, features = [summary.columns for summary in summaries], self.reading.features
        self.rarity = None if self.start is None else IdfScales.of_state(self.start.state)
        if self.start is None:
            self.classes = sorted_labels({name for one in trained for name in one.classes})
            self.columns = _union(columns, features.ngrams.bits)
            if features.need_rates and self._takes_rates:
                samples = [summary.sample for summary in trained]
                self.rarity = _rarity(samples, self.columns, features)
        else:
            self.classes = list(self.start.classes)
            self.columns = _union([self.start.columns, *columns], features.ngrams.bits)
        if self.rarity is not None and self.rarity.usual:
            late = _sizes([summary.late for summary in trained], self.columns, features)
            self.rarity = self.rarity.with_sizes(*late)
        source = self.source
        source.rows, source.bad = self.count, sum(summary.bad for summary in trained)
        for summary in trained:
            source.missing.update(summary.missing)
            source.strays.update(summary.strays)
            source.named_strays += map(tuple, summary.named_strays)
        source.named_strays = source.named_strays[:MOST_NAMED]
        source.warn_of_strays()
        self._check_classes(summaries)
        source.fix_classes(self.classes)
        mean = self.count / self.shards
        if mean < FEW_ROWS and self.shards > 1:
            warnings.warn(
                f"the {self.shards} shards have {mean:,.0f} rows on average; below "
                f"{FEW_ROWS:,} rows per shard mixing costs accuracy: take fewer shards "
                "(--shards), or train without workers",
                ShardWarning,
                stacklevel=2,
            )

    def _summaries(self, shards: Sequence[Shard], most: int) -> list[ShardSummary]:
        constant = (self.reading, most, self.engine.row_cache)
        return list(self.engine.spread(summarize, [(shard, *constant) for shard in shards]))

    def new_learner(self, options: TrainOptions, refit: bool = False) -> MixedLearner:
        """A learner of the mixed weights, at those of the start model if there is one."""
        bits = self.reading.features.ngrams.bits
        about = {
            "reading": self.reading.to_json(),
            "classes": self.classes,
            "bits": bits,
            "held_out": 0.0 if refit else self.held_out,
            "options": options.settings,
        }
        rates = ONE_RATE if self.rarity is None else self.rarity.rates
        common = Broadcast({"columns": self.columns, "rates": rates}, about)
        shape = (len(self.columns), n_problems(len(self.classes), str(options.multiclass)))
        weights, bias = np.zeros(shape, np.float32), np.zeros(shape[1])
        if self.start is not None:
            last, bias = _last_weights(self.start)
            places = Numbering(1 << bits, self.columns).places_of(self.start.columns)
            weights[places] = last
        return MixedLearner(self.engine, common, weights, bias)

    def follow(self, learner: Any, progress: Progress) -> None:
        """Nothing: features and classes are known before the first epoch."""

    def visited(self, refit: bool) -> Shards:
        """The shards with rows to visit in a phase."""
        held = [0] * self.shards if refit else self.held
        visits = [rows - n for rows, n in zip(self.counts, held, strict=True)]
        leaves = [leaf for leaf, n in zip(self.leaves, visits, strict=True) if n]
        return Shards(leaves, [n for n in visits if n])

    @property
    def count(self) -> int:
        """The number of rows."""
        return sum(self.counts)

    @property
    def held_out_count(self) -> int:
        """The number of held-out rows."""
        return sum(self.held)

    def class_shares(self) -> dict[str, float]:
        """Nothing, as shards count their rows without the classes of these."""
        return {}

    @property
    def validates(self) -> bool:
        """Whether there are validation rows, or rows held out."""
        return self.valid is not None or self.held_out > 0

    @property
    def can_refit(self) -> bool:
        """Whether enough rows were held out for a refit on all rows to pay."""
        enough = max(1, _REFIT_SHARE * self.count)
        return self.valid is None and self.held_out_count >= enough

    def validation_error(self, learner: MixedLearner, averaged: bool) -> float:
        """The share of wrong predictions on validation rows; NaN if there are none."""
        leaves, whole = self._validation_leaves()
        return learner.error_on(leaves, averaged, whole) if leaves else math.nan

    def held_out_scores(
        self, learner: MixedLearner, weights: Any, averaged: bool, names: list[str], most: int
    ) -> Any:
        """The scores, classes and weights of at most `most` held-out rows, or None."""
        leaves, whole = self._validation_leaves()
        if not leaves:
            return None
        shown = learner.weights(averaged) if weights is None else weights
        scores, codes, omega = learner.scores_on(leaves, shown, whole)
        return (scores[:most], codes[:most], omega[:most]) if len(codes) else None

    def _validation_leaves(self) -> tuple[list[Leaf], bool]:
        """The shards to validate on, and whether all of their rows are for validation."""
        if self.valid is not None:
            return self.valid_leaves, True
        return [leaf for leaf, n in zip(self.leaves, self.held, strict=True) if n], False

    def fingerprint(self) -> dict[str, Any]:
        """The shards, by the content of their files."""
        return self.manifest.to_json()

    def close(self) -> None:
        """Nothing: the engine owns the rows."""

    def _check_classes(self, summaries: Sequence[ShardSummary]) -> None:
        """Raise a DataError if there are fewer than two classes, far too many, or unknown ones."""
        path, column = self.leaves[0].shard[0].file.path, self.reading.features.label
        if len(self.classes) < 2:
            what = "there are no rows"
            if self.count:
                what = f"all rows have the label {self.classes[0]!r}"
            elif self.source.bad:
                what = f"all {self.source.bad:,} rows are bad and were left out"
            message = f"at least two classes are needed, but {what}, in all shards"
            raise DataError(message, path=path, column=column)
        if len(self.classes) > MOST_CLASSES:
            message = TOO_MANY.format(f"more than {MOST_CLASSES:,}")
            raise DataError(message, path=path, column=column)
        for summary, leaf in zip(summaries, self.leaves + self.valid_leaves, strict=True):
            if unknown := sorted(set(summary.classes) - set(self.classes)):
                message = f"the label {unknown[0]!r} is not a class: {listed(self.classes)}"
                raise DataError(message, path=leaf.shard[0].file.path, column=column)


def _last_weights(model: Model) -> tuple[Array, Array]:
    """The last weights (features, problems) and biases of a model."""
    bias = model.state["bias"][0] if "bias" in model.state else model.bias
    return np.asarray(model.state.get("W", model.weights)), np.array(bias, np.float64)


def _union(columns: list[Array], bits: int) -> Array:
    """All columns: the first array as it is, then the others, increasing."""
    is_new = np.zeros(1 << bits, bool)
    for others in columns[1:]:
        is_new[others] = True
    is_new[columns[0]] = False
    return np.concatenate([columns[0], np.flatnonzero(is_new).astype(np.uint32)])


def _rarity(samples: Sequence[Sample], columns: Array, features: Features) -> IdfScales:
    """The scales of features by their frequencies in the first rows of all shards."""
    rows = sum(sample.rows for sample in samples)
    return rarity_by(*_sizes(samples, columns, features), rows, features.is_text)


def _sizes(samples: Sequence[Sample], columns: Array, features: Features) -> tuple[Array, Array]:
    """In how many rows of all samples each column occurs, and its sum of squares."""
    numbering = Numbering(1 << features.ngrams.bits, columns)
    frequencies, squares = np.zeros(len(columns), np.int64), np.zeros(len(columns))
    for sample in samples:
        places = numbering.places_of(sample.columns)
        frequencies[places] += sample.frequencies
        squares[places] += sample.squares
    return frequencies, squares
