"""What a run is to do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rosenblatt.kernels.tasks import Setting, Task
from rosenblatt.training.history import Epoch
from rosenblatt.training.state import Array


@dataclass(frozen=True)
class Plan:
    """What a run is to do; nothing in it changes on the way.

    Parameters
    ----------
    setting : Setting
        The rule: thresholds, padding constant squared, averaging, online or batch.
    rows : array of uint64
        The rows to visit.
    draw : {"fixed", "permutation", "random"}
        Visit them as they stand, in a new permutation an epoch, or drawn with replacement.
    eta : float or callable
        The learning rate, or the rate at visit t = 1, 2, ...
    keep : {"last", "average", "best"}
        Which weights are wanted in the end.
    max_epochs, max_updates
        The budget.
    tol, patience
        What counts as progress, and for how many epochs to wait for it. None: for ever.
    early_stopping : bool
        Stop by the validation error, and keep the weights that were best by it.
    validation : Task or None
        Examples held out.
    callbacks : tuple of callables
        Each receives every :class:`Epoch`; returning True stops the run.
    """

    setting: Setting
    rows: Array
    draw: str = "fixed"
    eta: float | Callable[[int], float] = 1.0
    keep: str = "last"
    max_epochs: int = 1000
    max_updates: int | None = None
    tol: float | None = 1e-3
    patience: int = 5
    early_stopping: bool = False
    validation: Task | None = None
    callbacks: tuple[Callable[[Epoch], Any], ...] = ()

    @property
    def pocketing(self) -> bool:
        """Whether the best weights are told by the training error."""
        return self.keep == "best" and self.validation is None

    @property
    def repeats(self) -> bool:
        """Whether equal weights at two epoch ends mean that the run goes in circles."""
        return self.draw == "fixed" and not callable(self.eta)
