"""How well a model of several labels per row does on a file whose labels are known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rosenblatt.data import Source
from rosenblatt.errors import DataError
from rosenblatt.estimators.evaluation import seen_in_training
from rosenblatt.models import Model

RANKS = (1, 3, 5)


@dataclass(frozen=True)
class LabelEvaluation:
    """Counts of labels that were right, and what follows from them.

    Attributes
    ----------
    classes : tuple of str
    rows : int
    hits, said, true : int arrays (classes,)
        How often each label was predicted rightly, was predicted, and was there.
    at_rank : dict
        Precision and recall of the K labels of the largest scores, by K: the share of these that
        are right, and the share of all labels that is among them (as fastText counts them).
    bad : int
        Rows that were left out.
    trained_on : list of str
        Files among those judged that the model was trained on.

    Examples
    --------
    >>> counts = np.array([[3, 1], [4, 2], [4, 1]])
    >>> result = LabelEvaluation(("a", "b"), 5, *counts, {1: (0.8, 0.8)}, 0, [])
    >>> round(result.micro_f1, 3), round(result.macro_f1, 3)
    (0.727, 0.708)
    """

    classes: tuple[str, ...]
    rows: int
    hits: np.ndarray
    said: np.ndarray
    true: np.ndarray
    at_rank: dict[int, tuple[float, float]]
    bad: int
    trained_on: list[str]

    @property
    def micro_f1(self) -> float:
        """The F1 of all labels of all rows together."""
        return float(2 * self.hits.sum() / max(1, self.said.sum() + self.true.sum()))

    @property
    def macro_f1(self) -> float:
        """The mean F1 of the labels that occur or were predicted."""
        met = self.said + self.true > 0
        return (
            float(np.mean(2 * self.hits[met] / (self.said + self.true)[met])) if met.any() else 0.0
        )

    def by_class(self) -> dict[str, dict[str, float]]:
        """Precision, recall, F1 and the number of rows, for each label."""
        return {
            name: {
                "precision": float(self.hits[c] / max(1, self.said[c])),
                "recall": float(self.hits[c] / max(1, self.true[c])),
                "f1": float(2 * self.hits[c] / max(1, self.said[c] + self.true[c])),
                "rows": int(self.true[c]),
            }
            for c, name in enumerate(self.classes)
        }

    def to_json(self) -> dict[str, Any]:
        """All of it as plain data."""
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


def evaluate_labels(model: Model, source: Source) -> LabelEvaluation:
    """Judge a model of several labels on a source that was opened with its features and classes."""
    k, rows = len(model.classes), 0
    counts = np.zeros((3, k), dtype=np.int64)
    ranks = [rank for rank in RANKS if rank <= k]
    right = dict.fromkeys(ranks, 0)
    for batch in source:
        if batch.labels is None:
            message = f"there is no column {model.features.label!r} to compare with"
            raise DataError(message, path=source.files[0])
        truth = source.label_sets.matrix(k)[batch.labels]
        scores = model.scores(batch.rows)
        said = model.decide_labels(scores)
        counts += np.stack([(said & truth).sum(axis=0), said.sum(axis=0), truth.sum(axis=0)])
        best = np.argsort(-scores, axis=1, kind="stable")
        for rank in ranks:
            right[rank] += int(np.take_along_axis(truth, best[:, :rank], axis=1).sum())
        rows += len(batch)
    if not rows:
        raise DataError("the file has no rows", path=source.files[0])
    total = int(counts[2].sum())
    at_rank = {rank: (right[rank] / (rank * rows), right[rank] / max(1, total)) for rank in ranks}
    hits, said_often, true_often = counts
    return LabelEvaluation(
        model.classes, rows, hits, said_often, true_often, at_rank, source.bad,
        seen_in_training(model, source),
    )  # fmt: skip
