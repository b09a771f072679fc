"""Training of linear classifiers: at once by fit, or row by row by partial_fit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets

from rosenblatt import training
from rosenblatt.estimators import _checks as checks
from rosenblatt.estimators import _device
from rosenblatt.estimators._calibrated import Calibrated, calibrates
from rosenblatt.estimators._classes import arrivals, grown
from rosenblatt.estimators._input import (
    FLOATS,
    QuickParameters,
    check_parameters,
    checked_data,
    classes_and_codes,
    surveyed,
)
from rosenblatt.estimators._progress import progress_bar
from rosenblatt.estimators._threads import threads_of
from rosenblatt.estimators._units import InUnitsOfTheData
from rosenblatt.estimators._weights import LearnedWeights
from rosenblatt.learners.examples import Examples, examples_of
from rosenblatt.learners.linear import ONE_RATE, Linear
from rosenblatt.learners.problems import n_problems
from rosenblatt.learners.rates import idf_rates
from rosenblatt.learners.weights import State, Weights
from rosenblatt.training import Drawn, Plan, Progress


def _falling(eta0: float, power: float, t: int) -> float:
    return eta0 / t**power


def _unless_auto(given: Any, otherwise: Any) -> Any:
    return otherwise if given == "auto" else given


def _learns_online(estimator: LinearTraining) -> bool:
    """Learning row by row has no use for what looks at all examples together."""
    together = (
        ("keep", "best"), ("update", "batch"), ("class_weight", "balanced"),
        ("feature_rates", "idf"),
    )  # fmt: skip
    for name, value in together:
        given = getattr(estimator, name)
        if isinstance(given, str) and given == value:
            raise AttributeError(
                f"{name}={value!r} looks at all examples together, but partial_fit sees them one "
                f"by one. Use fit, or another {name}."
            )
    return True


@dataclass
class Run:
    """What a fit has to do: `training.run` of these; a learner of the same rule may do it."""

    learner: Any
    data: Any
    plan: Plan
    progress: Progress


class LinearTraining(
    QuickParameters, Calibrated, InUnitsOfTheData, LearnedWeights, BaseEstimator
):  # fmt: skip
    """fit and partial_fit of a linear classifier; what it learns by is its parameters."""

    _progress: Progress

    def fit(
        self, X, y, coef_init=None, intercept_init=None, sample_weight=None, X_val=None, y_val=None
    ) -> Self:
        """Train until a stopping rule ends the run.

        Parameters
        ----------
        X : array, sparse matrix or data frame (n, d)
        y : array (n,)
        coef_init, intercept_init : arrays, default=None
            Where to start; zero unless given.
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
            if _device.chosen_device(self, run.data.examples, len(self.classes_)) == "cuda":
                run.learner = _device.moved_to_cuda(run.learner)
            with progress_bar(type(self).__name__, self.max_iter, self.verbose) as bar:
                plan = replace(run.plan, callbacks=(*bar, *run.plan.callbacks))
                for _ in training.run(run.learner, run.data, plan, run.progress):
                    pass
        checks.warn_of_budget(self)
        return self

    @contextmanager
    def _fitting(
        self, X, y, coef_init=None, intercept_init=None, sample_weight=None, X_val=None, y_val=None
    ) -> Iterator[Run]:
        """Check the input and draw up a run; the block trains, then what it learned is shown."""
        with checks.untouched_on_failure(self):
            self._check_parameters()
            goes_on = self.warm_start and hasattr(self, "_shown")
            start = (self.coef_, self.intercept_) if goes_on else (coef_init, intercept_init)
            X, y = checked_data(self, X, y, finite=False, indices=False)
            self.classes_, codes = classes_and_codes(y)
            omega = checks.example_weights(sample_weight, self.class_weight, self.classes_, codes)
            random = check_random_state(self.random_state)
            out, omega_in = self._held_out(codes, omega, X_val, y_val, random)
            examples = examples_of(X, codes, omega_in)
            given = checks.check_weights(sample_weight, len(y))
            rows = float(np.broadcast_to(given, len(y)).sum())
            found = surveyed(self, examples, X, rows, threads_of(self.n_jobs))
            order, draw, merged = checks.order_of(self.shuffle, examples, found.keys)
            examples = replace(self._packed(examples), omega=merged, screened=found.screened)
            examples, validate = self._validation(X, examples, omega, out, X_val, y_val)
            self._settle_units(examples, rows, found.squares)
            learner = self._new_learner(examples, len(self.classes_))
            base = self._start(learner, examples, *start)
            plan = self._plan(validate)
            data = Drawn(examples, order, draw, checks.seed_of(self.random_state, random))
            run = Run(learner, data, plan, Progress())
            yield run
            self._show(run.learner, examples, base, plan, run.progress)
            if calibrates(self):
                here, held = _device.to_host(X), _device.to_host(X_val)
                self._calibrate_by_held_out(here, codes, out, held, _device.to_host(y_val))

    @available_if(_learns_online)
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
            Labels known in advance; only the first call looks at them.

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

    def _learn(self, X, y, classes=None, sample_weight=None, foresee=False) -> np.ndarray:
        """Learn online; with `foresee`, return the class numbers predicted before each label.

        The number is -1 where no class was known yet.
        """
        with checks.untouched_on_failure(self):
            foreseen = self._foreseen(X)
            examples, y, weights = self._online_examples(X, y, classes, sample_weight)
            found, progress = arrivals(y, self.classes_), self._progress
            everything, predicted = found[-1][1], np.full(len(y), -1)
            with checks.uninterrupted():
                for (start, known), (end, _) in pairwise([*found, (len(y), everything)]):
                    if start == end:
                        continue
                    before = self.classes_
                    guess = self._guess(examples, start) if foresee else -1
                    self._learn_classes(examples, known)
                    some, order = self._part(examples, y, weights, start, end)
                    rates = self._learner.rates
                    for stretch, square in self._square.visits(some, order, rates):
                        self._use(square)
                        guesses = self._visit(some, stretch, foresee)
                        if guesses is not None:
                            predicted[stretch] = np.searchsorted(everything, known)[guesses]
                    if len(known) > len(before):  # the first row is the first of its class
                        at = np.searchsorted(everything, before)
                        predicted[start] = at[guess] if len(before) else -1
            self._went_on(progress.visits, progress.steps, 0)
            if foreseen is not None:
                self._remember(foreseen, np.searchsorted(self.classes_, y))
        return predicted

    def _visit(self, examples: Examples, order: np.ndarray, foresee: bool) -> Any:
        """Learn from some rows online; the class numbers predicted before, if they are known."""
        progress, learner = self._progress, self._learner
        if len(self.classes_) < 2:
            weight = examples.weight_of(order)
            learner.idle(weight)
            progress.steps += weight
            progress.visits += order.size
            return 0
        etas = self._plan().etas(progress.visits + 1, order.size)
        tally = learner.walk(examples, order, etas, foresee=foresee)
        learner.settle()  # the rows are the caller's, who may change them
        progress.count(tally)
        return tally.predictions if foresee else None

    def _online_examples(self, X, y, classes, sample_weight) -> tuple[Any, np.ndarray, np.ndarray]:
        """The rows, labels and weights, checked; a learner for them, if there is none yet."""
        self._check_parameters()
        first = not hasattr(self, "_learner")
        dtype, X = FLOATS if first else self._learner.dtype, _device.to_host(X)
        X, y = checked_data(self, X, y, dtype=dtype, reset=first, indices=False)
        if y.dtype.kind in "fcO":
            check_classification_targets(y)
        weights = checks.check_weights(sample_weight, len(y))
        examples = examples_of(X, np.zeros(len(y), np.int32))
        if first:
            self.classes_ = np.unique(y[:0] if classes is None else classes)
            self._begin_units()
            self._learner = self._new_learner(examples, len(self.classes_))
            self._progress, self._places = Progress(), None
        else:
            checks.check_named(classes, self.classes_)
            self._unpack(examples.is_dense)
        return examples, y, weights

    def _guess(self, examples: Examples, row: int) -> int:
        """The class number predicted for a row by what was learned before it; -1 if nothing was."""
        if len(self.classes_) < 2:
            return len(self.classes_) - 1
        scores = self._learner.scores(examples, np.array([row], np.uint64))
        return int(self._learner.problems.decide(scores)[0])

    def _learn_classes(self, examples: Examples, known: np.ndarray) -> None:
        """Make room for classes that have come up."""
        if len(known) > len(self.classes_):
            state = grown(self._learner.state(), self.classes_, known, self.multiclass_)
            self._learner = self._new_learner(examples, len(known))
            self._learner.restore(state)
            self.classes_ = known

    def _part(self, examples, y, weights, start, end) -> tuple[Examples, np.ndarray]:
        """The examples with the classes known by now, and the rows of a part to visit."""
        codes = np.zeros(len(y), np.int32)
        codes[start:end] = np.searchsorted(self.classes_, y[start:end])
        omega = checks.weighted_by_class(weights, self.class_weight, self.classes_, codes)
        order = np.arange(start, end, dtype=np.uint64)
        order = order[omega[start:end] > 0] if omega.size > 1 else order
        return examples.relabelled(codes, omega), order

    def _went_on(self, visits: int, steps: float, updates: int) -> None:
        """Tell of what was learned online, which does not end."""
        progress, self._shown = self._progress, None
        progress.visits, progress.steps = visits, steps
        progress.updates += updates
        progress.history, progress.row_updates, progress.stop_reason = [], None, None
        checks.describe_run(self, progress)
        self.n_iter_ = 1

    def _screens(self) -> bool:
        """Whether the learner can pass over rows by a copy of them in 8 bits."""
        return bool(self.update == "online")

    def _packed(self, examples: Examples) -> Examples:
        """The rows of fit; packed where there would be more weights than numbers in the rows."""
        weights = len(self.classes_) * examples.n_features
        return examples.packed() if weights > examples.stored else examples

    def _check_parameters(self) -> None:
        check_parameters(self, checks.check_options)

    def _new_learner(self, examples: Examples, n_classes: int) -> Linear:
        """A learner on the processor that knows nothing yet."""
        threads = threads_of(self.n_jobs)
        one_book = self.max_updates is not None or self.keep == "best"
        if threads > 1 and n_classes > 2 and self.multiclass_ == "ovr" and one_book:
            name = "keep='best'" if self.keep == "best" else "max_updates"
            raise ValueError(
                f"{name} counts over all classes together, which cannot be spread over "
                f"n_jobs={self.n_jobs} threads. Use n_jobs=None."
            )
        thresholds, padding = self._rule(n_classes)
        return Linear(
            n_classes,
            examples.n_features,
            multiclass=self.multiclass_,
            thresholds=thresholds,
            padding=padding,
            averaging=self._averages(),
            rates=self._rates(examples),
            dtype=examples.dtype,
            dense=examples.is_dense,
            batch=self.update == "batch",
            threads=threads,
        )

    def _rates(self, examples: Examples) -> np.ndarray:
        if self.feature_rates is None:
            return ONE_RATE
        if isinstance(self.feature_rates, str):
            return idf_rates(_device.hosted(examples))
        rates = np.asarray(self.feature_rates, dtype=np.float32)
        if rates.shape != (self.n_features_in_,) or not (np.isfinite(rates) & (rates >= 0)).all():
            raise ValueError(
                f"feature_rates must be {self.n_features_in_} finite numbers, none negative; got "
                f"an array of shape {rates.shape}."
            )
        return rates if examples.columns is None else np.append(rates[examples.columns], 1.0)

    def _start(self, learner: Linear, examples: Examples, coef, intercept) -> np.ndarray | None:
        """Give the learner the weights to start at; they are returned, if there are any."""
        if not self.fit_intercept and intercept is not None and np.any(intercept):
            raise ValueError("intercept_init needs fit_intercept=True.")
        n = n_problems(len(self.classes_), self.multiclass_)
        shape = (n, self.n_features_in_)
        weights = checks.initial_weights("coef_init", coef, shape, examples.dtype, n)
        bias = checks.initial_weights("intercept_init", intercept, shape[:1], np.float64, n)
        if coef is None and intercept is None:
            return None
        own = weights if examples.columns is None else weights[:, examples.columns]
        zero = State.zero(n, own.shape[1], averaging=self._averages())
        learner.restore(replace(zero, weights=own, bias=bias))
        return weights

    def _held_out(self, codes, omega, X_val, y_val, random) -> tuple[Any, np.ndarray]:
        """The rows held out, if any, and the weights of the rows with theirs set to zero."""
        if (X_val is None) != (y_val is None):
            raise ValueError("X_val and y_val belong together: give both or neither.")
        if X_val is not None or not (self.early_stopping or calibrates(self)):
            return None, omega
        out = checks.held_out_rows(self, codes, len(self.classes_), random)
        remaining = np.array(np.broadcast_to(omega, codes.shape))
        remaining[out] = 0.0
        return out, remaining

    def _calibrate_by_held_out(self, X, codes, out, X_val, y_val) -> None:
        """Calibrate by the rows that were held out."""
        if out is not None:
            X, codes = X[np.sort(out)], codes[np.sort(out)]
        else:
            X, y_val = checked_data(self, X_val, y_val, dtype=X.dtype, reset=False)
            codes = checks.validation_codes(y_val, self.classes_)
        self._calibrate_by(self._scores_of(X), codes)

    def _validation(self, X, examples, omega, out, X_val, y_val) -> tuple[Examples, Any]:
        """The examples with room for the features of held-out ones, and the error on these."""
        if out is not None:
            held, rows = examples.reweighted(omega), np.sort(out).astype(np.uint64)
        elif X_val is not None:
            X_val, y_val = checked_data(
                self, X_val, y_val, dtype=X.dtype, reset=False, indices=False
            )
            held = examples.alike(X_val, checks.validation_codes(y_val, self.classes_))
            rows = np.arange(len(held), dtype=np.uint64)
            examples = replace(examples, n_features=held.n_features, columns=held.columns)
        else:
            return examples, None
        return examples, lambda learner, averaged: learner.error(held, rows, averaged)

    def _plan(self, validate=None) -> Plan:
        eta: float | Callable[[int], float] = float(self.eta0)
        if callable(self.learning_rate):
            eta = self.learning_rate
        elif self.learning_rate != "constant":
            eta = partial(_falling, self.eta0, {"inverse": 1, "sqrt": 0.5}[self.learning_rate])
        return Plan(
            eta=eta,
            keep=self.keep,
            max_epochs=self.max_iter,
            max_updates=self.max_updates,
            tol=_unless_auto(self.tol, 1e-3 if self.early_stopping else 5e-3),
            patience=_unless_auto(self.n_iter_no_change, 5 if self.early_stopping else 3),
            early_stopping=self.early_stopping,
            validate=validate,
            callbacks=checks.callbacks_of(self),
        )

    def _show(self, learner, examples, base, plan, progress) -> None:
        """Keep the learner, and the weights that the plan wants in the end."""
        learner.settle()
        weights, bias = training.kept_weights(learner, plan, progress)
        self._learner, self._places, self._base = learner.on_host(), examples.columns, base
        self._learner.unmark()
        self._progress = progress
        self._shown = Weights(self._in_columns(weights), bias)
        checks.describe_run(self, progress)
        progress.kept, progress.cycle, progress.history = None, None, []
        if self.keep == "last" and not self.early_stopping and self._places is None:
            self._shown = None  # the weights in use are those to predict with

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
