"""Online learning: the walk of `partial_fit`, and predicting each label before learning it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy import sparse
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
from rosenblatt.kernels.column_sums import scale_and_add, scale_rows
from rosenblatt.kernels.rows import Dense
from rosenblatt.learners.column_scale import LARGE, RunningScale, refuse_large
from rosenblatt.learners.examples import ONE, Examples, examples_of
from rosenblatt.learners.parts import BoundWalk
from rosenblatt.learners.weights import with_new_classes
from rosenblatt.process import uninterrupted
from rosenblatt.training import Plan, Progress, learning_rate
from rosenblatt.training.defaults import MeanSquare

if TYPE_CHECKING:
    from rosenblatt.estimators.perceptron import Perceptron


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
        _describe(model)
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


def _describe(model) -> None:
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
    state = with_new_classes(model._learner.state(), model.classes_, known, model.multiclass_)
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


@dataclass(frozen=True, repr=False)
class OnlineRun:
    """The model after online learning, and its prediction for each example before learning it."""

    model: Perceptron
    predictions: np.ndarray  # before each label was seen; None if no class was known
    wrong: np.ndarray  # whether the prediction was a mistake

    @property
    def mistakes(self) -> int:
        """How many predictions were wrong."""
        return int(self.wrong.sum())

    @property
    def curve(self) -> np.ndarray:
        """The progressive error: the share of mistakes among the first 1, 2, ... examples."""
        return np.cumsum(self.wrong) / np.arange(1, len(self.wrong) + 1)

    def __repr__(self) -> str:
        share = self.mistakes / max(1, len(self.wrong))
        return f"<OnlineRun of {len(self.wrong)} examples: {self.mistakes} mistakes, {share:.2%}>"


def learn_online(
    model: Perceptron, stream: Any, y: Any = None, *, classes: Any = None
) -> OnlineRun:
    """Predict each example, then see its label, count the mistake, and learn from it.

    The share of wrong predictions on the way is an honest estimate of the error: every prediction
    is made before its label is used (progressive validation). The weights end up as after
    :meth:`Perceptron.partial_fit` on the same examples.

    Parameters
    ----------
    model : Perceptron
        Changed in place; if it is fitted, it continues from its weights.
    stream : array, sparse matrix, data frame, or iterable of pairs
        The examples, with their labels in `y`; or pairs of one example (a vector) and its label,
        or of a batch (a matrix) and its labels, without `y`.
    y : array, default=None
        The labels.
    classes : array, default=None
        Labels known in advance.

    Returns
    -------
    run : OnlineRun

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from rosenblatt import Perceptron, learn_online
    >>> X, y = load_iris(return_X_y=True)
    >>> run = learn_online(Perceptron.textbook(), X[:100, 2:], y[:100], classes=[0, 1])
    >>> run.mistakes, float(run.curve[-1])
    (1, 0.01)
    >>> learn_online(Perceptron.textbook(), zip(X[:100, 2:], y[:100]), classes=[0, 1]).mistakes
    1
    """
    pairs = iter(stream) if y is None else iter([(stream, y)])
    first = next(pairs, None)
    if first is None:
        raise ValueError("The stream is empty: there is nothing to learn from.")
    pairs = chain([first], pairs)
    if y is None and not sparse.issparse(first[0]) and np.ndim(first[0]) != 2:
        return _learn_one_by_one(model, pairs, classes)
    model.partial_fit  # noqa: B018  (raises where the parameters do not allow it)
    predictions, wrong = [], []
    for X, truth in pairs:
        codes = learn(model, X, truth, classes, predict_first=True)
        predictions.append(_labels(codes, model.classes_))
        wrong.append(predictions[-1] != np.asarray(truth))
        classes = None
    return OnlineRun(model, np.concatenate(predictions), np.concatenate(wrong).astype(bool))


def _labels(codes: np.ndarray, classes: np.ndarray) -> np.ndarray:
    if (codes >= 0).all():
        return classes[codes]
    labels = np.empty(len(codes), dtype=object)
    labels[codes >= 0] = classes[codes[codes >= 0]]
    return labels


def _learn_one_by_one(model: Perceptron, pairs: Iterator[Any], classes: Any) -> OnlineRun:
    predictions, wrong = [], []
    with OneByOne(model, classes) as learner:
        for x, label in pairs:
            guess = learner.learn(x, label)
            predictions.append(guess)
            wrong.append(guess != label)
    kind = object if predictions[0] is None else None
    return OnlineRun(model, np.array(predictions, dtype=kind), np.array(wrong, dtype=bool))


class OneByOne:
    """Online learning of one example per call, with little overhead.

    A context manager: the attributes of the model are set when it is left.

    Parameters
    ----------
    model : Perceptron
    classes : array, default=None
        Labels known in advance.

    Examples
    --------
    >>> import numpy as np
    >>> from rosenblatt import OneByOne, Perceptron
    >>> model = Perceptron.textbook()
    >>> with OneByOne(model, classes=["no", "yes"]) as learner:
    ...     learner.learn(np.array([2.0, 1.0]), "yes"), learner.learn(np.array([-1.0, 1.0]), "no")
    ('no', 'no')
    >>> model.coef_
    array([[3., 0.]])
    """

    def __init__(self, model: Perceptron, classes: Any = None) -> None:
        self.model, self.classes = model, classes
        self._walk: Any = None

    def __enter__(self) -> Self:
        self.model.partial_fit  # noqa: B018  (raises where the parameters do not allow it)
        self._open()
        return self

    def __exit__(self, *failure: object) -> None:
        self._close()

    def learn(self, x: np.ndarray, label: Any) -> Any:
        """Predict the label of x, then learn the true one.

        Returns the prediction, or None if no class was known yet.
        """
        code = self._codes.get(label)
        if code is None or len(x) != self._width:
            return self._learn_new(x, label)
        row = self._row
        row[:] = x
        if not math.isfinite(row.dot(row)) and not np.isfinite(row).all():
            raise ValueError("The example holds NaN or infinity; remove or impute it.")
        if self._take is not None and not self._take():
            return self._learn_new(x, label)
        if self._rate is not None:
            self._eta[0] = self._rate(self._visits + 1)
        self._visits += 1
        self._code[0], self._weight[0] = code, self._factors[code]
        self._steps += self._factors[code]
        scores = self._walk()
        if self._two:  # as `decide`, which would take two thirds of the time of this call
            return self._names[1 if scores[0, 0] > 0 else 0]
        return self._names[int(self._walk.learner.problems.decide(scores)[0])]

    def _learn_new(self, x: Any, label: Any) -> Any:
        """Learn by `partial_fit`, which checks everything and accepts new labels."""
        self._close()
        model = self.model
        [code] = learn(model, np.asarray(x)[None, :], [label], self.classes, predict_first=True)
        self.classes = None
        self._open()
        return None if code < 0 else model.classes_.tolist()[code]

    def _open(self) -> None:
        """Bind a walk to the arrays of one example, which `learn` fills."""
        self._codes: dict[Any, int] = {}
        self._width, model = -1, self.model
        if not hasattr(model, "_learner") or len(model.classes_) < 2:
            return
        if model.multiclass_ == "labels":
            raise ValueError(
                "OneByOne learns one label per row, but the model has learned from indicator "
                "matrices: use partial_fit."
            )
        if model._square.rows is not None:  # the next row may change what "auto" means
            return
        model._unpack(dense=True)
        learner, self._names = model._learner, model.classes_.tolist()
        self._codes = {name: code for code, name in enumerate(self._names)}
        self._two = len(self._names) == 2
        codes = np.arange(len(self._names))
        weights = weighted_by_class(np.ones(1), model.class_weight, model.classes_, codes)
        self._factors = np.broadcast_to(weights, codes.shape).tolist()
        self._width = learner.n_features
        X = np.zeros((1, self._width), learner.dtype)
        self._row = X[0]
        self._take = self._scaling(X)
        self._weight, self._eta = np.ones(1), np.ones(1)
        examples = examples_of(X, np.zeros(1, np.int32), self._weight)
        self._code = examples.codes
        eta = learning_rate(model.learning_rate, model.eta0)
        self._rate = eta if callable(eta) else None
        self._eta[0] = 0.0 if callable(eta) else eta
        self._visits, self._steps = model._progress.visits, model._progress.steps
        self._walk = BoundWalk(learner, examples, np.zeros(1, np.uint64), self._eta)

    def _scaling(self, X: np.ndarray) -> Callable[[], Any] | None:
        """What scales the example in place before it is learned from; false if it changes how.

        The example then is a row beside X. None if columns are not scaled.
        """
        running, scale = self.model._running, self.model.scale_
        if scale is None:
            return None
        raw, order = np.zeros_like(X), np.zeros(1, np.uint64)
        self._row = raw[0]
        if running is None:
            fixed = scale_rows.bound(raw, scale.centre, scale.factors, X)
            return lambda: fixed() is None
        centre, factors = running.scale.centre, running.scale.factors
        take = scale_and_add.bound(
            raw, order, centre, factors, LARGE, running.first, running.sums, X
        )

        def scale_and_count() -> bool:
            if running.is_due or not take():
                return False
            running.rows += 1
            return True

        return scale_and_count

    def _close(self) -> None:
        """Set the attributes of the model."""
        if self._walk is None:
            return
        progress = self.model._progress
        progress.visits, progress.steps = self._visits, self._steps
        progress.updates += self._walk.updates
        self._walk = None
        _describe(self.model)
