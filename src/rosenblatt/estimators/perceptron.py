"""The perceptron as a scikit-learn classifier."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from functools import partial
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
from rosenblatt.estimators._input import (
    FLOATS,
    check_options,
    example_weights,
    untouched_on_failure,
)
from rosenblatt.estimators._options import CONSTRAINTS, plan_of, show_run
from rosenblatt.estimators._preparation import hold_out, order_of, starting_state
from rosenblatt.estimators._progress import progress
from rosenblatt.estimators._row_by_row import learn, learns_online
from rosenblatt.kernels.rows import rows_of
from rosenblatt.kernels.tasks import Setting, Task, task_of, votes
from rosenblatt.training import History, Plan, State


def _inverse(eta0: float, t: int) -> float:
    return eta0 / t


def _inverse_root(eta0: float, t: int) -> float:
    return eta0 / t**0.5


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
        **CONSTRAINTS,
        "eta0": [Interval(Real, 0, None, closed="neither")],
        "learning_rate": [StrOptions({"constant", "inverse", "sqrt"}), callable],
        "update": [StrOptions({"online", "batch"})],
        "keep": [StrOptions({"last", "average", "best"})],
        "fit_intercept": ["boolean"],
        "intercept_scaling": [Interval(Real, 0, None, closed="neither")],
        "n_jobs": [Integral, None],
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
            validation, omega = hold_out(self, X, codes, omega, X_val, y_val, random)
            order, draw, omega = order_of(self, rows, codes, omega)
            task = self._task(rows, codes, omega, len(self.classes_))
            state = starting_state(self, start, task, int(random.randint(2**31)))
            with progress("Perceptron", self.max_iter, self.verbose) as bar:
                plan = self._plan(order, draw, validation, bar)
                state, history = training.run(state, task, plan)
            self._show(state, plan, history)
        return self

    @available_if(learns_online)
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
        learn(self, X, y, classes, sample_weight)
        return self

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
            self.state_.weights[0],
            float(self.state_.bias[0]),
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

    def _averages(self) -> bool:
        return self.keep == "average"

    def _threads(self) -> int:
        jobs = 1 if self.n_jobs is None else self.n_jobs
        threads = jobs if jobs > 0 else max(1, (os.cpu_count() or 1) + 1 + jobs)
        one_book = self.max_updates is not None or self.keep == "best"
        return 1 if one_book else threads

    def _task(self, rows, codes, omega, n_classes) -> Task:
        return task_of(self.multiclass, rows, codes, omega, n_classes, self._threads())

    def _goes_on(self) -> bool:
        return self.warm_start and hasattr(self, "coef_")

    def _plan(self, order, draw, validation, bar) -> Plan:
        schedules: dict[str, Any] = {"inverse": _inverse, "sqrt": _inverse_root}
        eta: float | Callable[[int], float] = float(self.eta0)
        if callable(self.learning_rate):
            eta = self.learning_rate
        elif self.learning_rate != "constant":
            eta = partial(schedules[self.learning_rate], self.eta0)
        below, above = rules.thresholds(self.mistake, self.threshold)
        padding = self.intercept_scaling**2 if self.fit_intercept else 0.0
        setting = Setting(below, above, padding, self._averages(), self.update == "online")
        return plan_of(
            self, setting, order, draw, bar, eta=eta, keep=self.keep, validation=validation
        )  # fmt: skip

    def _show(self, state, plan, history) -> None:
        wanted = training.kept(state, plan)
        self.coef_ = wanted.weights
        self.intercept_ = wanted.bias.astype(wanted.weights.dtype)
        show_run(self, state, history)

    def _show_online(self, state) -> None:
        self._show(state, self._plan(np.empty(0, np.uint64), "fixed", None, ()), History())
        self.n_iter_ = 1

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
