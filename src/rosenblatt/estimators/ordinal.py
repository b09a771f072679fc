"""Classes that have an order: ratings, grades, severities.

A row of class k among K lies above the first k of K - 1 thresholds and below the others: that is
K - 1 rows of two classes, the row itself with another feature for each threshold. So one weight
vector and all thresholds are learned by a classifier of two classes. Every threshold of a row
counts, also those far from its class: the all-threshold loss (Shalev-Shwartz and Singer 2005), of
whose perceptron PRank is a variant (Crammer and Singer 2001), and the perceptron's mistake bound
holds for the rows made in this way.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from rosenblatt.estimators._input import check_weights, checked_data
from rosenblatt.estimators.perceptron import Perceptron


class Ordinal(ClassifierMixin, BaseEstimator):
    """A classifier of ordered classes: one weight vector and ordered thresholds.

    Parameters
    ----------
    estimator : linear classifier, default=None
        What learns the rows of two classes; by default :class:`rosenblatt.Perceptron`.
    order : sequence, default=None
        The classes from the lowest to the highest; by default sorted.
    random_state : int, RandomState instance or None, default=None
        Given to the estimator; None leaves the estimator's own.

    Attributes
    ----------
    classes_ : array (k,)
        In their order.
    coef_ : array (n_features,)
    thresholds_ : array (k - 1,)
        Between the classes, rising. A row is of the class with as many thresholds below its score.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1.0], [2.0], [3.0], [4.0], [5.0], [6.0]])
    >>> y = ["low", "low", "mid", "mid", "top", "top"]
    >>> model = Ordinal(Perceptron.textbook(max_iter=1000)).fit(X, y)
    >>> model.predict([[0.0], [3.5], [9.0]]).tolist()
    ['low', 'mid', 'top']
    """

    def __init__(self, estimator: Any = None, order: Any = None, random_state: Any = None) -> None:
        self.estimator = estimator
        self.order = order
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to rows and their classes."""
        X, y = self._checked(X, y, reset=True)
        weights = check_weights(sample_weight, X.shape[0])
        weights = np.broadcast_to(weights, X.shape[:1])
        if not weights.any():
            raise ValueError("All weights are zero; give at least two classes a positive weight.")
        self._begin(X, np.unique(y[weights > 0]), weights)
        learned = np.isin(y, self.classes_) | (weights > 0)  # rows of weight 0 are left out
        X, y, weights = X[learned], y[learned], weights[learned]
        rows, sides = self.two_class_rows(X, y)
        options = {}
        if sample_weight is not None:
            options["sample_weight"] = np.repeat(weights, len(self.classes_) - 1)
        self.estimator_.fit(rows, sides, **options)
        return self._finish()

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """Learn from some rows; the first call has all classes, in `classes` or `order`."""
        is_first = not hasattr(self, "estimator_")
        X, y = self._checked(X, y, reset=is_first)
        if is_first:
            named = self.order if classes is None else classes
            self._begin(X, np.unique(y if named is None else named), np.ones(X.shape[0]))
        rows, sides = self.two_class_rows(X, y)
        self.estimator_.partial_fit(rows, sides, classes=[0, 1])
        return self._finish()

    def two_class_rows(self, X: Any, y: Any) -> tuple[Any, np.ndarray]:
        """The rows of two classes that are learned, and whether each lies above its threshold.

        Row i and threshold j are at place ``i * (k - 1) + j``.
        """
        X = X if sp.issparse(X) else np.asarray(X)
        codes, n = self._codes(np.asarray(y)), len(self.classes_) - 1
        each = np.repeat(np.arange(X.shape[0]), n)
        cuts = np.tile(np.eye(n) * -self.unit_, (X.shape[0], 1))
        sides = (codes[:, None] > np.arange(n)).astype(np.int64).ravel()
        if sp.issparse(X):
            return sp.hstack([sp.csr_array(X)[each], sp.csr_array(cuts)], format="csr"), sides
        return np.hstack([X[each], cuts]), sides

    def scores(self, X: Any) -> np.ndarray:
        """The score of each row: the higher, the higher its class."""
        check_is_fitted(self)
        return np.asarray(checked_data(self, X, reset=False) @ self.coef_)

    def decision_function(self, X: Any) -> np.ndarray:
        """How far each row's score is above the threshold; of several classes a score for each.

        The score of a class is the sum of the distances to the thresholds below it, so that the
        class between whose thresholds the row lies has the largest.
        """
        above = self.scores(X)[:, None] - self.thresholds_
        if len(self.classes_) == 2:
            return above[:, 0]
        return np.hstack([np.zeros((len(above), 1)), np.cumsum(above, axis=1)])

    def predict(self, X: Any) -> np.ndarray:
        """The class of each row."""
        check_is_fitted(self)
        return np.asarray(self.classes_[np.searchsorted(self.thresholds_, self.scores(X))])

    def _checked(self, X: Any, y: Any, reset: bool) -> tuple[Any, np.ndarray]:
        X, y = checked_data(self, X, y, reset=reset)
        check_classification_targets(y)
        return X, column_or_1d(y, warn=True)

    def _begin(self, X: Any, classes: np.ndarray, weights: np.ndarray) -> None:
        """The classes, an untrained estimator, and the unit of the thresholds."""
        self.classes_ = classes if self.order is None else np.asarray(self.order)
        if len(np.unique(self.classes_)) != len(self.classes_):
            raise ValueError(f"The classes in order must differ, not {self.classes_.tolist()}.")
        if len(self.classes_) < 2:
            raise ValueError(
                f"A classifier needs at least 2 classes, and y has one class: {self.classes_}."
            )
        with np.errstate(over="ignore"):  # the estimator says to scale
            squares = X.multiply(X).sum(axis=1) if sp.issparse(X) else np.square(X).sum(axis=1)
        # The size of a row, so that to scale X changes no prediction; a power of two, so that the
        # last digit of a sum, which depends on its order, changes nothing either.
        size = np.sqrt(np.average(np.ravel(squares), weights=weights))
        self.unit_ = float(np.exp2(np.round(np.log2(size)))) if 0 < size < np.inf else 1.0
        learner = Perceptron() if self.estimator is None else clone(self.estimator)
        options = learner.get_params()
        if "fit_intercept" in options:
            learner.set_params(fit_intercept=False)  # the thresholds take its place
        if "random_state" in options and self.random_state is not None:
            learner.set_params(random_state=self.random_state)
        self.estimator_ = learner

    def _codes(self, y: np.ndarray) -> np.ndarray:
        places = {name: place for place, name in enumerate(self.classes_.tolist())}
        unknown = [name for name in np.unique(y).tolist() if name not in places]
        if unknown:
            raise ValueError(f"the class {unknown[0]!r} is not among {self.classes_.tolist()}")
        return np.array([places[name] for name in y.tolist()])

    def _finish(self) -> Self:
        weights = self.estimator_.coef_.reshape(-1)
        self.coef_ = weights[: self.n_features_in_]
        # As many thresholds lie below a score, whether they are sorted or not.
        self.thresholds_ = np.sort(self.unit_ * weights[self.n_features_in_ :])
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.poor_score = True  # where the classes have no order
        return tags
