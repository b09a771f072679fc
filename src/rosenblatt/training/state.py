"""Everything a run needs to go on, as one value."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Snapshot:
    """Weights worth keeping, and the error they were kept for."""

    weights: Array
    bias: Array
    error: float = math.nan
    run: int = 0


@dataclass(frozen=True)
class Tally:
    """What the epoch under way has seen so far."""

    updates: int = 0
    mistaken: int = 0
    wrong: float = 0
    seconds: float = 0.0


@dataclass(frozen=True)
class Progress:
    """What the stopping rules remember: the least seen so far, and for how long."""

    updates: float = math.inf
    epochs_without: int = 0
    validation: float = math.inf
    validations_without: int = 0


@dataclass(frozen=True)
class Hare:
    """Brent's search for a cycle: weights to compare with, and how long ago they were seen.

    Only weights of the same length are worth comparing.
    """

    weights: Array
    bias: Array
    norm: float = 0.0
    power: int = 1
    length: int = 0


@dataclass(frozen=True)
class State:
    """A run as data. Save it, load it, go on: the result is that of the undisturbed run.

    Attributes
    ----------
    weights, bias : arrays (problems, features) and (problems,)
    sums, bias_sums : arrays of the same shapes
        The averaging sums u; empty when nothing is averaged.
    clock : array (problems,)
        Steps so far, counted with the weight of the rows.
    steps : float
        Steps so far; an example of weight ω counts for ω.
    visits, updates, epoch, position : int
        Rows visited, updates made, epochs completed, visits of the present epoch.
    run : int
        Right answers in a row.
    rng : dict
        The random generator at the start of the present epoch.
    stop_reason : str or None
        Why the run ended; None while it has not.
    """

    weights: Array
    bias: Array
    sums: Array
    bias_sums: Array
    clock: Array
    rng: dict[str, Any]
    steps: float = 0.0
    visits: int = 0
    updates: int = 0
    epoch: int = 0
    position: int = 0
    run: int = 0
    tally: Tally = field(default_factory=Tally)
    progress: Progress = field(default_factory=Progress)
    before: Snapshot | None = None
    kept: Snapshot | None = None
    hare: Hare | None = None
    stop_reason: str | None = None

    @classmethod
    def start(
        cls, weights: Array, bias: Array, *, averaging: bool = False, seed: int | None = None
    ) -> State:
        """A run about to begin at the given weights.

        Examples
        --------
        >>> import numpy as np
        >>> state = State.start(np.zeros((1, 2)), np.zeros(1), seed=0)
        >>> state.epoch, state.steps, state.stop_reason
        (0, 0.0, None)
        """
        shape = weights.shape if averaging else (0, 0)
        return cls(
            weights=weights,
            bias=bias,
            sums=np.zeros(shape),
            bias_sums=np.zeros(len(bias)),
            clock=np.zeros(len(bias)),
            rng=dict(np.random.PCG64(seed).state),
        )

    @property
    def averaging(self) -> bool:
        """Whether the averaging sums are kept."""
        return self.sums.size > 0

    def average(self) -> Snapshot:
        """The mean of the weights after each step so far: ``w - u/N``."""
        clock = np.maximum(self.clock, 1e-300)
        weights = (self.weights - self.sums / clock[:, None]).astype(self.weights.dtype)
        return Snapshot(weights, self.bias - self.bias_sums / clock)

    def again(self) -> State:
        """The same weights and sums, ready for another run."""
        return replace(
            self, stop_reason=None, progress=Progress(), before=None, kept=None, hare=None
        )  # fmt: skip
