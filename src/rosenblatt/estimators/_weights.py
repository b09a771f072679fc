"""How a learner shows itself: coef_, intercept_ and state_, made when they are asked for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.linear_model._base import LinearClassifierMixin, SparseCoefMixin
from sklearn.utils.validation import check_is_fitted

from rosenblatt.estimators import _device
from rosenblatt.estimators._input import checked_data
from rosenblatt.estimators._scores import linear_scores
from rosenblatt.kernels.family_cells import SCALE
from rosenblatt.learners.linear import Linear
from rosenblatt.learners.problems import votes
from rosenblatt.learners.weights import State, Weights


class LearnedWeights(SparseCoefMixin, LinearClassifierMixin):
    """The weights of a learner, which stay where they are, as scikit-learn names them."""

    classes_: np.ndarray
    n_features_in_: int
    multiclass_: str
    keep: str
    feature_rates: Any
    _learner: Linear
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
            return _device.like(self._scores_on_device(X), X)
        return self._scores_of(checked_data(self, X, reset=False, indices=False))

    def _scores_of(self, X: Any) -> np.ndarray:
        """What :meth:`decision_function` gives for rows that are checked already."""
        scores = linear_scores(X, *self._predicting())
        is_pairwise = self.multiclass_ == "ovo" and len(self.classes_) > 2
        return votes(scores, self._learner.problems) if is_pairwise else scores

    def predict(self, X):
        """The class of each row, or which labels it has.

        Parameters
        ----------
        X : array, sparse matrix or data frame (n, d)

        Returns
        -------
        labels : array (n,), or indicator matrix (n, labels) of int
            Where X lies on a CUDA device, there too, unless the labels are not numbers: there are
            no device arrays of strings.
        """
        check_is_fitted(self)
        several = self.multiclass_ == "labels"
        if not _device.is_on_cuda(X):
            if several:
                return (self.decision_function(X) > 0).astype(np.int64)
            return super().predict(X)
        scores = self._scores_on_device(X)
        if several:
            return _device.like((scores > 0).astype(np.int64), X)
        return _device.predicted(self.classes_, scores, X)

    def score(self, X, y, sample_weight=None) -> float:
        """The share of rows, by weight, whose label, or all of whose labels, is predicted right."""
        return super().score(_device.to_host(X), _device.to_host(y), sample_weight)

    def _scores_on_device(self, X) -> Any:
        """The scores of rows on a CUDA device, as CuPy has them."""
        weights, bias = self._predicting()
        X = _device.checked_on_device(self, X, dtype=weights.dtype, reset=False)
        scores = _device.device_scores(X, weights, bias)
        if len(bias) == 1:
            return scores[:, 0]
        if self.multiclass_ == "ovo":
            return _device.device_votes(scores, self._learner.problems)
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

    def _learned(self) -> Weights:
        """The last weights, whatever is predicted with."""
        state = self.state_
        return Weights(state.weights, state.bias)

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
