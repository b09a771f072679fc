"""Evaluations as pictures: ROC and precision-recall curves, reliability, the confusion matrix."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from rosenblatt.errors import MissingExtraError
from rosenblatt.jobs.evaluate import Evaluation, area, curves
from rosenblatt.viz.style import FAINT, LINES, PALETTE, POSITIVE, SOFT

_MOST_NUMBERS = 16  # classes of a confusion matrix with a number in each cell
_LONGEST_NAME = 24


def class_curves(result: Evaluation, positive: int = 1) -> dict[str, np.ndarray]:
    """The curves of a class against the rest, from the scores that the result holds."""
    scores = result.scores if result.scores.ndim == 1 else result.scores[:, positive]
    return curves(scores, result.truth == positive)


def draw_evaluation(result: Evaluation, out: str | os.PathLike[str]) -> None:
    """Draw an evaluation that holds its scores into a picture file."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("--plot", "plot") from None
    two, calibrated = len(result.classes) == 2, result.reliability is not None
    figure = Figure(figsize=(9, 8) if two else (12, 11), layout="constrained")
    axes = figure.subplots(2, 2).ravel()
    _draw_curves(axes[:2], result, [1] if two else list(range(len(result.classes))))
    _draw_confusion(axes[2], result)
    if calibrated:
        _draw_reliability(axes[3], result)
    else:
        axes[3].set_axis_off()
    figure.savefig(os.fspath(out), dpi=150)


def _draw_curves(axes: Any, result: Evaluation, positives: list[int]) -> None:
    """One curve per class against the rest, except for classes without rows.

    Of many classes, those with the least area get a colour and a name.
    """
    curves_of = {c: class_curves(result, c) for c in positives if (result.truth == c).any()}
    areas = {c: area(of_class) for c, of_class in curves_of.items()}
    named = sorted(areas, key=lambda c: areas[c])[: len(PALETTE)]
    named = sorted(named) if len(areas) <= len(PALETTE) else named[:5]
    for c, of_class in curves_of.items():
        look: dict[str, Any] = {"color": FAINT, "linewidth": 1.0}
        if c in named:
            place = named.index(c)
            look = {"color": PALETTE[place], "linestyle": LINES[place % len(LINES)], "zorder": 3}
            look["label"] = f"{_name(result, c)} {areas[c]:.4f}"
        if len(positives) == 1:
            look = {"color": POSITIVE}
        recall = of_class["true_positive_rate"]
        axes[0].plot(of_class["false_positive_rate"], recall, **look)
        axes[1].plot(recall, of_class["precision"], **look)
    axes[0].plot([0, 1], [0, 1], color=SOFT, linestyle="--", linewidth=1, zorder=1)
    which = "mean area" if len(positives) > 1 else f"{_name(result, positives[0])}, area"
    title = f"ROC: {which} {np.mean(list(areas.values())):.4f}"
    axes[0].set(xlabel="false positive rate", ylabel="true positive rate", title=title)
    of = "each class" if len(positives) > 1 else _name(result, positives[0])
    axes[1].set(xlabel="recall", ylabel="precision", title=f"precision and recall: {of}")
    for panel in axes:
        _unit_axes(panel)
    if len(positives) > 1:
        title = "area" if len(named) == len(areas) else "least area"
        for panel, corner in zip(axes, ("lower right", "lower left"), strict=True):
            panel.legend(title=title, loc=corner, fontsize="small")


def _name(result: Evaluation, c: int) -> str:
    """The name of a class, shortened for a picture."""
    name = str(result.classes[c])
    return name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…"


def _unit_axes(axes: Any) -> None:
    """Set both axes to 0..1, with a grid behind the curves."""
    axes.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
    axes.grid(color="#E6E6E6", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def _draw_confusion(axes: Any, result: Evaluation) -> None:
    shares = result.confusion / np.maximum(1, result.confusion.sum(axis=1, keepdims=True))
    image = axes.imshow(shares, cmap="Blues", vmin=0, vmax=1)
    count = len(result.classes)
    names, size = [_name(result, c) for c in range(count)], max(4, min(10, 160 // count))
    axes.set_xticks(range(count), names, rotation=90 if count > 2 else 0, fontsize=size)
    axes.set_yticks(range(count), names, fontsize=size)
    axes.set(xlabel="predicted", ylabel="actual", title=f"accuracy {100 * result.accuracy:.2f} %")
    if count <= _MOST_NUMBERS:
        for (row, column), rows in np.ndenumerate(result.confusion):
            color = "white" if shares[row, column] > 0.5 else "black"
            look = {"ha": "center", "va": "center", "color": color, "fontsize": size}
            axes.text(column, row, f"{rows:,}", **look)
    axes.figure.colorbar(image, ax=axes, label="share of the actual class", shrink=0.8)


def _draw_reliability(axes: Any, result: Evaluation) -> None:
    """Draw accuracy against stated probability; calibrated probabilities lie on the diagonal."""
    assert result.reliability is not None
    bins = result.reliability.bins()
    axes.plot([0, 1], [0, 1], color=SOFT, linestyle="--", linewidth=1, label="calibrated")
    stated, right = ([entry[name] for entry in bins] for name in ("probability", "right"))
    shares = [entry["rows"] / result.rows for entry in bins]
    axes.bar(stated, shares, width=0.025, color=FAINT, label="share of the rows")
    axes.plot(stated, right, color=POSITIVE, linewidth=1)
    # The area of a point is its share of the rows: those of a few rows say little.
    sizes = [10 + 300 * share for share in shares]
    axes.scatter(stated, right, s=sizes, color=POSITIVE, label="this model", zorder=3)
    title = f"reliability: calibration error {100 * result.reliability.error:.2f} %"
    axes.set(xlabel="probability of the likeliest class", ylabel="share that is right", title=title)
    _unit_axes(axes)
    axes.legend(loc="upper left", fontsize="small", markerscale=0.6)
