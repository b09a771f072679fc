"""Checks of X and y: scikit-learn's, with a fast path for plain arrays.

scikit-learn's `validate_data` takes 0.1 to 0.25 ms to see which kind of table it was given, longer
than a small fit. Arrays that need no conversion pass after a few comparisons; everything else, and
every error message, is left to scikit-learn.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import check_array
from sklearn.utils.validation import check_consistent_length, validate_data

from rosenblatt.estimators._targets import indicators, refuse_indicators
from rosenblatt.learners.examples import check_sparse

FLOATS = [np.dtype(np.float64), np.dtype(np.float32)]


def checked_data(
    estimator: BaseEstimator,
    X: Any,
    y: Any = "no_validation",
    *,
    accept_sparse: Any = "csr",
    dtype: Any = FLOATS,
    reset: bool = True,
    finite: bool = True,  # False: the caller refuses NaN and infinity
    indices: bool = True,  # False: the caller checks those of a CSR matrix (examples_of)
    multilabel: bool = False,  # whether y may be an indicator matrix, returned as a bool array
) -> Any:
    """X, or X and y, as `validate_data` returns them, and with the indices of sparse X checked."""
    dtypes = dtype if isinstance(dtype, list) else [np.dtype(dtype)]
    if type(X) is not np.ndarray:
        refuse_device_array(estimator, X)
    labels = None if isinstance(y, str) else _plain_labels(y)
    if (
        _is_plain(X, dtypes, accept_sparse is not False)
        and not hasattr(estimator, "feature_names_in_")
        and (reset or getattr(estimator, "n_features_in_", -1) == X.shape[1])
        and (isinstance(y, str) or (labels is not None and len(labels) == X.shape[0]))
    ):
        if indices:
            check_sparse(X)
        if finite and not _is_finite(X):
            refuse_bad_numbers(estimator, X)
        if reset:
            estimator.n_features_in_ = X.shape[1]
        return X if labels is None else (X, labels)
    if not multilabel:
        refuse_indicators(estimator, y)
    elif (matrix := indicators(estimator, y)) is not None:
        check_consistent_length(X, matrix)
        return checked_data(estimator, X, accept_sparse=accept_sparse, dtype=dtype, reset=reset,
                            finite=finite, indices=indices), matrix  # fmt: skip
    check_sparse(X)
    return validate_data(
        estimator, X, y, order="C", accept_sparse=accept_sparse, dtype=dtype, reset=reset,
        ensure_all_finite=finite,
    )  # fmt: skip


def refuse_device_array(estimator: BaseEstimator, X: Any) -> None:
    """Raise TypeError if X lies on a CUDA device, by the device types of DLPack."""
    if hasattr(X, "__dlpack_device__") and int(X.__dlpack_device__()[0]) in (2, 13):
        name = type(estimator).__name__
        there = f"use rosenblatt.gpu.{name}" if name.endswith("Perceptron") else "use NumPy arrays"
        raise TypeError(f"X lies on a CUDA device: {there}, or copy X to the host.")


def _is_plain(X: Any, dtypes: list[Any], accept_sparse: bool) -> bool:
    """Whether X needs no conversion."""
    kind = type(X)
    if kind is np.ndarray:
        fits = X.ndim == 2 and X.flags.c_contiguous and X.flags.aligned and X.dtype.isnative
    else:
        fits = accept_sparse and kind in (sparse.csr_matrix, sparse.csr_array) and X.ndim == 2
    return fits and X.dtype in dtypes and min(X.shape) > 0


def _plain_labels(y: Any) -> np.ndarray | None:
    """A list or array of integers, booleans or strings as an array; None for other labels."""
    if type(y) is list:
        try:
            y = np.asarray(y)
        except ValueError:
            return None
    if type(y) is np.ndarray and y.ndim == 1 and y.dtype.kind in "biuUS":
        return y
    return None


def _is_finite(X: Any) -> bool:
    """Whether X has no NaN or infinity: their sum would not be finite either."""
    values = X.reshape(-1) if isinstance(X, np.ndarray) else X.data
    with np.errstate(over="ignore", invalid="ignore"):
        return math.isfinite(np.add.reduce(values)) or bool(np.isfinite(values).all())


def refuse_bad_numbers(estimator: BaseEstimator, X: Any) -> None:
    """Raise scikit-learn's error for rows that hold NaN or infinity."""
    check_sparse(X)
    check_array(X, accept_sparse="csr", dtype=FLOATS, estimator=estimator, input_name="X")
