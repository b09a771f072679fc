"""Choose the lift of a table by its error on held-out rows of a sample.

:mod:`rosenblatt.training.defaults` says what is compared, on which rows, and which lift is best.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from rosenblatt.data import Features, Source
from rosenblatt.data.cells import label_strings
from rosenblatt.data.labels import sorted_labels
from rosenblatt.data.lifting import lifted
from rosenblatt.data.readers import TableReader
from rosenblatt.jobs.monotone import directions, kept_weights
from rosenblatt.jobs.options import TrainOptions
from rosenblatt.jobs.rows import FileRows
from rosenblatt.jobs.run import Run
from rosenblatt.learners.problems import decided
from rosenblatt.training import run as run_epochs
from rosenblatt.training.defaults import LIFT_ROWS, lift_by_mistakes, lift_folds, lifts_of


@dataclass(frozen=True)
class LiftTrial:
    """The error of a lift on held-out rows of a sample."""

    lift: str
    error: float
    rows: int  # held out, over all folds

    def to_json(self) -> dict[str, Any]:
        """The trial as plain data."""
        return asdict(self)


def lift_source(source: Source, options: TrainOptions) -> tuple[Features, list[LiftTrial]]:
    """The features of a source with the lift that options ask for, and what was compared."""
    features = source.features
    alone = directions(options, features)
    if features.origin != "table" or features.lift is not None:
        return features, []
    kinds = lifts_of(options.lift, features.is_plain_table and not features.multilabel)
    if kinds == ("none",):
        return features, []
    sample = source.sample()
    if len(kinds) == 1:
        return lifted(features, sample, kinds[0], alone), []
    return _chosen(source, sample, kinds, options)


def _chosen(
    source: Source, sample: pa.Table, kinds: tuple[str, ...], options: TrainOptions
) -> tuple[Features, list[LiftTrial]]:
    """The best of some kinds of lifts, by the rows of a sample."""
    features = source.features
    label = str(features.label)
    labelled = np.flatnonzero(
        label_strings(sample[label]).is_valid().to_numpy(zero_copy_only=False)
    )
    order = np.random.default_rng(options.seed).permutation(labelled)[:LIFT_ROWS]
    if not lift_folds(len(order)):
        return features, []
    candidates = {"none": features}
    for kind in kinds[1:]:
        form = lifted(features, sample, kind, directions(options, features))
        lift = form.lift
        adds = lift is not None and (lift.pairs or any(c.resolutions for c in lift.columns))
        if adds and form not in candidates.values():
            candidates[kind] = form
    if len(candidates) == 1:
        return features, []
    rows = sample.take(pa.array(order))
    classes = sorted_labels(label_strings(rows[label]).unique().to_pylist())
    if len(classes) < 2:
        return features, []
    wrong = {
        kind: _wrong(source, form, rows, classes, options) for kind, form in candidates.items()
    }
    trials = [LiftTrial(kind, float(w.mean()), len(w)) for kind, w in wrong.items()]
    return candidates[lift_by_mistakes(wrong)], trials


def _wrong(
    source: Source, features: Features, rows: pa.Table, classes: list[str], options: TrainOptions
) -> np.ndarray:
    """Which of the held-out rows are mispredicted, after training on the others."""
    edges = [int(share * len(rows)) for share in lift_folds(len(rows))]
    parts = []
    for start, end in pairwise(edges):
        others = pa.concat_tables([rows[:start], rows[end:]])
        parts.append(_trial(source, features, others, rows[start:end], classes, options))
    return np.concatenate(parts)


def _trial(
    source: Source,
    features: Features,
    train: pa.Table,
    valid: pa.Table,
    classes: list[str],
    options: TrainOptions,
) -> np.ndarray:
    """Train on some rows, and say which others are mispredicted."""
    settings = replace(
        options, lift="none", valid=None, holdout=None, calibrate=None, target=None, workers=None
    )
    settings = replace(settings, checkpoint=None, resume=False, start=None, tune=None)
    settings = replace(settings, tune_for=None, ordered=False, order=None)
    sources = [
        Source(TableReader(table), features, True, classes, True) for table in (train, valid)
    ]
    if options.weight is not None:
        for each in sources:
            each._weight = options.weight
    run = Run(FileRows(sources[0], settings, valid=sources[1]), settings)
    with closing(run.rows):
        data, plan = next(run.phases())
        for _ in run_epochs(run.learner, data, plan, run.progress):
            pass
        scored = run.rows.held_out_scores(
            run.learner, kept_weights(run), bool(run.options.average), classes, len(valid)
        )
    assert scored is not None, "validation rows were given"
    scores, truth, _ = scored
    return np.asarray(decided(scores) != truth)
