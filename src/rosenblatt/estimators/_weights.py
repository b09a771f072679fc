"""How a learner shows itself: coef_, intercept_ and state_, made when they are asked for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.linear_model._base import SparseCoefMixin
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_is_fitted

from rosenblatt.estimators import _device
from rosenblatt.estimators._classifier import Classifier
from rosenblatt.estimators._input import checked_data
from rosenblatt.kernels.family_cells import SCALE
from rosenblatt.learners.problems import votes
from rosenblatt.learners.weights import State, Weights


class LearnedWeights(SparseCoefMixin, Classifier):
    """The weights of a learner, which stay where they are, as scikit-learn names them."""

    _learner: Any
    _shown: Weights | None  # None: those in use are those to predict with
    _places: np.ndarray | None  # the columns of packed rows
    _base: np.ndarray | None  # weights of columns that no packed row had

    def decision_function(self, X):
        """The scores ``w·x + b``; for ``"ovo"`` votes, plus a tie-break in (-1/3, 1/3).

        Parameters
        ----------
        X : array, sparse matrix or data frame (n, d)

        Returns
        -------
        scores : array (n,) for two classes, else (n, n_classes)
            One column per label, where rows have several.
        """
        check_is_fitted(self)
        if _device.is_on_cuda(X):
            there = _device.checked_on_device(self, X, dtype=self.coef_.dtype, reset=False)
            return _device.like(self._scores_of(there), X)
        return self._scores_of(checked_data(self, X, reset=False))

    def _scores_of(self, X: Any) -> Any:
        """What :meth:`decision_function` gives for rows that are checked already."""
        there = _device.is_on_cuda(X)
        scores = (_device.device_scores if there else linear_scores)(X, *self._predicting())
        if self.multiclass_ == "ovo" and len(self.classes_) > 2:
            return votes(scores, self._learner.problems)
        return scores

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
            raise AttributeError(f"The {type(self).__name__} is not fitted yet.")
        self._unpack()
        return self._learner.state()

    def _predicting(self) -> Weights:
        """The weights to predict with, made when they are asked for."""
        if not hasattr(self, "_shown"):
            raise AttributeError(f"The {type(self).__name__} is not fitted yet.")
        if self._shown is not None:
            return self._shown
        return self._learner.weights(averaged=self._averages())

    def _averages(self) -> bool:
        return self.keep in ("average", "late_average")

    def _in_columns(self, weights: np.ndarray) -> np.ndarray:
        """Weights of packed rows in the columns of X."""
        if self._places is None:
            return weights
        shape = (weights.shape[0], self.n_features_in_)
        full = np.zeros(shape, weights.dtype) if self._base is None else self._base.copy()
        full[:, self._places] = weights
        return full

    def _rates_in_columns(self, rates: np.ndarray) -> np.ndarray:
        """The learning rates of packed rows by the columns of X."""
        if len(rates) == 1:  # all are the same
            return rates
        if not isinstance(self.feature_rates, str):
            return self._given_rates()
        full = np.full(self.n_features_in_ + 1, rates[-1])
        full[self._places] = rates[:-1]
        return full

    def _given_rates(self) -> np.ndarray:
        """The learning rates that were given as an array, checked."""
        rates = np.asarray(self.feature_rates, dtype=np.float32)
        if rates.shape != (self.n_features_in_,) or not (np.isfinite(rates) & (rates >= 0)).all():
            raise ValueError(
                f"feature_rates must be {self.n_features_in_} finite numbers, none negative; got "
                f"an array of shape {rates.shape}."
            )
        return rates

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
        weights, cells = self._in_columns(state.weights), state.cells
        if self._places is not None and cells.size:
            cells = np.full((len(cells), self.n_features_in_, cells.shape[2]), np.nan)
            cells[..., 0] = weights / state.book[SCALE, :, None]
            cells[:, self._places] = state.cells
        state = replace(state, weights=weights, sums=sums, cells=cells, before=None)
        self._learner = learner.like(self.n_features_in_, learner.dense if dense is None else dense)
        if self._places is not None:
            self._learner.rates = self._rates_in_columns(learner.rates)
        self._learner.restore(state)
        self._places = self._base = None


def linear_scores(X: Any, weights: Any, bias: np.ndarray) -> np.ndarray:
    """``X·wᵀ + b`` of (problems, features) weights; a vector for a single problem.

    >>> linear_scores(np.eye(2), np.array([[1.0, 2.0]]), np.array([0.5]))
    array([1.5, 2.5])
    """
    scores = safe_sparse_dot(X, weights.T, dense_output=True)
    scores = scores + bias.astype(weights.dtype)
    return scores[:, 0] if scores.shape[1] == 1 else scores
