"""Measures of scores and probabilities: ROC curves and their area, Brier score, reliability."""

from __future__ import annotations

from typing import Any

import numpy as np

BINS = 15


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


def area(found: dict[str, np.ndarray]) -> float:
    """The area under the ROC curve, for the result of :func:`curves`.

    >>> area(curves(np.array([-1.0, 2.0]), np.array([False, True])))
    1.0
    """
    return float(np.trapezoid(found["true_positive_rate"], found["false_positive_rate"]))


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

    >>> found = Reliability(2)
    >>> found.add(np.array([[0.1, 0.9], [0.2, 0.8], [0.7, 0.3]]), np.array([1, 0, 0]))
    >>> round(found.brier, 3), round(found.error, 3)
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
