"""Linear classifiers: what the perceptron and its family share as scikit-learn estimators."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.metaestimators import available_if

from rosenblatt import rules, training
from rosenblatt.estimators._classifier import (
    Classifier,
    confirm_separation,
    describe_run,
    is_permuted,
    learns_online,
    order_of,
    progress_bar,
    seed_of,
    untouched_on_failure,
    warn_of_budget,
)
from rosenblatt.estimators._input import (
    Targets,
    check_multilabel_options,
    check_weights,
    checked_data,
    initial_weights,
    refuse_bad_numbers,
)
from rosenblatt.estimators._partial_fit import learn
from rosenblatt.estimators._unseen import Fitted
from rosenblatt.learners import Spec, make
from rosenblatt.learners.column_scale import ColumnScale, RunningScale
from rosenblatt.learners.examples import ONE, Examples, examples_of
from rosenblatt.learners.linear import WORTH_STARTING
from rosenblatt.learners.parts import ONE_RATE
from rosenblatt.learners.problems import n_problems, votes
from rosenblatt.learners.rates import idf_rates
from rosenblatt.learners.survey import Survey, is_worth_a_copy, survey
from rosenblatt.learners.weights import State, Weights, in_columns
from rosenblatt.process import threads_of
from rosenblatt.rules.gradient import LOSSES
from rosenblatt.training import Drawn, Plan, Progress, learning_rate
from rosenblatt.training.defaults import (
    MeanSquare,
    are_in_units,
    averages,
    expected_visits,
    multiclass_of,
    padding_of,
    threshold_of,
)

_CACHED_WEIGHTS = 1 << 21  # weights that fit into a processor's caches


@dataclass
class Run:
    """What `fit` prepares, runs and finishes.

    Attributes
    ----------
    learner, data, plan, progress
        The arguments of :func:`rosenblatt.training.run`; the learner may be replaced by an equal
        one.
    base : array or None
        The initial weights of all columns; None if they are zero.
    largest : float
        The largest magnitude in the rows.
    held_out : (rows, truth) or None
        What to calibrate on.
    fitted : Fitted or None
        What the run learns from, to calibrate on if nothing is held out.
    """

    learner: Any
    data: Any
    plan: Plan
    progress: Progress
    base: np.ndarray | None = None
    largest: float = 0.0
    held_out: tuple[Any, np.ndarray] | None = None
    fitted: Fitted | None = None


class LinearClassifier(Classifier):
    """A linear classifier; its weights are those of its learner, which changes them in place.

    A learner trained on packed rows has weights only for the columns that occur.
    """

    # Options that only some subclasses have as parameters.
    eta0 = 1.0
    learning_rate = "constant"
    threshold = 0.0
    mistake = "margin"
    update = "online"

    _is_perceptron = True
    _learner: Any
    _shown: Weights | None  # the weights to predict with; None if they are the learner's own
    _places: np.ndarray | None  # the column of each weight of the learner; None if it has all
    _base: np.ndarray | None  # initial weights of all columns, where the learner does not have all
    _square: MeanSquare  # the unit of "auto" options
    _progress: Progress
    _running: RunningScale | None = None  # the scale of a stream, by its rows so far
    scale_: ColumnScale | None  # of the rows that the learner sees

    @property
    def coef_(self) -> Any:
        """The weights to predict with, (classes, features), or of two classes (1, features)."""
        return self._of_classes("coef_").weights

    @property
    def intercept_(self) -> np.ndarray:
        """The offsets to predict with, (classes,) or (1,)."""
        weights, bias = self._of_classes("intercept_")
        return bias.astype(weights.dtype)

    @property
    def pair_coef_(self) -> Any:
        """The weights of each pair of classes, (pairs, features), where pairs vote."""
        return self._of_pairs("coef_").weights

    @property
    def pair_intercept_(self) -> np.ndarray:
        """The offset of each pair of classes, (pairs,), where pairs vote."""
        weights, bias = self._of_pairs("intercept_")
        return bias.astype(weights.dtype)

    def _has_pairs(self) -> bool:
        return self.multiclass_ == "ovo" and len(self.classes_) > 2

    def _of_classes(self, name: str) -> Weights:
        """The weights to predict with, where a row of them is that of a class."""
        weights = self._predicting()
        if self._has_pairs():
            raise AttributeError(
                f"There is no {name}: pairs of classes vote, and their weights are pair_{name}. "
                "With multiclass='joint', or 'ovr', each class has weights of its own."
            )
        return weights

    def _of_pairs(self, name: str) -> Weights:
        """The weights to predict with, where a row of them is that of a pair."""
        weights = self._predicting()
        if not self._has_pairs():
            raise AttributeError(f"There is no pair_{name}: no pairs of classes vote. See {name}.")
        return weights

    @property
    def state_(self) -> State:
        """The last weights, averaging sums and clock, of columns scaled by `scale_`.

        Views of the learner's arrays.
        """
        if not hasattr(self, "_learner"):
            raise AttributeError(f"The {type(self).__name__} is not fitted yet.")
        self._unpack()
        return self._learner.state()

    def _predicting(self) -> Weights:
        """The weights to predict with; an average is computed when it is first asked for."""
        if not hasattr(self, "_shown"):
            raise AttributeError(f"The {type(self).__name__} is not fitted yet.")
        if self._shown is not None:
            return self._shown
        weights = self._learner.weights(averaged=averages(self.keep))
        return weights if self.scale_ is None else self.scale_.fold(*weights)

    def _checked_rows(self, X: Any) -> Any:
        return checked_data(self, X, reset=False)

    def _scores_of(self, X: Any) -> Any:
        """The scores of checked rows, see :meth:`decision_function`."""
        scores = linear_scores(X, *self._predicting())
        if self._has_pairs():
            return votes(scores, self._learner.problems)
        return scores

    # fit

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
        with untouched_on_failure(self):
            run = self._prepare(X, y, coef_init, intercept_init, sample_weight, X_val, y_val)
            with progress_bar(type(self).__name__, self.max_iter, self.verbose) as bar:
                callbacks = (*bar, *run.plan.callbacks)
                plan = replace(run.plan, callbacks=callbacks) if bar else run.plan
                for _ in training.run(run.learner, run.data, plan, run.progress):
                    pass
            self._finish(run)
        warn_of_budget(self)
        return self

    def _prepare(
        self,
        X,
        y,
        coef_init=None,
        intercept_init=None,
        sample_weight=None,
        X_val=None,
        y_val=None,
        device="cpu",
    ) -> Run:
        """Check the input and settle the options: all that the run needs."""
        self._check_parameters()
        if self.warm_start and hasattr(self, "_shown"):
            coef_init, intercept_init = self._predicting()
        X, y = checked_data(self, X, y, finite=False, indices=False, multilabel=True)
        targets = Targets.of(y)
        self.classes_ = targets.classes
        if targets.sets is not None:
            check_multilabel_options(self)
        copies = check_weights(sample_weight, len(y))
        omega = targets.weights(copies, self.class_weight)
        rows = float(len(y) if copies is ONE else copies.sum())
        self._settle_multiclass(rows, multilabel=targets.sets is not None)
        random = check_random_state(self.random_state)
        out, omega_in = self._held_out(targets, omega, X_val, y_val, random)
        examples = examples_of(X, targets.codes, omega_in, targets.sets)
        examples = self._settle_scale(examples, copies)
        seen = self._survey(examples, X)
        order, draw, merged = order_of(self.shuffle, examples, seen.keys)
        examples = replace(self._packed(examples), omega=merged, screened=seen.screened)
        held_out = validate = None
        if X_val is not None:  # its rows may have columns that X does not have
            X_val, y_val = checked_data(
                self, X_val, y_val, dtype=X.dtype, reset=False, multilabel=True
            )
            held = targets.of_validation(y_val)
            others = examples.in_same_layout(self._scaled(X_val), held.codes, held.sets)
            validate = _error_on(others, np.arange(len(others)))
            held_out = X_val, held.truth()
            examples = replace(examples, n_features=others.n_features, columns=others.columns)
        elif out is not None:
            validate = _error_on(examples.reweighted(omega), out)
            held_out = (X[out], targets.truth(out)) if self.calibrate is not None else None
        self._square = MeanSquare()
        if self._has_auto():
            self._square = MeanSquare.of(examples, self._rates(examples), seen.squares)
        learner = self._new_learner(examples, len(self.classes_), device)
        base = self._start(learner, examples, coef_init, intercept_init)
        data = Drawn(examples, order, draw, seed_of(self.random_state, random))
        eta = learning_rate(self.learning_rate, self.eta0)
        always = getattr(learner.spec.rule, "loss", 0.0) == LOSSES.index("log")
        plan = self._plan(validate, eta=eta, keep=self.keep, updates_always=always)
        fitted = Fitted(X, targets, copies)
        return Run(learner, data, plan, Progress(), base, seen.largest, held_out, fitted)

    def _finish(self, run: Run) -> None:
        """Set the attributes after a run."""
        learner, progress = run.learner, run.progress
        weights, bias = training.kept_weights(learner, run.plan, progress)
        self._learner, self._places = learner.on_host(), run.data.examples.columns
        self._base = run.base
        self._learner.unmark()
        self._progress = progress
        if self._places is not None:
            weights = in_columns(weights, self._places, self.n_features_in_, run.base)
        if self.scale_ is not None:
            weights, bias = self.scale_.fold(weights, bias)
        self._shown = Weights(np.ascontiguousarray(weights), bias)
        assert run.fitted is not None
        if self.keep != "last" or self.early_stopping or self.scale_ is not None:
            confirm_separation(self, progress, run.fitted, run.data.everything()[1])
        describe_run(self, progress)
        training.refuse_overflow(self._learner, run.data, run.plan, progress, run.largest)
        progress.kept = None
        progress.cycle = None
        progress.history = []
        if self.keep == "last" and not self.early_stopping and self._places is None:
            self._shown = None  # those of the learner
        self._remember(run.held_out, run.fitted, weights.size)

    @property
    def _has_scale(self) -> bool:
        """Whether columns are scaled; rates of features take the place of that."""
        return self.scale is not None and self.feature_rates is None

    def _settle_scale(self, examples: Examples, copies: np.ndarray) -> Examples:
        """The examples with their columns scaled; sets `scale_`."""
        self.scale_ = self._running = None
        if self._has_scale:
            visited = copies
            if examples.omega.size > 1:
                visited = np.where(examples.omega > 0, np.broadcast_to(copies, len(examples)), 0.0)
            self.scale_ = ColumnScale.of(examples, visited, bool(self.fit_intercept))
        return examples if self.scale_ is None else self.scale_.examples(examples)

    def _scaled(self, X: Any) -> Any:
        """Checked rows as the learner sees them."""
        return X if self.scale_ is None else self.scale_.rows(X)

    def _survey(self, examples: Examples, X: Any) -> Survey:
        """One pass over all rows before training; NaN, infinity and huge numbers are refused."""
        n_classes = len(self.classes_)
        alone = n_problems(n_classes, self.multiclass_) == 1 or self.multiclass_ == "ovo"
        screens = self._is_perceptron and self.update == "online" and alone
        seen = survey(
            examples,
            keys=is_permuted(self.shuffle),
            copies=screens
            and is_worth_a_copy(
                examples, expected_visits(self.threshold, self.tol, self.max_iter, n_classes)
            ),
            squares=self._has_auto() and self.feature_rates is None,
            threads=threads_of(self.n_jobs),
        )
        if not math.isfinite(seen.largest):
            refuse_bad_numbers(self, X)
        most = float(np.finfo(examples.dtype).max)
        if not self._is_perceptron and seen.largest * seen.largest > most:
            raise ValueError(
                "The squared lengths of the rows overflow. Scale the features (for example with "
                "StandardScaler)."
            )
        return seen

    def _packed(self, examples: Examples) -> Examples:
        """The rows of fit, packed if there are more weights than cached or stored numbers.

        Packing takes the time of several epochs and saves a part of each. An order of the caller's
        own may be that of a file, whose rows are packed: then the sums are made as there.
        """
        weights = n_problems(len(self.classes_), "ovr") * examples.n_features
        many = weights > min(examples.stored, _CACHED_WEIGHTS)
        pays = many or not is_permuted(self.shuffle)
        return examples.packed() if pays else examples

    def _start(self, learner: Any, examples: Examples, coef, intercept) -> np.ndarray | None:
        """Set the learner's initial weights; return them for all columns, or None if all zero."""
        if coef is None and intercept is None:
            return None
        if not self.fit_intercept and intercept is not None and np.any(intercept):
            raise ValueError("intercept_init needs fit_intercept=True.")
        n = n_problems(len(self.classes_), self.multiclass_)
        weights = initial_weights("coef_init", coef, (n, self.n_features_in_), examples.dtype)
        bias = initial_weights("intercept_init", intercept, (n,), np.float64)
        if self.scale_ is not None:
            weights, bias = self.scale_.unfold(weights, bias)
        columns = weights if examples.columns is None else weights[:, examples.columns]
        zero = State.zero(n, columns.shape[1], averaging=averages(self.keep))
        learner.restore(replace(zero, weights=columns, bias=bias))
        return weights

    # partial_fit

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
        learn(self, X, y, classes, sample_weight)
        return self

    # The columns of X and those of the learner

    def _unpack(self, dense: bool | None = None) -> None:
        """Replace the learner by one with all columns of X, for rows that are `dense` or not."""
        old, places = self._learner, self._places
        width = self.n_features_in_
        if places is None and dense in (None, old.spec.dense):
            return
        rates = old.spec.rates if places is None else self._rates_in_columns(old.spec.rates)
        dense = old.spec.dense if dense is None else dense
        self._learner = old.untrained(width, dense, rates=rates)
        state = replace(old.state(), before=None)
        if places is not None:
            state = state.in_columns(places, width, self._base)
        self._learner.restore(state)
        self._places = self._base = None

    def _rates_in_columns(self, rates: np.ndarray) -> np.ndarray:
        """The learner's rates per feature, by the columns of X; the last is for all others."""
        if len(rates) == 1:
            return rates
        full = np.full(self.n_features_in_ + 1, rates[-1])
        full[self._places] = rates[:-1]
        return full

    def _rates(self, examples: Examples) -> np.ndarray:
        """The learning rate of each feature of the examples."""
        return ONE_RATE if self.feature_rates is None else idf_rates(examples)

    # The learner and its options

    def _new_learner(self, examples: Examples, n_classes: int, device: str = "cpu") -> Any:
        """A learner with zero weights, on the processor or on a GPU."""
        threads, multiclass = threads_of(self.n_jobs), self.multiclass_
        if examples.stored * n_classes < WORTH_STARTING:
            threads = 1
        rule, padding = self._rule(n_classes)
        spec = Spec(
            rule=rule,
            multiclass=multiclass,
            padding=padding,
            averaging=averages(self.keep),
            rates=self._rates(examples),
            dtype=examples.dtype,
            dense=examples.is_dense,
            batch=self.update == "batch",
            threads=threads,
            device=device,
        )
        return make(spec, n_classes, examples.n_features)

    def _settle_multiclass(self, rows: float, multilabel: bool = False) -> None:
        """Set `multiclass_` by the classes and the number of rows, 0 if unknown."""
        n_classes, n_features = len(self.classes_), self.n_features_in_
        self.multiclass_ = multiclass_of(self.multiclass, n_classes, rows, n_features, multilabel)

    def _has_auto(self) -> bool:
        return are_in_units(self.threshold, self.fit_intercept and self.intercept_scaling)

    def _rule(self, n_classes: int) -> tuple[Any, float]:
        """The numbers of the rule and the padding, in the present unit; sets the attributes too."""
        eta = learning_rate(self.learning_rate, self.eta0)
        first = float(eta(1)) if callable(eta) else eta
        joint = self.multiclass_ == "joint" and n_classes > 2
        square, threshold = self._square.value, 0.0
        padding = padding_of(self.intercept_scaling, square) if self.fit_intercept else 0.0
        if self.mistake == "margin":
            threshold = threshold_of(self.threshold, square, padding, first, joint)
        self.threshold_, self.intercept_scaling_ = threshold, padding
        return self._numbers(), padding

    def _numbers(self) -> Any:
        """The numbers of the rule."""
        return rules.thresholds(self.mistake, self.threshold_)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_label = self.multiclass not in ("ovo", "joint")
        return tags


def _error_on(examples: Examples, rows: np.ndarray) -> Callable[[Any, bool], float]:
    """The function that validates a learner on some rows of the examples."""
    order = rows.astype(np.uint64)
    return lambda learner, averaged: learner.error(examples, order, averaged)


def linear_scores(X: Any, weights: Any, bias: np.ndarray) -> Any:
    """``X·Wᵀ + b`` for weights (problems, features); a vector for a single problem.

    >>> linear_scores(np.eye(2), np.array([[1.0, 2.0]]), np.array([0.5]))
    array([1.5, 2.5])
    """
    scores = safe_sparse_dot(X, weights.T, dense_output=True) + bias.astype(weights.dtype)
    return scores[:, 0] if scores.shape[1] == 1 else scores
