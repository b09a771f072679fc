"""fit and partial_fit of linear classifiers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets

from rosenblatt import training
from rosenblatt.estimators import _checks as checks
from rosenblatt.estimators._classifier import learns_online, progress_bar
from rosenblatt.estimators._input import FLOATS, checked_data, refuse_bad_numbers
from rosenblatt.estimators._linear_model import LinearModel
from rosenblatt.estimators._targets import (
    Targets,
    arrivals,
    check_multilabel_options,
    check_same_labels,
    with_new_classes,
)
from rosenblatt.learners.examples import ONE, Examples, examples_of
from rosenblatt.learners.linear import Linear
from rosenblatt.learners.problems import n_problems
from rosenblatt.learners.survey import Survey, is_worth_a_copy, survey
from rosenblatt.learners.weights import State, Weights
from rosenblatt.process import threads_of, uninterrupted
from rosenblatt.training import Drawn, Plan, Progress
from rosenblatt.training.defaults import MeanSquare

_FAR_FROM_OVERFLOW = 1e-12  # a share of the largest float that no sum of products comes near
_CACHED_WEIGHTS = 1 << 21  # weights that fit into a processor's caches


def _error_on(examples: Examples, rows: np.ndarray) -> Callable[[Any, bool], float]:
    """The function that validates a learner on some rows of the examples."""
    order = rows.astype(np.uint64)
    return lambda learner, averaged: learner.error(examples, order, averaged)


@dataclass
class Run:
    """The arguments of `training.run` for a fit; the learner may be replaced by an equal one."""

    learner: Any
    data: Any
    plan: Plan
    progress: Progress


class LinearTraining(LinearModel):
    """fit and partial_fit of a linear classifier."""

    def fit(
        self, X, y, coef_init=None, intercept_init=None, sample_weight=None, X_val=None, y_val=None
    ) -> Self:
        """Train until a stopping rule ends the run.

        Parameters
        ----------
        X : array, sparse matrix or data frame (n, d)
        y : array (n,), or indicator matrix (n, labels)
            One label per row. Or, where rows have several, a column of 0 and 1 for each label,
            dense or sparse: each column is a problem of two classes, and all are trained in one
            run.
        coef_init, intercept_init : arrays, default=None
            Initial weights; zero by default.
        sample_weight : array (n,), default=None
            How many copies of itself each row stands for; need not be whole.
        X_val, y_val : default=None
            Held-out examples: their error is in `history_` and decides what ``keep="best"`` and
            `early_stopping` return.

        Returns
        -------
        self : the fitted model

        Examples
        --------
        >>> from rosenblatt import Perceptron
        >>> model = Perceptron.textbook().fit([[2.0, 1.0], [-1.0, 1.0]], ["yes", "no"])
        >>> model.predict([[3.0, 0.0]])
        array(['yes'], dtype='<U3')
        """
        with self._fitting(X, y, coef_init, intercept_init, sample_weight, X_val, y_val) as run:
            self._train(run)
        checks.warn_of_budget(self)
        return self

    def _train(self, run: Run) -> None:
        """Do the run, with a progress bar if `verbose`."""
        with progress_bar(type(self).__name__, self.max_iter, self.verbose) as bar:
            plan = replace(run.plan, callbacks=(*bar, *run.plan.callbacks))
            for _ in training.run(run.learner, run.data, plan, run.progress):
                pass

    @contextmanager
    def _fitting(
        self, X, y, coef_init=None, intercept_init=None, sample_weight=None, X_val=None, y_val=None,
        device="cpu",
    ) -> Iterator[Run]:  # fmt: skip
        """Check the input and prepare the run that the block must do; then set the attributes."""
        with checks.untouched_on_failure(self):
            self._check_parameters()
            continues = self.warm_start and hasattr(self, "_shown")
            start = (self.coef_, self.intercept_) if continues else (coef_init, intercept_init)
            X, y = checked_data(self, X, y, finite=False, indices=False, multilabel=True)
            targets = Targets.of(y)
            self.classes_, multilabel = targets.classes, targets.sets is not None
            if multilabel:
                check_multilabel_options(self)
            omega = targets.weights(sample_weight, self.class_weight)
            random = check_random_state(self.random_state)
            out, omega_in = self._held_out(targets, omega, X_val, y_val, random)
            if X_val is not None:
                X_val, y_val = checked_data(
                    self, X_val, y_val, dtype=X.dtype, reset=False, multilabel=True
                )
                held = targets.of_validation(y_val)
            examples = examples_of(X, targets.codes, omega_in, targets.sets)
            copies = np.broadcast_to(checks.check_weights(sample_weight, len(y)), len(y))
            self._settle_multiclass(float(copies.sum()), multilabel)
            found = self._survey(examples, X)
            order, draw, merged = checks.order_of(self.shuffle, examples, found.keys)
            examples = replace(self._packed(examples), omega=merged, screened=found.screened)
            validate = None
            if X_val is not None:  # its rows may have columns that X does not have
                others = examples.in_same_layout(X_val, held.codes, held.sets)
                validate = _error_on(others, np.arange(len(others)))
                examples = replace(examples, n_features=others.n_features, columns=others.columns)
            elif out is not None:
                validate = _error_on(examples.reweighted(omega), out)
            self._settle_units(examples, found.squares)
            learner = self._new_learner(examples, len(self.classes_), device)
            base = self._start(learner, examples, *start)
            data = Drawn(examples, order, draw, checks.seed_of(self.random_state, random))
            run = Run(learner, data, self._plan(validate), Progress())
            yield run
            self._show(run, base)
            self._refuse_overflow(run, found.largest)
            if self.calibrate is not None:
                rows = X_val if out is None else X[out]
                truth = held.truth() if out is None else targets.truth(out)
                self._calibrate_on(self._scores_of(rows), truth, reset=True)

    def _screens(self) -> bool:
        """Whether the learner can skip rows by their copies in 8 bits."""
        return False

    def _survey(self, examples: Examples, X: Any) -> Survey:
        """One pass over all rows before training; NaN and infinity are refused."""
        n_classes, pairwise = len(self.classes_), self.multiclass_ == "ovo"
        copies = self._screens() and (pairwise or n_problems(n_classes, self.multiclass_) == 1)
        found = survey(
            examples,
            keys=checks.is_permuted(self.shuffle),
            copies=copies and is_worth_a_copy(examples, self.max_iter, max(1, n_classes - 1)),
            squares=self._has_auto() and self.feature_rates is None,
            threads=threads_of(self.n_jobs),
        )
        if not math.isfinite(found.largest):
            refuse_bad_numbers(self, X)
        square = found.largest * found.largest
        if square > float(np.finfo(examples.dtype).max) and self._member_rule() is not None:
            raise ValueError(
                "The squared lengths of the rows overflow. Scale the features (for example with "
                "StandardScaler)."
            )
        return found

    def _packed(self, examples: Examples) -> Examples:
        """The rows of fit, packed if there are more weights than cached or stored numbers.

        Packing takes the time of several epochs and saves a part of each. An order of the caller's
        own may be that of a file, whose rows are packed: then the sums are made as there.
        """
        weights = n_problems(len(self.classes_), "ovr") * examples.n_features
        many = weights > min(examples.stored, _CACHED_WEIGHTS)
        pays = (many or not checks.is_permuted(self.shuffle)) and not self._is_full()
        return examples.packed() if pays else examples

    def _start(self, learner: Linear, examples: Examples, coef, intercept) -> np.ndarray | None:
        """Set the learner's initial weights; return them for all columns, or None if all zero."""
        if not self.fit_intercept and intercept is not None and np.any(intercept):
            raise ValueError("intercept_init needs fit_intercept=True.")
        n = n_problems(len(self.classes_), self.multiclass_)
        weights = checks.initial_weights(
            "coef_init", coef, (n, self.n_features_in_), examples.dtype
        )
        bias = checks.initial_weights("intercept_init", intercept, (n,), np.float64)
        if coef is None and intercept is None:
            return None
        own = weights if examples.columns is None else weights[:, examples.columns]
        zero = State.zero(n, own.shape[1], averaging=self._averages())
        learner.restore(replace(zero, weights=own, bias=bias))
        return weights

    def _show(self, run: Run, base: np.ndarray | None) -> None:
        """Set the attributes after a run; `base` are the initial weights."""
        learner, progress = run.learner, run.progress
        learner.settle()
        weights, bias = training.kept_weights(learner, run.plan, progress)
        self._learner, self._places, self._base = learner.on_host(), run.data.examples.columns, base
        self._learner.unmark()
        self._progress = progress
        self._shown = Weights(np.ascontiguousarray(self._in_columns(weights)), bias)
        checks.describe_run(self, progress)
        progress.kept, progress.cycle, progress.history = None, None, []
        if self.keep == "last" and not self.early_stopping and self._places is None:
            self._shown = None  # those of the learner

    def _refuse_overflow(self, run: Run, largest: float) -> None:
        """Raise an error if the score of a row is not finite; `largest` is the largest number."""
        norm = max((epoch.weight_norm for epoch in self.history_), default=0.0)
        if norm * largest < float(np.finfo(run.data.examples.dtype).max) * _FAR_FROM_OVERFLOW:
            return
        with np.errstate(all="ignore"):
            scores = run.learner.scores(*run.data.everything(), averaged=self._averages())
        if not np.isfinite(scores).all():
            raise ValueError(training.OVERFLOW)

    @available_if(learns_online)
    def partial_fit(self, X, y, classes=None, sample_weight=None) -> Self:
        """Learn from the rows once, in the given order.

        Any split of the data into calls gives the same weights, bit for bit, and averages continue
        across calls. The cost of a call is that of its rows, however many features there are. New
        labels may appear in any call; as in online learning, a class is known from its first row
        on, unless `classes` named it in the first call.

        Parameters
        ----------
        X, y, sample_weight
            As for :meth:`fit`.
        classes : array, default=None
            Labels known in advance; only the first call uses them. For an indicator matrix one
            entry per column.

        Returns
        -------
        self : the fitted model

        Examples
        --------
        >>> from rosenblatt import Perceptron
        >>> model = Perceptron.textbook().partial_fit([[2.0, 1.0]], [1], classes=[0, 1])
        >>> model.partial_fit([[-1.0, 1.0], [5.0, 5.0]], [0, 2]).coef_
        array([[-3.,  0.],
               [-2., -5.],
               [ 5.,  5.]])
        """
        self._learn(X, y, classes, sample_weight)
        return self

    def _learn(self, X, y, classes=None, sample_weight=None, predict_first=False) -> np.ndarray:
        """Learn online; with `predict_first`, return the class numbers predicted before learning.

        The number is -1 where no class was known, and for rows of weight zero.
        """
        with checks.untouched_on_failure(self):
            scores_before, n_known = self._scores_before(X), len(getattr(self, "classes_", ()))
            examples, y, weights = self._online_examples(X, y, classes, sample_weight)
            if y.ndim == 2 and predict_first:
                raise ValueError(
                    "Predictions before each label are for one label per row, but y is an "
                    "indicator matrix: use partial_fit."
                )
            progress, guesses = self._progress, []
            with uninterrupted():
                for some, rows, first in self._stretches(examples, y, weights):
                    codes = np.zeros(rows.size, np.int32)
                    if len(self.classes_) < 2:  # nothing to learn yet
                        weight = some.weight_of(rows)
                        self._learner.idle(weight)
                        progress.steps += weight
                        progress.visits += rows.size
                    else:
                        etas = self._plan().etas(progress.visits + 1, rows.size)
                        tally = self._learner.walk(some, rows, etas, predict_first=predict_first)
                        self._learner.settle()  # the caller may change the rows after this
                        progress.count(tally)
                        codes = tally.predictions
                    if predict_first:
                        codes[: first.size] = first
                        guesses.append((rows, self.classes_, codes))
            self._describe_online()
            self._calibrate_online(
                scores_before,
                n_known,
                lambda: y if y.ndim == 2 else np.searchsorted(self.classes_, y),
            )
        predicted = np.full(len(y), -1)
        for rows, known, codes in guesses:
            predicted[rows] = np.append(np.searchsorted(self.classes_, known), -1)[codes]
        return predicted

    def _stretches(self, examples, y, weights) -> Iterator[tuple[Examples, np.ndarray, np.ndarray]]:
        """The rows in parts with the same known classes and unit, which are set for each part.

        Yields the examples with their class numbers and the rows. The first row of a new class is
        predicted by the classes before it: the last array holds that prediction, or nothing.
        """
        whole = [(0, len(y), self.classes_)]
        for start, end, known in whole if y.ndim == 2 else arrivals(y, self.classes_):
            first = np.empty(0, np.int32)
            if known is not self.classes_:
                first = self._predicted_code(examples, start, known)
                self._learn_classes(examples, known)
            some, order = self._part(examples, y, weights, start, end)
            for rows, square in self._square.visits(some, order, self._learner.rates):
                self._use(square)
                yield some, rows, first if start in rows[:1] else first[:0]

    def _online_examples(self, X, y, classes, sample_weight) -> tuple[Any, np.ndarray, np.ndarray]:
        """The checked rows, labels and weights; the first call makes the learner."""
        self._check_parameters()
        is_first = not hasattr(self, "_learner")
        dtype = FLOATS if is_first else self._learner.dtype
        X, y = checked_data(self, X, y, dtype=dtype, reset=is_first, indices=False, multilabel=True)
        multilabel = y.ndim == 2
        if y.dtype.kind in "fcO":
            check_classification_targets(y)
        if multilabel and classes is not None and len(classes) != y.shape[1]:
            raise ValueError(
                f"classes names {len(classes)} labels, but y has {y.shape[1]} columns."
            )
        weights = checks.check_weights(sample_weight, len(y))
        examples = examples_of(X, np.zeros(len(y), np.int32))
        if not is_first:
            check_same_labels(y, self.classes_, self.multiclass_ == "labels")
            if not multilabel:
                checks.check_named(classes, self.classes_)
            self._unpack(examples.is_dense)
            return examples, y, weights
        if multilabel:
            check_multilabel_options(self)
        named = np.unique(y[:0] if classes is None else classes)
        self.classes_ = np.arange(y.shape[1]) if multilabel else named
        self._settle_multiclass(0.0, multilabel)
        self._square = MeanSquare(rows=0 if self._has_auto() else None)
        self._learner = self._new_learner(examples, len(self.classes_))
        self._progress, self._places = Progress(), None
        return examples, y, weights

    def _predicted_code(self, examples: Examples, row: int, known: np.ndarray) -> np.ndarray:
        """The number, among `known`, of the class predicted for a row; -1 if there is none yet."""
        codes = np.zeros(1, np.int32)
        if len(self.classes_) > 1:
            scores = self._learner.scores(examples, np.array([row], np.uint64))
            codes = self._learner.problems.decide(scores)
        return np.searchsorted(known, self.classes_[codes]) if len(self.classes_) else codes - 1

    def _learn_classes(self, examples: Examples, known: np.ndarray) -> None:
        """Replace the learner by one that has all known classes, the new ones with zero weights."""
        state = with_new_classes(self._learner.state(), self.classes_, known, self.multiclass_)
        self._learner = self._new_learner(examples, len(known))
        self._learner.restore(state)
        self.classes_ = known

    def _part(self, examples, y, weights, start, end) -> tuple[Examples, np.ndarray]:
        """The examples with class numbers from `start` to `end`, and these rows in order."""
        codes, omega, sets = np.zeros(len(y), np.int32), weights, None
        if y.ndim == 2:
            _, codes, sets = Targets.of(y)
        else:
            codes[start:end] = np.searchsorted(self.classes_, y[start:end])
            omega = checks.weighted_by_class(weights, self.class_weight, self.classes_, codes)
        order = np.arange(start, end, dtype=np.uint64)
        if omega is not ONE:
            order = order[np.broadcast_to(omega, len(y))[start:end] > 0]
        return examples.relabelled(codes, omega, sets), order

    def _describe_online(self) -> None:
        """Set the attributes after online learning, which has no epochs and does not end."""
        progress, self._shown = self._progress, None
        progress.history, progress.row_updates, progress.stop_reason = [], None, None
        checks.describe_run(self, progress)
        self.n_iter_ = 1
