"""Learning row by row, where labels may come up that nobody announced."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from rosenblatt import training
from rosenblatt.estimators._classes import arrivals, grow, n_problems
from rosenblatt.estimators._input import FLOATS, ONE, check_weights, untouched_on_failure
from rosenblatt.estimators._options import check_named
from rosenblatt.kernels.rows import Rows, rows_of
from rosenblatt.training import State

if TYPE_CHECKING:
    from rosenblatt.estimators.perceptron import Perceptron


def learns_online(estimator: Perceptron) -> bool:
    """Learning row by row has no use for what looks at all examples together."""
    for name, value in (("keep", "best"), ("update", "batch"), ("class_weight", "balanced")):
        if getattr(estimator, name) == value:
            raise AttributeError(
                f"{name}={value!r} looks at all examples together, but partial_fit sees them one "
                f"by one. Use fit, or another {name}."
            )
    return True


def learn(
    model: Perceptron,
    X: Any,
    y: Any,
    classes: Any = None,
    sample_weight: Any = None,
    foresee: bool = False,
) -> np.ndarray:
    """Learn online; with `foresee`, return the class numbers predicted before each label.

    The number is -1 where no class was known yet.
    """
    with untouched_on_failure(model):
        model._check_parameters()
        first = not hasattr(model, "state_")
        dtype = FLOATS if first else model.state_.weights.dtype
        X, y = validate_data(model, X, y, accept_sparse="csr", dtype=dtype, order="C", reset=first)
        if y.dtype.kind in "fcO":
            check_classification_targets(y)
        if first:
            model.classes_ = np.unique(y[:0] if classes is None else classes)
            n = n_problems(len(model.classes_), model.multiclass)
            model.state_ = State.start(
                np.zeros((n, X.shape[1]), X.dtype), np.zeros(n), averaging=model._averages()
            )
        else:
            check_named(classes, model.classes_)
        weights = check_weights(sample_weight, len(y))
        return _learn_rows(model, rows_of(X), y, weights, foresee)


def _learn_rows(
    model: Perceptron, rows: Rows, y: np.ndarray, weights: np.ndarray, foresee: bool
) -> np.ndarray:
    """Learn row by row; where a new label comes up, weights for it come into being."""
    state, known = model.state_, model.classes_
    found = arrivals(y, known)
    ends = [*(row for row, _ in found[1:]), len(y)]
    everything = found[-1][1]
    predicted = np.full(len(y), -1)
    for (start, classes), end in zip(found, ends, strict=True):
        if start == end:
            continue
        guess = _guess(model, rows, start, state, known) if foresee else -1
        before, arrived = known, len(classes) > len(known)
        state, known = grow(state, known, classes, model.multiclass), classes
        codes = np.zeros(len(y), np.int32)
        codes[start:end] = np.searchsorted(classes, y[start:end])
        omega = by_class(weights, model.class_weight, classes, codes)
        order = np.arange(start, end, dtype=np.uint64)
        order = order[omega[start:end] > 0] if omega.size > 1 else order
        task = model._task(rows, codes, omega, len(classes))
        task.foresee = foresee
        plan = model._plan(order, "fixed", None, ())
        if len(classes) > 1:
            state, seen = training.feed(state, task, plan)
        else:
            state, seen = training.idle(state, task, plan), np.zeros(order.size, np.int32)
        if foresee:
            predicted[order] = np.searchsorted(everything, classes)[seen]
            if arrived:
                known_codes = np.searchsorted(everything, before)
                predicted[start] = known_codes[guess] if len(before) else -1
    model.classes_ = everything
    model._show_online(state)
    return predicted


def _guess(model, rows, row, state, known) -> int:
    """The class predicted for a row by what was known before it, or -1."""
    if len(known) < 2:
        return len(known) - 1
    task = model._task(rows, np.empty(0, np.int32), ONE, len(known))
    scores = rows.scores(state.weights, state.bias, slice(row, row + 1))
    return int(task.decide(scores)[0])


def by_class(weights, class_weight, classes, codes) -> np.ndarray:
    """The weights of rows times those of their classes, which may be given for some only."""
    if class_weight is None:
        return weights
    factors = np.array([float(class_weight.get(label, 1.0)) for label in classes.tolist()])
    return np.broadcast_to(weights, codes.shape) * factors[codes]
