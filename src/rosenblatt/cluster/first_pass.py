"""The first pass over shards, map and reduce: classes, features and their scales, held-out rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from rosenblatt.cluster.engines import Call, Engine
from rosenblatt.cluster.manifest import Manifest
from rosenblatt.cluster.shards import Reading, shard_name
from rosenblatt.cluster.tasks import Leaf, Survey, sample_size, survey
from rosenblatt.data.labels import sorted_labels
from rosenblatt.data.source import MOST_CLASSES, TOO_MANY
from rosenblatt.errors import DataError, listed
from rosenblatt.estimators.file_rows import rarity_of_model
from rosenblatt.kernels.packing import Numbering
from rosenblatt.learners.rates import Rarity, rarity_by
from rosenblatt.models.model import Model


@dataclass(frozen=True)
class Surveyed:
    """What the first pass found in all shards."""

    leaves: list[Leaf]  # the shards for training, with the number of their first row
    rows: list[int]  # of each
    valid: list[Leaf]  # the shards for validation
    classes: list[str]
    columns: np.ndarray  # those of the first shard as they are met, then the others
    rarity: Rarity | None  # the scales of the features, for text
    near: int  # how many first rows have near features only
    weighted: bool  # whether rows have weights of their own
    bad: int
    missing: Counter[str]
    bytes: int


def first_pass(
    engine: Engine, manifest: Manifest, reading: Reading, valid: Manifest | None = None,
    start: Model | None = None,
) -> Surveyed:  # fmt: skip
    """Read and hash all shards; what they have in common.

    A model to go on from decides about classes and scales, and its features come first.
    """
    sample = sample_size(len(manifest))
    for_valid = valid.shards if valid else ()
    calls = [
        Call.of(
            survey, (shard, reading, sample, engine.row_folder),
            (shard_name(shard, reading), sample), block,
        )
        for shards in (manifest.shards, for_valid)
        for block in engine.blocks(shards)
        for shard in block
    ]  # fmt: skip
    found: list[Survey] = engine.each(calls)
    own, other = found[: len(manifest)], found[len(manifest) :]
    bits = reading.features.ngrams.bits
    if start is None:
        classes = sorted_labels({name for one in own for name in one.classes})
        columns, rarity = _united([one.columns for one in found], bits), None
        if reading.features.is_text:
            rarity = _rarity(own, columns, bits)
    else:
        classes, rarity = list(start.classes), rarity_of_model(start)
        columns = _united([start.columns, *(one.columns for one in found)], bits)
    _check_classes(classes, own, other, manifest, valid, reading)
    missing: Counter[str] = Counter()
    for one in own:
        missing.update(one.counts[1])
    rows = [one.rows for one in own]
    firsts = accumulate(rows, initial=0)
    return Surveyed(
        [Leaf(shard, one.digest, n) for shard, one, n in zip(manifest.shards, own, firsts)],  # noqa: B905
        rows,
        [Leaf(shard, one.digest) for shard, one in zip(for_valid, other, strict=True)],
        classes, columns, rarity, own[0].near, any(one.weighted for one in own),
        sum(int(one.counts[0]) for one in own), missing, sum(int(one.counts[2]) for one in own),
    )  # fmt: skip


def _check_classes(
    classes: Sequence[str], own: list[Survey], other: list[Survey], manifest: Manifest,
    valid: Manifest | None, reading: Reading,
) -> None:  # fmt: skip
    """Refuse what cannot be learned: fewer than two classes, or far too many."""
    path, column = manifest.files[0].path, reading.features.label
    if len(classes) < 2:
        rows, bad = sum(one.rows for one in own), sum(int(one.counts[0]) for one in own)
        what = f"all rows have the label {classes[0]!r}" if rows else "there are no rows"
        if not rows and bad:
            what = f"all {bad:,} rows are bad and were left out"
        raise DataError(
            f"at least two classes are needed, but {what}, in all shards", path=path, column=column
        )
    if len(classes) > MOST_CLASSES:
        raise DataError(TOO_MANY, path=path, column=column)
    shards = [*manifest.shards, *(valid.shards if valid else ())]
    for one, shard in zip([*own, *other], shards, strict=True):
        if foreign := sorted(set(one.classes) - set(classes)):
            message = f"the label {foreign[0]!r} is not a class: {listed(classes)}"
            raise DataError(message, path=shard[0].file.path, column=column)


def _united(columns: list[np.ndarray], bits: int) -> np.ndarray:
    """All columns: those of the first shard in their order, then the others, increasing."""
    seen = np.zeros(1 << bits, bool)
    for some in columns[1:]:
        seen[some] = True
    seen[columns[0]] = False
    return np.concatenate([columns[0], np.flatnonzero(seen).astype(np.uint32)])


def _rarity(surveys: Sequence[Survey], columns: np.ndarray, bits: int) -> Rarity:
    """The scales of features by their frequencies in the first rows of all shards."""
    numbering = Numbering(1 << bits, columns)
    frequencies, squares = np.zeros(len(columns), np.int64), np.zeros(len(columns))
    for one in surveys:
        _, met, counts, sums = one.sampled
        places = numbering.places_of(met)
        frequencies[places] += counts
        squares[places] += sums
    return rarity_by(frequencies, squares, sum(one.sampled[0] for one in surveys))
