"""The estimators that train on a GPU: the models of the estimators of the same name.

A fitted model has its attributes in host memory. Saved and loaded, it is one of
:class:`rosenblatt.Perceptron` or :class:`rosenblatt.KernelPerceptron`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics import accuracy_score
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _check_feature_names, _check_n_features, check_is_fitted

from rosenblatt.estimators import kernel_perceptron, perceptron
from rosenblatt.estimators._classifier import Classifier
from rosenblatt.estimators._input import FLOATS
from rosenblatt.estimators._linear import Run
from rosenblatt.gpu.device import (
    DeviceError,
    current_device,
    device_of,
    is_on_cuda,
    like_input,
    to_host,
    translated_errors,
)
from rosenblatt.gpu.dual import VOTE_MEGABYTES, DeviceDual, DeviceGram, device_votes
from rosenblatt.learners.log import scores_by
from rosenblatt.learners.problems import decided, votes


def checked_rows(estimator: Any, X: Any, dtypes: list[Any]) -> Any:
    """Rows on a CUDA device to predict, checked as scikit-learn's `validate_data` does."""
    device, name = device_of(X), type(estimator).__name__
    with translated_errors():
        X = device.xp.from_dlpack(X)
        if X.ndim != 2:
            raise ValueError(f"Expected a 2D array, got one of {X.ndim} dimensions; reshape X.")
        if X.dtype.kind not in "fiub":
            raise ValueError(f"X holds {X.dtype}; {name} needs real numbers.")
        X = device.xp.ascontiguousarray(X, dtype=X.dtype if X.dtype in dtypes else dtypes[0])
        if not bool(device.xp.isfinite(X).all()):
            raise ValueError(f"Input X contains NaN or infinity, which {name} does not accept.")
    _check_feature_names(estimator, X, reset=False)
    _check_n_features(estimator, X, reset=False)
    return X


def _inherited(name: str) -> Callable[[Any], bool]:
    """Whether the estimator on the processor has a method; if not, its error says why."""
    return lambda estimator: bool(getattr(super(OnDevice, estimator), name))


class OnDevice(Classifier):
    """Predictions for rows on a CUDA device: made there, and returned as arrays of their kind."""

    def decision_function(self, X):
        """The scores of each row, on the device if X lies there."""
        if not is_on_cuda(X):
            return super().decision_function(X)
        return like_input(self._device_scores(X), X)

    def predict(self, X):
        """The class of each row, on the device if X lies there and the labels are numbers.

        There are no device arrays of strings.
        """
        if not is_on_cuda(X):
            return super().predict(X)
        scores = self._device_scores(X)
        if getattr(self, "multiclass_", None) == "labels":
            return like_input(decided(scores, multilabel=True).astype(np.int64), X)
        labels = self.classes_[to_host(decided(scores))]
        return like_input(labels, X) if labels.dtype.kind in "iufb" else labels

    def score(self, X, y, sample_weight=None) -> float:
        """The weighted share of rows whose label is predicted right."""
        labels = to_host(self.predict(X))
        return float(accuracy_score(to_host(y), labels, sample_weight=sample_weight))

    @available_if(_inherited("predict_proba"))
    def predict_proba(self, X):
        """The probability of each class, on the device if X lies there."""
        probabilities = self.calibration_.probabilities(to_host(self.decision_function(X)))
        return like_input(probabilities, X) if is_on_cuda(X) else probabilities

    @available_if(_inherited("partial_fit"))
    def partial_fit(self, X, y, classes=None, sample_weight=None) -> Self:
        """Learn from the rows once, in the given order, on the processor."""
        rows, labels = to_host(X), to_host(y)
        return super().partial_fit(rows, labels, classes, sample_weight)

    def _host_clone(self) -> Any:
        """An estimator of the processor: rows that are kept for probabilities are few."""
        on_host = next(kind for kind in type(self).__mro__ if not issubclass(kind, OnDevice))
        return clone(on_host(**self.get_params(deep=False)))

    def _device_scores(self, X: Any) -> Any:
        check_is_fitted(self)
        return self._scores_of(checked_rows(self, X, FLOATS))

    def _check_rows_to_fit(self, X: Any) -> None:
        """Refuse what a GPU cannot do, before anything is computed."""
        if getattr(self, "update", "online") != "online":
            raise DeviceError(f"The GPU has no update={self.update!r}: use rosenblatt.Perceptron.")
        current_device() if not is_on_cuda(X) else device_of(X)
        if sparse.issparse(X):
            name = type(self).__name__
            raise DeviceError(f"The GPU takes dense rows: use rosenblatt.{name} for a sparse X.")


