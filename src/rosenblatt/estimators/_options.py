"""Options that all estimators of the family have: what they may be, what a run makes of them."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from rosenblatt.estimators._input import callbacks_of
from rosenblatt.training import History, Plan

CONSTRAINTS: dict[str, list[Any]] = {
    "multiclass": [StrOptions({"ovr", "ovo", "joint"})],
    "threshold": [Interval(Real, 0, None, closed="left")],
    "mistake": [StrOptions({"margin", "sign"})],
    "shuffle": ["boolean", StrOptions({"random", "after_first"}), "array-like"],
    "max_iter": [Interval(Integral, 1, None, closed="left")],
    "max_updates": [Interval(Integral, 1, None, closed="left"), None],
    "tol": [Interval(Real, 0, None, closed="left"), None],
    "early_stopping": ["boolean"],
    "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
    "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
    "class_weight": [StrOptions({"balanced"}), dict, None],
    "random_state": ["random_state"],
    "warm_start": ["boolean"],
    "verbose": ["verbose"],
    "callbacks": [callable, list, tuple, None],
}


def plan_of(
    model: Any, setting: Any, order: np.ndarray, draw: str, bar: tuple, **more: Any
) -> Plan:
    """What a run of the model is to do with the rows in this order."""
    return Plan(
        setting=setting,
        rows=order,
        draw=draw,
        max_epochs=model.max_iter,
        max_updates=model.max_updates,
        tol=model.tol,
        patience=model.n_iter_no_change,
        early_stopping=model.early_stopping,
        callbacks=(*bar, *callbacks_of(model)),
        **more,
    )


def show_run(model: Any, state: Any, history: History) -> None:
    """The attributes that tell of the run that ended in a state."""
    model.state_, model.history_, model.stop_reason_ = state, history, state.stop_reason
    model.n_iter_, model.n_updates_, model.t_ = state.epoch, state.updates, round(state.steps)
    model.converged_ = state.stop_reason == "separated"


def check_named(classes: Any, known: np.ndarray) -> None:
    """Only the first call to partial_fit may name classes that are not known yet."""
    if classes is not None and not np.isin(classes, known).all():
        raise ValueError(
            f"classes={np.asarray(classes)} is not what the first call to partial_fit "
            f"said: {known}. Leave it out; new labels are welcome as they come."
        )
