"""What held-out rows decide by, if not by the share of wrong predictions; a goal is one record."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rosenblatt.errors import OptionError, listed, shown
from rosenblatt.jobs.evaluate import curves, spearman
from rosenblatt.learners.problems import decided, own_scores

_TEXT = re.compile(r"([a-z@-]+(?:1|precision)?)(?:=([0-9.]+))?(?::(.+))?", re.DOTALL)


@dataclass(frozen=True)
class HeldRows:
    """Held-out rows: their scores, their classes or indicators of labels, and their weights.

    Of ordered classes there are `copies` of each row, one per threshold.
    """

    scores: Any
    truth: Any
    weights: Any
    names: Sequence[str]
    copies: int = 1

    def f1(self) -> np.ndarray:
        """The F1 of each class."""
        truth = self.truth
        said = decided(self.scores, multilabel=truth.ndim == 2)
        if truth.ndim == 1:
            each = np.arange(len(self.names))
            said, truth = said[:, None] == each, truth[:, None] == each
        hits, total = self.weights @ (said & truth), self.weights @ (said.astype(np.int8) + truth)
        return np.asarray(2 * hits / np.maximum(total, 1e-300))


@dataclass(frozen=True)
class Goal:
    """A figure of held-out rows, the larger the better, from 0 to 1.

    >>> Goal.parse("recall@precision=0.9:spam")
    Goal(name='recall@precision', least=0.9, label='spam')
    """

    name: str
    least: float = math.nan
    label: str | None = None

    @classmethod
    def parse(cls, text: str) -> Goal:
        """The goal of a text NAME, NAME=NUMBER or NAME:LABEL."""
        match = _TEXT.fullmatch(text)
        name, number, label = match.groups() if match else ("", None, None)
        try:
            least = float(number or "nan")
        except ValueError:
            least = math.nan
        takes_label = name in ("f1", "recall@precision")
        has_number = 0 < least <= 1 if name == "recall@precision" else number is None
        has_label = label is not None if name == "f1" else takes_label or label is None
        if name not in GOALS or not has_number or not has_label:
            raise OptionError(
                f"{text!r} is not a goal: say macro-f1, f1:LABEL, recall@precision=0.9 (of the "
                "last class, or with :LABEL) or, for ordered classes, spearman"
            )
        return cls(name, least, label)

    def error(self, rows: HeldRows) -> float:
        """One minus the figure."""
        place = len(rows.names) - 1
        if self.label is not None:
            if self.label not in rows.names:
                known = listed(rows.names)
                raise OptionError(f"the goal's label {shown(self.label)} is not a class: {known}")
            place = rows.names.index(self.label)
        return 1.0 - GOALS[self.name](rows, place, self.least)


def _recall(rows: HeldRows, place: int, least: float) -> float:
    """The largest recall of a class at a precision; 0 if no threshold has it."""
    positive = rows.truth[:, place] if rows.truth.ndim == 2 else rows.truth == place
    curve = curves(own_scores(rows.scores)[:, place], positive)
    reached = curve["true_positive_rate"][1:][curve["precision"][1:] >= least]
    return float(reached.max(initial=0.0))


def _spearman(rows: HeldRows, place: int, least: float) -> float:
    ranks = rows.truth.reshape(-1, rows.copies).sum(axis=1)
    return max(0.0, spearman(rows.scores.reshape(-1, rows.copies)[:, 0], ranks))


GOALS: dict[str, Callable[[HeldRows, int, float], float]] = {
    "macro-f1": lambda rows, place, least: float(rows.f1().mean()),
    "f1": lambda rows, place, least: float(rows.f1()[place]),
    "recall@precision": _recall,
    "spearman": _spearman,
}
