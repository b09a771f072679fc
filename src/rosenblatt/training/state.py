"""The progress of a run: its state besides that of the learner."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from rosenblatt.cycles import CycleFinder
from rosenblatt.learners.protocol import Tally
from rosenblatt.training.history import Epoch


@dataclass
class Counts:
    """The counts of the current epoch."""

    weight: float = 0.0
    updates: int = 0
    updated_rows: int = 0
    mistakes: float = 0.0
    seconds: float = 0.0


@dataclass
class Kept:
    """The best weights, their error, and the longest run of right answers evaluated so far."""

    weights: Any
    error: float = math.nan
    run: int = 0


@dataclass
class Progress:
    """The progress of a run. Saved and loaded with the learner, it resumes bit for bit.

    Attributes
    ----------
    epoch, position : int
        Completed epochs, and visits of the current epoch.
    steps : float
        Steps so far; an example of weight ω counts for ω.
    visits, updates : int
        Visits and updates so far.
    run : int
        Consecutive right answers.
    counts : Counts
        Counts of the current epoch.
    least_update_rate, epochs_without : float and int
        The fewest updates per step of an epoch, and the epochs without improvement.
    least_validation, validations_without : float and int
        The least validation error, and the epochs without improvement.
    kept : Kept or None
        The best weights so far, by validation or training error.
    cycle : CycleFinder or None
        Detects whether weights recur.
    history : list of Epoch
        The completed epochs.
    stop_reason : str or None
        Why the run ended; None while it has not.
    """

    epoch: int = 0
    position: int = 0
    steps: float = 0.0
    visits: int = 0
    updates: int = 0
    run: int = 0
    counts: Counts = field(default_factory=Counts)
    least_update_rate: float = math.inf
    epochs_without: int = 0
    least_validation: float = math.inf
    validations_without: int = 0
    kept: Kept | None = None
    cycle: CycleFinder | None = None
    history: list[Epoch] = field(default_factory=list)
    row_updates: Any = None
    stop_reason: str | None = None

    def count(self, tally: Tally, seconds: float = 0.0) -> None:
        """Add the result of a walk."""
        self.position += tally.visits
        self.visits += tally.visits
        self.steps += tally.weight
        self.updates += tally.updates
        self.run = tally.run
        counts = self.counts
        counts.weight += tally.weight
        counts.updates += tally.updates
        counts.updated_rows += tally.updated_rows
        counts.mistakes += tally.mistakes
        counts.seconds += seconds

    def begin_again(self) -> None:
        """Restart the current epoch: subtract its visits."""
        self.steps -= self.counts.weight
        self.visits -= self.position
        self.updates -= self.counts.updates
        self.position, self.run, self.counts = 0, 0, Counts()
