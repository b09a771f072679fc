"""Models in the dual form: a log of updates, their support rows, and the scores they give."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils.multiclass import check_classification_targets

from rosenblatt import rules
from rosenblatt.estimators import _checks as checks
from rosenblatt.estimators._classifier import Classifier
from rosenblatt.estimators._input import FLOATS, checked_data
from rosenblatt.estimators._kernel_functions import ModelKernel
from rosenblatt.learners.dual import Dual
from rosenblatt.learners.examples import Examples, examples_of
from rosenblatt.learners.gram_blocks import GramBlocks
from rosenblatt.learners.log import MOST_COPIES, DualState, Moment
from rosenblatt.learners.problems import Problems, votes
from rosenblatt.learners.votes import coefficients, scores_by
from rosenblatt.training import Progress
from rosenblatt.training.defaults import threshold_of


class HeldRows(NamedTuple):
    """Rows to validate on, with their class numbers and weights."""

    X: Any
    codes: np.ndarray
    weights: np.ndarray


class DualModel(Classifier):
    """The trained model of a kernel perceptron."""

    _kernel: ModelKernel

    def _scores_of(self, X: Any) -> Any:
        """The scores of checked rows, see :meth:`decision_function`."""
        support = self.support_ if self.kernel == "precomputed" else self.support_vectors_
        scores = self._scores(X, *self.state_.at_best(), support)
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
        weights = checks.check_weights(sample_weight, len(y))
        if is_first:
            self.classes_ = np.unique(y[:0] if classes is None else classes)
            self._kernel = ModelKernel.by_rows(self, X, weights)
            X = X.astype(self._kernel.dtype, copy=False)
            self._reset()
        else:
            checks.check_named(classes, self.classes_)
        return X, y, weights

    def _problems(self) -> Problems:
        threshold, n_classes = 0.0, len(self.classes_)
        if self.mistake == "margin":
            joint = self.multiclass == "joint" and n_classes > 2
            threshold = threshold_of(self.threshold, self._kernel.unit, 0.0, 1.0, joint)
        thresholds = rules.thresholds(self.mistake, threshold)
        return Problems(n_classes, self.multiclass, thresholds)

    def _scores(self, X, log, clock, support) -> np.ndarray:
        """The scores (rows, problems) by a log; `support` holds row numbers if precomputed."""
        joint, function = self._problems().joint, self._kernel.function

        def entries(rows: slice) -> np.ndarray:
            K = X[rows][:, support] if function is None else function(X[rows], support)
            return np.ascontiguousarray(K)

        n, n_support = X.shape[0], support.shape[0]
        return scores_by(entries, n, log, clock, self.keep, n_support, self.cache_size, joint)

    def _held_rows(self, X, targets, omega, X_val, y_val, random) -> tuple[Any, np.ndarray]:
        """The rows to validate on, or None, and the weights of all rows with theirs set to zero."""
        out, remaining = self._held_out(targets, omega, X_val, y_val, random)
        if X_val is not None:
            X_val, y_val = self._checked(X_val, y_val, reset=False)
            return HeldRows(
                X_val, targets.of_validation(y_val).codes, np.ones(len(y_val))
            ), remaining
        if out is None:
            return None, remaining
        weights = np.broadcast_to(omega, targets.codes.shape)[out]
        return HeldRows(X[out], targets.codes[out], weights), remaining

    def _validation_error(self, held: HeldRows, learner: Any, averaged: bool) -> float:
        """The weighted share of the held-out rows that a learner predicts wrong."""
        guesses = learner.problems.decide(self._scores_by(learner, held.X))
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
        if n and (sparse.issparse(X) or sparse.issparse(self.support_vectors_)):
            X = sparse.vstack([self.support_vectors_, X], format="csr", dtype=X.dtype)
        elif n:
            X = np.concatenate([self.support_vectors_, X])
        if n:  # the support rows are not visited again
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
        used, log = state.log.by_row()
        self.support_ = np.concatenate([self.support_, numbers])[used]
        if self.kernel != "precomputed":
            self.support_vectors_ = learner.gram.given(used)
        self._rows_seen += n_rows
        self._describe(replace(state, log=log, kept=kept), progress)

    def _describe(self, state: DualState, progress: Progress) -> None:
        """Set the attributes that follow from the state and the progress."""
        self.state_, self._progress = state, progress
        checks.describe_run(self, progress)
        self.dual_coef_ = coefficients(*state.at_best(), self.keep, self.support_.size)
        self.problem_updates_ = state.updates
