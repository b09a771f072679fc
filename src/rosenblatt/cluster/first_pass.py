"""The first pass over shards, map and reduce: classes, features and their scales."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from rosenblatt.cluster.engines import Engine, Task
from rosenblatt.cluster.manifest import Manifest, Shard
from rosenblatt.cluster.shards import Reading, hashed_rows
from rosenblatt.cluster.tasks import Leaf
from rosenblatt.data.labels import sorted_labels
from rosenblatt.data.source import MOST_CLASSES, TOO_MANY
from rosenblatt.errors import DataError, listed
from rosenblatt.jobs.rows import rarity_of_model
from rosenblatt.kernels.packing import Numbering
from rosenblatt.kernels.rows import Packed
from rosenblatt.learners.rates import SAMPLE, Rarity, packed_frequencies, rarity_by
from rosenblatt.models.model import Model


class ShardSummary(NamedTuple):
    """What the first pass finds in a shard."""

    rows: int
    classes: list[str]
    columns: np.ndarray  # in the order in which they are met
    sample: tuple[int, np.ndarray, np.ndarray, np.ndarray]  # see _column_frequencies
    weighted: bool  # whether rows have weights of their own
    counts: list[Any]  # bad rows, missing values by column, bytes read
    digest: str


@dataclass(frozen=True)
class FirstPass:
    """What the first pass finds in all shards."""

    leaves: list[Leaf]  # the shards for training
    rows: list[int]  # of each
    valid: list[Leaf]  # the shards for validation
    classes: list[str]
    columns: np.ndarray  # those of the first shard as they are met, then the others
    rarity: Rarity | None  # the scales of the features, for text
    weighted: bool  # whether rows have weights of their own
    bad: int
    missing: Counter[str]
    bytes: int


def summarize(shard: Shard, reading: Reading, sample: int, folder: str | None) -> ShardSummary:
    """Read and hash a shard (a task)."""
    rows = hashed_rows(shard, reading, folder)
    packed, _, omega = rows.store.arrays()
    return ShardSummary(
        len(rows), rows.classes, np.array(rows.columns),
        _column_frequencies(packed, rows.columns, sample), omega.size > 1, rows.counts, rows.digest,
    )  # fmt: skip


def _column_frequencies(
    packed: Packed, columns: np.ndarray, most: int
) -> tuple[int, np.ndarray, np.ndarray, np.ndarray]:
    """Of the first rows: how many, their columns, how many rows have each, its sum of squares."""
    n = min(most, len(packed.bases))
    frequencies, sums = packed_frequencies(packed, n, len(columns))
    met = np.flatnonzero(frequencies)
    met = met[np.argsort(columns[met])]
    return n, columns[met], frequencies[met].astype(np.int64), sums[met]


def sample_size(shards: int) -> int:
    """How many first rows of each shard the frequencies of features are counted in.

    >>> sample_size(1), sample_size(16), sample_size(1000)
    (4096, 256, 64)
    """
    return max(64, SAMPLE // shards)


def first_pass(
    engine: Engine, manifest: Manifest, reading: Reading, valid: Manifest | None = None,
    start: Model | None = None,
) -> FirstPass:  # fmt: skip
    """Read and hash all shards, and merge what is found in them.

    A `start` model decides about classes and scales, and its features come first.
    """
    sample = sample_size(len(manifest))
    valid_shards = valid.shards if valid else ()
    tasks = [
        Task(summarize, (shard, reading, sample, engine.row_cache), block[0][0])
        for shards in (manifest.shards, valid_shards)
        for block in engine.blocks(shards)
        for shard in block
    ]
    found: list[ShardSummary] = list(engine.stream(tasks))
    own, other = found[: len(manifest)], found[len(manifest) :]
    bits = reading.features.ngrams.bits
    if start is None:
        classes = sorted_labels({name for one in own for name in one.classes})
        columns, rarity = _union([one.columns for one in found], bits), None
        if reading.features.is_text:
            rarity = _rarity(own, columns, bits)
    else:
        classes, rarity = list(start.classes), rarity_of_model(start)
        columns = _union([start.columns, *(one.columns for one in found)], bits)
    missing: Counter[str] = Counter()
    for one in own:
        missing.update(one.counts[1])
    rows = [one.rows for one in own]
    firsts = accumulate(rows, initial=0)
    merged = FirstPass(
        [Leaf(shard, one.digest, n) for shard, one, n in zip(manifest.shards, own, firsts)],  # noqa: B905
        rows,
        [Leaf(shard, one.digest) for shard, one in zip(valid_shards, other, strict=True)],
        classes, columns, rarity, any(one.weighted for one in own),
        sum(int(one.counts[0]) for one in own), missing, sum(int(one.counts[2]) for one in own),
    )  # fmt: skip
    _check_classes(merged, found, reading.features.label)
    return merged


def _check_classes(merged: FirstPass, found: list[ShardSummary], column: str | None) -> None:
    """Raise a DataError if there are fewer than two classes, far too many, or unknown ones."""
    classes, path = merged.classes, merged.leaves[0].shard[0].file.path
    if len(classes) < 2:
        rows = sum(merged.rows)
        what = f"all rows have the label {classes[0]!r}" if rows else "there are no rows"
        if not rows and merged.bad:
            what = f"all {merged.bad:,} rows are bad and were left out"
        raise DataError(
            f"at least two classes are needed, but {what}, in all shards", path=path, column=column
        )
    if len(classes) > MOST_CLASSES:
        raise DataError(TOO_MANY, path=path, column=column)
    for one, leaf in zip(found, merged.leaves + merged.valid, strict=True):
        if unknown := sorted(set(one.classes) - set(classes)):
            message = f"the label {unknown[0]!r} is not a class: {listed(classes)}"
            raise DataError(message, path=leaf.shard[0].file.path, column=column)


def _union(columns: list[np.ndarray], bits: int) -> np.ndarray:
    """All columns: the first array as it is, then the others, increasing."""
    seen = np.zeros(1 << bits, bool)
    for some in columns[1:]:
        seen[some] = True
    seen[columns[0]] = False
    return np.concatenate([columns[0], np.flatnonzero(seen).astype(np.uint32)])


def _rarity(summaries: Sequence[ShardSummary], columns: np.ndarray, bits: int) -> Rarity:
    """The scales of features by their frequencies in the first rows of all shards."""
    numbering = Numbering(1 << bits, columns)
    frequencies, squares = np.zeros(len(columns), np.int64), np.zeros(len(columns))
    for one in summaries:
        _, met, counts, sums = one.sample
        places = numbering.places_of(met)
        frequencies[places] += counts
        squares[places] += sums
    return rarity_by(frequencies, squares, sum(one.sample[0] for one in summaries))
