"""The perceptron as a scikit-learn classifier."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import pairwise
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.linear_model._base import LinearClassifierMixin, SparseCoefMixin
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from rosenblatt import rules, training
from rosenblatt.estimators._checks import (
    CONSTRAINTS,
    FLOATS,
    callbacks_of,
    check_named,
    check_options,
    check_weights,
    describe_run,
    example_weights,
    held_out_rows,
    initial_weights,
    order_of,
    seed_of,
    threads_of,
    uninterrupted,
    untouched_on_failure,
    validation_codes,
    warn_of_budget,
    weighted_by_class,
)
from rosenblatt.estimators._classes import arrivals, grown
from rosenblatt.estimators._progress import progress_bar
from rosenblatt.learners.examples import Examples, examples_of
from rosenblatt.learners.linear import ONE_RATE, Linear, State, Weights
from rosenblatt.learners.problems import n_problems, votes
from rosenblatt.learners.rates import idf_rates
from rosenblatt.training import Drawn, History, Plan, Progress


def _inverse(eta0: float, t: int) -> float:
    return eta0 / t


def _inverse_root(eta0: float, t: int) -> float:
    return eta0 / t**0.5


def _learns_online(estimator: Perceptron) -> bool:
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


class Perceptron(SparseCoefMixin, LinearClassifierMixin, BaseEstimator):
    """The perceptron: online or batch, last, averaged or best weights, two classes or many.

    What counts as a mistake, a step, an update and an average is said in
    :mod:`rosenblatt.reference`, which also is the specification: on integer-valued data this class
    takes exactly the same steps.

    Parameters
    ----------
    eta0 : float, default=1.0
        Learning rate. From zero weights and with threshold 0 it only scales the weights.
    learning_rate : {"constant", "inverse", "sqrt"} or callable, default="constant"
        η0, η0/t, η0/√t, or a function of the visit number t = 1, 2, ... (of the iteration, for the
        batch rule).
    threshold : float, default=0.0
        δ: an example is mistaken when its margin ``y·s`` is at most this.
    mistake : {"margin", "sign"}, default="margin"
        Whether a score of exactly zero is corrected for both classes, or only for the positive.
    update : {"online", "batch"}, default="online"
        Correct each mistake at once, or all mistakes of an epoch together.
    keep : {"last", "average", "late_average", "best"}, default="last"
        The weights to predict with: the last; the mean over all steps; the mean over about the
        last half of the run (all steps since the number of epochs last doubled); or the best seen,
        by the validation set if there is one, else by the training error (Gallant's pocket with
        ratchet; the algorithm of the notes for ``update="batch"``; at epoch ends for ``"ovo"``).
    multiclass : {"ovr", "ovo", "joint"}, default="ovr"
        With three classes or more: one against the rest, largest score; one against one, majority
        vote, ties by summed scores; or all jointly, where one update moves the right class up and
        the best wrong class down.
    fit_intercept : bool, default=True
        Whether to learn an offset b, or a classifier through the origin.
    intercept_scaling : float, default=1.0
        The padding constant c.
    feature_rates : "idf", array (n_features,) or None, default=None
        A learning rate of its own for each feature. ``"idf"`` is the square of its inverse document
        frequency in the first 4,096 rows, which is learning from idf-weighted rows; it pays for
        text.
    shuffle : bool, "after_first", "random" or array of row numbers, default=True
        The order of an epoch: a new permutation; as given (False); as given in the first epoch and
        permuted after it, as files are read; drawn with replacement; or these rows, every epoch.
        With True the model depends on the examples as a set and on
        `random_state`, not on how the rows were sorted, and a row of weight 2 is the same as the
        row twice.
    max_iter : int, default=1000
        Most epochs.
    max_updates : int or None, default=None
        Most updates, all classes together.
    tol : float or None, default=1e-3
        Stop when the weights move less than this in an epoch, relative to their length, or when
        the updates per epoch, as a share of the steps, have not fallen by more than this for
        `n_iter_no_change` epochs. None: only an epoch without a mistake or the budget ends a run.
    early_stopping : bool, default=False
        Stop when the error on held-out rows has not fallen for `n_iter_no_change` epochs, and
        return the weights of the best epoch.
    validation_fraction : float, default=0.1
        Share of the rows to hold out when `early_stopping` is set and no X_val is given.
    n_iter_no_change : int, default=5
        How long to wait for progress.
    class_weight : dict, "balanced" or None, default=None
        Weights of classes; they multiply the weights of their rows.
    n_jobs : int or None, default=None
        Threads over which the classes (or pairs) are spread; with two classes a second thread
        scores rows ahead. The model is the same for any number. None is 1, -1 all cores.
    random_state : int, RandomState or None, default=None
        Seed of the orders and of the validation split; the order of an epoch is a function of the
        seed and the number of the epoch.
    warm_start : bool, default=False
        Start from the weights of the last fit.
    verbose : int, default=0
        1 shows a progress bar.
    callbacks : callable, list of callables or None, default=None
        Each is called with every :class:`rosenblatt.training.Epoch`; returning True ends the run.

    Attributes
    ----------
    classes_ : array
        The labels, sorted.
    coef_, intercept_ : arrays (n_problems, n_features) and (n_problems,)
        One row for two classes, one per class for ``"ovr"`` and ``"joint"``, one per pair for
        ``"ovo"``. Views of the weights in use: `partial_fit` changes them in place.
    n_iter_, n_updates_, t_ : int
        Epochs, updates (all classes together) and steps of the last fit; `t_` goes on counting
        through `partial_fit`.
    history_ : History
        What happened in each epoch.
    stop_reason_ : str
        ``separated`` (an epoch without a mistake), ``validation``, ``stable``, ``stalled``,
        ``budget``, ``cycle`` (the weights came back: on integer-valued data a proof that no line
        separates the classes), or ``callback``. None after `partial_fit`, which does not end.
    converged_ : bool
        Whether the reason is ``separated``.
    state_ : State
        What was learned, with the averaging sums.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    A row of weight ω is presented ω times in a row and corrected only while it is mistaken, so
    that a weight never overshoots (Karampatziakis and Langford 2011). The averaged weights have no
    mistake guarantee of their own.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from rosenblatt import Perceptron
    >>> X, y = load_iris(return_X_y=True)
    >>> model = Perceptron(shuffle=False).fit(X[:100, 2:], y[:100])
    >>> model.stop_reason_, model.n_updates_, model.n_iter_
    ('separated', 4, 3)
    >>> model.coef_.round(1), model.intercept_
    (array([[0.5, 0.8]]), array([-2.]))
    """

    classes_: np.ndarray
    _learner: Linear
    _progress: Progress

    _parameter_constraints: dict = {  # noqa: RUF012  (scikit-learn's convention)
        **CONSTRAINTS,
        "eta0": [Interval(Real, 0, None, closed="neither")],
        "learning_rate": [StrOptions({"constant", "inverse", "sqrt"}), callable],
        "update": [StrOptions({"online", "batch"})],
        "keep": [StrOptions({"last", "average", "late_average", "best"})],
        "fit_intercept": ["boolean"],
        "intercept_scaling": [Interval(Real, 0, None, closed="neither")],
        "feature_rates": [StrOptions({"idf"}), "array-like", None],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        *,
        eta0=1.0,
        learning_rate="constant",
        threshold=0.0,
        mistake="margin",
        update="online",
        keep="last",
        multiclass="ovr",
        fit_intercept=True,
        intercept_scaling=1.0,
        feature_rates=None,
        shuffle=True,
        max_iter=1000,
        max_updates=None,
        tol=1e-3,
        early_stopping=False,
        validation_fraction=0.1,
        n_iter_no_change=5,
        class_weight=None,
        n_jobs=None,
        random_state=None,
        warm_start=False,
        verbose=0,
        callbacks=None,
    ):
        self.eta0 = eta0
        self.learning_rate = learning_rate
        self.threshold = threshold
        self.mistake = mistake
        self.update = update
        self.keep = keep
        self.multiclass = multiclass
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.feature_rates = feature_rates
        self.shuffle = shuffle
        self.max_iter = max_iter
        self.max_updates = max_updates
        self.tol = tol
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose
        self.callbacks = callbacks

    def fit(
        self,
        X,
        y,
        coef_init=None,
        intercept_init=None,
        sample_weight=None,
        X_val=None,
        y_val=None,
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
        self : Perceptron

        Examples
        --------
        >>> model = Perceptron().fit([[2.0, 1.0], [-1.0, 1.0]], ["yes", "no"])
        >>> model.predict([[3.0, 0.0]])
        array(['yes'], dtype='<U3')
        """
        with untouched_on_failure(self):
            self._check_parameters()
            start = (self.coef_, self.intercept_) if self._goes_on() else (coef_init, intercept_init)
            X, y = validate_data(self, X, y, accept_sparse="csr", dtype=FLOATS, order="C")
            check_classification_targets(y)
            self.classes_, codes = np.unique(y, return_inverse=True)
            omega = example_weights(sample_weight, self.class_weight, self.classes_, codes)
            random = check_random_state(self.random_state)
            out, omega_in = self._held_out(codes, omega, X_val, y_val, random)
            examples = examples_of(X, codes, omega_in)
            order, draw, merged = order_of(self.shuffle, examples)
            examples = examples.packed().relabelled(codes, merged)
            learner = self._new_learner(examples, len(self.classes_))
            base = self._start(learner, examples, *start)
            plan = self._plan(self._validation(X, examples, codes, omega, out, X_val, y_val))
            data = Drawn(examples, order, draw, seed_of(self.random_state, random))
            progress = Progress()
            with progress_bar("Perceptron", self.max_iter, self.verbose) as bar:
                plan = replace(plan, callbacks=(*bar, *plan.callbacks))
                for _ in training.run(learner, data, plan, progress):
                    pass
            self._show(learner, examples, base, plan, progress)
        warn_of_budget(self)
        return self

    @available_if(_learns_online)
    def partial_fit(self, X, y, classes=None, sample_weight=None) -> Self:
        """Learn from the rows once, in the given order.

        Any split of the data into calls gives the same weights, bit for bit, and averaging goes on
        across calls. The cost of a call is that of its rows, however many features there are. Labels
        never seen before may come at any call; as in online learning, a
        class is known from its first row on, unless `classes` named it in the first call.

        Parameters
        ----------
        X, y, sample_weight
            As for :meth:`fit`.
        classes : array, default=None
            Labels known in advance; only the first call looks at them.

        Returns
        -------
        self : Perceptron

        Examples
        --------
        >>> model = Perceptron().partial_fit([[2.0, 1.0]], [1], classes=[0, 1])
        >>> model.partial_fit([[-1.0, 1.0], [5.0, 5.0]], [0, 2]).coef_
        array([[-3.,  0.],
               [-2., -5.],
               [ 5.,  5.]])
        """
        self._learn(X, y, classes, sample_weight)
        return self

    def decision_function(self, X):
        """The scores ``w·x + b``; for ``"ovo"`` votes, plus a tie-break in (-1/3, 1/3).

        Parameters
        ----------
        X : array, sparse matrix or data frame (n, d)

        Returns
        -------
        scores : array (n,) for two classes, else (n, n_classes)
        """
        scores = super().decision_function(X)
        if self.multiclass == "ovo" and len(self.classes_) > 2:
            return votes(scores, len(self.classes_))
        return scores

    def certificate(self, X, y):
        """What the run that was fitted on these rows proves, at the cost of a few passes.

        Mistakes made against every bound that applies, an interval for the largest margin, and a
        verdict: ``separable`` if the weights get every row right, ``inseparable`` if the run came
        back to its own weights and the corrections in between add up to exactly zero, else
        ``undecided``. :func:`rosenblatt.certify` decides every case.

        Parameters
        ----------
        X, y
            The rows and labels of two classes that the model was fitted on.

        Returns
        -------
        certificate : RunCertificate

        Examples
        --------
        >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 0, 0, 1]
        >>> found = Perceptron(shuffle=False, tol=None).fit(X, y).certificate(X, y)
        >>> found.verdict, found.updates <= found.bounds[0].value
        ('separable', True)
        """
        from rosenblatt import theory

        check_is_fitted(self)
        if len(self.classes_) != 2 or self.update != "online" or self.learning_rate != "constant":
            raise ValueError(
                "The mistake bounds speak of two classes, the online rule and a constant learning "
                "rate. Use rosenblatt.certify for the data alone."
            )
        found = theory.run_certificate(
            X,
            y,
            self._learned().weights[0],
            float(self._learned().bias[0]),
            updates=self.n_updates_,
            eta=float(self.eta0),
            threshold=float(self.threshold),
            fit_intercept=self.fit_intercept,
            padding=float(self.intercept_scaling),
        )
        return replace(found, verdict="inseparable") if self._proves_a_cycle(X, y) else found

    def _proves_a_cycle(self, X, y) -> bool:
        from rosenblatt import theory

        if self.history_.row_updates is None:
            return False
        try:
            theory.cycle_certificate(
                X, y, self.history_.row_updates, fit_intercept=self.fit_intercept
            )
        except ValueError:  # the weights came back by rounding only
            return False
        return True

    def _check_parameters(self) -> None:
        self._validate_params()
        check_options(self)

    @property
    def coef_(self) -> Any:
        """The weights to predict with, (problems, features)."""
        return self._predicting().weights

    @coef_.setter
    def coef_(self, weights: Any) -> None:
        self._shown = Weights(weights, self.intercept_ if hasattr(self, "_shown") else np.empty(0))

    @property
    def intercept_(self) -> np.ndarray:
        """The offsets to predict with, (problems,)."""
        weights, bias = self._predicting()
        return bias.astype(weights.dtype)

    @property
    def state_(self) -> State:
        """What was learned: last weights, averaging sums, clock; views where they lie."""
        if not hasattr(self, "_learner"):
            raise AttributeError("The Perceptron is not fitted yet.")
        self._unpack()
        return self._learner.state()

    def _predicting(self) -> Weights:
        """The weights to predict with, made when they are asked for."""
        if not hasattr(self, "_shown"):
            raise AttributeError("The Perceptron is not fitted yet.")
        if self._shown is None:
            self._shown = self._learner.weights(averaged=self._averages())
        return self._shown

    def _learned(self) -> Weights:
        """The last weights, whatever is predicted with."""
        state = self.state_
        return Weights(state.weights, state.bias)

    def _learn(self, X, y, classes=None, sample_weight=None, foresee=False) -> np.ndarray:
        """Learn online; with `foresee`, return the class numbers predicted before each label.

        The number is -1 where no class was known yet.
        """
        with untouched_on_failure(self):
            self._check_parameters()
            first = not hasattr(self, "_learner")
            dtype = FLOATS if first else self._learner.dtype
            X, y = validate_data(
                self, X, y, accept_sparse="csr", dtype=dtype, order="C", reset=first
            )  # fmt: skip
            if y.dtype.kind in "fcO":
                check_classification_targets(y)
            weights = check_weights(sample_weight, len(y))
            examples = examples_of(X, np.zeros(len(y), np.int32))
            if first:
                self.classes_ = np.unique(y[:0] if classes is None else classes)
                self._learner = self._new_learner(examples, len(self.classes_))
                self._progress, self._places = Progress(), None
            else:
                check_named(classes, self.classes_)
                self._unpack(examples.is_dense)
            found = arrivals(y, self.classes_)
            predicted = np.full(len(y), -1)
            with uninterrupted():
                for (start, known), (end, _) in pairwise([*found, (len(y), None)]):
                    if start < end:
                        self._learn_part(examples, y, weights, known, start, end, foresee, predicted)
            self.classes_ = found[-1][1]
            self._went_on(self._progress.visits, self._progress.steps, 0)
        return predicted

    def _went_on(self, visits: int, steps: float, updates: int) -> None:
        """Tell of what was learned online, which does not end."""
        progress, self._shown = self._progress, None
        progress.visits, progress.steps = visits, steps
        progress.updates += updates
        progress.history, progress.row_updates, progress.stop_reason = [], None, None
        describe_run(self, progress)
        self.n_iter_ = 1

    def _learn_part(self, examples, y, weights, known, start, end, foresee, predicted) -> None:
        """Learn rows `start` to `end`, of which only the first may be of a new class."""
        before, everything = self.classes_, np.union1d(self.classes_, y) if foresee else known
        guess = -1
        if foresee and len(before):
            row = np.array([start], np.uint64)
            guess = int(self._learner.decide(self._learner.scores(examples, row))[0])
        if len(known) > len(before):
            state = grown(self._learner.state(), before, known, self.multiclass)
            self._learner = self._new_learner(examples, len(known))
            self._learner.restore(state)
            self.classes_ = known
        codes = np.zeros(len(y), np.int32)
        codes[start:end] = np.searchsorted(known, y[start:end])
        omega = weighted_by_class(weights, self.class_weight, known, codes)
        order = np.arange(start, end, dtype=np.uint64)
        order = order[omega[start:end] > 0] if omega.size > 1 else order
        some = examples.relabelled(codes, omega)
        progress, seen = self._progress, np.zeros(order.size, np.int32)
        if len(known) > 1:
            etas = self._plan().etas(progress.visits + 1, order.size)
            tally = self._learner.walk(some, order, etas, foresee=foresee)
            self._learner.settle()  # the rows are the caller's, who may change them
            progress.count(tally)
            seen = tally.predictions
        else:
            weight = some.weight_of(order)
            self._learner.idle(weight)
            progress.steps, progress.visits = progress.steps + weight, progress.visits + order.size
        if foresee:
            predicted[order] = np.searchsorted(everything, known)[seen]
            if len(known) > len(before):
                known_before = np.searchsorted(everything, before)
                predicted[start] = known_before[guess] if len(before) else -1

    def _check_parameters(self) -> None:
        self._validate_params()
        check_options(self)

    def _averages(self) -> bool:
        return self.keep in ("average", "late_average")

    def _goes_on(self) -> bool:
        return self.warm_start and hasattr(self, "_shown")

    def _new_learner(self, examples: Examples, n_classes: int) -> Linear:
        threads = threads_of(self.n_jobs)
        one_book = self.max_updates is not None or self.keep == "best"
        if threads > 1 and n_classes > 2 and self.multiclass == "ovr" and one_book:
            name = "keep='best'" if self.keep == "best" else "max_updates"
            raise ValueError(
                f"{name} counts over all classes together, which cannot be spread over "
                f"n_jobs={self.n_jobs} threads. Use n_jobs=None."
            )
        return Linear(
            n_classes,
            examples.n_features,
            multiclass=self.multiclass,
            thresholds=rules.thresholds(self.mistake, self.threshold),
            padding=float(self.intercept_scaling) if self.fit_intercept else 0.0,
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
            return idf_rates(examples)
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
        n = n_problems(len(self.classes_), self.multiclass)
        shape = (n, self.n_features_in_)
        weights = initial_weights("coef_init", coef, shape, examples.dtype, n)
        bias = initial_weights("intercept_init", intercept, shape[:1], np.float64, n)
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
        if X_val is not None or not self.early_stopping:
            return None, omega
        out = held_out_rows(self, codes, len(self.classes_), random)
        remaining = np.array(np.broadcast_to(omega, codes.shape))
        remaining[out] = 0.0
        return out, remaining

    def _validation(self, X, examples, codes, omega, out, X_val, y_val) -> Any:
        """The error of a learner on held-out examples, or None if there are none."""
        if out is not None:
            held, rows = examples.relabelled(codes, omega), np.sort(out).astype(np.uint64)
        elif X_val is not None:
            X_val, y_val = validate_data(
                self, X_val, y_val, accept_sparse="csr", dtype=X.dtype, order="C", reset=False
            )  # fmt: skip
            held = examples.alike(X_val, validation_codes(X_val, y_val, self.classes_))
            rows = np.arange(len(held), dtype=np.uint64)
        else:
            return None
        return lambda learner, averaged: learner.error(held, rows, averaged)

    def _plan(self, validate=None) -> Plan:
        schedules: dict[str, Any] = {"inverse": _inverse, "sqrt": _inverse_root}
        eta: float | Callable[[int], float] = float(self.eta0)
        if callable(self.learning_rate):
            eta = self.learning_rate
        elif self.learning_rate != "constant":
            eta = partial(schedules[self.learning_rate], self.eta0)
        return Plan(
            eta=eta,
            keep=self.keep,
            max_epochs=self.max_iter,
            max_updates=self.max_updates,
            tol=self.tol,
            patience=self.n_iter_no_change,
            early_stopping=self.early_stopping,
            validate=validate,
            callbacks=callbacks_of(self),
        )

    def _show(self, learner, examples, base, plan, progress) -> None:
        """Keep the learner, and the weights that the plan wants in the end."""
        learner.settle()
        self._learner, self._places, self._base = learner, examples.columns, base
        self._progress = progress
        weights, bias = training.kept_weights(learner, plan, progress)
        self._shown = Weights(self._in_columns(weights), bias)
        describe_run(self, progress)
        progress.kept = progress.cycle = None
        if self.keep == "last" and not self.early_stopping and self._places is None:
            self._shown = None  # the weights in use are those to predict with

    def _in_columns(self, weights: np.ndarray) -> np.ndarray:
        """Weights of packed rows in the columns of X."""
        if self._places is None:
            return weights
        shape = (weights.shape[0], self.n_features_in_)
        full = np.zeros(shape, weights.dtype) if self._base is None else self._base.copy()
        full[:, self._places] = weights
        return full

    def _unpack(self, dense: bool | None = None) -> None:
        """Let the learner have the columns of X as features, for rows that are not packed."""
        learner = self._learner
        if self._places is None and dense in (None, learner.dense):
            return
        state = learner.state()
        sums = state.sums
        if self._places is not None and sums.size:
            sums = np.zeros((len(sums), self.n_features_in_))
            sums[:, self._places] = state.sums
        state = replace(
            state, weights=self._in_columns(state.weights), sums=sums, before=None
        )  # fmt: skip
        self._learner = learner.like(self.n_features_in_, learner.dense if dense is None else dense)
        self._learner.restore(state)
        self._places = self._base = None

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
