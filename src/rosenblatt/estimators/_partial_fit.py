"""The walk of `partial_fit`: rows in their order, new labels, scales and units as they come."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from rosenblatt.estimators._classifier import describe_run, untouched_on_failure
from rosenblatt.estimators._input import (
    FLOATS,
    Targets,
    arrivals,
    check_multilabel_options,
    check_named,
    check_same_labels,
    check_weights,
    checked_data,
    weighted_by_class,
)
from rosenblatt.kernels.rows import Dense
from rosenblatt.learners.column_scale import RunningScale, refuse_large
from rosenblatt.learners.examples import ONE, Examples, examples_of
from rosenblatt.learners.weights import with_new_classes
from rosenblatt.process import uninterrupted
from rosenblatt.training import Plan, Progress, learning_rate
from rosenblatt.training.defaults import MeanSquare


def learn(model, X, y, classes=None, sample_weight=None, predict_first=False) -> np.ndarray:
    """Learn online; with `predict_first`, return the class numbers predicted before learning.

    The number is -1 where no class was known, and for rows of weight zero.
    """
    with uninterrupted(), untouched_on_failure(model):
        scores_before, n_known = model._scores_before(X), len(getattr(model, "classes_", ()))
        examples, y, weights = _online_examples(model, X, y, classes, sample_weight)
        if y.ndim == 2 and predict_first:
            raise ValueError(
                "Predictions before each label are for one label per row, but y is an "
                "indicator matrix: use partial_fit."
            )
        etas = _rates_ahead(model, examples, y, weights)
        progress, guesses = model._progress, []
        n_visits = progress.visits
        for batch, rows, first in _stretches(model, examples, y, weights):
            codes = np.zeros(rows.size, np.int32)
            if len(model.classes_) < 2:  # nothing to learn yet
                weight = batch.weight_of(rows)
                model._learner.idle(weight)
                progress.steps += weight
                progress.visits += rows.size
            else:
                at = progress.visits - n_visits
                rates = etas if etas.size == 1 else etas[at : at + rows.size]
                tally = model._learner.walk(batch, rows, rates, predict_first=predict_first)
                progress.count(tally)
                codes = tally.predictions
            if predict_first:
                codes[: first.size] = first
                guesses.append((rows, model.classes_, codes))
        describe(model)
        model._calibrate_online(
            scores_before,
            n_known,
            lambda: y if y.ndim == 2 else np.searchsorted(model.classes_, y),
        )
    predicted = np.full(len(y), -1)
    for rows, known, codes in guesses:
        predicted[rows] = np.append(np.searchsorted(model.classes_, known), -1)[codes]
    return predicted


def _rates_ahead(model, examples, y, weights) -> np.ndarray:
    """The learning rate of each visit, or one for all.

    Here, before a row is learned from, fails what may fail: a rate that is computed by a function
    of the caller, and the mean square of the rows.
    """
    plan, square = Plan(learning_rate(model.learning_rate, model.eta0)), model._square
    if not callable(plan.eta) and square.rows is None:
        return plan.etas(1, 0)
    known = model.classes_ if y.ndim == 2 else np.union1d(model.classes_, y)
    batch, order = _labelled(model, examples, y, weights, 0, len(y), known)
    for _ in square.visits(batch, order, model._learner.spec.rates):
        pass
    return plan.etas(model._progress.visits + 1, order.size)


def _stretches(model, examples, y, weights) -> Iterator[tuple[Examples, np.ndarray, np.ndarray]]:
    """The rows in parts with the same known classes and unit, which are set for each part.

    Yields the examples with their class numbers and the rows. The first row of a new class is
    predicted by the classes before it: the last array holds that prediction, or nothing.
    """
    parts = [(0, len(y), model.classes_)] if y.ndim == 2 else arrivals(y, model.classes_)
    running, X = model._running, np.empty((0, 0))
    if running is not None:
        X = examples.rows.X
        examples = replace(examples, rows=Dense(np.empty_like(X)))
    for start, end, known in parts:
        first = np.empty(0, np.int32)
        if known is not model.classes_:
            if running is not None:
                examples.rows.X[start] = running.scale.rows(X[start : start + 1])[0]
            first = _predicted_code(model, examples, start, known)
            _learn_classes(model, examples, known)
        batch, order = _labelled(model, examples, y, weights, start, end, model.classes_)
        if running is None:
            changes = model._square.visits(batch, order, model._learner.spec.rates)
        else:
            changes = _rescaled(model, X, order, batch)
        for rows, square in changes:
            _use(model, square)
            yield batch, rows, first if start in rows[:1] else first[:0]


def _rescaled(model, X, order, batch: Examples) -> Iterator[tuple[np.ndarray, MeanSquare]]:
    """The order in parts with one scale; the batch gets the rows in it, and the learner changes."""
    running = model._running
    assert isinstance(batch.rows, Dense), "a stream is scaled as dense rows"
    for rows, before in running.visits(X, order, batch.rows.X):
        if running.scale is not before:
            model._learner.rescale(*running.scale.change_from(before))
            model.scale_ = running.scale
        yield rows, MeanSquare.of_mean(running.square)


def _use(model, square: MeanSquare) -> None:
    """Change the unit, and with it the numbers of the learner's rule and its padding."""
    changed, model._square = square.value != model._square.value, square
    if changed:
        rule, padding = model._rule(len(model.classes_))
        model._learner.change(rule=rule, padding=padding)


