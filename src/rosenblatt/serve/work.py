"""What a service is asked to do: rows to predict, labels to take, and other calls."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rosenblatt.serve.rows import Row


class Busy(RuntimeError):  # noqa: N818  (named by what is the case)
    """More rows wait than may wait."""


class UnknownId(ValueError):  # noqa: N818
    """A label is for an id that the log does not have, and has no row."""


@dataclass
class Predict:
    """Rows to predict; with `keep` they are written to the log, to be labelled later."""

    rows: list[Row]
    top: int = 1
    explain: bool = False
    keep: bool = True

    @property
    def size(self) -> int:
        """What it counts for in the queue."""
        return len(self.rows)


@dataclass
class NewLabel:
    """A label for an id, with the row if the id may be unknown."""

    id: str
    label: str
    weight: float = 1.0
    row: Row | None = None


@dataclass
class Labels:
    """Labels to write to the log, all or none."""

    labels: list[NewLabel]

    @property
    def rows(self) -> list[Row]:
        """The rows that came with labels."""
        return [label.row for label in self.labels if label.row is not None]

    @property
    def size(self) -> int:
        """What they count for in the queue."""
        return len(self.labels)


@dataclass
class Call:
    """Something else to do with the model and the log, between two batches."""

    function: Callable[[], Any]
    size: int = 1


Work = Predict | Labels


@dataclass
class Scored:
    """The rows of some work, scored by the model."""

    labels: list[Any]  # per row the predicted label, or all of them, or None if there is no class
    scores: Any = None  # (rows, classes)
    values: Any = None  # probabilities, if the model has them, else the scores
    unseen: Any = None  # the share of features that the model has no weights for

    def part(self, start: int, end: int) -> Scored:
        """Some of the rows."""
        arrays = (self.scores, self.values, self.unseen)
        return Scored(self.labels[start:end], *(a if a is None else a[start:end] for a in arrays))
