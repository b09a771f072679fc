"""How well a model does on a file whose labels are known."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from rosenblatt.data import Source
from rosenblatt.errors import DataError, NoRowsError
from rosenblatt.estimators.measures import Reliability, mean_area
from rosenblatt.models import Model

_MOST_SCORES = 1 << 26
_NO_ROWS = np.empty(0, np.int32)


@dataclass(frozen=True)
class Evaluation:
    """The confusion matrix of a model on a file, and what follows from it.

    Attributes
    ----------
    classes : tuple of str
    confusion : int array (classes, classes)
        Rows of each true class (first index) that were taken for each class (second).
    scores, truth : arrays
        For curves: the scores of each row, one for two classes and else one a class, and its
        true class number. Empty unless they were to be kept.
    bad : int
        Rows that were left out.
    trained_on : list of str
        Files among those judged that the model was trained on.
    reliability : Reliability or None
        Of the probabilities, if the model has them.

    Examples
    --------
    >>> result = Evaluation(("neg", "pos"), np.array([[40, 10], [5, 45]]))
    >>> result.accuracy, [round(end, 3) for end in result.interval()]
    (0.85, [0.767, 0.907])
    >>> result.by_class()["pos"]["recall"]
    0.9
    """

    classes: tuple[str, ...]
    confusion: np.ndarray
    scores: np.ndarray = field(default_factory=lambda: np.empty(0))
    truth: np.ndarray = field(default_factory=lambda: np.empty(0, np.int32))
    bad: int = 0
    trained_on: list[str] = field(default_factory=list)
    reliability: Reliability | None = None

    @property
    def rows(self) -> int:
        """How many rows were judged."""
        return int(self.confusion.sum())

    @property
    def accuracy(self) -> float:
        """The share of rows whose class was predicted."""
        return float(np.trace(self.confusion) / max(1, self.rows))

    def interval(self, z: float = 1.959964) -> tuple[float, float]:
        """Wilson's interval for the accuracy on rows of the same kind, of 95 % by default."""
        n, p = max(1, self.rows), self.accuracy
        middle = (p + z * z / (2 * n)) / (1 + z * z / n)
        half = z / (1 + z * z / n) * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
        return max(0.0, middle - half), min(1.0, middle + half)

    def by_class(self) -> dict[str, dict[str, float]]:
        """Precision, recall, F1 and the number of rows, for each class."""
        hits = np.diag(self.confusion).astype(float)
        said, true = self.confusion.sum(axis=0), self.confusion.sum(axis=1)
        found = {}
        for c, name in enumerate(self.classes):
            precision, recall = hits[c] / max(1, said[c]), hits[c] / max(1, true[c])
            f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
            found[name] = {
                "precision": float(precision),
                "recall": float(recall),
                "f1": float(f1),
                "rows": int(true[c]),
            }
        return found

    @property
    def macro_f1(self) -> float:
        """The mean F1 of the classes that have rows or were predicted."""
        met = self.confusion.sum(axis=0) + self.confusion.sum(axis=1) > 0
        scores = np.array([entry["f1"] for entry in self.by_class().values()])
        return float(scores[met].mean()) if met.any() else 0.0

    @cached_property
    def roc_auc(self) -> float | None:
        """The area under the ROC curve, the mean of the classes; None without scores."""
        return mean_area(self.scores, self.truth) if len(self.truth) else None

    def to_json(self) -> dict[str, Any]:
        """All of it as plain data."""
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


def evaluate(model: Model, source: Source, keep_scores: bool = False) -> Evaluation:
    """Judge a model on a source that was opened with its features and classes.

    Scores are kept for the area under the ROC curve: they take memory for every row and class, and
    are dropped when there are more than 2^26, unless they are asked for.
    """
    k = len(model.classes)
    confusion = np.zeros((k, k), dtype=np.int64)
    scores, truth = [], []
    reliability = None if model.calibration is None else Reliability(k)
    kept = 0
    for batch in source:
        if batch.labels is None:
            message = f"there is no column {model.features.label!r} to compare with"
            raise DataError(message, path=source.files[0])
        found = model.scores(batch.rows)
        np.add.at(confusion, (batch.labels, model.decide(found)), 1)
        if reliability is not None:
            reliability.add(model.probabilities(found), batch.labels)
        scores.append(found[:, 0] if k == 2 else found)
        truth.append(batch.labels)
        kept += found.size
        if kept > _MOST_SCORES and not keep_scores:
            scores, truth = [], []
    if not confusion.any():
        raise NoRowsError("the file has no rows", path=source.files[0])
    return Evaluation(
        model.classes,
        confusion,
        np.concatenate(scores) if scores and (keep_scores or kept <= _MOST_SCORES) else np.empty(0),
        np.concatenate(truth) if truth and (keep_scores or kept <= _MOST_SCORES) else _NO_ROWS,
        source.bad,
        seen_in_training(model, source),
        reliability,
    )


def seen_in_training(model: Model, source: Source) -> list[str]:
    """The files of a source that the model was trained on, by their fingerprints.

    A copy has the fingerprint of its original, by any name; a file that was changed, sorted or
    packed anew has another one.

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
