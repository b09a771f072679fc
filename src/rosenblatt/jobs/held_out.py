"""What held-out rows decide: the calibration of probabilities and the decision threshold."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rosenblatt.data.labels import sorted_labels
from rosenblatt.errors import OptionError, listed, shown
from rosenblatt.jobs.evaluate import curves
from rosenblatt.models.calibration import Calibration

if TYPE_CHECKING:
    from rosenblatt.jobs.run import Run

_MOST_SCORES = 1 << 20  # to fit to
METRICS = ("precision", "recall", "f1")


@dataclass(frozen=True)
class Target:
    """The precision, recall or F1 that a decision threshold is to reach for one of two classes.

    >>> Target.parse("precision=0.95"), Target.parse("spam:f1").label
    (Target(metric='precision', value=0.95, label=None), 'spam')
    """

    metric: str
    value: float = math.nan
    label: str | None = None

    @classmethod
    def parse(cls, text: str) -> Target:
        """The target of ``[LABEL:]precision=0.95``, ``recall=0.9`` or ``f1``."""
        label, colon, rest = text.rpartition(":")
        metric, equals, value = rest.partition("=")
        try:
            number = float(value) if equals else math.nan
        except ValueError:
            number = math.nan
        if metric not in METRICS or (metric == "f1") == bool(equals) or not (
            metric == "f1" or 0 < number <= 1
        ):  # fmt: skip
            raise OptionError(
                f"{text!r} is not a target: say precision=0.95, recall=0.9 (from 0 to 1) or f1, "
                "with LABEL: before it for a class other than the second"
            )
        return cls(metric, number, label if colon else None)

    def check(self, classes: list[str]) -> None:
        """Refuse a target that has no meaning for these classes."""
        if len(classes) != 2:
            raise OptionError(f"a target is for two classes, and there are {len(classes)}")
        if self.label is not None and self.label not in classes:
            known = listed(sorted_labels(classes))
            raise OptionError(f"the target's label {shown(self.label)} is not a class: {known}")


@dataclass(frozen=True)
class HeldOut:
    """The calibration and the decision threshold, fitted to held-out rows."""

    calibration: Calibration | None = None
    threshold: float = 0.0  # the second of two classes is predicted above this score
    reached: dict[str, float] | None = None  # precision, recall, F1 of the target's class

    @classmethod
    def of_run(cls, run: Run) -> HeldOut:
        """Fit to the held-out rows of a run, scored by the weights that its first phase chose."""
        options, names = run.options, sorted_labels(run.source.classes)
        target = None if options.target is None else Target.parse(options.target)
        if target is not None:
            target.check(names)
        if options.calibrate is None and target is None:
            return cls()
        kept = None if run.progress.kept is None else run.progress.kept.weights
        scored = run.rows.held_out_scores(
            run.learner, kept, bool(options.average), names, _MOST_SCORES // len(names)
        )
        if scored is None:
            return cls()
        scores, truth, weights = scored
        calibration = None
        if options.calibrate is not None:
            calibration = Calibration.fit(scores, truth, len(names), options.calibrate, weights)
        if target is None:
            return cls(calibration)
        positive = 1 if target.label is None else names.index(target.label)
        sign = 1.0 if positive == 1 else -1.0
        cut, reached = best_threshold(sign * scores[:, 0], truth == positive, target)
        return cls(calibration, sign * cut, reached)

    def to_json(self) -> dict[str, Any]:
        """The attributes as plain data."""
        plain = None if self.calibration is None else self.calibration.to_json()
        return {"calibration": plain, "threshold": self.threshold, "reached": self.reached}

    @classmethod
    def from_json(cls, plain: dict[str, Any]) -> HeldOut:
        """What :meth:`to_json` wrote."""
        given, threshold = plain["calibration"], float(plain["threshold"])
        if not math.isfinite(threshold):
            raise ValueError("the threshold is not finite")
        return cls(None if given is None else Calibration.from_json(given), threshold,
                   plain["reached"])  # fmt: skip


def best_threshold(
    scores: np.ndarray, positive: np.ndarray, target: Target
) -> tuple[float, dict[str, float]]:
    """The score above which a row is predicted positive, and its precision, recall and F1.

    Of the thresholds that reach a precision, the one with the largest recall, and the other way
    round; if none does, the one that comes closest.

    >>> scores, positive = np.array([3.0, 2.0, 1.0, 0.0]), np.array([True, False, True, False])
    >>> best_threshold(scores, positive, Target("recall", 1.0))
    (0.5, {'precision': 0.6666666666666666, 'recall': 1.0, 'f1': 0.8})
    """
    found = curves(scores, positive)
    precision, recall = found["precision"][1:], found["true_positive_rate"][1:]
    f1 = 2 * precision * recall / np.maximum(precision + recall, 1e-300)
    value = {"precision": precision, "recall": recall, "f1": f1}[target.metric]
    if target.metric == "f1":
        best = int(f1.argmax())
    elif (value >= target.value).any():
        other = recall if target.metric == "precision" else precision
        best = int(np.where(value >= target.value, other, -1.0).argmax())
    else:
        best = int(value.argmax())
    edges = np.append(found["score"], found["score"][-1] - 1.0)
    cut = float(edges[best] + edges[best + 1]) / 2
    return cut, {"precision": float(precision[best]), "recall": float(recall[best]),
                 "f1": float(f1[best])}  # fmt: skip
