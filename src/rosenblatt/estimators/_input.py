"""Rows and labels as they come in: scikit-learn's checks, and a short way for plain arrays.

scikit-learn's `validate_data` takes a quarter of a millisecond to find out what kind of table it
was given, which is more than a small fit takes. Arrays that need no conversion pass here by a few
comparisons; for all else, and for every complaint, scikit-learn is asked.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import check_array
from sklearn.utils.validation import check_consistent_length, validate_data

from rosenblatt.estimators import _device
from rosenblatt.estimators._targets import indicators, refuse_indicators
from rosenblatt.estimators._units import multiclass_of
from rosenblatt.learners.examples import Examples, check_sparse
from rosenblatt.learners.problems import n_problems
from rosenblatt.learners.survey import Survey, is_worth_a_copy, survey

FLOATS = [np.dtype(np.float64), np.dtype(np.float32)]


def checked_data(
    estimator: BaseEstimator,
    X: Any,
    y: Any = "no_validation",
    *,
    accept_sparse: Any = "csr",
    dtype: Any = FLOATS,
    reset: bool = True,
    finite: bool = True,  # refuse NaN and infinity here; else the caller does
    indices: bool = True,  # check those of a CSR matrix here; else the caller does (examples_of)
    several: bool = False,  # y may be an indicator matrix, and comes back as a bool array
) -> Any:
    """What scikit-learn's `validate_data` makes of X and y, where X has no index outside."""
    dtypes = dtype if isinstance(dtype, list) else [np.dtype(dtype)]
    if type(X) is not np.ndarray and _device.is_on_cuda(X):
        return _device.checked_on_device(estimator, X, y, dtype=dtype, reset=reset)
    y = y if type(y) in (np.ndarray, list, str) else _device.to_host(y)
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
    if not several:
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


def _is_plain(X: Any, dtypes: list[Any], accept_sparse: bool) -> bool:
    """Whether nothing has to be converted."""
    kind = type(X)
    if kind is np.ndarray:
        fits = X.ndim == 2 and X.flags.c_contiguous and X.flags.aligned and X.dtype.isnative
    else:
        fits = accept_sparse and kind in (sparse.csr_matrix, sparse.csr_array) and X.ndim == 2
    return fits and X.dtype in dtypes and min(X.shape) > 0


def _plain_labels(y: Any) -> np.ndarray | None:
    """Labels as an array, where there is nothing to check about them."""
    if type(y) is list:
        try:
            y = np.asarray(y)
        except ValueError:
            return None
    if type(y) is np.ndarray and y.ndim == 1 and y.dtype.kind in "biuUS":
        return y
    return None


def _is_finite(X: Any) -> bool:
    """Whether no number is NaN or infinite, mostly by their sum, which would not be finite either.

    Not by a dot product, which would start the threads of BLAS.
    """
    values = X.reshape(-1) if isinstance(X, np.ndarray) else X.data
    with np.errstate(over="ignore", invalid="ignore"):
        return math.isfinite(np.add.reduce(values)) or bool(np.isfinite(values).all())


def refuse_bad_numbers(estimator: BaseEstimator, X: Any) -> None:
    """Say what scikit-learn says of rows that hold NaN or infinity."""
    check_sparse(X)
    check_array(X, accept_sparse="csr", dtype=FLOATS, estimator=estimator, input_name="X")


def surveyed(estimator: Any, examples: Examples, X: Any, rows: float, threads: int) -> Survey:
    """What one look at all rows finds before a linear classifier is fitted; all are finite.

    `examples` are made of `X`, and `rows` is how many they count for.
    """
    if _device.is_on_cuda(X):  # looked at where they lie
        return Survey(True)
    n, several = len(estimator.classes_), examples.sets is not None
    multiclass = multiclass_of(estimator.multiclass, n, rows, estimator.n_features_in_, several)
    copies = estimator._screens() and (n_problems(n, multiclass) == 1 or multiclass == "ovo")
    found = survey(
        examples,
        keys=estimator.shuffle is True,
        copies=copies and is_worth_a_copy(examples, estimator.max_iter, max(1, n - 1)),
        squares=estimator._has_auto() and estimator.feature_rates is None,
        threads=threads,
    )
    if not found.is_finite:
        refuse_bad_numbers(estimator, X)
    return found
