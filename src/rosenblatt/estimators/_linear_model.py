"""Linear classifiers: their weights, their learner, and the values of ``"auto"`` options."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.linear_model._base import SparseCoefMixin
from sklearn.utils.extmath import safe_sparse_dot

from rosenblatt import rules
from rosenblatt.estimators._classifier import Classifier
from rosenblatt.estimators._input import checked_data
from rosenblatt.kernels.family_cells import SCALE
from rosenblatt.learners import Spec, make
from rosenblatt.learners.examples import Examples
from rosenblatt.learners.linear import WORTH_STARTING
from rosenblatt.learners.parts import ONE_RATE
from rosenblatt.learners.problems import votes
from rosenblatt.learners.rates import idf_rates
from rosenblatt.learners.weights import State, Weights
from rosenblatt.process import threads_of
from rosenblatt.training import Plan
from rosenblatt.training.defaults import (
    MeanSquare,
    averages,
    multiclass_of,
    padding_of,
    threshold_of,
)


class LinearModel(SparseCoefMixin, Classifier):
    """A linear classifier; its weights are those of its learner, which changes them in place.

    A learner trained on packed rows has weights only for the columns that occur.
    """

    keep: str = "last"
    fit_intercept: bool = True
    intercept_scaling: Any = 1.0
    feature_rates: Any = None
    n_jobs: int | None = None

    # Options that only some subclasses have as parameters.
    eta0, learning_rate, threshold, mistake, update = 1.0, "constant", 0.0, "margin", "online"
    max_updates = None

    _learner: Any
    _shown: Weights | None  # the weights to predict with; None if they are the learner's own
    _places: np.ndarray | None  # the column of each weight of the learner; None if it has all
    _base: np.ndarray | None  # initial weights of all columns, where the learner does not have all
    _square: MeanSquare  # the unit of "auto" options

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
        """The last weights, averaging sums and clock; views of the learner's arrays."""
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
        return self._learner.weights(averaged=self._averages())

    def _averages(self) -> bool:
        return averages(self.keep)

    def _checked_rows(self, X: Any) -> Any:
        return checked_data(self, X, reset=False)

    def _scores_of(self, X: Any) -> Any:
        """The scores of checked rows, see :meth:`decision_function`."""
        scores = linear_scores(X, *self._predicting())
        if self.multiclass_ == "ovo" and len(self.classes_) > 2:
            return votes(scores, self._learner.problems)
        return scores

    # The columns of X and those of the learner

    def _in_columns(self, weights: np.ndarray) -> np.ndarray:
        """The learner's weights (problems, places) by the columns of X."""
        if self._places is None:
            return weights
        shape = (weights.shape[0], self.n_features_in_)
        full = np.zeros(shape, weights.dtype) if self._base is None else self._base.copy()
        full[:, self._places] = weights
        return full

    def _unpack(self, dense: bool | None = None) -> None:
        """Replace the learner by one with all columns of X, for rows that are `dense` or not."""
        old, places, width = self._learner, self._places, self.n_features_in_
        if places is None and dense in (None, old.dense):
            return
        state = old.state()
        state = replace(state, weights=self._in_columns(state.weights), before=None)
        self._learner = old.untrained(width, old.dense if dense is None else dense)
        if places is not None:
            if state.sums.size:
                sums = np.zeros((len(state.sums), width))
                sums[:, places] = state.sums
                state = replace(state, sums=sums)
            if state.cells.size:
                cells = np.full((len(state.cells), width, state.cells.shape[2]), np.nan)
                cells[..., 0] = state.weights / state.book[SCALE, :, None]
                cells[:, places] = state.cells
                state = replace(state, cells=cells)
            self._learner.rates = self._rates_in_columns(old.rates)
        self._learner.restore(state)
        self._places = self._base = None

    def _rates_in_columns(self, rates: np.ndarray) -> np.ndarray:
        """The learner's rates per feature, by the columns of X; the last is for all others."""
        if len(rates) == 1:
            return rates
        if not isinstance(self.feature_rates, str):
            return self._given_rates()
        full = np.full(self.n_features_in_ + 1, rates[-1])
        full[self._places] = rates[:-1]
        return full

    def _given_rates(self) -> np.ndarray:
        """`feature_rates`, where it is an array, checked."""
        rates = np.asarray(self.feature_rates, dtype=np.float32)
        if rates.shape != (self.n_features_in_,) or not (np.isfinite(rates) & (rates >= 0)).all():
            raise ValueError(
                f"feature_rates must be {self.n_features_in_} finite numbers, none negative; got "
                f"an array of shape {rates.shape}."
            )
        return rates

    def _rates(self, examples: Examples) -> np.ndarray:
        """The learning rate of each feature of the examples."""
        if self.feature_rates is None:
            return ONE_RATE
        if isinstance(self.feature_rates, str):
            return idf_rates(examples)
        rates = self._given_rates()
        return rates if examples.columns is None else np.append(rates[examples.columns], 1.0)

    # The learner and its options

    def _member_rule(self) -> Any:
        """The rule of a member of the family, with its parameters; None for the perceptron."""
        raise NotImplementedError

    def _is_full(self) -> bool:
        """Whether a full covariance matrix is kept."""
        return getattr(self, "covariance", "diagonal") == "full"

    def _new_learner(self, examples: Examples, n_classes: int, device: str = "cpu") -> Any:
        """A learner with zero weights, on the processor or on a GPU."""
        threads, multiclass = threads_of(self.n_jobs), self.multiclass_
        counts_all = self.max_updates is not None or self.keep == "best"
        (thresholds, padding), rule = self._rule(n_classes), self._member_rule()
        if rule is None and threads > 1 and n_classes > 2 and multiclass == "ovr" and counts_all:
            name = "keep='best'" if self.keep == "best" else "max_updates"
            raise ValueError(
                f"{name} counts over all classes together, which cannot be spread over "
                f"n_jobs={self.n_jobs} threads. Use n_jobs=None."
            )
        if rule is None and examples.stored * n_classes < WORTH_STARTING:
            threads = 1
        spec = Spec(
            rule=rule,
            multiclass=multiclass,
            thresholds=thresholds,
            padding=padding,
            averaging=self._averages(),
            rates=self._rates(examples),
            dtype=examples.dtype,
            dense=examples.is_dense,
            batch=self.update == "batch",
            threads=threads,
            full=self._is_full(),
            device=device,
        )
        return make(spec, n_classes, examples.n_features)

    def _plan(self, validate: Any = None) -> Plan:
        eta: float | Callable[[int], float] = float(self.eta0)
        if callable(self.learning_rate):
            eta = self.learning_rate
        elif self.learning_rate != "constant":
            eta = partial(_decaying, self.eta0, {"inverse": 1, "sqrt": 0.5}[self.learning_rate])
        return replace(super()._plan(validate), eta=eta, keep=self.keep)

    def _settle_units(self, examples: Examples, lengths: Any = None) -> None:
        """Set what ``"auto"`` means by all examples; see :meth:`MeanSquare.of`."""
        self._square = MeanSquare()
        if self._has_auto():
            self._square = MeanSquare.of(examples, self._rates(examples), lengths)
        self._rule(len(self.classes_))

    def _settle_multiclass(self, rows: float, multilabel: bool = False) -> None:
        """Set `multiclass_` by the classes and the number of rows, 0 if unknown."""
        n_classes, n_features = len(self.classes_), self.n_features_in_
        self.multiclass_ = multiclass_of(self.multiclass, n_classes, rows, n_features, multilabel)

    def _has_auto(self) -> bool:
        return self.threshold == "auto" or (self.fit_intercept and self.intercept_scaling == "auto")

    def _rule(self, n_classes: int) -> tuple[tuple[float, float], float]:
        """The thresholds and the padding, in the present unit; sets the attributes too."""
        eta = float(self._plan().etas(1, 1)[0])
        joint = self.multiclass_ == "joint" and n_classes > 2
        square, threshold = self._square.value, 0.0
        padding = padding_of(self.intercept_scaling, square) if self.fit_intercept else 0.0
        if self.mistake == "margin":
            threshold = threshold_of(self.threshold, square, padding, eta, joint)
        self.threshold_, self.intercept_scaling_ = threshold, padding
        return rules.thresholds(self.mistake, threshold), padding

    def _use(self, square: MeanSquare) -> None:
        """Change the unit, and with it the learner's thresholds and padding."""
        changed, self._square = square.value != self._square.value, square
        if changed:
            thresholds, padding = self._rule(len(self.classes_))
            self._learner.change(self._member_rule(), thresholds, padding)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_label = self.multiclass in ("auto", "ovr")
        return tags


def _decaying(eta0: float, power: float, t: int) -> float:
    return eta0 / t**power


def linear_scores(X: Any, weights: Any, bias: np.ndarray) -> Any:
    """``X·Wᵀ + b`` for weights (problems, features); a vector for a single problem.

    >>> linear_scores(np.eye(2), np.array([[1.0, 2.0]]), np.array([0.5]))
    array([1.5, 2.5])
    """
    scores = safe_sparse_dot(X, weights.T, dense_output=True) + bias.astype(weights.dtype)
    return scores[:, 0] if scores.shape[1] == 1 else scores
