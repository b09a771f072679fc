"""The settings of a run, and the rules that stop it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import numpy as np

from rosenblatt.learners.protocol import UNLIMITED, Array
from rosenblatt.training.defaults import averages
from rosenblatt.training.progress import Epoch, Progress

KEEPS = ("last", "average", "late_average", "best")


def learning_rate(schedule: Any, eta0: float) -> float | Callable[[int], float]:
    """The learning rate η0, or the function of the visit number that gives it.

    >>> learning_rate("constant", 2), learning_rate("inverse", 2)(4), learning_rate("sqrt", 2)(4)
    (2.0, 0.5, 1.0)
    """
    if callable(schedule):
        return cast(Callable[[int], float], schedule)
    if schedule == "constant":
        return float(eta0)
    return partial(_decaying, eta0, {"inverse": 1, "sqrt": 0.5}[schedule])


def _decaying(eta0: float, power: float, t: int) -> float:
    return eta0 / t**power


@dataclass(frozen=True)
class Plan:
    """The settings of a run; immutable.

    Parameters
    ----------
    eta : float or callable
        The learning rate, or the rate at visit t = 1, 2, ... (iteration, for batch learners).
    keep : {"last", "average", "late_average", "best"}
        The weights to return. The late average is the mean over all steps since the number of
        epochs last doubled, about the last half of the run, without the poor weights of its start.
        (Suffix averaging: A. Rakhlin, O. Shamir, K. Sridharan (2012).)
    max_epochs : int
        The largest number of epochs.
    tol, patience
        The least progress, and the epochs to wait for it. None: without limit.
    early_stopping : bool
        Stop by the validation error, and return the weights with the least.
    validate : callable or None
        The validation error of ``(learner, averaged)``.
    callbacks : tuple of callables
        Each receives every :class:`Epoch`; returning True stops the run.
    most_visits : int
        The largest number of visits between two points where the run can be saved.
    least_visits : int
        The validation error does not end a run before this number of visits.
    updates_always : bool
        Whether every visit is an update: then wrong predictions tell whether a run stalls.
    """

    eta: float | Callable[[int], float] = 1.0
    keep: str = "last"
    max_epochs: int = 1000
    tol: float | None = 1e-3
    patience: int = 5
    early_stopping: bool = False
    validate: Callable[[Any, bool], float] | None = None
    callbacks: tuple[Callable[[Epoch], Any], ...] = ()
    most_visits: int = UNLIMITED
    least_visits: int = 0
    updates_always: bool = False

    @classmethod
    def of(cls, owner: Any, **chosen: Any) -> Plan:
        """A plan of the options that `owner` has under the names of fields, unless chosen here.

        >>> from types import SimpleNamespace
        >>> Plan.of(SimpleNamespace(patience=7, tol=0.1), tol=None).patience
        7
        """
        names = [name for name in cls.__dataclass_fields__ if hasattr(owner, name)]
        return cls(**{name: getattr(owner, name) for name in names} | chosen)

    @property
    def averages(self) -> bool:
        """Whether an average of the weights is returned."""
        return averages(self.keep)

    @property
    def has_pocket(self) -> bool:
        """Whether the best weights by training error are returned (the pocket algorithm)."""
        return self.keep == "best" and self.validate is None

    def etas(self, first: int, count: int) -> Array:
        """The learning rates of visits `first`, `first + 1`, ..., or one for all.

        >>> Plan(eta=0.5).etas(7, 3), Plan(eta=lambda t: 1 / t).etas(1, 2)
        (array([0.5]), array([1. , 0.5]))
        """
        if not callable(self.eta):
            return np.array([float(self.eta)])
        return np.array([float(self.eta(first + i)) for i in range(count)])


def reason_to_stop(
    record: Epoch, plan: Plan, progress: Progress, *, repeats: bool, cycles: bool
) -> str | None:
    """Why the run ends with this epoch, or None if it continues.

    Parameters
    ----------
    record : Epoch
        The completed epoch.
    plan, progress
        Settings and state of the run; `progress` is updated.
    repeats : bool
        Whether every epoch visits the same rows in the same order at the same rate.
    cycles : bool
        Whether the weights equal those at an earlier end of an epoch.
    """
    still = record.updates == 0
    if still and record.train_error == 0.0:
        return "separated"
    waited = progress.validations_without >= plan.patience
    if plan.early_stopping and waited and progress.visits >= plan.least_visits:
        return "validation"
    if cycles:
        return "cycle"
    if plan.tol is not None and record.relative_change < plan.tol:
        return "stable"
    if still and repeats:
        return "stable"
    if plan.tol is not None and not plan.early_stopping and _stalls(record, plan, progress):
        return "stalled"
    return "budget" if record.epoch >= plan.max_epochs else None


def _stalls(record: Epoch, plan: Plan, progress: Progress) -> bool:
    """Whether the updates per step have not fallen for ``plan.patience`` epochs."""
    assert plan.tol is not None
    events = record.mistakes if plan.updates_always else record.updates
    if math.isnan(events):
        return False
    rate = events / max(progress.counts.weight, 1e-300)
    fell = rate < progress.least_update_rate - plan.tol
    progress.least_update_rate = min(rate, progress.least_update_rate)
    progress.epochs_without = 0 if fell else progress.epochs_without + 1
    return progress.epochs_without >= plan.patience


def remember_validation(error: float, plan: Plan, progress: Progress) -> bool:
    """Record a validation error; whether it is the least so far."""
    if math.isnan(error):  # no row was held out
        return False
    least = progress.least_validation
    better = error < least - (plan.tol or 0.0)
    progress.least_validation = min(error, least)
    progress.validations_without = 0 if better else progress.validations_without + 1
    return error < least
