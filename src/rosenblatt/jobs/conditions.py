"""Conditions on what models say of a row: which rows of predictions are written."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from rosenblatt.errors import OptionError, listed, shown
from rosenblatt.learners.problems import decided, own_scores
from rosenblatt.models.model import Model, rank_scores

_COMPARISONS: dict[str, Any] = {
    ">=": np.greater_equal, "<=": np.less_equal, "!=": np.not_equal, "=": np.equal,
    ">": np.greater, "<": np.less,
}  # fmt: skip
_CONDITION = re.compile(r"\s*(.+?)\s*(>=|<=|!=|=|>|<)\s*(.+?)\s*")


@dataclass(frozen=True)
class Condition:
    """A condition on what a model says: ``quality>0.9``, ``lang=en,no``, ``topic:sport>=0.3``.

    Labels are compared with the predicted one: is it one of these, or of ordered classes higher?
    Where a row may have several labels, one of them is enough. Numbers are compared with the
    probability of the label that is named, else of the second of two classes, or of the predicted
    one of several; without probabilities, and of ordered classes, with the score.

    >>> Condition.parse("quality >= 0.9")
    Condition(name='quality', relation='>=', value='0.9')
    """

    name: str
    relation: str
    value: str

    @classmethod
    def parse(cls, text: str) -> Condition:
        """The condition of a text."""
        match = _CONDITION.fullmatch(text)
        if match is None:
            raise OptionError(f"{text!r} is not a condition: say MODEL>0.9 or MODEL=LABEL")
        return cls(*match.groups())

    def check(self, models: Mapping[str, Model]) -> None:
        """Refuse a condition on a model that is not there, or a label that it does not know."""
        name, label = self._subject(models)
        if name not in models:
            known = listed(list(models))
            raise OptionError(f"--keep {shown(name)}: there is no such model, but {known}")
        model, number = models[name], self._number
        if label and label not in model.classes:
            message = f"{shown(label)} is not a class of {name}: {listed(model.classes)}"
            raise OptionError(f"--keep {message}")
        if self._labels(model) and not label:
            return
        if number is None:
            raise OptionError(
                f"--keep {shown(self.value)} is neither a number nor a class of {name}: "
                f"{listed(model.classes)}"
            )
        is_share = model.calibration is not None and (label or not model.is_ordered)
        if is_share and not 0 <= number <= 1:
            raise OptionError(f"--keep {shown(self.value)}: a probability is from 0 to 1")

    def _subject(self, models: Mapping[str, Model]) -> tuple[str, str]:
        """The name of the model, and the label whose probability is meant, or an empty one."""
        name, _, label = self.name.partition(":")
        return (self.name, "") if self.name in models else (name, label)

    @property
    def _number(self) -> float | None:
        try:
            return float(self.value)
        except ValueError:
            return None

    def _labels(self, model: Model) -> list[int]:
        """The classes that are compared; none if a number is."""
        compares = self.relation in ("=", "!=") or model.is_ordered
        whole = self.value in model.classes
        labels = [self.value] if whole else [name.strip() for name in self.value.split(",")]
        is_list = whole or self.relation in ("=", "!=")
        known = compares and is_list and set(labels) <= set(model.classes)
        return [model.classes.index(name) for name in labels] if known else []

    def holds(self, models: Mapping[str, Model], scored: Mapping[str, np.ndarray]) -> np.ndarray:
        """For which rows it holds."""
        name, label = self._subject(models)
        model, scores, compare = models[name], scored[name], _COMPARISONS[self.relation]
        codes, values = judged(model, scores)
        if label:
            shares = model.calibration is not None
            every = model.probabilities(scores) if shares else own_scores(scores)
            values = every[:, model.classes.index(label)]
        elif labels := self._labels(model):
            if self.relation not in ("=", "!="):
                return np.asarray(compare(codes, labels[0]))
            several = model.decide(scores)[:, labels].any(axis=1) if model.multilabel else None
            has = np.isin(codes, labels) if several is None else several
            return np.asarray(has != (self.relation == "!="))
        return np.asarray(compare(values, self._number))


def judged(model: Model, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The predicted class numbers, and the values that conditions are about."""
    codes, values = decided(scores, model.threshold), own_scores(scores)
    if model.is_ordered:
        return codes, rank_scores(scores)
    if model.calibration is not None:
        values = model.probabilities(scores)
    of = np.ones(len(codes), np.int64) if len(model.classes) == 2 else codes
    return codes, values[np.arange(len(codes)), of]
