"""The kernel perceptron and the voted perceptron as a scikit-learn classifier."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from numbers import Real
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets

from rosenblatt import rules
from rosenblatt.estimators._classifier import (
    CONSTRAINTS,
    NOT_NEGATIVE,
    POSITIVE,
    Classifier,
    confirm_separation,
    describe_run,
    learns_online,
    order_of,
    progress_bar,
    seed_of,
    untouched_on_failure,
    warn_of_budget,
)
from rosenblatt.estimators._input import (
    FLOATS,
    Targets,
    arrivals,
    check_named,
    check_weights,
    checked_data,
    weighted_by_class,
)
from rosenblatt.estimators._kernel_functions import ModelKernel, stacked
from rosenblatt.estimators._unseen import Fitted
from rosenblatt.learners.dual import Dual
from rosenblatt.learners.examples import Examples, examples_of
from rosenblatt.learners.gram_blocks import GramBlocks
from rosenblatt.learners.log import MOST_COPIES, DualState, Moment, coefficients, scores_by
from rosenblatt.learners.problems import Problems, votes
from rosenblatt.training import Drawn, Progress, kept_weights, run
from rosenblatt.training.defaults import threshold_of


class HeldRows(NamedTuple):
    """Rows to validate on, with their class numbers and weights."""

    X: Any
    codes: np.ndarray
    weights: np.ndarray


class KernelPerceptron(Classifier):
    """The perceptron in the feature space of a kernel: averaged, last or voted weights.

    The algorithm is that of :class:`rosenblatt.Perceptron` through the origin of the feature space,
    with the same conventions (:mod:`rosenblatt.reference`) and learning rate 1: with the linear
    kernel it takes exactly the same steps. Weights are stored as a log of their updates. The
    defaults are those with the least error on data they were not tuned for; :meth:`textbook` is
    the voted perceptron of 1999.

    Parameters
    ----------
    kernel : {"linear", "poly", "rbf", "sigmoid", "precomputed"} or callable, default="rbf"
        As in :class:`sklearn.svm.SVC`. A callable returns the Gram matrix of two matrices. For
        ``"precomputed"``, X is the Gram matrix.
    degree : float, default=3
        Degree of the polynomial kernel ``(gamma·x·y + coef0)^degree``.
    gamma : {"scale", "auto"} or float, default="scale"
        ``1/(d·var(X))``, ``1/d`` or the number. With `partial_fit`, the first call's rows decide
        ``"scale"``.
    coef0 : float, default=1.0
        The constant of the polynomial and sigmoid kernels.
    scale : "auto" or None, default="auto"
        Whether to scale the columns inside, as :class:`rosenblatt.Perceptron` does, so that their
        units do not matter. With `partial_fit`, the first call's rows decide. (None for
        ``"precomputed"`` and for a callable.)
    keep : {"average", "last", "vote"}, default="average"
        Which weights decide: their mean over all steps; the last; or all of them by vote, each
        with as many votes as it survived steps (not for ``multiclass="joint"``).
    threshold : float or "auto", default="auto"
        δ: an example is corrected when its margin is at most this. ``"auto"`` is twice the mean of
        K(x, x) over the rows, what an update by a typical row adds to its own margin: 2 for
        ``"rbf"``. With `partial_fit`, the first call's rows decide. (0 where `mistake` is "sign".)
    multiclass : {"ovr", "ovo", "joint"}, default="ovr"
        With three classes or more: one against the rest; one against one; or all jointly, where
        one update moves the right class up and the best wrong class down. All share the Gram
        entries.
    max_iter : int, default=8
        The largest number of epochs.
    tol : float or None, default=None
        As for :class:`rosenblatt.Perceptron`; None: an epoch without a mistake or the budget ends
        a run.
    mistake, shuffle
        As for :class:`rosenblatt.Perceptron`, with the same defaults.
    early_stopping, validation_fraction, n_iter_no_change, class_weight, verbose, callbacks
        As for :class:`rosenblatt.Perceptron`, with the same defaults.
    cache_size : float, default=200
        Memory for Gram entries in MiB: half for the blocks in use, half for a cache of rows of the
        Gram matrix. The result does not depend on it.
    random_state : int, RandomState or None, default=None
        Seed of the orders and of the validation split.
    warm_start : bool, default=False
    calibrate : {"auto", "sigmoid", "isotonic"} or None, default="auto"
        Adds `predict_proba`, as for :class:`rosenblatt.Perceptron`.

    Attributes
    ----------
    classes_ : array
        The labels, sorted.
    support_ : array of int
        The numbers of the rows that ever made an update, sorted.
    support_vectors_ : array or sparse matrix
        These rows, with their columns scaled; absent for a precomputed kernel.
    scale_ : ColumnScale or None
        What is subtracted from each column, and the power of two that it is then multiplied by.
    dual_coef_ : array (n_problems, n_support)
        The coefficients of the averaged weights, or of the last (also when all vote).
    problem_updates_ : array of int (n_problems,)
        The updates of each class (or pair); for ``"joint"`` those by rows of each class.
    n_iter_, n_updates_, t_ : int
        Epochs, updates (all classes together) and steps.
    history_, stop_reason_, converged_
        As for :class:`rosenblatt.Perceptron`.
    state_ : DualState
        All that training needs to continue: the log of all updates.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    On integer-valued data with an integer-valued kernel every number is exact, and the result does
    not depend on `cache_size`. Otherwise it may change the last digit of a score, which matters
    only for a score that close to the threshold.

    M. Aizerman, E. Braverman, L. Rozonoer (1964), Theoretical foundations of the potential function
    method in pattern recognition learning; Y. Freund, R. Schapire (1999), Large margin
    classification using the perceptron algorithm. With two classes and after one epoch over n
    independent rows, the vote errs on another with probability at most ``2/(n+1)`` times the
    updates expected on n + 1 rows. The averaged vector has no such guarantee of its own.

    Examples
    --------
    >>> from rosenblatt import KernelPerceptron
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0]
    >>> model = KernelPerceptron.textbook(degree=2, gamma=1, shuffle=False, keep="last").fit(X, y)
    >>> model.stop_reason_, model.n_updates_, model.n_iter_
    ('separated', 21, 8)
    >>> model.predict(X), model.dual_coef_
    (array([0, 1, 1, 0]), array([[-7.,  5.,  5., -4.]]))
    """

    classes_: Any
    state_: DualState
    support_: Any
    _kernel: ModelKernel
    _progress: Progress

    _parameter_constraints = CONSTRAINTS | {
        "multiclass": [StrOptions({"ovr", "ovo", "joint"})],
        "kernel": [StrOptions({"linear", "poly", "rbf", "sigmoid", "precomputed"}), callable],
        "degree": [NOT_NEGATIVE],
        "gamma": [StrOptions({"scale", "auto"}), NOT_NEGATIVE],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "keep": [StrOptions({"last", "average", "vote"})],
        "cache_size": [POSITIVE],
    }

    def __init__(
        self,
        *,
        kernel="rbf",
        degree=3,
        gamma="scale",
        coef0=1.0,
        scale="auto",
        keep="average",
        threshold="auto",
        mistake="margin",
        multiclass="ovr",
        shuffle=True,
        max_iter=8,
        tol=None,
        early_stopping=False,
        validation_fraction=0.1,
        n_iter_no_change=5,
        class_weight=None,
        random_state=None,
        warm_start=False,
        verbose=0,
        callbacks=None,
        calibrate="auto",
        cache_size=200,
    ) -> None:
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.scale = scale
        self.keep = keep
        self.threshold = threshold
        self.mistake = mistake
        self.multiclass = multiclass
        self.shuffle = shuffle
        self.max_iter = max_iter
        self.tol = tol
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.class_weight = class_weight
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose
        self.callbacks = callbacks
        self.calibrate = calibrate
        self.cache_size = cache_size

    @classmethod
    def textbook(cls, **options) -> Self:
        """The voted perceptron of 1999: a cubic kernel, all weights by vote, no threshold.

        It runs until an epoch without a mistake, or until the updates stop falling.

        Parameters
        ----------
        options
            Any parameters; they replace these.

        Returns
        -------
        model : KernelPerceptron
            Not fitted yet.

        Examples
        --------
        >>> model = KernelPerceptron.textbook(degree=2)
        >>> model.kernel, model.keep, model.threshold
        ('poly', 'vote', 0.0)
        """
        notes = {"kernel": "poly", "keep": "vote", "threshold": 0.0, "max_iter": 100, "tol": 1e-3}
        return cls(**{**notes, "scale": None, **options})

    @property
    def scale_(self) -> Any:
        """What the columns are scaled by."""
        return self._kernel.scale

    def fit(self, X, y, sample_weight=None, X_val=None, y_val=None) -> Self:
        """Train until a stopping rule ends the run.

        Parameters
        ----------
        X : array, sparse matrix or data frame (n, d); the Gram matrix (n, n) if precomputed
        y : array (n,)
        sample_weight : array (n,), default=None
            How many copies of itself each row stands for; need not be whole.
        X_val, y_val : default=None
            Held-out examples: their error is in `history_`, and decides with `early_stopping`.

        Returns
        -------
        self : KernelPerceptron

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> model = KernelPerceptron(random_state=0).fit(X, y)
        >>> round(model.score(X, y), 2), model.support_.size
        (0.97, 78)
        """
        with untouched_on_failure(self):
            self._check_parameters()
            continues = self.warm_start and hasattr(self, "state_")
            earlier_classes = self.classes_ if continues else None
            X, y = self._checked(X, y, reset=not continues)
            targets = Targets.of(y)
            self.classes_ = targets.classes
            copies = check_weights(sample_weight, len(y))
            omega = targets.weights(copies, self.class_weight)
            random = check_random_state(self.random_state)
            if continues:
                self._check_continues(earlier_classes)
            else:
                self._kernel = ModelKernel.by_rows(self, X, copies)
            held, omega = self._held_rows(X, targets, omega, X_val, y_val, random)
            scaled = self._kernel.rows(X)
            examples = examples_of(scaled, targets.codes, omega)
            rows, draw, omega = order_of(self.shuffle, examples)
            seed = seed_of(self.random_state, random)
            if not continues:
                self._reset()
            learner, examples = self._learner(scaled, targets.codes, omega, self._dual)
            data = Drawn(examples, rows + np.uint64(self.support_.size), draw, seed)
            progress = Progress(steps=self._progress.steps, visits=self._progress.visits)
            with progress_bar("KernelPerceptron", self.max_iter, self.verbose) as bar:
                plan = self._plan(None if held is None else partial(self._validation_error, held))
                plan = replace(plan, callbacks=(*bar, *plan.callbacks))
                for _ in run(learner, data, plan, progress):
                    pass
            self._take(learner, len(y), progress, kept_weights(learner, plan, progress))
            fitted = Fitted(X, targets, copies)
            if self.keep != "last" or self.early_stopping:
                confirm_separation(self, progress, fitted, rows)
                describe_run(self, progress)
            held_out = None if held is None else (held.X, held.codes)
            self._remember(held_out, fitted, self.state_.log.rows.size)
        warn_of_budget(self)
        return self

    @available_if(learns_online)
    def partial_fit(self, X, y, classes=None, sample_weight=None) -> Self:
        """Learn from the rows once, in the given order.

        Any split of the data into calls gives the same model where `gamma` and `threshold` are
        numbers and `scale` is None; else the rows of the first call decide these. Averages and
        votes continue across calls. New labels may appear in any call.

        Parameters
        ----------
        X, y, sample_weight
            As for :meth:`fit`.
        classes : array, default=None
            Labels known in advance; only the first call uses them.

        Returns
        -------
        self : KernelPerceptron

        Examples
        --------
        >>> model = KernelPerceptron.textbook(kernel="linear", keep="last")
        >>> model.partial_fit([[2.0, 1.0]], [1], classes=[0, 1]).dual_coef_
        array([[1.]])
        >>> model.partial_fit([[-1.0, 1.0], [5.0, 5.0]], [0, 2]).support_
        array([0, 2])
        """
        with untouched_on_failure(self):
            scores_before, n_known = self._scores_before(X), len(getattr(self, "classes_", ()))
            X, y, weights = self._online_rows(X, y, classes, sample_weight)
            before = self._progress
            progress = Progress(
                epoch=1, steps=before.steps, visits=before.visits, updates=before.updates
            )
            for start, end, known in arrivals(y, self.classes_):
                self.state_ = self.state_.grown(self.classes_, known, self.multiclass)
                self.classes_, codes = known, np.searchsorted(known, y[start:end])
                omega = weights[start:end] if weights.size > 1 else weights
                omega = weighted_by_class(omega, self.class_weight, known, codes)
                learner, examples = self._learner(X[start:end], codes, omega, self._dual_on_host)
                order = np.arange(self.support_.size, len(examples), dtype=np.uint64)
                order = order[omega > 0] if omega.size > 1 else order
                if len(known) > 1:
                    progress.count(learner.walk(examples, order))
                else:
                    learner.idle(passed := examples.weight_of(order))
                    progress.steps += passed
                    progress.visits += order.size
                self._take(learner, len(codes), progress)
            self._calibrate_online(
                scores_before, n_known, lambda: np.searchsorted(self.classes_, y)
            )
        return self

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.kernel != "precomputed"
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    def _check_options(self) -> None:
        super()._check_options()
        if self.keep == "vote" and self.multiclass == "joint":
            raise ValueError(
                "keep='vote' counts the votes of each class or pair by itself: use "
                "multiclass='ovr' or 'ovo', or keep='average'."
            )

    def _check_continues(self, classes: Any) -> None:
        """Refuse a warm start with another kernel or other classes than the last fit's."""
        self._kernel.check_same(self)
        if not np.array_equal(classes, self.classes_):
            raise ValueError(
                f"warm_start continues with the classes of the last fit, {classes}, but y holds "
                f"{self.classes_}."
            )

    def _scores_of(self, X: Any) -> Any:
        """The scores of checked rows, see :meth:`decision_function`."""
        support = self.support_ if self.kernel == "precomputed" else self.support_vectors_
        scores = self._scores(self._kernel.rows(X), *self.state_.at_best(), support)
        if self.multiclass == "ovo" and len(self.classes_) > 2:
            scores = votes(scores, self._problems())
        return scores if len(self.classes_) > 2 else scores[:, 0]

    def _checked_rows(self, X: Any) -> Any:
        return self._checked(X, reset=False)

    def _checked(self, X, y="no_validation", *, reset) -> Any:
        """X, or X and y, checked."""
        dtype = FLOATS if reset else self._kernel.dtype
        csr = "csr" if self.kernel != "precomputed" else False
        checked = checked_data(self, X, y, accept_sparse=csr, dtype=dtype, reset=reset)
        X = checked[0] if isinstance(checked, tuple) else checked
        if reset and self.kernel == "precomputed" and X.shape[0] != X.shape[1]:
            raise ValueError(f"A precomputed Gram matrix must be square; X has shape {X.shape}.")
        return checked

    def _online_rows(self, X, y, classes, sample_weight) -> tuple[Any, np.ndarray, np.ndarray]:
        """The checked rows, labels and weights; those of the first call decide the kernel."""
        self._check_parameters()
        is_first = not hasattr(self, "state_")
        if not is_first:
            self._kernel.check_same(self)
        X, y = self._checked(X, y, reset=is_first)
        check_classification_targets(y)
        weights = check_weights(sample_weight, len(y))
        if is_first:
            self.classes_ = np.unique(y[:0] if classes is None else classes)
            self._kernel = ModelKernel.by_rows(self, X, weights)
            self._reset()
        else:
            check_named(classes, self.classes_)
        return self._kernel.rows(X), y, weights

    def _problems(self) -> Problems:
        threshold, n_classes = 0.0, len(self.classes_)
        if self.mistake == "margin":
            joint = self.multiclass == "joint" and n_classes > 2
            threshold = threshold_of(self.threshold, self._kernel.unit, 0.0, 1.0, joint)
        thresholds = rules.thresholds(self.mistake, threshold)
        return Problems(n_classes, self.multiclass, thresholds)

    def _scores(self, X, log, clock, support) -> np.ndarray:
        """The scores (rows, problems) by a log; `support` holds row numbers if precomputed."""
        return scores_by(
            lambda rows: self._kernel.entries(X[rows], support), X.shape[0], log, clock, self.keep,
            support.shape[0], self.cache_size,
        )  # fmt: skip

    def _held_rows(self, X, targets, omega, X_val, y_val, random) -> tuple[Any, np.ndarray]:
        """The rows to validate on, or None, and the weights of all rows with theirs set to zero."""
        out, remaining = self._held_out(targets, omega, X_val, y_val, random)
        if X_val is not None:
            X_val, y_val = self._checked(X_val, y_val, reset=False)
            codes = targets.of_validation(y_val).codes
            return HeldRows(X_val, codes, np.ones(len(codes))), remaining
        if out is None:
            return None, remaining
        weights = np.broadcast_to(omega, targets.codes.shape)[out]
        return HeldRows(X[out], targets.codes[out], weights), remaining

    def _validation_error(self, held: HeldRows, learner: Any, averaged: bool) -> float:
        """The weighted share of the held-out rows that a learner predicts wrong."""
        guesses = learner.problems.decide(self._scores_by(learner, self._kernel.rows(held.X)))
        return float(held.weights[guesses != held.codes].sum() / held.weights.sum())

    def _scores_by(self, learner: Any, X: Any) -> np.ndarray:
        """The scores of rows by the log of a learner."""
        support, log = learner.log.by_row()
        rows = support if self.kernel == "precomputed" else learner.gram.X[support]
        return self._scores(X, log, learner.clock, rows)

    def _reset(self) -> None:
        """Forget all updates."""
        self.state_, self._progress = DualState.zero(len(self._problems())), Progress()
        self.support_, self._rows_seen = np.empty(0, np.int64), 0
        self.__dict__.pop("support_vectors_", None)
        if self.kernel != "precomputed":
            self.support_vectors_ = np.empty((0, self.n_features_in_), self._kernel.dtype)

    def _learner(self, X, codes, omega, make: Callable[[Any], Any]) -> tuple[Any, Examples]:
        """A learner in the present state, and its examples: the support rows, then X.

        `make` constructs it: :meth:`_dual`, or :meth:`_dual_on_host` to learn online.
        """
        if self.kernel == "precomputed" and self.support_.size:
            raise ValueError("warm_start needs the rows themselves, not their Gram matrix.")
        if self.keep == "vote" and np.max(omega, initial=0.0) > MOST_COPIES:
            raise ValueError(
                f"keep='vote' counts a row of weight w as w copies, at most {MOST_COPIES:,}, but a "
                f"weight is {np.max(omega):g}; divide sample_weight and class_weight by a number, "
                "or use keep='average'."
            )
        n = self.support_.size
        if n:  # the support rows are not visited again
            X = stacked(self.support_vectors_, X)
            omega = np.concatenate([np.zeros(n), np.broadcast_to(omega, codes.shape)])
            codes = np.concatenate([np.zeros(n, codes.dtype), codes])
        return make(X), examples_of(X, codes, omega)

    def _dual(self, X: Any) -> Any:
        """The learner of a fit, in the present state."""
        return self._dual_on_host(X, self.max_iter)

    def _dual_on_host(self, X: Any, epochs: int = 1) -> Dual:
        gram = GramBlocks(self._kernel.function, X, self.cache_size)
        if epochs > 1:  # each entry is used again
            gram.make_all(None if callable(self.kernel) else self._kernel.function_by)
        return Dual(self._problems(), gram, self.state_, epochs=epochs)

    def _take(
        self, learner: Dual, n_rows: int, progress: Progress, kept: Moment | None = None
    ) -> None:
        """Set the state, support rows and attributes after learning from `n_rows` rows."""
        state, numbers = learner.state(), np.arange(n_rows) + self._rows_seen
        support, log = state.log.by_row()
        self.support_ = np.concatenate([self.support_, numbers])[support]
        if self.kernel != "precomputed":
            self.support_vectors_ = learner.gram.host_rows(support)
        self._rows_seen += n_rows
        self._describe(replace(state, log=log, kept=kept), progress)

    def _describe(self, state: DualState, progress: Progress) -> None:
        """Set the attributes that follow from the state and the progress."""
        self.state_, self._progress = state, progress
        describe_run(self, progress)
        self.dual_coef_ = coefficients(*state.at_best(), self.keep, self.support_.size)
        self.problem_updates_ = state.updates
