"""Training of linear classifiers at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state

from rosenblatt import training
from rosenblatt.estimators import _checks as checks
from rosenblatt.estimators import _device
from rosenblatt.estimators._classifier import progress_bar
from rosenblatt.estimators._input import checked_data, surveyed
from rosenblatt.estimators._online_training import OnlineTraining
from rosenblatt.estimators._targets import Targets, check_label_options
from rosenblatt.estimators._threads import threads_of
from rosenblatt.learners.examples import Examples, examples_of
from rosenblatt.learners.linear import ONE_RATE, WORTH_STARTING, Linear
from rosenblatt.learners.problems import n_problems
from rosenblatt.learners.rates import idf_rates
from rosenblatt.learners.weights import State, Weights
from rosenblatt.training import Drawn, Plan, Progress

_CACHED_WEIGHTS = 1 << 21  # weights that the caches of a processor hold


def _falling(eta0: float, power: float, t: int) -> float:
    return eta0 / t**power


def _error_on(examples: Examples, rows: np.ndarray) -> Callable[[Any, bool], float]:
    """The error of a learner on some examples, which are held out."""
    order = rows.astype(np.uint64)
    return lambda learner, averaged: learner.error(examples, order, averaged)


@dataclass
class Run:
    """What a fit has to do: `training.run` of these; a learner of the same rule may do it."""

    learner: Any
    data: Any
    plan: Plan
    progress: Progress


class LinearTraining(OnlineTraining):
    """fit and partial_fit of a linear classifier; what it learns by is its parameters."""

    keep: str = "last"
    fit_intercept: bool = True
    intercept_scaling: Any = 1.0
    feature_rates: Any = None
    n_jobs: int | None = None

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
            X, y = checked_data(self, X, y, finite=False, indices=False, several=True)
            targets = Targets.of(y)
            self.classes_ = targets.classes
            if targets.sets is not None:
                check_label_options(self)
            omega = targets.weights(sample_weight, self.class_weight)
            random = check_random_state(self.random_state)
            out, omega_in = self._held_out(targets, omega, X_val, y_val, random)
            if X_val is not None:
                X_val, y_val = checked_data(
                    self, X_val, y_val, dtype=X.dtype, reset=False, several=True
                )
                held = targets.alike(y_val)
            examples = examples_of(X, targets.codes, omega_in, targets.sets)
            given = checks.check_weights(sample_weight, len(y))
            rows = float(np.broadcast_to(given, len(y)).sum())
            found = surveyed(self, examples, X, rows, threads_of(self.n_jobs))
            order, draw, merged = checks.order_of(self.shuffle, examples, found.keys)
            examples = replace(self._packed(examples), omega=merged, screened=found.screened)
            validate = None
            if X_val is not None:  # there is room for features that only these have
                others = examples.alike(X_val, held.codes, held.sets)
                validate = _error_on(others, np.arange(len(others)))
                examples = replace(examples, n_features=others.n_features, columns=others.columns)
            elif out is not None:
                validate = _error_on(examples.reweighted(omega), np.sort(out))
            self._settle_units(examples, rows, found.squares)
            learner = self._new_learner(examples, len(self.classes_))
            base = self._start(learner, examples, *start)
            plan = self._plan(validate)
            data = Drawn(examples, order, draw, checks.seed_of(self.random_state, random))
            run = Run(learner, data, plan, Progress())
            yield run
            self._show(run.learner, examples, base, plan, run.progress)
            if self.calibrate is not None and out is not None:
                out = np.sort(out)
                self._calibrate_by(self._scores_of(_device.to_host(X)[out]), targets.truth(out))
            elif self.calibrate is not None:
                self._calibrate_by(self._scores_of(_device.to_host(X_val)), held.truth())

    def _screens(self) -> bool:
        """Whether the learner can pass over rows by a copy of them in 8 bits."""
        return bool(self.update == "online")

    def _packed(self, examples: Examples) -> Examples:
        """The rows of fit; packed where there are many weights, for the caches or the rows.

        Packing takes the time of several epochs and saves a part of each. An order of the caller's
        own may be that of a file, whose rows are packed: then the sums are made as there.
        """
        weights = n_problems(len(self.classes_), "ovr") * examples.n_features
        many = weights > min(examples.stored, _CACHED_WEIGHTS)
        pays = (many or self.shuffle is not True) and not self._is_full()
        return examples.packed() if pays else examples

    def _new_learner(self, examples: Examples, n_classes: int) -> Any:
        """A learner on the processor that knows nothing yet."""
        threads, multiclass = threads_of(self.n_jobs), self.multiclass_
        one_book = self.max_updates is not None or self.keep == "best"
        (thresholds, padding), rule = self._rule(n_classes), self._member_rule()
        if rule is None and threads > 1 and n_classes > 2 and multiclass == "ovr" and one_book:
            name = "keep='best'" if self.keep == "best" else "max_updates"
            raise ValueError(
                f"{name} counts over all classes together, which cannot be spread over "
                f"n_jobs={self.n_jobs} threads. Use n_jobs=None."
            )
        shared: dict[str, Any] = {
            "multiclass": multiclass,
            "padding": padding,
            "averaging": self._averages(),
            "rates": self._rates(examples),
            "dtype": examples.dtype,
            "dense": examples.is_dense,
            "threads": threads,
        }
        if rule is not None:
            from rosenblatt.learners.family import Family, FullFamily

            kind = FullFamily if self._is_full() else Family
            return kind(rule, n_classes, examples.n_features, **shared)
        if examples.stored * n_classes < WORTH_STARTING:
            shared["threads"] = 1
        shared |= {"thresholds": thresholds, "batch": self.update == "batch"}
        return Linear(n_classes, examples.n_features, **shared)

    def _member_rule(self) -> Any:
        """The named tuple of a member of the family and its parameters; None for the perceptron."""
        raise NotImplementedError

    def _is_full(self) -> bool:
        """Whether a whole covariance matrix is kept."""
        return getattr(self, "covariance", "diagonal") == "full"

    def _rates(self, examples: Examples) -> np.ndarray:
        if self.feature_rates is None:
            return ONE_RATE
        if isinstance(self.feature_rates, str):
            return idf_rates(_device.hosted(examples))
        rates = self._given_rates()
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

    def _plan(self, validate=None, **more) -> Plan:
        eta: float | Callable[[int], float] = float(self.eta0)
        if callable(self.learning_rate):
            eta = self.learning_rate
        elif self.learning_rate != "constant":
            eta = partial(_falling, self.eta0, {"inverse": 1, "sqrt": 0.5}[self.learning_rate])
        return super()._plan(validate, eta=eta, keep=self.keep, **more)

    def _show(self, learner, examples, base, plan, progress) -> None:
        """Keep the learner, and the weights that the plan wants in the end."""
        learner.settle()
        weights, bias = training.kept_weights(learner, plan, progress)
        self._learner, self._places, self._base = learner.on_host(), examples.columns, base
        self._learner.unmark()
        self._progress = progress
        self._shown = Weights(np.ascontiguousarray(self._in_columns(weights)), bias)
        checks.describe_run(self, progress)
        progress.kept, progress.cycle, progress.history = None, None, []
        if self.keep == "last" and not self.early_stopping and self._places is None:
            self._shown = None  # the weights in use are those to predict with

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_label = self.multiclass in ("auto", "ovr")
        return tags
