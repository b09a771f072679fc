"""The stopping rules of a run."""

from __future__ import annotations

import math

from rosenblatt.training.history import Epoch
from rosenblatt.training.plan import Plan
from rosenblatt.training.state import Progress


def reason(
    record: Epoch, plan: Plan, progress: Progress, *, finished: bool, repeats: bool, cycles: bool
) -> str | None:
    """Why the run ends with this epoch, or None if it continues.

    Parameters
    ----------
    record : Epoch
        The completed epoch.
    plan, progress
        Settings and state of the run; `progress` is updated.
    finished : bool
        Whether the epoch visited all of its rows.
    repeats : bool
        Whether every epoch visits the same rows in the same order at the same rate.
    cycles : bool
        Whether the weights equal those at an earlier end of an epoch.
    """
    still = record.updates == 0 and finished
    if still and record.train_error == 0.0:
        return "separated"
    waited = progress.validations_without >= plan.patience
    if plan.early_stopping and waited and progress.visits >= plan.least_visits:
        return "validation"
    if cycles:
        return "cycle"
    if plan.tol is not None and finished and record.relative_change < plan.tol:
        return "stable"
    if still and repeats:
        return "stable"
    if plan.tol is not None and not plan.early_stopping and _stalls(record, plan, progress):
        return "stalled"
    if record.epoch >= plan.max_epochs or plan.is_spent(progress.updates):
        return "budget"
    return None


def _stalls(record: Epoch, plan: Plan, progress: Progress) -> bool:
    """Whether the updates per step have not fallen for ``plan.patience`` epochs."""
    assert plan.tol is not None
    rate = record.updates / max(progress.counts.weight, 1e-300)
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
