"""Evaluate a model on a file with labels: confusion, ROC curves, Brier score, reliability.

scikit-learn has these measures too, but importing it takes longer than most evaluations.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from rosenblatt.data import Source
from rosenblatt.errors import DataError, OptionError, listed, shown
from rosenblatt.jobs.predict import groups_of
from rosenblatt.models.model import Model, rank_scores
from rosenblatt.models.rows import labelled_batches

BINS = 15
RANKS = (1, 3, 5)
_MOST_SCORES = 1 << 26


class _ClassCounts:
    """Measures from the number of rows per class: predicted rightly, predicted, and true."""

    classes: tuple[str, ...]
    hits: Any
    predicted: Any
    true: Any

    @property
    def macro_f1(self) -> float:
        """The mean F1 of the classes that have rows or were predicted."""
        total = self.predicted + self.true
        f1 = 2 * self.hits[total > 0] / total[total > 0]
        return float(f1.mean()) if f1.size else 0.0

    @property
    def never_predicted(self) -> list[str]:
        """The classes that have rows, but were predicted for none.

        >>> Evaluation(("common", "rare"), np.array([[90, 0], [10, 0]])).never_predicted
        ['rare']
        """
        return [self.classes[c] for c in np.flatnonzero((self.true > 0) & (self.predicted == 0))]

    def by_class(self) -> dict[str, dict[str, float]]:
        """Precision, recall, F1 and number of rows of each class."""
        # Once: each of them may be a sum over a matrix of all classes.
        counts = (self.hits.tolist(), self.predicted.tolist(), self.true.tolist())
        return {
            name: {
                "precision": hits / max(1, predicted),
                "recall": hits / max(1, true),
                "f1": 2 * hits / max(1, predicted + true),
                "rows": true,
            }
            for name, hits, predicted, true in zip(self.classes, *counts, strict=True)
        }


@dataclass(frozen=True)
class Evaluation(_ClassCounts):
    """The confusion matrix of a model on a file, and measures from it.

    >>> result = Evaluation(("neg", "pos"), np.array([[40, 10], [5, 45]]))
    >>> result.accuracy, [round(end, 3) for end in result.interval()]
    (0.85, [0.767, 0.907])
    >>> result.by_class()["pos"]["recall"]
    0.9
    """

    classes: tuple[str, ...]
    confusion: np.ndarray  # rows per true class (first) and predicted class (second)
    # For curves, if kept: the scores (rows,) or (rows, classes), and the true class numbers.
    scores: np.ndarray = field(default_factory=lambda: np.empty(0))
    truth: np.ndarray = field(default_factory=lambda: np.empty(0, np.int32))
    bad: int = 0  # rows that were skipped
    trained_on: list[str] = field(default_factory=list)  # evaluated files used in training
    reliability: Reliability | None = None  # of the probabilities, if the model has them
    unlabelled: int = 0  # rows that were left out because they have no label
    # By K, the number of rows whose class is among the K with the largest scores.
    among_top: dict[int, int] = field(default_factory=dict)
    groups: dict[str, Evaluation] = field(default_factory=dict)  # of a column, the worst first
    is_ordered: bool = False  # whether the classes are, as they are listed

    @property
    def at_rank(self) -> dict[int, tuple[float, float]]:
        """Precision and recall at K: of the K best labels, as fastText counts them."""
        return {k: (n / (k * self.rows), n / self.rows) for k, n in self.among_top.items()}

    hits = property(lambda self: np.diag(self.confusion))
    predicted = property(lambda self: self.confusion.sum(axis=0))
    true = property(lambda self: self.confusion.sum(axis=1))

    @property
    def rows(self) -> int:
        """The number of rows."""
        return int(self.confusion.sum())

    @property
    def accuracy(self) -> float:
        """The share of rows that were predicted right."""
        return float(np.trace(self.confusion) / max(1, self.rows))

    def interval(self, z: float = 1.959964) -> tuple[float, float]:
        """Wilson's confidence interval of the accuracy, 95 % by default.

        The exact interval, :func:`rosenblatt.theory.holdout_interval`, is a little wider. It needs
        SciPy, whose import would take a fifth of a small evaluation.
        """
        n, p = max(1, self.rows), self.accuracy
        middle = (p + z * z / (2 * n)) / (1 + z * z / n)
        half = z / (1 + z * z / n) * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
        return max(0.0, middle - half), min(1.0, middle + half)

    @cached_property
    def roc_auc(self) -> float | None:
        """The area under the ROC curve, mean of the classes; None without scores, or ordered."""
        if self.is_ordered or not len(self.truth):
            return None
        return mean_area(self.scores, self.truth)

    def ordered(self, order: Sequence[str] | None = None) -> dict[str, Any]:
        """The figures of ordered classes, by the scores of ordered models if they were kept."""
        figures = ordered_figures(self.classes, self.confusion, order)
        if self.is_ordered and len(self.truth):
            figures["spearman"] = spearman(rank_scores(self.scores), self.truth)
        return figures

    def to_json(self) -> dict[str, Any]:
        """The measures as plain data."""
        calibration = None
        if self.reliability is not None:
            calibration = {
                "brier_score": self.reliability.brier,
                "expected_calibration_error": self.reliability.error,
                "bins": self.reliability.bins(),
            }
        return {
            "rows": self.rows,
            "bad_rows": self.bad,
            "unlabelled_rows": self.unlabelled,
            "trained_on": self.trained_on,
            "accuracy": self.accuracy,
            "interval": list(self.interval()),
            "macro_f1": self.macro_f1,
            "roc_auc": self.roc_auc,
            **_ranks(self.at_rank),
            "calibration": calibration,
            "classes": self.by_class(),
            "confusion": self.confusion.tolist(),
            **({"ordered": self.ordered()} if self.is_ordered else {}),
            **(
                {"groups": [_figures(*pair) for pair in self.groups.items()]} if self.groups else {}
            ),
        }


def _figures(name: str, group: Evaluation) -> dict[str, Any]:
    """The figures of a group as plain data."""
    figures = {"accuracy": group.accuracy, "macro_f1": group.macro_f1}
    return {"group": name, "rows": group.rows, **figures}


def ordered_figures(
    classes: Sequence[str], confusion: np.ndarray, order: Sequence[str] | None = None
) -> dict[str, Any]:
    """How well classes that have an order are told apart.

    Spearman's rank correlation, Cohen's kappa with quadratic weights, the mean absolute error in
    classes, and the F1 of "above class c" for each but the highest. The order
    is by default that of `classes`.

    >>> counts = np.array([[8, 2, 0], [1, 8, 1], [0, 3, 7]])
    >>> figures = ordered_figures(("1", "2", "3"), counts)
    >>> names = ("spearman", "quadratic_kappa", "mean_absolute_error")
    >>> [round(figures[name], 3) for name in names]
    [0.815, 0.811, 0.233]
    """
    names = list(classes if order is None else order)
    if sorted(names) != sorted(classes):
        raise OptionError(f"the order names other classes than the model: {listed(classes)}")
    places = [list(classes).index(name) for name in names]
    counts = confusion[np.ix_(places, places)].astype(np.float64)
    true, said = counts.sum(axis=1), counts.sum(axis=0)
    n, at = max(1.0, counts.sum()), np.arange(len(names))
    distances = np.abs(at[:, None] - at)
    expected = np.outer(true, said) / n
    ranks = [np.cumsum(side) - side / 2 - n / 2 for side in (true, said)]
    norm = math.sqrt(float(true @ ranks[0] ** 2) * float(said @ ranks[1] ** 2))
    chance = float((expected * distances**2).sum())
    f1 = {}
    for cut in range(len(names) - 1):
        hits = counts[cut + 1 :, cut + 1 :].sum()
        f1[names[cut]] = float(2 * hits / max(1.0, true[cut + 1 :].sum() + said[cut + 1 :].sum()))
    return {
        "spearman": float(ranks[0] @ counts @ ranks[1]) / norm if norm else 0.0,
        "quadratic_kappa": 1 - float((counts * distances**2).sum()) / chance if chance else 0.0,
        "mean_absolute_error": float((counts * distances).sum() / n),
        "f1_above": f1,
    }


def spearman(values: np.ndarray, truth: np.ndarray) -> float:
    """Spearman's rank correlation; equal values share a rank.

    >>> round(spearman(np.array([1.0, 2.0, 2.0, 5.0]), np.array([0, 0, 1, 2])), 3)
    0.833
    """
    ranks = []
    for side in (values, truth):
        _, places, counts = np.unique(side, return_inverse=True, return_counts=True)
        ranks.append((np.cumsum(counts) - (counts - 1) / 2)[places])
    a, b = (rank - rank.mean() for rank in ranks)
    norm = math.sqrt(float(a @ a) * float(b @ b))
    return float(a @ b) / norm if norm else 0.0


@dataclass(frozen=True)
class LabelEvaluation(_ClassCounts):
    """Counts of predicted labels on multilabel rows, and measures from them.

    >>> counts = np.array([[3, 1], [4, 2], [4, 1]])
    >>> result = LabelEvaluation(("a", "b"), 5, *counts, {1: (0.8, 0.8)}, 0, [])
    >>> round(result.micro_f1, 3), round(result.macro_f1, 3)
    (0.727, 0.708)
    """

    classes: tuple[str, ...]
    rows: int
    hits: np.ndarray
    predicted: np.ndarray
    true: np.ndarray
    # Precision and recall at K: of the K labels with the largest scores, as fastText counts them.
    at_rank: dict[int, tuple[float, float]]
    bad: int
    trained_on: list[str]

    @property
    def micro_f1(self) -> float:
        """The F1 over all labels of all rows."""
        return float(2 * self.hits.sum() / max(1, self.predicted.sum() + self.true.sum()))

    def to_json(self) -> dict[str, Any]:
        """The measures as plain data."""
        return {
            "rows": self.rows,
            "bad_rows": self.bad,
            "trained_on": self.trained_on,
            "micro_f1": self.micro_f1,
            "macro_f1": self.macro_f1,
            **_ranks(self.at_rank),
            "classes": self.by_class(),
        }


def _ranks(at_rank: dict[int, tuple[float, float]]) -> dict[str, float]:
    """Precision and recall at K, as plain data."""
    return {
        f"{what}_at_{k}": values[i]
        for k, values in at_rank.items()
        for i, what in enumerate(("precision", "recall"))
    }


def evaluate(
    model: Model,
    source: Source,
    keep_scores: bool = False,
    top: int | None = None,
    by: str | None = None,
) -> Evaluation:
    """Evaluate a model on a source that was opened with its features and classes.

    Scores are kept for the area under the ROC curve; more than 2^26 are dropped unless
    `keep_scores`. With `top`, it is also counted how often the class of a row is among the `top`
    with the largest scores. With `by`, the rows of each cell of this column are counted by
    themselves as well.
    """
    if by is not None:
        if by not in source.column_names:
            known = listed(source.column_names)
            message = f"there is no column {shown(by)}; the columns are {known}"
            raise DataError(message, path=source.files[0])
        source.kept_columns = [by]
    k, n_scores = len(model.classes), 0
    confusion = np.zeros((k, k), dtype=np.int64)
    scores: list[np.ndarray] = []
    truth: list[np.ndarray] = []
    reliability = None if model.calibration is None else Reliability(k)
    among_top = 0
    groups: dict[str, np.ndarray] = defaultdict(lambda: np.zeros((k, k), np.int64))
    for batch, labels in labelled_batches(model, source):
        batch_scores = model.scores(batch.rows)
        decisions = model.decide(batch_scores)
        np.add.at(confusion, (labels, decisions), 1)
        if by is not None:
            cells = np.array(groups_of(batch, by))
            for name in np.unique(cells).tolist():
                at = cells == name
                np.add.at(groups[name], (labels[at], decisions[at]), 1)
        if reliability is not None:
            reliability.add(model.probabilities(batch_scores), labels)
        if top is not None:
            best = model.ranked(batch_scores)[:, :top]
            among_top += int(np.count_nonzero(best == labels[:, None]))
        scores.append(batch_scores[:, 0] if k == 2 else batch_scores)
        truth.append(labels)
        n_scores += batch_scores.size
        if n_scores > _MOST_SCORES and not keep_scores:
            scores, truth = [], []
    every_score, every_class = (np.concatenate(of) if of else np.empty(0) for of in (scores, truth))
    source.warn_of_strays()
    trained_on = seen_in_training(model, source)
    parts = {name: Evaluation(model.classes, counts) for name, counts in sorted(groups.items())}
    return Evaluation(
        model.classes,
        confusion,
        every_score,
        every_class,
        source.bad,
        trained_on,
        reliability,
        unlabelled=source.missing[model.features.label or ""],
        among_top={} if top is None else {top: among_top},
        groups=dict(sorted(parts.items(), key=lambda item: item[1].accuracy)),
        is_ordered=model.is_ordered,
    )


def evaluate_labels(model: Model, source: Source, top: int | None = None) -> LabelEvaluation:
    """Evaluate a multilabel model on a source opened with its features and classes."""
    k, n = len(model.classes), 0
    counts = np.zeros((3, k), dtype=np.int64)
    right = {rank: 0 for rank in (RANKS if top is None else (top,)) if rank <= k}
    for batch, truth in labelled_batches(model, source):
        scores = model.scores(batch.rows)
        predicted = model.decide(scores)
        by_label = (predicted & truth, predicted, truth)
        counts += np.stack([labels.sum(axis=0) for labels in by_label])
        best = model.ranked(scores)
        for rank in right:
            right[rank] += int(np.take_along_axis(truth, best[:, :rank], axis=1).sum())
        n += len(truth)
    total = max(1, int(counts[2].sum()))
    at_rank = {rank: (hits / (rank * n), hits / total) for rank, hits in right.items()}
    hits, predicted, true = counts
    trained_on = seen_in_training(model, source)
    source.warn_of_strays()
    return LabelEvaluation(model.classes, n, hits, predicted, true, at_rank, source.bad, trained_on)


def seen_in_training(model: Model, source: Source) -> list[str]:
    """The files of a source that the model was trained on, by fingerprints of their content.

    >>> from rosenblatt import data, train
    >>> frame = {"label": ["a", "b"] * 20, "x": [1.0, 2.0] * 20}
    >>> seen_in_training(train(frame, epochs=1), data.open(frame))
    ['<table>']
    """
    training, now = model.fingerprint, source.fingerprint()
    if "sample" in now:
        return source.files if now["sample"] == training.get("sample") else []
    entries = training.get("files", [])
    trained = {f.get("sample") for f in entries if isinstance(f, dict)} - {None}
    return [str(file.get("name")) for file in now.get("files", []) if file.get("sample") in trained]


def curves(scores: np.ndarray, positive: np.ndarray) -> dict[str, np.ndarray]:
    """False and true positive rates and precision for every threshold, from the highest down.

    `positive` says which rows are of the class. Rates begin with those of a threshold above all
    scores, which "score" does not have.

    >>> curves(np.array([-1.0, 2.0]), np.array([False, True]))["true_positive_rate"].tolist()
    [0.0, 1.0, 1.0]
    """
    order = np.argsort(-scores, kind="stable")
    truth, ranked = positive[order], scores[order]
    last = np.append(np.diff(ranked) != 0, True)  # equal scores are above a threshold together
    hits, false = np.cumsum(truth)[last], np.cumsum(~truth)[last]
    return {
        "true_positive_rate": np.append(0.0, hits / max(1, hits[-1])),
        "false_positive_rate": np.append(0.0, false / max(1, false[-1])),
        "precision": np.append(1.0, hits / (hits + false)),
        "score": ranked[last],
    }


def area(curve: dict[str, np.ndarray]) -> float:
    """The area under the ROC curve, for the result of :func:`curves`.

    >>> area(curves(np.array([-1.0, 2.0]), np.array([False, True])))
    1.0
    """
    return float(np.trapezoid(curve["true_positive_rate"], curve["false_positive_rate"]))


def mean_area(scores: np.ndarray, truth: np.ndarray) -> float | None:
    """The area under the ROC curve; for several classes the mean, each against the rest.

    Classes that no row or every row has are left out; None if no class remains.

    >>> mean_area(np.array([0.1, 0.4, 0.35, 0.8]), np.array([0, 0, 1, 1]))
    0.75
    """
    columns = [(1, scores)] if scores.ndim == 1 else list(enumerate(scores.T))
    areas = [
        area(curves(column, truth == c))
        for c, column in columns
        if 0 < np.count_nonzero(truth == c) < len(truth)
    ]
    return float(np.mean(areas)) if areas else None


class Reliability:
    """Brier score and expected calibration error of probabilities, summed up batch by batch.

    The Brier score is the mean squared difference between the probability of the second of two
    classes and the outcome, 1 or 0; for several classes the sum of these over all. Rows are sorted
    into 15 bins by the probability of their likeliest class; the expected calibration error (ECE)
    is the mean, over bins weighted by rows, of the difference between the mean probability and the
    share of rows of that class.

    >>> reliability = Reliability(2)
    >>> reliability.add(np.array([[0.1, 0.9], [0.2, 0.8], [0.7, 0.3]]), np.array([1, 0, 0]))
    >>> round(reliability.brier, 3), round(reliability.error, 3)
    (0.247, 0.4)
    """

    def __init__(self, n_classes: int) -> None:
        self._n_classes, self._squares = n_classes, 0.0
        self._sums = np.zeros((3, BINS))  # of rows, probabilities and right predictions

    def add(self, probabilities: np.ndarray, truth: np.ndarray) -> None:
        """Add some rows: probabilities (rows, classes) and class numbers."""
        numbers = np.arange(len(truth))
        of_truth = probabilities[numbers, truth]
        squares = (probabilities**2).sum(axis=1) - of_truth**2 + (1.0 - of_truth) ** 2
        self._squares += float(squares.sum())
        best = probabilities.argmax(axis=1)
        confidence = probabilities[numbers, best]
        bins = np.minimum((confidence * BINS).astype(np.int64), BINS - 1)
        for total, values in zip(self._sums, (None, confidence, best == truth), strict=True):
            total += np.bincount(bins, values, minlength=BINS)

    def __add__(self, other: Reliability) -> Reliability:
        total = Reliability(self._n_classes)
        total._squares, total._sums = self._squares + other._squares, self._sums + other._sums
        return total

    @property
    def brier(self) -> float:
        """The Brier score."""
        scale = 0.5 if self._n_classes == 2 else 1.0
        return scale * self._squares / max(1.0, float(self._sums[0].sum()))

    @property
    def error(self) -> float:
        """The expected calibration error."""
        rows, confidence, right = self._sums
        return float(np.abs(confidence - right).sum() / max(1.0, rows.sum()))

    def bins(self) -> list[dict[str, Any]]:
        """The bins that have rows: their number, mean probability, share of right predictions."""
        return [
            {"rows": int(n), "probability": float(confidence / n), "right": float(right / n)}
            for n, confidence, right in self._sums.T
            if n
        ]
