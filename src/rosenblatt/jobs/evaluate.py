"""Evaluate a model on a file with labels."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from rosenblatt.data import Source
from rosenblatt.jobs.measures import Reliability, mean_area
from rosenblatt.models.model import Model, labelled

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

    def by_class(self) -> dict[str, dict[str, float]]:
        """Precision, recall, F1 and number of rows of each class."""
        return {
            name: {
                "precision": float(self.hits[c] / max(1, self.predicted[c])),
                "recall": float(self.hits[c] / max(1, self.true[c])),
                "f1": float(2 * self.hits[c] / max(1, self.predicted[c] + self.true[c])),
                "rows": int(self.true[c]),
            }
            for c, name in enumerate(self.classes)
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
        """The area under the ROC curve, the mean of the classes; None without scores."""
        return mean_area(self.scores, self.truth) if len(self.truth) else None

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
            "trained_on": self.trained_on,
            "accuracy": self.accuracy,
            "interval": list(self.interval()),
            "macro_f1": self.macro_f1,
            "roc_auc": self.roc_auc,
            "calibration": calibration,
            "classes": self.by_class(),
            "confusion": self.confusion.tolist(),
        }


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
        ranks = {
            f"{what}_at_{k}": values[i]
            for k, values in self.at_rank.items()
            for i, what in enumerate(("precision", "recall"))
        }
        return {
            "rows": self.rows,
            "bad_rows": self.bad,
            "trained_on": self.trained_on,
            "micro_f1": self.micro_f1,
            "macro_f1": self.macro_f1,
            **ranks,
            "classes": self.by_class(),
        }


def evaluate(model: Model, source: Source, keep_scores: bool = False) -> Evaluation:
    """Evaluate a model on a source that was opened with its features and classes.

    Scores are kept for the area under the ROC curve; more than 2^26 are dropped unless
    `keep_scores`.
    """
    k, kept = len(model.classes), 0
    confusion = np.zeros((k, k), dtype=np.int64)
    scores: list[np.ndarray] = []
    truth: list[np.ndarray] = []
    reliability = None if model.calibration is None else Reliability(k)
    for rows, labels in labelled(model, source):
        found = model.scores(rows)
        np.add.at(confusion, (labels, model.decide(found)), 1)
        if reliability is not None:
            reliability.add(model.probabilities(found), labels)
        scores.append(found[:, 0] if k == 2 else found)
        truth.append(labels)
        kept += found.size
        if kept > _MOST_SCORES and not keep_scores:
            scores, truth = [], []
    every_score, every_class = (np.concatenate(of) if of else np.empty(0) for of in (scores, truth))
    trained_on = seen_in_training(model, source)
    return Evaluation(
        model.classes, confusion, every_score, every_class, source.bad, trained_on, reliability
    )


def evaluate_labels(model: Model, source: Source) -> LabelEvaluation:
    """Evaluate a multilabel model on a source opened with its features and classes."""
    k, n = len(model.classes), 0
    counts = np.zeros((3, k), dtype=np.int64)
    right = {rank: 0 for rank in RANKS if rank <= k}
    for rows, truth in labelled(model, source):
        scores = model.scores(rows)
        found = model.decide(scores)
        counts += np.stack([(found & truth).sum(axis=0), found.sum(axis=0), truth.sum(axis=0)])
        best = np.argsort(-scores, axis=1, kind="stable")
        for rank in right:
            right[rank] += int(np.take_along_axis(truth, best[:, :rank], axis=1).sum())
        n += len(truth)
    total = max(1, int(counts[2].sum()))
    at_rank = {rank: (hits / (rank * n), hits / total) for rank, hits in right.items()}
    hits, predicted, true = counts
    trained_on = seen_in_training(model, source)
    return LabelEvaluation(model.classes, n, hits, predicted, true, at_rank, source.bad, trained_on)


def seen_in_training(model: Model, source: Source) -> list[str]:
    """The files of a source that the model was trained on, by fingerprints of their content.

    >>> from rosenblatt import data, train
    >>> frame = {"label": ["a", "b"] * 20, "x": [1.0, 2.0] * 20}
    >>> seen_in_training(train(frame, epochs=1), data.open(frame))
    ['<table>']
    """
    known, found = model.fingerprint, source.fingerprint()
    if "sample" in found:
        return source.files if found["sample"] == known.get("sample") else []
    entries = known.get("files", [])
    trained = {f.get("sample") for f in entries if isinstance(f, dict)} - {None}
    return [
        str(file.get("name")) for file in found.get("files", []) if file.get("sample") in trained
    ]
