"""What tuning may choose: features and settings, drawn at random, and what came of each."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from itertools import product
from typing import Any, ClassVar

from rosenblatt.errors import OptionError
from rosenblatt.estimators.file_run import Settings
from rosenblatt.kernels.text import Ngrams


@dataclass(frozen=True)
class Choice:
    """Features and settings that can be tried, as for :func:`rosenblatt.train`."""

    ngrams: Ngrams
    threshold: float = 2.0
    padding: float = 0.1
    average: bool = True
    multiclass: str = "ovr"
    rule: str = "perceptron"

    SETTINGS: ClassVar = ("threshold", "padding", "average", "multiclass", "rule")

    def settings(self, of: Settings) -> Settings:
        """Settings with what was chosen, and all else as it was."""
        return replace(of, **{name: getattr(self, name) for name in self.SETTINGS})


@dataclass(frozen=True)
class Trial:
    """What came of a choice: its error on held-out rows, after learning from so many others.

    Of the seconds, those between epochs are the same for any number of rows.
    """

    choice: Choice
    rows: int
    error: float
    epochs: int
    seconds: float
    between: float = 0.0

    def seconds_for(self, rows: int) -> float:
        """How long so many rows would take."""
        return self.between + (self.seconds - self.between) * rows / self.rows

    def to_json(self) -> dict[str, Any]:
        """All of it as plain data."""
        n = self.choice.ngrams
        chosen = asdict(self.choice) | {
            "ngrams": [n.low, n.high],
            "analyzer": "char" if n.chars else "word",
            "bits": n.bits,
        }
        return chosen | {"rows": self.rows, "error": self.error, "epochs": self.epochs}


def parse_seconds(given: str | float) -> float:
    """A time in seconds from what a person writes.

    >>> parse_seconds("60s"), parse_seconds("1.5m"), parse_seconds(20)
    (60.0, 90.0, 20.0)
    """
    found = re.fullmatch(r"\s*([\d.]+)\s*(s|m|min|h|)\s*", str(given))
    try:
        seconds = float(found[1]) * {"m": 60, "min": 60, "h": 3600}.get(found[2], 1) if found else 0
    except ValueError:
        seconds = 0
    if not 0 < seconds < math.inf:
        raise OptionError(f"{given!r} is not a time such as 60s or 5m")
    return float(seconds)


def best_of(trials: list[Trial]) -> Trial:
    """The least error on the most rows; of equal ones the first."""
    most = max(trial.rows for trial in trials)
    return min((t for t in trials if t.rows == most), key=lambda trial: trial.error)


class Draw:
    """Choices that were not tried yet: the defaults first, then at random, the seed decides."""

    def __init__(
        self, first: Choice, fixed: dict[str, Any], text: bool, classes: int, settings: Settings
    ) -> None:
        spread: dict[str, list[Any]] = {
            "threshold": [0.5, 1.0, 2.0, 4.0, 8.0],
            "padding": [0.03, 0.1, 0.5, 1.0],
            "average": [True, False],
            "multiclass": ["ovr", "joint"] if classes > 2 else [first.multiclass],
            "rule": ["perceptron", "perceptron", "arow", "pa1"],
            "ngrams": _text_forms(first.ngrams) if text else [first.ngrams],
        }
        self.spread = {n: v if n not in fixed else [fixed[n]] for n, v in spread.items()}
        self._random = random.Random(settings.seed)
        self._seen: set[Choice] = set()
        self._first = first
        self._size = len(set(self._all()))

    @property
    def is_open(self) -> bool:
        """Whether some choices are left."""
        return len(self._seen) < self._size

    def choices(self, count: int, trials: list[Trial]) -> list[Choice]:
        """So many new choices, or as many as are left."""
        found: list[Choice] = []
        if not trials:
            found.append(self._first)
            self._seen.add(self._first)
        best = best_of(trials).choice if trials else self._first
        everything = len(self._seen) + count >= self._size
        while len(found) < count and self.is_open:
            if everything:
                new = next(c for c in self._all() if c not in self._seen)
            else:
                near = len(found) % 2 and len(self._seen) > 1
                new = self._near(best) if near else self._anywhere()
            if new not in self._seen:
                self._seen.add(new)
                found.append(new)
            elif self._random.random() < 0.01:  # the neighbours may all be tried
                best = self._anywhere()
        return found

    def _all(self) -> Iterator[Choice]:
        for values in product(*self.spread.values()):
            yield self._plain(Choice(**dict(zip(self.spread, values, strict=True))))

    def _anywhere(self) -> Choice:
        drawn = {name: self._random.choice(values) for name, values in self.spread.items()}
        return self._plain(Choice(**drawn))

    def _near(self, choice: Choice) -> Choice:
        name = self._random.choice([n for n, v in self.spread.items() if len(v) > 1])
        return self._plain(replace(choice, **{name: self._random.choice(self.spread[name])}))

    def _plain(self, choice: Choice) -> Choice:
        """Other rules than the perceptron have no threshold to choose."""
        if choice.rule == "perceptron":
            return choice
        return replace(choice, threshold=self._first.threshold)


def _text_forms(given: Ngrams) -> list[Ngrams]:
    """N-grams of words and characters, in tables of different sizes."""
    words = [(1, 1, False), (1, 2, False), (1, 3, False)]
    chars = [(2, 4, True), (3, 5, True), (3, 6, True)]
    return [
        given._replace(low=low, high=high, chars=is_chars, bits=bits)
        for low, high, is_chars in words + chars
        for bits in (20, 22, 24)
    ]
