"""What a loop over epochs asks of a learner."""

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
    updates : int
        The updates still allowed.
    run : int
        Right answers in a row so far.
    longest : int
        A walk stops before a mistake that ends a longer run than this.
    """

    updates: int = UNLIMITED
    run: int = 0
    longest: int = UNLIMITED


NO_LIMITS = Limits()


class Tally(NamedTuple):
    """What came of a walk.

    Attributes
    ----------
    visits : int
        The rows visited: all of the order, unless a limit was met.
    weight : float
        Their weights added up.
    updates : int
        Corrections, all problems together.
    updated_rows : int
        Rows at which anything was corrected.
    mistakes : float
        Wrong predictions, each made before its label was used; NaN if none were made.
    run : int
        Right answers in a row at the end.
    predictions : array of int or None
        The class numbers predicted, where they were asked for.
    """

    visits: int
    weight: float
    updates: int
    updated_rows: int
    mistakes: float
    run: int
    predictions: Array | None


class Learner(Protocol):
    """A learner of some rows; `examples` are rows with class numbers and weights in its layout."""

    batch: bool
    """Whether a walk corrects all its mistakes together at its end, so that it is not divided."""

    def walk(self, examples: Any, order: Array, etas: Array, limits: Limits) -> Tally:
        """Visit the rows in this order and learn from each; `etas` are the learning rates."""

    def mark(self) -> None:
        """Remember the weights; :meth:`measure` tells how far they have moved since."""

    def measure(self) -> tuple[float, float]:
        """The length of all weights, and of their change since the last measure or mark."""

    def snapshot(self, averaged: bool = False) -> Any:
        """A copy of the present weights, or of their average, to be kept."""

    def is_at(self, snapshot: Any) -> bool:
        """Whether the present weights equal those of a snapshot."""

    def error(self, examples: Any, rows: Array, averaged: bool = False) -> float:
        """The share of the rows, by weight, whose class is predicted wrong."""

    def misclassified(self, examples: Any, rows: Array, enough: float) -> float:
        """The weight of the rows on the wrong side; counting may stop beyond `enough`."""

    def is_separating(self, examples: Any, rows: Array) -> bool:
        """Whether none of the rows would be corrected."""

    def row_updates(self, examples: Any, order: Array, etas: Array, epochs: int) -> Array | None:
        """How often each row is corrected in the epochs to come, where that can be told."""

    def restart_average(self) -> None:
        """Let the average begin with the next step."""
