"""The perceptron as a scikit-learn classifier."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.linear_model._base import LinearClassifierMixin, SparseCoefMixin
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from rosenblatt import rules, training
from rosenblatt.engine.rows import distinct, rows_of
from rosenblatt.engine.tasks import Setting, Task, task_of, votes
from rosenblatt.estimators._classes import arrivals, grow, n_problems
from rosenblatt.estimators._input import (
    ONE,
    check_weights,
    example_weights,
    initial_weights,
    untouched_on_failure,
)
from rosenblatt.estimators._progress import progress
from rosenblatt.training import History, Plan, State

FLOATS = [np.float64, np.float32]


def _inverse(eta0: float, t: int) -> float:
    return eta0 / t


def _inverse_root(eta0: float, t: int) -> float:
    return eta0 / t**0.5


def _learns_online(estimator: Perceptron) -> bool:
    """Learning row by row has no use for what looks at all examples together."""
    for name, value in (("keep", "best"), ("update", "batch"), ("class_weight", "balanced")):
        if getattr(estimator, name) == value:
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
        Whether a score of exactly zero is a mistake for both classes, or only for the positive.
    update : {"online", "batch"}, default="online"
        Correct each mistake at once, or all mistakes of an epoch together.
    keep : {"last", "average", "best"}, default="last"
        The weights to predict with: the last; the mean over all steps; or the best seen, by the
        validation set if there is one, else by the training error (Gallant's pocket with ratchet;
        the algorithm of the notes for ``update="batch"``; at epoch ends for ``"ovo"``).
    multiclass : {"ovr", "ovo", "joint"}, default="ovr"
        With three classes or more: one against the rest, largest score; one against one, majority
        vote, ties by summed scores; or all jointly, where one update moves the right class up and
        the best wrong class down.
    fit_intercept : bool, default=True
        Whether to learn an offset b, or a classifier through the origin.
    intercept_scaling : float, default=1.0
        The padding constant c.
    shuffle : bool, "random" or array of row numbers, default=True
        The order of an epoch: a new permutation; as given (False); drawn with replacement; or
        these rows, every epoch. With True the model depends on the examples as a set and on
        `random_state`, not on how the rows were sorted, and a row of weight 2 is the same as the
        row twice.
    max_iter : int, default=1000
        Most epochs.
    max_updates : int or None, default=None
        Most updates, all classes together.
    tol : float or None, default=1e-3
        Stop when the weights move less than this in an epoch, relative to their length, or when
        the updates an epoch, as a share of the steps, have not fallen by more than this for
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
        Threads over which the classes (or pairs) are spread. None is 1, -1 all cores.
    random_state : int, RandomState or None, default=None
        Seed of the orders and of the validation split.
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
        One row for two classes, one a class for ``"ovr"`` and ``"joint"``, one a pair for
        ``"ovo"``.
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
        All that training needs to go on.
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
    coef_: Any
    intercept_: np.ndarray
    state_: State

    _parameter_constraints: dict = {  # noqa: RUF012  (scikit-learn's convention)
        "eta0": [Interval(Real, 0, None, closed="neither")],
        "learning_rate": [StrOptions({"constant", "inverse", "sqrt"}), callable],
        "threshold": [Interval(Real, 0, None, closed="left")],
        "mistake": [StrOptions({"margin", "sign"})],
        "update": [StrOptions({"online", "batch"})],
        "keep": [StrOptions({"last", "average", "best"})],
        "multiclass": [StrOptions({"ovr", "ovo", "joint"})],
        "fit_intercept": ["boolean"],
        "intercept_scaling": [Interval(Real, 0, None, closed="neither")],
        "shuffle": ["boolean", StrOptions({"random"}), "array-like"],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "max_updates": [Interval(Integral, 1, None, closed="left"), None],
        "tol": [Interval(Real, 0, None, closed="left"), None],
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "warm_start": ["boolean"],
        "verbose": ["verbose"],
        "callbacks": [callable, list, tuple, None],
    }

    def __init__(
        self,
        eta0=1.0,
        learning_rate="constant",
        threshold=0.0,
        mistake="margin",
        update="online",
        keep="last",
        multiclass="ovr",
        fit_intercept=True,
        intercept_scaling=1.0,
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
            start = (
                (self.coef_, self.intercept_) if self._goes_on() else (coef_init, intercept_init)
            )
            X, y = validate_data(self, X, y, accept_sparse="csr", dtype=FLOATS, order="C")
            check_classification_targets(y)
            self.classes_, codes = np.unique(y, return_inverse=True)
            omega = example_weights(sample_weight, self.class_weight, self.classes_, codes)
            random = check_random_state(self.random_state)
            rows = rows_of(X)
            validation, omega = self._hold_out(X, codes, omega, X_val, y_val, random)
            order, draw, omega = self._order(rows, codes, omega)
            task = self._task(rows, codes, omega, len(self.classes_))
            state = self._begin(start, task, int(random.randint(2**31)))
            with progress("Perceptron", self.max_iter, self.verbose) as bar:
                plan = self._plan(order, draw, validation, bar)
                state, history = training.run(state, task, plan)
            self._show(state, plan, history)
        return self

    @available_if(_learns_online)
    def partial_fit(self, X, y, classes=None, sample_weight=None) -> Self:
        """Learn from the rows once, in the given order.

        Any split of the data into calls gives the same weights, bit for bit, and averaging goes on
        across calls. Labels never seen before are welcome at any call; as in online learning, a
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

    def _learn(self, X, y, classes=None, sample_weight=None, foresee=False) -> np.ndarray:
        """Learn online; with `foresee`, return the class numbers predicted before each label.

        The number is -1 where no class was known yet.
        """
        with untouched_on_failure(self):
            self._check_parameters()
            first = not hasattr(self, "state_")
            dtype = FLOATS if first else self.state_.weights.dtype
            X, y = validate_data(
                self, X, y, accept_sparse="csr", dtype=dtype, order="C", reset=first
            )
            if y.dtype.kind in "fcO":
                check_classification_targets(y)
            if first:
                self.classes_ = np.unique(y[:0] if classes is None else classes)
                n = n_problems(len(self.classes_), self.multiclass)
                self.state_ = State.start(
                    np.zeros((n, X.shape[1]), X.dtype), np.zeros(n), averaging=self._averages()
                )
            elif classes is not None and not np.isin(classes, self.classes_).all():
                raise ValueError(
                    f"classes={np.asarray(classes)} is not what the first call to partial_fit "
                    f"said: {self.classes_}. Leave it out; new labels are welcome as they come."
                )
            return self._learn_rows(rows_of(X), y, check_weights(sample_weight, len(y)), foresee)

    def _learn_rows(self, rows, y, weights, foresee) -> np.ndarray:
        """Learn row by row; where a new label comes up, weights for it come into being."""
        state, known = self.state_, self.classes_
        found = arrivals(y, known)
        ends = [*(row for row, _ in found[1:]), len(y)]
        everything = found[-1][1]
        predicted = np.full(len(y), -1)
        for (start, classes), end in zip(found, ends, strict=True):
            if start == end:
                continue
            guess = self._guess(rows, start, state, known) if foresee else -1
            before, arrived = known, len(classes) > len(known)
            state, known = grow(state, known, classes, self.multiclass), classes
            codes = np.zeros(len(y), np.int32)
            codes[start:end] = np.searchsorted(classes, y[start:end])
            omega = _by_class(weights, self.class_weight, classes, codes)
            order = np.arange(start, end, dtype=np.uint64)
            order = order[omega[start:end] > 0] if omega.size > 1 else order
            task = self._task(rows, codes, omega, len(classes))
            task.foresee = foresee
            plan = self._plan(order, "fixed", None, ())
            if len(classes) > 1:
                state, seen = training.feed(state, task, plan)
            else:
                state, seen = training.idle(state, task, plan), np.zeros(order.size, np.int32)
            if foresee:
                predicted[order] = np.searchsorted(everything, classes)[seen]
                if arrived:
                    known_codes = np.searchsorted(everything, before)
                    predicted[start] = known_codes[guess] if len(before) else -1
        self.classes_ = everything
        self._show_online(state)
        return predicted

    def _guess(self, rows, row, state, known) -> int:
        """The class predicted for a row by what was known before it, or -1."""
        if len(known) < 2:
            return len(known) - 1
        task = self._task(rows, np.empty(0, np.int32), ONE, len(known))
        scores = rows.scores(state.weights, state.bias, slice(row, row + 1))
        return int(task.decide(scores)[0])

    def decision_function(self, X):
        """The scores ``w·x + b``; for ``"ovo"`` the votes, with under half a vote for clearness.

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

    def _check_parameters(self) -> None:
        self._validate_params()
        if self.mistake == "sign" and self.threshold != 0:
            raise ValueError(
                f"threshold={self.threshold} has no meaning with mistake='sign', which asks only "
                "for the predicted sign. Use mistake='margin', or threshold=0."
            )
        callbacks = self.callbacks if isinstance(self.callbacks, list | tuple) else ()
        if not all(callable(callback) for callback in callbacks):
            raise TypeError(f"callbacks must be callables, got {self.callbacks!r}.")

    def _averages(self) -> bool:
        return self.keep == "average"

    def _threads(self) -> int:
        jobs = 1 if self.n_jobs is None else self.n_jobs
        threads = jobs if jobs > 0 else max(1, (os.cpu_count() or 1) + 1 + jobs)
        one_book = self.max_updates is not None or self.keep == "best"
        return 1 if one_book else threads

    def _task(self, rows, codes, omega, n_classes) -> Task:
        return task_of(self.multiclass, rows, codes, omega, n_classes, self._threads())

    def _hold_out(self, X, codes, omega, X_val, y_val, random) -> tuple[Task | None, np.ndarray]:
        """The validation task, and the weights with the held-out rows set to zero."""
        if (X_val is None) != (y_val is None):
            raise ValueError("X_val and y_val belong together: give both or neither.")
        if X_val is not None:
            X_val, y_val = validate_data(
                self, X_val, y_val, accept_sparse="csr", dtype=X.dtype, order="C", reset=False
            )
            unknown = np.setdiff1d(y_val, self.classes_)
            if unknown.size:
                raise ValueError(f"y_val holds labels that y does not: {unknown[:5]}.")
            held = np.searchsorted(self.classes_, y_val)
            return self._task(rows_of(X_val), held, ONE, len(self.classes_)), omega
        if not self.early_stopping:
            return None, omega
        seed = int(random.randint(2**31))
        if self.validation_fraction * len(codes) < len(self.classes_):
            raise ValueError(
                f"early_stopping would hold out {self.validation_fraction:.0%} of {len(codes)} "
                f"rows, fewer than the {len(self.classes_)} classes. Give X_val and y_val, or a "
                "larger validation_fraction."
            )
        _, out = train_test_split(
            np.arange(len(codes)), test_size=self.validation_fraction, stratify=codes,
            random_state=seed,
        )  # fmt: skip
        remaining = np.array(np.broadcast_to(omega, codes.shape))
        weights = ONE if omega.size == 1 else np.ascontiguousarray(omega[out])
        remaining[out] = 0.0
        return self._task(rows_of(X[out]), codes[out], weights, len(self.classes_)), remaining

    def _order(self, rows, codes, omega) -> tuple[np.ndarray, str, np.ndarray]:
        """The rows to visit, how to draw an epoch from them, and the weights that go with it."""
        n = rows.shape[0]
        if self.shuffle is True:
            order, omega = distinct(rows, codes, omega)
            return order, "permutation", omega
        chosen = np.arange(n) if isinstance(self.shuffle, bool | str) else np.asarray(self.shuffle)
        if chosen.ndim != 1 or chosen.dtype.kind not in "iu" or chosen.size == 0:
            raise ValueError("shuffle must be True, False, 'random' or an array of row numbers.")
        if chosen.min() < 0 or chosen.max() >= n:
            raise ValueError(f"shuffle holds row numbers outside 0 .. {n - 1}.")
        chosen = chosen.astype(np.uint64)
        if omega.size > 1:
            chosen = chosen[omega[chosen] > 0]
        return chosen, "random" if self.shuffle == "random" else "fixed", omega

    def _goes_on(self) -> bool:
        return self.warm_start and hasattr(self, "coef_")

    def _begin(self, start, task, seed) -> State:
        weights, bias = start
        if not self.fit_intercept and bias is not None and np.any(bias):
            raise ValueError("intercept_init needs fit_intercept=True.")
        if hasattr(weights, "toarray"):
            weights = weights.toarray()
        shape, n = (task.n_problems, task.rows.shape[1]), task.n_problems
        return State.start(
            initial_weights("coef_init", weights, shape, task.rows.dtype, n),
            initial_weights("intercept_init", bias, shape[:1], np.dtype(np.float64), n),
            averaging=self._averages(),
            seed=seed,
        )

    def _plan(self, order, draw, validation, bar) -> Plan:
        schedules: dict[str, Any] = {"inverse": _inverse, "sqrt": _inverse_root}
        eta: float | Callable[[int], float] = float(self.eta0)
        if callable(self.learning_rate):
            eta = self.learning_rate
        elif self.learning_rate != "constant":
            eta = partial(schedules[self.learning_rate], self.eta0)
        callbacks = self.callbacks if self.callbacks is not None else ()
        callbacks = (callbacks,) if callable(callbacks) else tuple(callbacks)
        below, above = rules.thresholds(self.mistake, self.threshold)
        padding = self.intercept_scaling**2 if self.fit_intercept else 0.0
        return Plan(
            setting=Setting(below, above, padding, self._averages(), self.update == "online"),
            rows=order,
            draw=draw,
            eta=eta,
            keep=self.keep,
            max_epochs=self.max_iter,
            max_updates=self.max_updates,
            tol=self.tol,
            patience=self.n_iter_no_change,
            early_stopping=self.early_stopping,
            validation=validation,
            callbacks=(*bar, *callbacks),
        )

    def _show(self, state, plan, history) -> None:
        wanted = training.kept(state, plan)
        self.state_ = state
        self.coef_ = wanted.weights
        self.intercept_ = wanted.bias.astype(wanted.weights.dtype)
        self.n_iter_, self.n_updates_, self.t_ = state.epoch, state.updates, round(state.steps)
        self.history_, self.stop_reason_ = history, state.stop_reason
        self.converged_ = state.stop_reason == "separated"

    def _show_online(self, state) -> None:
        self._show(state, self._plan(np.empty(0, np.uint64), "fixed", None, ()), History())
        self.n_iter_ = 1

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _by_class(weights, class_weight, classes, codes) -> np.ndarray:
    """The weights of rows times those of their classes, which may be given for some only."""
    if class_weight is None:
        return weights
    factors = np.array([float(class_weight.get(label, 1.0)) for label in classes.tolist()])
    return np.broadcast_to(weights, codes.shape) * factors[codes]
