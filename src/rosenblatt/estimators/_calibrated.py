"""Probabilities of an estimator, calibrated by rows it had not learned from when it scored them."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from rosenblatt.estimators import _device
from rosenblatt.models.calibration import FEWEST_ROWS, Calibration

MOST_RECENT = 10_000  # rows whose scores are remembered


def calibrates(estimator: Any) -> bool:
    """Whether an estimator is asked for probabilities."""
    return getattr(estimator, "calibrate", None) is not None


def _has_probabilities(estimator: Any) -> bool:
    if not calibrates(estimator):
        raise AttributeError(
            "predict_proba needs scores of held-out rows: set calibrate='sigmoid' or 'isotonic'."
        )
    return True


class Calibrated:
    """predict_proba, from the scores of held-out rows, and of rows before partial_fit sees them."""

    classes_: np.ndarray
    calibrate: Any
    # Scores, and class numbers or, where rows have several labels, which they have.
    _recent: tuple[np.ndarray, np.ndarray] | None
    _calibration: Calibration | None

    @available_if(_has_probabilities)
    def predict_proba(self, X):
        """The probability of each class, as the scores of held-out rows tell.

        These are the rows that `fit` held out (`X_val`, or `validation_fraction` of the rows), and
        after them the rows given to `partial_fit`, scored before they were learned from; the
        10,000 most recent count.

        Parameters
        ----------
        X : array, sparse matrix or data frame (n, d)

        Returns
        -------
        probabilities : array (n, n_classes)
            Where rows have several labels, each has a probability of its own. On the CUDA device,
            if X lies there.

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from rosenblatt import Perceptron
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> X = (X - X.mean(axis=0)) / X.std(axis=0)
        >>> model = Perceptron(calibrate="sigmoid", keep="average", random_state=0).fit(X, y)
        >>> model.predict_proba(X[:3]).argmax(axis=1).tolist(), y[:3].tolist()
        ([0, 0, 0], [0, 0, 0])
        """
        check_is_fitted(self)
        scores = _device.to_host(self.decision_function(X))
        return _device.given_back(self.calibration_.probabilities(scores), X)

    @property
    def calibration_(self) -> Calibration:
        """From scores to probabilities; there where `calibrate` is set and rows were held out."""
        if getattr(self, "_recent", None) is None:
            raise AttributeError("There are no scores of held-out rows to calibrate by.")
        if self._calibration is None:
            scores, truth = self._recent  # type: ignore[misc]
            if truth.ndim == 2:
                found = Calibration.fit_labels(scores, truth.astype(bool), self.calibrate)
            else:
                found = Calibration.fit(scores, truth, len(self.classes_), self.calibrate)
            self._calibration = found
        if self._calibration is None:
            raise ValueError(
                f"Probabilities need {FEWEST_ROWS} held-out rows of two classes at least, found "
                f"{len(self._recent[1])}. Give more rows, or X_val and y_val."  # type: ignore[index]
            )
        return self._calibration

    def _calibrate_by(self, scores: np.ndarray, codes: np.ndarray) -> None:
        """Forget what was, and calibrate by these scores of held-out rows."""
        self._recent, self._calibration = None, None
        self._remember(scores, codes)

    def _remember(self, scores: np.ndarray | None, codes: np.ndarray) -> None:
        """Take more scores, of rows that had not been learned from, into account."""
        if scores is None:
            return
        before, width = getattr(self, "_recent", None), scores.shape[1:]
        if before is not None and before[0].shape[1:] == width:
            scores, codes = np.concatenate([before[0], scores]), np.concatenate([before[1], codes])
        self._recent = (
            np.array(scores[-MOST_RECENT:], np.float64),
            codes[-MOST_RECENT:].astype(np.int64),
        )
        self._calibration = None

    def _foreseen(self, X: Any) -> np.ndarray | None:
        """The scores of rows that are about to be learned from, where that is of use."""
        if not calibrates(self) or len(getattr(self, "classes_", ())) < 2:
            return None
        return np.asarray(_device.to_host(self.decision_function(X)))  # type: ignore[attr-defined]


def recent_arrays(model: Calibrated) -> dict[str, np.ndarray]:
    """What a model file holds of the scores that a model is calibrated by."""
    recent = getattr(model, "_recent", None)
    if recent is None:
        return {}
    return {"recent.scores": np.ascontiguousarray(recent[0]), "recent.codes": recent[1]}


def give_recent(model: Any, arrays: dict[str, np.ndarray]) -> None:
    """Give a model what :func:`recent_arrays` wrote; what does not fit is a ValueError."""
    model._recent = model._calibration = None
    if "recent.scores" not in arrays:
        return
    scores, codes, k = arrays["recent.scores"], arrays["recent.codes"], len(model.classes_)
    several = getattr(model, "multiclass_", None) == "labels"
    fits = (
        scores.shape == (len(codes), *(() if k == 2 and not several else (k,)))
        and scores.dtype == np.float64
        and codes.dtype == np.int64
        and codes.shape == (scores.shape if several else (len(codes),))
        and 0 < len(codes) <= MOST_RECENT
        and np.isfinite(scores).all()
        and 0 <= codes.min() <= codes.max() < (2 if several else k)
    )
    if not fits:
        raise ValueError("the scores to calibrate by do not fit the classes")
    model._recent = scores, codes
