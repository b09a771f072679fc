"""Where a run stands: all that it needs to go on, besides what the learner has learned."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from rosenblatt.cycles import CycleFinder
from rosenblatt.learners.protocol import Tally
from rosenblatt.training.history import Epoch


@dataclass
class Counts:
    """What the epoch under way has seen so far."""

    weight: float = 0.0
    updates: int = 0
    updated_rows: int = 0
    mistakes: float = 0.0
    seconds: float = 0.0


@dataclass
class Kept:
    """Weights worth keeping, the error they were kept for, and the longest run looked at so far."""

    weights: Any
    error: float = math.nan
    run: int = 0


@dataclass
class Progress:
    """Where a run stands. Save it with the learner, load both, go on: the undisturbed run.

    Attributes
    ----------
    epoch, position : int
        Epochs completed, and visits of the one under way.
    steps : float
        Steps so far; an example of weight ω counts for ω.
    visits, updates : int
        Rows visited and updates made so far.
    run : int
        Right answers in a row.
    counts : Counts
        Of the epoch under way.
    least_update_rate, epochs_without : float and int
        The fewest updates per step of an epoch so far, and for how many epochs.
    least_validation, validations_without : float and int
        The least validation error so far, and for how many epochs.
    kept : Kept or None
        The best weights so far, by the validation error or by the training error.
    cycle : CycleFinder or None
        Weights that the run may come back to.
    history : list of Epoch
        What happened.
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
        """Take in what came of a walk."""
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
        """Forget the visits of the epoch under way, which begins anew."""
        self.steps -= self.counts.weight
        self.visits -= self.position
        self.updates -= self.counts.updates
        self.position, self.run, self.counts = 0, 0, Counts()
