"""What a service is asked to do: rows to predict, and labels to take."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from rosenblatt.serve.rows import Row


class Busy(RuntimeError):  # noqa: N818  (named by what is the case)
    """More rows wait than may wait."""


class UnknownId(ValueError):  # noqa: N818
    """A label is for an id that the log does not have, and has no row."""


class Predict(NamedTuple):
    """Rows to predict; with `keep` they are written to the log, to be labelled later."""

    rows: list[Row]
    top: int = 1
    explain: bool = False
    keep: bool = True


class NewLabel(NamedTuple):
    """A label for an id, with the row if the id may be unknown."""

    id: str
    label: str
    weight: float = 1.0
    row: Row | None = None


class Labels(NamedTuple):
    """Labels to write to the log, all or none."""

    labels: list[NewLabel]

    @property
    def rows(self) -> list[Row]:
        """The rows that came with labels."""
        return [label.row for label in self.labels if label.row is not None]


Task = Predict | Labels | Callable[[], Any]  # a function is called between two batches


class Scored(NamedTuple):
    """Rows, scored by the model."""

    labels: list[Any]  # per row the predicted label, or all of them, or None if there is no class
    scores: Any = None  # (rows, classes)
    values: Any = None  # probabilities, if the model has them, else the scores
    unseen: Any = None  # the share of features that the model has no weights for

    def part(self, start: int, end: int) -> Scored:
        """Some of the rows."""
        labels, *arrays = self
        return Scored(labels[start:end], *(a if a is None else a[start:end] for a in arrays))