def describe(model) -> None:
    """Set the attributes after online learning, which has no epochs and does not end."""
    progress, model._shown = model._progress, None
    progress.history = []
    progress.row_updates = progress.stop_reason = None
    describe_run(model, progress)
    model.n_iter_ = 1


def _online_examples(model, X, y, classes, sample_weight) -> tuple[Any, np.ndarray, np.ndarray]:
    """The checked rows, labels and weights; the first call makes the learner."""
    model._check_parameters()
    is_first = not hasattr(model, "_learner")
    dtype = FLOATS if is_first else model._learner.dtype
    X, y = checked_data(model, X, y, dtype=dtype, reset=is_first, indices=False, multilabel=True)
    multilabel = y.ndim == 2
    if y.dtype.kind in "fcO":
        check_classification_targets(y)
    if multilabel and classes is not None and len(classes) != y.shape[1]:
        raise ValueError(f"classes names {len(classes)} labels, but y has {y.shape[1]} columns.")
    weights = check_weights(sample_weight, len(y))
    if is_first:
        is_scaled = model._has_scale and isinstance(X, np.ndarray)
        width = model.n_features_in_
        model._running = RunningScale(width, bool(model.fit_intercept)) if is_scaled else None
        model.scale_ = model._running.scale if is_scaled else None
    if model._running is None:
        X = model._scaled(X)
    else:
        X = X if isinstance(X, np.ndarray) else X.toarray()
        refuse_large(X)
    examples = examples_of(X, np.zeros(len(y), np.int32))
    if not is_first:
        check_same_labels(y, model.classes_, model.multiclass_ == "labels")
        if not multilabel:
            check_named(classes, model.classes_)
        model._unpack(examples.is_dense)
        return examples, y, weights
    if multilabel:
        check_multilabel_options(model)
    named = np.unique(y[:0] if classes is None else classes)
    model.classes_ = np.arange(y.shape[1]) if multilabel else named
    model._settle_multiclass(0.0, multilabel)
    counts = model._has_auto() and model._running is None
    model._square = MeanSquare(rows=0 if counts else None)
    model._learner = model._new_learner(examples, len(model.classes_))
    model._progress, model._places = Progress(), None
    return examples, y, weights


def _predicted_code(model, examples: Examples, row: int, known: np.ndarray) -> np.ndarray:
    """The number, among `known`, of the class predicted for a row; -1 if there is none yet."""
    codes = np.zeros(1, np.int32)
    if len(model.classes_) > 1:
        scores = model._learner.scores(examples, np.array([row], np.uint64))
        codes = model._learner.problems.decide(scores)
    return np.searchsorted(known, model.classes_[codes]) if len(model.classes_) else codes - 1


def _learn_classes(model, examples: Examples, known: np.ndarray) -> None:
    """Replace the learner by one that has all known classes, the new ones with zero weights."""
    state = with_new_classes(model._learner, model.classes_, known)
    model._learner = model._new_learner(examples, len(known))
    model._learner.restore(state)
    model.classes_ = known


def _labelled(model, examples, y, weights, start, end, classes) -> tuple[Examples, np.ndarray]:
    """The examples with class numbers from `start` to `end`, and these rows in order."""
    codes, omega = np.zeros(len(y), np.int32), weights
    sets = None
    if y.ndim == 2:
        _, codes, sets = Targets.of(y)
    else:
        codes[start:end] = np.searchsorted(classes, y[start:end])
        omega = weighted_by_class(weights, model.class_weight, classes, codes)
    order = np.arange(start, end, dtype=np.uint64)
    if omega is not ONE:
        order = order[np.broadcast_to(omega, len(y))[start:end] > 0]
    return examples.relabelled(codes, omega, sets), order
