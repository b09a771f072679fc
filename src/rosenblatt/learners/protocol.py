"""The interface between the loop over epochs and a learner."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

UNLIMITED = int(np.iinfo(np.int64).max)


class Limits(NamedTuple):
    """When a walk stops before the end of its order.

    Attributes
    ----------
    run : int
        Right answers in a row so far.
    longest : int
        A walk stops before a mistake that ends a longer run than this.
    """

    run: int = 0
    longest: int = UNLIMITED


NO_LIMITS = Limits()


class Tally(NamedTuple):
    """The result of a walk.

    Attributes
    ----------
    visits : int
        The number of rows visited: all of the order, unless a limit was reached.
    weight : float
        The sum of their weights.
    updates : int
        The updates of all problems.
    updated_rows : int
        The rows that were corrected in any problem.
    mistakes : float
        Wrong predictions, each made before learning from the row; NaN if they were not counted.
    run : int
        Right answers in a row at the end.
    predictions : array of int or None
        The predicted class numbers, if they were computed.
    """

    visits: int
    weight: float
    updates: int
    updated_rows: int
    mistakes: float
    run: int
    predictions: Array | None


class Learner(Protocol):
    """A learner; `examples` are rows with class numbers and weights in its layout."""

    batch: bool
    """Whether a walk corrects all mistakes together at its end, so that it cannot be split."""

    def walk(self, examples: Any, order: Array, etas: Array, limits: Limits) -> Tally:
        """Visit the rows in this order and learn from each; `etas` are the learning rates."""

    def mark(self) -> None:
        """Store the weights, for :meth:`measure`."""

    def measure(self) -> tuple[float, float]:
        """The length of all weights, and of their change since the last measure or mark."""

    def snapshot(self, averaged: bool = False) -> Any:
        """A copy of the current weights, or of their average."""

    def is_at(self, snapshot: Any) -> bool:
        """Whether the current weights equal those of a snapshot."""

    def error(self, examples: Any, rows: Array, averaged: bool = False) -> float:
        """The share of the rows, by weight, whose class is mispredicted."""

    def misclassified(self, examples: Any, rows: Array, enough: float) -> float:
        """The weight of the rows on the wrong side; counting may stop beyond `enough`."""

    def is_separating(self, examples: Any, rows: Array) -> bool:
        """Whether none of the rows would be corrected."""

    def row_updates(self, examples: Any, order: Array, etas: Array, epochs: int) -> Array | None:
        """How often each row is corrected in the next epochs, or None if that is not known."""

    def restart_average(self) -> None:
        """Start the average at the next step."""
