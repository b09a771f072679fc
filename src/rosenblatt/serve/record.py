"""The progressive error of a service, by class and over time, and an alarm when it rises."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

_MOST_POINTS = 256  # of the curve; then two become one
_MOST_ALARMS = 100
# Page-Hinkley: the rise of the error that counts as noise, and the mistakes beyond it that alarm.
TOLERANCE, ENOUGH, LEAST = 0.005, 50.0, 30


@dataclass
class Record:
    """What the labels of a log say of the predictions made before them.

    Every prediction was made before its label was known, so that the share of mistakes is an
    honest estimate of the error (progressive validation).

    Examples
    --------
    >>> record = Record()
    >>> for position, predicted in enumerate(["a", "b", "b"], start=1):
    ...     record.count(position, 0.0, "b", predicted)
    >>> record.labels, record.mistakes, record.by_class
    (3, 1, {'b': [3, 1]})
    """

    labels: int = 0
    mistakes: int = 0
    unpredicted: int = 0  # labels before which no class was known
    corrections: int = 0
    by_class: dict[str, list[int]] = field(default_factory=dict)  # labels and mistakes
    curve: list[dict[str, Any]] = field(default_factory=list)  # of some labels in a row each
    size: int = 1  # labels of a point
    alarms: list[dict[str, float]] = field(default_factory=list)
    seen: int = 0  # labels since the last alarm
    mean: float = 0.0
    excess: float = 0.0  # mistakes beyond the mean, summed up
    least: float = 0.0  # the least of these sums

    @property
    def error(self) -> float:
        """The progressive error: the share of mistakes; NaN without labels."""
        return self.mistakes / self.labels if self.labels else math.nan

    def count(self, position: int, time: float, label: str, predicted: str | None) -> None:
        """Count a label by what was predicted before it."""
        if predicted is None:
            self.unpredicted += 1
            return
        wrong = int(predicted != label)
        self.labels += 1
        self.mistakes += wrong
        counts = self.by_class.setdefault(label, [0, 0])
        counts[0] += 1
        counts[1] += wrong
        if not self.curve or self.curve[-1]["labels"] >= self.size:
            if len(self.curve) >= _MOST_POINTS:
                self._halve()
            self.curve.append({"labels": 0, "mistakes": 0})
        point = self.curve[-1]
        point |= {"position": position, "time": time}  # of the last one
        point["labels"] += 1
        point["mistakes"] += wrong
        self._watch(position, time, wrong)

    def correct(self, label: str, replaced: str, predicted: str | None) -> None:
        """Count a label that replaces another one: totals change, the curve stays as it was."""
        self.corrections += 1
        if predicted is None:
            return
        for name, sign in ((replaced, -1), (label, 1)):
            wrong = sign * int(predicted != name)
            counts = self.by_class.setdefault(name, [0, 0])
            counts[0] += sign
            counts[1] += wrong
            self.mistakes += wrong

    def _halve(self) -> None:
        self.curve = [
            b | {name: a[name] + b[name] for name in ("labels", "mistakes")}
            for a, b in zip(self.curve[::2], self.curve[1::2], strict=True)
        ]
        self.size *= 2

    def _watch(self, position: int, time: float, wrong: int) -> None:
        """The test of Page and Hinkley: does the error rise above its mean so far?"""
        self.seen += 1
        self.mean += (wrong - self.mean) / self.seen
        self.excess += wrong - self.mean - TOLERANCE
        self.least = min(self.least, self.excess)
        if self.seen < LEAST or self.excess - self.least <= ENOUGH:
            return
        alarm = {"position": position, "time": time, "error_before": round(self.mean, 4)}
        self.alarms = [*self.alarms, alarm][-_MOST_ALARMS:]
        self.seen = 0
        self.mean = self.excess = self.least = 0.0
