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
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from rosenblatt.estimators import _device
from rosenblatt.estimators._units import multiclass_of
from rosenblatt.learners.examples import Examples, check_sparse
from rosenblatt.learners.survey import Survey, is_worth_a_copy, survey

FLOATS = [np.dtype(np.float64), np.dtype(np.float32)]
_WIDEST = (
    1 << 16
)  # labels are looked up in a table if they are whole numbers from so narrow a range
_valid_settings: set[Any] = set()  # of parameters that passed all checks
_SIMPLE = {bool, int, float, str, type(None)}


def checked_data(
    estimator: BaseEstimator,
    X: Any,
    y: Any = "no_validation",
    *,
    accept_sparse: Any = "csr",
    dtype: Any = FLOATS,
    reset: bool = True,
    finite: bool = True,
    indices: bool = True,
) -> Any:
    """What scikit-learn's `validate_data` makes of X and y, where X has no index outside.

    Parameters
    ----------
    estimator : estimator
    X, y
        The rows, and the labels unless there are none.
    accept_sparse, dtype, reset
        As for `validate_data`.
    finite : bool
        Whether to refuse NaN and infinity here; else the caller does.
    indices : bool
        Whether to check the indices of a CSR matrix here; else the caller does, as `examples_of`.
    """
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
    check_sparse(X)
    refuse_several_labels(estimator, y)
    return validate_data(
        estimator, X, y, order="C", accept_sparse=accept_sparse, dtype=dtype, reset=reset,
        ensure_all_finite=finite,
    )  # fmt: skip


def refuse_several_labels(estimator: BaseEstimator, y: Any) -> None:
    """Say what learns from rows that have several labels each."""
    name = type(estimator).__name__
    if type(y) is list and any(isinstance(labels, list | tuple | set) for labels in y):
        try:
            y = np.asarray(y)
        except ValueError:  # lists of different lengths
            y = np.array(y, dtype=object)
        if y.ndim == 1 or (y.shape[1] > 1 and y.dtype.kind not in "biuf"):
            raise ValueError(
                f"y holds a list of labels per row, but {name} learns one label per row. Make a "
                "column of 0 and 1 per label by MultiLabelBinarizer().fit_transform(y) of "
                f"sklearn.preprocessing, and use OneVsRestClassifier({name}()) of "
                "sklearn.multiclass."
            )
    shape: tuple[int, ...] = getattr(y, "shape", ())
    if len(shape) == 2 and shape[1] > 1:
        raise ValueError(
            f"y has shape {shape}, but {name} learns one label per row: y should be a 1d array. "
            "Where rows have several labels, a column of 0 and 1 for each, use "
            f"OneVsRestClassifier({name}()) of sklearn.multiclass, or for partial_fit "
            f"MultiOutputClassifier({name}()) of sklearn.multioutput. Where each row has exactly "
            "one, give y.argmax(axis=1)."
        )


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
    n = len(estimator.classes_)
    multiclass = multiclass_of(estimator.multiclass, n, rows, estimator.n_features_in_)
    copies = estimator._screens() and (n <= 2 or multiclass == "ovo")
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


def classes_and_codes(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The labels, sorted, and the number of each row's label.

    >>> classes_and_codes(np.array([5, 2, 5]))
    (array([2, 5]), array([1, 0, 1], dtype=int32))
    """
    if y.dtype.kind not in "biuUS":
        check_classification_targets(y)
    if y.dtype.kind in "biu" and y.size:
        least, most = int(y.min()), int(y.max())
        if most - least < min(_WIDEST, 16 + y.size):
            places = y.astype(np.int64) - least if y.dtype != np.int64 or least else y
            present = np.zeros(most - least + 1, bool)
            present[places] = True
            numbers = (np.cumsum(present) - 1).astype(np.int32)
            return (np.flatnonzero(present) + least).astype(y.dtype), numbers[places]
    classes, codes = np.unique(y, return_inverse=True)
    return classes, codes.astype(np.int32)


def check_parameters(estimator: Any, more: Any) -> None:
    """Check the parameters by scikit-learn's constraints and by `more(estimator)`.

    Simple values that have passed before pass at once.
    """
    values = [getattr(estimator, name) for name in estimator._get_param_names()]
    kinds = [type(value) for value in values]
    key = (type(estimator), *values, *kinds) if _SIMPLE.issuperset(kinds) else None
    if key is not None and key in _valid_settings:
        return
    estimator._validate_params()
    more(estimator)
    if key is not None:
        if len(_valid_settings) > 10_000:
            _valid_settings.clear()
        _valid_settings.add(key)


class QuickParameters:
    """Parameter names looked up once per class, and not in the constructor each time."""

    _names: list[str]

    @classmethod
    def _get_param_names(cls) -> list[str]:
        if "_names" not in cls.__dict__:
            cls._names = super()._get_param_names()  # type: ignore[misc]
        return cls._names
