"""The first pass over shards, map and reduce: classes, features and their scales, held-out rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rosenblatt.cluster.engines import Call, Engine, totals
from rosenblatt.cluster.facts import facts
from rosenblatt.cluster.manifest import Manifest, home_of, name_of
from rosenblatt.cluster.part_reader import Reading
from rosenblatt.cluster.shard_rows import shard_name
from rosenblatt.cluster.tasks import Leaf, Survey, sample_size, survey
from rosenblatt.data.labels import sorted_labels
from rosenblatt.errors import DataError, listed
from rosenblatt.estimators.file_run import rarity_of_model
from rosenblatt.kernels.packing import Numbering, Rarity
from rosenblatt.models import Model

_MOST_CLASSES = 1000


@dataclass(frozen=True)
class Surveyed:
    """What the first pass found in all shards.

    Attributes
    ----------
    leaves : list of Leaf
        The shards for training, with the number of their first row.
    rows : list of int
        The rows of each.
    valid : list of Leaf
        The shards for validation.
    classes : list of str
        Sorted.
    columns : uint32 array
        The columns that occur: those of the first shard as they are met, then the others.
    rarity : Rarity or None
        The scales of the features, for text.
    near : int
        How many first rows have near features only.
    weighted : bool
        Whether rows have weights of their own.
    bad, missing, bytes
        Counts of what was read.
    """

    leaves: list[Leaf]
    rows: list[int]
    valid: list[Leaf]
    classes: list[str]
    columns: np.ndarray
    rarity: Rarity | None
    near: int
    weighted: bool
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
    calls = [
        Call(
            name_of("survey", shard_name(shard, reading), sample, facts()),
            survey,
            (shard, reading, sample, engine.row_folder, facts()),
            home_of(block),
        )
        for own in (manifest.shards, valid.shards if valid else ())
        for block in engine.blocks(own)
        for shard in block
    ]
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
    return Surveyed(
        [
            Leaf(shard, one.digest, first)
            for shard, one, first in zip(manifest.shards, own, totals(rows), strict=True)
        ],
        rows,
        [
            Leaf(shard, one.digest)
            for shard, one in zip(valid.shards if valid else (), other, strict=True)
        ],
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
    if len(classes) > _MOST_CLASSES:
        raise DataError(
            f"there are {len(classes):,} different labels, more than {_MOST_CLASSES:,}; if this "
            "column holds names or amounts rather than classes, name another one as the label",
            path=path, column=column,
        )  # fmt: skip
    shards = [*manifest.shards, *(valid.shards if valid else ())]
    for one, shard in zip([*own, *other], shards, strict=True):
        if foreign := sorted(set(one.classes) - set(classes)):
            message = f"the label {foreign[0]!r} is not a class: {listed(classes)}"
            raise DataError(message, path=shard[0].file.path, column=column)


def _united(columns: list[np.ndarray], bits: int) -> np.ndarray:
    """All columns: those of the first shard in their order, then the others, increasing."""
    seen = np.zeros(1 << bits, bool) if bits <= 26 else None
    if seen is None:
        rest = np.setdiff1d(np.unique(np.concatenate(columns)), columns[0])
    else:
        for some in columns[1:]:
            seen[some] = True
        seen[columns[0]] = False
        rest = np.flatnonzero(seen).astype(np.uint32)
    return np.concatenate([columns[0], rest])


def _rarity(surveys: Sequence[Survey], columns: np.ndarray, bits: int) -> Rarity:
    """The scales of features by their frequencies in the first rows of all shards.

    The formula is that of :class:`rosenblatt.kernels.packing.Rarity`, in sums that shards give.
    """
    numbering = Numbering(1 << bits, columns)
    frequencies, squares = np.zeros(len(columns), np.int64), np.zeros(len(columns))
    n = 0
    for one in surveys:
        rows, met, counts, sums = one.sampled
        places = numbering.places_of(met)
        frequencies[places] += counts
        squares[places] += sums
        n += rows
    logs = np.log((2 + n) / (1 + frequencies))
    total = float((squares * logs**2).sum())
    unit = 1.0 / np.sqrt(total / n) if total > 0 else 1.0
    return Rarity((unit * logs).astype(np.float32), float(np.float32(unit * np.log(2 + n))))


def summary(found: Surveyed) -> dict[str, Any]:
    """What a checkpoint keeps of the first pass, besides arrays."""
    return {
        "digests": [leaf.digest for leaf in found.leaves],
        "rows": found.rows,
        "valid": [leaf.digest for leaf in found.valid],
        "classes": found.classes,
        "rest": None if found.rarity is None else found.rarity.rest,
        "counts": [found.near, found.weighted, found.bad, dict(found.missing), found.bytes],
    }


def restored(
    about: dict[str, Any], arrays: dict[str, np.ndarray], manifest: Manifest,
    valid: Manifest | None, bits: int,
) -> Surveyed:  # fmt: skip
    """What :func:`summary` told, for the same shards; what does not fit is a ValueError."""
    rows, classes, columns = (
        [int(n) for n in about["rows"]],
        list(about["classes"]),
        arrays["columns"],
    )
    shards = valid.shards if valid else ()
    if len(rows) != len(manifest) or len(about["digests"]) != len(rows) or min(rows) < 0:
        raise ValueError("it is of other shards")
    if len(about["valid"]) != len(shards):
        raise ValueError("it is of other shards for validation")
    if len(classes) < 2 or len(set(classes)) < len(classes):
        raise ValueError("it has fewer than two classes")
    if columns.dtype != np.uint32 or columns.ndim != 1 or len(np.unique(columns)) < len(columns):
        raise ValueError("columns is not a list of columns")
    if len(columns) and int(columns.max()) >> bits:
        raise ValueError("the columns do not fit the feature specification")
    rarity = None
    if about["rest"] is not None:
        scales = arrays["scales"]
        if scales.ndim != 1 or len(scales) > len(columns) or not np.isfinite(scales).all():
            raise ValueError("scales do not fit the columns")
        rarity = Rarity(scales.astype(np.float32), float(about["rest"]))
    near, weighted, bad, missing, size = about["counts"]
    return Surveyed(
        [
            Leaf(shard, str(digest), first)
            for shard, digest, first in zip(
                manifest.shards, about["digests"], totals(rows), strict=True
            )
        ],
        rows,
        [Leaf(shard, str(digest)) for shard, digest in zip(shards, about["valid"], strict=True)],
        classes, columns, rarity, int(near), bool(weighted), int(bad), Counter(missing), int(size),
    )  # fmt: skip
