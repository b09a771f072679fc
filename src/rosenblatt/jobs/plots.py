"""Evaluations as pictures: curves for two classes, the confusion matrix for more."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from rosenblatt.errors import MissingExtraError
from rosenblatt.jobs.evaluate import Evaluation


def curves(result: Evaluation) -> dict[str, np.ndarray]:
    """False and true positive rates, and precision, for every threshold on the score.

    >>> result = Evaluation(("no", "yes"), np.eye(2), np.array([-1.0, 2.0]), np.array([0, 1]))
    >>> curves(result)["true_positive_rate"].tolist()
    [0.0, 1.0, 1.0]
    """
    order = np.argsort(-result.scores, kind="stable")
    truth = result.truth[order] == 1
    last = np.append(np.diff(result.scores[order]) != 0, True)
    hits, false = np.cumsum(truth)[last], np.cumsum(~truth)[last]
    return {
        "true_positive_rate": np.append(0.0, hits / max(1, hits[-1])),
        "false_positive_rate": np.append(0.0, false / max(1, false[-1])),
        "precision": np.append(1.0, hits / (hits + false)),
    }


def draw_evaluation(result: Evaluation, out: str | os.PathLike[str]) -> None:
    """Draw what an evaluation found into a picture file."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("--plot", "plot") from None
    two = len(result.classes) == 2
    figure = Figure(figsize=(9, 4) if two else (7, 6), layout="constrained")
    if two:
        _draw_curves(figure.subplots(1, 2), result)
    else:
        _draw_confusion(figure, result)
    figure.savefig(os.fspath(out), dpi=150)


def _draw_curves(axes: Any, result: Evaluation) -> None:
    found = curves(result)
    recall, false = found["true_positive_rate"], found["false_positive_rate"]
    area = float(np.sum(np.diff(false) * (recall[1:] + recall[:-1]) / 2))
    axes[0].plot(false, recall)
    axes[0].set(
        xlabel="false positive rate", ylabel="true positive rate", title=f"ROC, area {area:.4f}"
    )
    axes[1].plot(recall, found["precision"])
    axes[1].set(xlabel="recall", ylabel="precision", title=f"for {result.classes[1]}")


def _draw_confusion(figure: Any, result: Evaluation) -> None:
    axes = figure.subplots()
    shares = result.confusion / np.maximum(1, result.confusion.sum(axis=1, keepdims=True))
    image = axes.imshow(shares, cmap="Blues", vmin=0, vmax=1)
    ticks = range(len(result.classes))
    axes.set_xticks(ticks, result.classes, rotation=90)
    axes.set_yticks(ticks, result.classes)
    axes.set(xlabel="predicted", ylabel="true", title=f"accuracy {result.accuracy:.4f}")
    figure.colorbar(image, label="share of the true class")
