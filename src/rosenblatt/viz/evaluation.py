"""Evaluations as pictures: curves, of each class against the rest, and the confusion matrix."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from rosenblatt.errors import MissingExtraError
from rosenblatt.estimators.evaluation import Evaluation

_MOST_NAMED = 20


def curves(result: Evaluation, positive: int = 1) -> dict[str, np.ndarray]:
    """False and true positive rates, and precision, for every threshold on the score.

    Parameters
    ----------
    result : Evaluation
        With the scores of the rows.
    positive : int
        The number of the class that is set against the rest; of two classes the second.

    Examples
    --------
    >>> result = Evaluation(("no", "yes"), np.eye(2), np.array([-1.0, 2.0]), np.array([0, 1]))
    >>> curves(result)["true_positive_rate"].tolist()
    [0.0, 1.0, 1.0]
    """
    scores = result.scores if result.scores.ndim == 1 else result.scores[:, positive]
    order = np.argsort(-scores, kind="stable")
    truth = result.truth[order] == positive
    last = np.append(np.diff(scores[order]) != 0, True)
    hits, false = np.cumsum(truth)[last], np.cumsum(~truth)[last]
    return {
        "true_positive_rate": np.append(0.0, hits / max(1, hits[-1])),
        "false_positive_rate": np.append(0.0, false / max(1, false[-1])),
        "precision": np.append(1.0, hits / (hits + false)),
    }


def area(found: dict[str, np.ndarray]) -> float:
    """The area under the ROC curve: how often a row of the class outscores one of the rest.

    >>> result = Evaluation(("no", "yes"), np.eye(2), np.array([-1.0, 2.0]), np.array([0, 1]))
    >>> area(curves(result))
    1.0
    """
    return float(np.trapezoid(found["true_positive_rate"], found["false_positive_rate"]))


def draw_evaluation(result: Evaluation, out: str | os.PathLike[str]) -> None:
    """Draw what an evaluation found into a picture file; it must have kept the scores."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("--plot", "plot") from None
    two = len(result.classes) == 2
    figure = Figure(figsize=(9, 4) if two else (16, 5), layout="constrained")
    axes = figure.subplots(1, 2 if two else 3)
    _draw_curves(axes[:2], result, [1] if two else list(range(len(result.classes))))
    if not two:
        _draw_confusion(axes[2], result)
    figure.savefig(os.fspath(out), dpi=150)


def _draw_curves(axes: Any, result: Evaluation, positives: list[int]) -> None:
    """One curve a class, set against the rest; a class without rows has none."""
    areas = []
    for c in positives:
        if not (result.truth == c).any():
            continue
        found = curves(result, c)
        areas.append(area(found))
        recall = found["true_positive_rate"]
        axes[0].plot(found["false_positive_rate"], recall, label=result.classes[c])
        axes[1].plot(recall, found["precision"], label=f"{result.classes[c]} {areas[-1]:.4f}")
    mean = "mean area" if len(positives) > 1 else "area"
    title = f"ROC, {mean} {np.mean(areas):.4f}"
    axes[0].set(xlabel="false positive rate", ylabel="true positive rate", title=title)
    title = "each class" if len(positives) > 1 else f"for {result.classes[positives[0]]}"
    axes[1].set(xlabel="recall", ylabel="precision", title=title)
    if 1 < len(positives) <= _MOST_NAMED:
        axes[1].legend(title="area under ROC", fontsize="small")


def _draw_confusion(axes: Any, result: Evaluation) -> None:
    shares = result.confusion / np.maximum(1, result.confusion.sum(axis=1, keepdims=True))
    image = axes.imshow(shares, cmap="Blues", vmin=0, vmax=1)
    ticks = range(len(result.classes))
    axes.set_xticks(ticks, result.classes, rotation=90)
    axes.set_yticks(ticks, result.classes)
    axes.set(xlabel="predicted", ylabel="true", title=f"accuracy {result.accuracy:.4f}")
    axes.figure.colorbar(image, ax=axes, label="share of the true class")
