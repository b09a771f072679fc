"""Cross-validation over the rows of a run: each fold is scored by what was learned without it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from rosenblatt.data.labels import sorted_labels
from rosenblatt.errors import OptionError
from rosenblatt.jobs.lift import lift_source
from rosenblatt.jobs.options import TrainOptions
from rosenblatt.jobs.rows import FileRows
from rosenblatt.jobs.run import Run
from rosenblatt.jobs.sources import open_rows
from rosenblatt.learners.problems import decided
from rosenblatt.process import threads_of
from rosenblatt.training import Drawn, Progress
from rosenblatt.training import run as run_epochs

FOLDS = 5
MOST_CROSS_FITTED = 2_000  # rows; of more, those that are held out tell as much


class FoldRows(FileRows):
    """The rows of files, all of them read and in memory, without those of a fold."""

    def __init__(self, whole: FileRows, fold: np.ndarray) -> None:
        self.__dict__.update(whole.__dict__)
        before = getattr(whole, "fold", fold[:0])
        self.fold = np.sort(np.append(before, _without(fold, before)))  # the numbers of its rows

    def visited(self, refit: bool) -> Drawn:
        """The rows to learn from."""
        drawn = super().visited(refit=True)
        out = self.fold if refit else np.append(self.fold, self.held_out_rows())
        return replace(drawn, rows=_without(drawn.rows, out))

    def held_out_rows(self) -> np.ndarray:
        """The numbers of the rows that decide when to stop."""
        return _without(super().held_out_rows(), self.fold)

    def close(self) -> None:
        """Nothing: the rows belong to the whole."""


def _without(rows: np.ndarray, out: np.ndarray) -> np.ndarray:
    """The numbers of rows that are not out, sorted.

    Not by `setdiff1d`, which takes seven milliseconds to import masked arrays.
    """
    return np.sort(rows[~np.isin(rows, out)])


class FoldScore(NamedTuple):
    """What the rows of a fold say of a model that was trained on the others."""

    rows: int
    accuracy: float
    log_loss: float  # NaN without probabilities


def folds_of(
    codes: np.ndarray, count: int, seed: int, leaders: np.ndarray | None = None
) -> list[np.ndarray]:
    """The places of the rows of each fold; the rows of a class are spread evenly over them.

    Rows with one leader are in one fold.

    >>> [fold.tolist() for fold in folds_of(np.array([0, 0, 1, 0, 1, 0]), 2, seed=0)]
    [[0, 2, 3], [1, 4, 5]]
    """
    leaders = np.arange(len(codes)) if leaders is None else leaders
    first, of_row = np.unique(leaders, return_index=True, return_inverse=True)[1:]
    by_size = np.argsort(-np.bincount(codes), kind="stable")  # whatever their numbers are
    codes = np.argsort(by_size)[codes]
    drawn = np.random.default_rng(seed).permutation(len(first))
    by_class = drawn[np.argsort(codes[first][drawn], kind="stable")]
    return [np.flatnonzero(np.isin(of_row, by_class[start::count])) for start in range(count)]


def is_cross_fitted(run: Run) -> bool:
    """Whether a run has so few rows that each of them is scored to calibrate on."""
    rows = run.rows
    in_memory = isinstance(rows, FileRows) and rows.valid is None and rows.fit_in_memory
    in_memory = in_memory and rows.source.thresholds == 0
    return in_memory and FOLDS <= rows.count <= MOST_CROSS_FITTED


def cross_scores(run: Run, names: list[str]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Scores, classes and weights of all rows, by learners that learned from the other folds."""
    rows: Any = run.rows
    plan = replace(run.plan(), max_epochs=run.best_epochs(), early_stopping=False, validate=None)
    everything = rows.visited(refit=True).rows
    parts = []
    codes, leaders = rows.examples().codes[everything], rows.leaders.of(everything)
    for places in folds_of(codes, FOLDS, rows.seed, leaders):
        fold, learner = everything[places], rows.new_learner(run.options)
        for _ in run_epochs(learner, FoldRows(rows, fold).visited(refit=True), plan, Progress()):
            pass
        parts.append(rows.scored(learner, bool(run.options.average), names, fold))
    scores, truth, weights = zip(*parts, strict=True)
    return np.concatenate(scores), np.concatenate(truth), np.concatenate(weights)


def cross_validate(source: Any, options: TrainOptions, count: int) -> Iterator[FoldScore]:
    """Train without each of `count` folds in turn, and score that fold.

    The kinds, scales and lift of columns are those of all rows.

    >>> frame = {"label": ["no", "yes"] * 50, "x": [1.0, 2.0, 3.0, 5.0] * 25}
    >>> [fold.accuracy for fold in cross_validate(frame, TrainOptions(), 3)]
    [1.0, 1.0, 1.0]
    """
    for name in ("valid", "tune", "workers", "checkpoint", "start"):
        if getattr(options, name) is not None:
            raise OptionError(f"cross-validation and {name} exclude each other: drop one of them")
    if options.ordered:
        raise OptionError("cross-validation is for classes without an order: drop one of the two")
    opened, _ = open_rows(source, options)
    if opened.features.multilabel:
        raise OptionError("cross-validation is for one label per row, and here it may have several")
    opened.features, _ = lift_source(opened, options)
    rows = FileRows(opened, options, threads=threads_of(options.n_jobs))
    rows.finds_copies = opened.features.is_text
    with closing(rows):
        run = Run(rows, options)
        run.begin()
        for _ in rows.parts(1):  # which reads the rows
            pass
        if not rows.fit_in_memory:
            raise OptionError("cross-validation needs all rows in memory: give more (--memory)")
        everything = rows.visited(refit=True).rows
        codes, leaders = rows.examples().codes[everything], rows.leaders.of(everything)
        for places in folds_of(codes, count, rows.seed, leaders):
            yield _judged(Run(FoldRows(rows, everything[places]), options), everything[places])


def _judged(run: Run, fold: np.ndarray) -> FoldScore:
    """Train on the rows of a run, and score those of its fold."""
    rows: Any = run.rows
    for data, plan in run.phases():
        for _ in run_epochs(run.learner, data, plan, run.progress):
            pass
    best, names = run.progress.kept, sorted_labels(run.source.classes)
    weights = None if best is None else best.weights
    scores, truth, copies = rows.scored(
        run.learner, bool(run.options.average), names, fold, weights
    )
    right = decided(scores, run.held_out.threshold) == truth
    log_loss, calibration = math.nan, run.held_out.calibration
    if calibration is not None:
        of_truth = calibration.probabilities(scores)[np.arange(len(truth)), truth]
        log_loss = -float(np.average(np.log(np.maximum(of_truth, 1e-15)), weights=copies))
    return FoldScore(len(fold), float(np.average(right, weights=copies)), log_loss)
