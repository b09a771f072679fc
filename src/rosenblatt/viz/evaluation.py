"""Evaluations as pictures: curves, of each class against the rest, and the confusion matrix."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from rosenblatt.errors import MissingExtraError
from rosenblatt.estimators.evaluation import Evaluation
from rosenblatt.estimators.measures import area, curves

_MOST_NAMED = 20


def class_curves(result: Evaluation, positive: int = 1) -> dict[str, np.ndarray]:
    """The curves of a class against the rest; the result must have kept the scores."""
    scores = result.scores if result.scores.ndim == 1 else result.scores[:, positive]
    return curves(scores, result.truth == positive)


def draw_evaluation(result: Evaluation, out: str | os.PathLike[str]) -> None:
    """Draw what an evaluation found into a picture file; it must have kept the scores."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("--plot", "plot") from None
    two, calibrated = len(result.classes) == 2, result.reliability is not None
    panels = (2 if two else 3) + calibrated
    figure = Figure(figsize=(4.5 * panels, 4) if two else (5.3 * panels, 5), layout="constrained")
    axes = figure.subplots(1, panels)
    _draw_curves(axes[:2], result, [1] if two else list(range(len(result.classes))))
    if not two:
        _draw_confusion(axes[2], result)
    if calibrated:
        _draw_reliability(axes[-1], result)
    figure.savefig(os.fspath(out), dpi=150)


def _draw_curves(axes: Any, result: Evaluation, positives: list[int]) -> None:
    """One curve a class, set against the rest; a class without rows has none."""
    areas = []
    for c in positives:
        if not (result.truth == c).any():
            continue
        found = class_curves(result, c)
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


def _draw_reliability(axes: Any, result: Evaluation) -> None:
    """How often rows of a probability are right; calibrated ones lie on the diagonal."""
    assert result.reliability is not None
    bins = result.reliability.bins()
    axes.plot([0, 1], [0, 1], color="0.7", linestyle="--")
    stated, right = ([entry[name] for entry in bins] for name in ("probability", "right"))
    axes.plot(stated, right, marker="o")
    shares = [entry["rows"] / result.rows for entry in bins]
    axes.bar(stated, shares, width=0.02, color="0.85", label="share of the rows")
    title = f"reliability, ECE {result.reliability.error:.4f}"
    axes.set(xlabel="probability of the likeliest class", ylabel="share that is right", title=title)
    axes.legend(fontsize="small")