class Perceptron(OnDevice, perceptron.Perceptron):
    """The perceptron, trained on a GPU: :class:`rosenblatt.Perceptron` with its parameters.

    It takes the steps of :class:`rosenblatt.Perceptron`; where every number is exact, as on whole
    numbers, the models are the same, bit for bit. X may be a NumPy array, or lie on the device as
    an array of CuPy, torch or JAX. `partial_fit` learns on the processor. ``keep="best"`` looks at
    the weights at epoch ends only. `docs/guide/gpu.md` says what pays.

    Examples
    --------
    On a machine with a GPU, for rows of CuPy::

        model = Perceptron(multiclass="ovr", random_state=0).fit(X, y)
        model.predict(X)  # labels that are numbers are returned on the device
    """

    def _prepare(
        self, X, y, coef_init=None, intercept_init=None, sample_weight=None, X_val=None, y_val=None,
        device="cuda",
    ) -> Run:  # fmt: skip
        """Check a copy of the input in host memory, and walk over the rows where they lie."""
        self._check_rows_to_fit(X)
        rows, labels = (to_host(X), to_host(X_val)), (to_host(y), to_host(y_val))
        run = super()._prepare(
            rows[0], labels[0], coef_init, intercept_init, sample_weight, rows[1], labels[1], device
        )
        if run.data.examples.sets is not None:
            raise ValueError(
                "Several labels per row are learned on the processor: use rosenblatt.Perceptron."
            )
        if device == "cuda" and is_on_cuda(X) and self.scale_ is None:
            run.learner.use_rows(run.data.examples, X)
        return run

    def _scores_of(self, X: Any) -> Any:
        """The scores of checked rows, on the device if they lie there."""
        if not is_on_cuda(X):
            return super()._scores_of(X)
        xp = current_device().xp
        with translated_errors():
            weights, bias = self._predicting()
            scores = X @ xp.asarray(weights).T + xp.asarray(bias.astype(weights.dtype))
            if scores.shape[1] == 1:
                return scores[:, 0]
            if self.multiclass_ == "ovo" and len(self.classes_) > 2:
                return votes(scores, self._learner.problems)
            return scores


class KernelPerceptron(OnDevice, kernel_perceptron.KernelPerceptron):
    """The kernel perceptron, trained on a GPU, with the parameters of the base class.

    The base class is :class:`rosenblatt.KernelPerceptron`. All Gram entries are kept if the memory
    of the device allows, else those of corrected rows; `cache_size` is ignored. A kernel of one's
    own and `partial_fit` are for the processor.
    """

    def fit(self, X, y, sample_weight=None, X_val=None, y_val=None) -> Self:
        """Train until a stopping rule ends the run, with the arguments of the base class."""
        self._check_rows_to_fit(X)
        if callable(self.kernel):
            raise DeviceError(
                "The GPU does not know a kernel of your own: use rosenblatt.KernelPerceptron."
            )
        rows, labels = (to_host(X), to_host(X_val)), (to_host(y), to_host(y_val))
        return super().fit(rows[0], labels[0], sample_weight, rows[1], labels[1])

    def _dual(self, X: Any) -> DeviceDual:
        """The learner of a fit, in the present state."""
        function = None if self._kernel.is_precomputed else self._kernel.function_by
        with translated_errors():
            gram = DeviceGram(current_device(), function, X)
            return DeviceDual(self._problems(), gram, self.state_)

    def _scores_by(self, learner: Any, X: Any) -> Any:
        """The scores of rows by the log of a learner."""
        if isinstance(learner, DeviceDual):
            X = learner.gram.take(X)
        return to_host(super()._scores_by(learner, X))

    def _scores(self, X: Any, log: Any, clock: Any, support: Any) -> Any:
        """The scores (rows, problems) by a log, on the device if X lies there."""
        if not is_on_cuda(X):
            return super()._scores(X, log, clock, support)
        device = current_device()
        with translated_errors(), device.after_caller():
            if self._kernel.is_precomputed:
                columns = device.xp.asarray(support)

                def entries(rows: slice) -> Any:
                    return X[rows][:, columns]
            else:
                gram = DeviceGram(device, self._kernel.function_by, support, megabytes=0)

                def entries(rows: slice) -> Any:
                    return gram.kernel(gram.X, X[rows]).T  # type: ignore[misc]

            return scores_by(
                entries, len(X), log, clock, self.keep, support.shape[0], VOTE_MEGABYTES,
                vote=partial(device_votes, device), xp=device.xp,
            )  # fmt: skip
