"""What goes into a model: X and y checked, labels as class numbers, and the weights of rows.

scikit-learn's `validate_data` takes 0.1 to 0.25 ms to see which kind of table it was given, longer
than a small fit. Arrays that need no conversion pass after a few comparisons; everything else, and
every error message, is left to scikit-learn.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.model_selection import train_test_split
from sklearn.utils import check_array
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, validate_data

from rosenblatt.learners.examples import ONE, check_sparse

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
        options = {"dtype": dtype, "reset": reset, "finite": finite, "indices": indices}
        return checked_data(estimator, X, accept_sparse=accept_sparse, **options), matrix
    check_sparse(X)
    return validate_data(
        estimator,
        X,
        y,
        order="C",
        accept_sparse=accept_sparse,
        dtype=dtype,
        reset=reset,
        ensure_all_finite=finite,
    )


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


def indicators(estimator: BaseEstimator, y: Any) -> np.ndarray | None:
    """An indicator matrix (rows, labels) as a bool array; None if y does not have several columns.

    >>> from scipy import sparse
    >>> indicators(None, sparse.csr_array([[0, 1], [1, 1]])).tolist()
    [[False, True], [True, True]]
    """
    y = _array_of(y)
    shape: tuple[int, ...] = getattr(y, "shape", ())
    if len(shape) != 2 or shape[1] < 2:
        return None
    check_sparse(y)
    values = y.toarray() if hasattr(y, "toarray") else np.asarray(y)
    is_one = values == 1
    bad = ~(is_one | (values == 0))
    if not bad.any():
        return np.ascontiguousarray(is_one)
    raise ValueError(
        f"y has shape {shape} and holds {values[bad].tolist()[0]!r}, but several columns are an "
        "indicator matrix: 1 where a row has the label of the column, 0 where it has not. For one "
        "label per row y should be a 1d array; for outputs of other kinds use "
        f"MultiOutputClassifier({type(estimator).__name__}()) of sklearn.multioutput."
    )


def _array_of(y: Any) -> Any:
    """A list of rows as an array, anything else unchanged; lists of labels are refused."""
    if type(y) is not list or not y or not (np.ndim(y[0]) == 1 or isinstance(y[0], set)):
        return y
    try:
        array = np.asarray(y)
    except ValueError:  # lists of different lengths
        array = np.empty(0)
    if array.ndim == 2 and (array.shape[1] == 1 or array.dtype.kind in "biuf"):
        return array
    raise ValueError(
        "y holds a list of labels per row. Make a column of 0 and 1 per label by "
        "MultiLabelBinarizer().fit_transform(y) of sklearn.preprocessing."
    )


def refuse_indicators(estimator: BaseEstimator, y: Any) -> None:
    """Raise an error if y has several columns, for models of one label per row."""
    name = type(estimator).__name__
    shape: tuple[int, ...] = getattr(_array_of(y), "shape", ())
    if len(shape) == 2 and shape[1] > 1:
        raise ValueError(
            f"y has shape {shape}, but {name} learns one label per row: y should be a 1d array. "
            "Where rows have several labels, a column of 0 and 1 for each, use "
            f"OneVsRestClassifier({name}()) of sklearn.multiclass, or for partial_fit "
            f"MultiOutputClassifier({name}()) of sklearn.multioutput. Where each row has exactly "
            "one, give y.argmax(axis=1)."
        )


def check_multilabel_options(estimator: Any) -> None:
    """Refuse options that need one class per row."""
    is_changed = {
        "multiclass": estimator.multiclass in ("ovo", "joint"),
        "class_weight": estimator.class_weight is not None,
    }
    for name in (name for name, changed in is_changed.items() if changed):
        raise ValueError(
            f"{name}={getattr(estimator, name)!r} is for one class per row, but y is an "
            f"indicator matrix of several labels. Leave {name} as it is by default."
        )


def check_same_labels(y: np.ndarray, classes: np.ndarray, multilabel: bool) -> None:
    """Refuse to continue on labels of another kind, or with another number of columns."""
    if multilabel and (y.ndim == 1 or y.shape[1] != len(classes)):
        raise ValueError(
            f"y has shape {y.shape}, but the model has learned from indicator matrices of "
            f"{len(classes)} columns."
        )
    if not multilabel and y.ndim == 2:
        raise ValueError(
            f"y has shape {y.shape}, but the model has learned from one label per row."
        )


def check_named(classes: Any, known: np.ndarray) -> None:
    """Refuse `classes` in a later call to partial_fit that were not named in the first one."""
    if classes is not None and not np.isin(classes, known).all():
        raise ValueError(
            f"classes={np.asarray(classes)} is not what the first call to partial_fit "
            f"said: {known}. Leave it out; new labels are accepted as they come."
        )


def check_weights(sample_weight: Any, n: int) -> np.ndarray:
    """One finite weight per row, none negative; ``ONE`` if there are no weights."""
    if sample_weight is None:
        return ONE
    weights = np.require(sample_weight, np.float64, ["ALIGNED"])
    if weights.ndim == 0:
        weights = np.full(n, float(weights))
    if weights.shape != (n,):
        raise ValueError(
            f"sample_weight has shape {weights.shape}; give one weight per row: shape ({n},)."
        )
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if bad.size:
        raise ValueError(
            f"sample_weight[{bad[0]}] is {weights[bad[0]]}; weights must be finite and not "
            "negative (a weight of 0 leaves the row out)."
        )
    return weights


def weighted_by_class(
    weights: np.ndarray, class_weight: Any, classes: np.ndarray, codes: np.ndarray, y: Any = None
) -> np.ndarray:
    """The weights of rows times those of their classes, relative to the largest of these, or 1.

    A row of a larger weight is corrected only until it is past the threshold, which would leave
    little of the difference between the classes. `y` are all labels; without it, as in online
    learning, some of the classes that `class_weight` names may not be known yet.
    """
    if class_weight is None:
        return weights
    if class_weight == "balanced":
        factors, present = np.zeros(len(classes)), np.isin(classes, y)
        factors[present] = compute_class_weight("balanced", classes=classes[present], y=y)
        largest = factors.max()
    else:
        if any(not weight >= 0 for weight in class_weight.values()):
            raise ValueError(f"class_weight must not be negative, got {class_weight}.")
        largest = max([1.0, *map(float, class_weight.values())])
        if y is None:
            factors = np.array([float(class_weight.get(c, 1.0)) for c in classes.tolist()])
        else:
            factors = compute_class_weight(class_weight, classes=classes, y=y)
    return np.broadcast_to(weights, codes.shape) * (factors / largest)[codes]


def initial_weights(name: str, given: Any, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """A checked copy of the weights (problems, features) or biases (problems,) to start from."""
    if given is None:
        return np.zeros(shape, dtype)
    check_sparse(given)
    array = np.asarray(given.toarray() if hasattr(given, "toarray") else given, dtype=dtype)
    if array.shape != shape and (shape[0] > 1 or array.size != np.prod(shape)):
        raise ValueError(f"{name} has shape {array.shape}; these data need {shape}.")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} holds NaN or infinity.")
    return array.reshape(shape).copy()


class Targets(NamedTuple):
    """The classes, and the class or the labels of each row.

    >>> Targets.of(np.array([[True, False], [True, True], [True, False]]))
    Targets(classes=array([0, 1]), codes=array([0, 1, 0], dtype=int32), sets=array([[ True, False],
           [ True,  True]]))
    """

    classes: np.ndarray  # the sorted labels; of an indicator matrix the numbers of its columns
    codes: np.ndarray  # the class number of each row; of a matrix the number of its label set
    sets: np.ndarray | None = None  # of a matrix: which labels each set has, bool (sets, labels)

    @classmethod
    def of(cls, y: np.ndarray) -> Targets:
        """The targets of checked labels, or of a checked indicator matrix."""
        if y.ndim == 1:
            if y.dtype.kind == "O":
                missing = [row for row, label in enumerate(y) if label is None]
                if missing:
                    raise ValueError(
                        f"y has no label in {len(missing)} of {len(y)} rows, the first is row "
                        f"{missing[0]}: leave these rows out, or give them a label."
                    )
            if y.dtype.kind not in "biuUS":
                check_classification_targets(y)
            classes, codes = np.unique(y, return_inverse=True)
            return cls(classes, codes.astype(np.int32))
        packed = np.packbits(y, axis=1)
        _, first, codes = np.unique(packed, axis=0, return_index=True, return_inverse=True)
        return cls(np.arange(y.shape[1]), codes.reshape(-1).astype(np.int32), y[first])

    def of_validation(self, y: np.ndarray) -> Targets:
        """The targets of validation rows; y must have the same classes or columns."""
        if self.sets is None:
            if y.ndim == 2:
                raise ValueError(f"y_val has shape {y.shape}, but y holds one label per row.")
            unknown = np.setdiff1d(y, self.classes)
            if unknown.size:
                raise ValueError(f"y_val holds labels that y does not: {unknown[:5]}.")
            return Targets(self.classes, np.searchsorted(self.classes, y))
        if y.ndim == 1 or y.shape[1] != len(self.classes):
            raise ValueError(f"y_val has shape {y.shape}, but y has {len(self.classes)} columns.")
        return Targets.of(y)

    def truth(self, rows: Any = slice(None)) -> np.ndarray:
        """The class numbers of some rows, or bool (rows, labels)."""
        return self.codes[rows] if self.sets is None else self.sets[self.codes[rows]]

    def weights(self, weights: np.ndarray, class_weight: Any) -> np.ndarray:
        """The weight of each row, by itself (checked) and its class; ``ONE`` if all are 1.

        At least two classes must have a positive weight; of an indicator matrix any row.
        """
        classes, codes = self.classes, self.codes
        fewest = 2
        if self.sets is not None:
            classes, class_weight = np.arange(len(self.sets)), None
            fewest = 1
        weighted = codes if weights.size == 1 else codes[weights > 0]
        weights = weighted_by_class(weights, class_weight, classes, codes, classes[weighted])
        present = np.arange(len(classes))
        if weights is not ONE:
            present = np.unique(codes[np.broadcast_to(weights, codes.shape) > 0])
        if present.size == 0:
            raise ValueError("All weights are zero; give at least two classes a positive weight.")
        if present.size < fewest:
            only = classes.tolist()[present[0]]
            raise ValueError(
                f"All examples of positive weight are of one class, {only!r}; a classifier needs "
                "at least 2 classes."
            )
        return ONE if np.all(weights == 1.0) else np.ascontiguousarray(weights)

    def held_out(self, share: float, random: np.random.RandomState) -> np.ndarray:
        """A random share of the rows, stratified by class."""
        seed, n = int(random.randint(2**31)), len(self.codes)
        n_classes, strata = len(self.classes), self.codes
        if self.sets is not None:
            n_classes, strata = 1, np.zeros(n, np.int32)
        if share * n < n_classes:
            raise ValueError(
                f"validation_fraction would hold out {share:.0%} of {n} rows, fewer than the "
                f"{n_classes} classes. Give X_val and y_val, or a larger validation_fraction."
            )
        _, out = train_test_split(np.arange(n), test_size=share, stratify=strata, random_state=seed)
        return np.sort(out)


def arrivals(y: np.ndarray, classes: np.ndarray) -> list[tuple[int, int, np.ndarray]]:
    """The parts of y (start, end, known classes) between the first rows of new labels.

    In online learning a label is known from its first row on, however the rows are divided into
    calls; `classes` are known before.

    >>> arrivals(np.array(["b", "a", "b", "c"]), np.array(["b"]))[1:]
    [(1, 3, array(['a', 'b'], dtype='<U1')), (3, 4, array(['a', 'b', 'c'], dtype='<U1'))]
    """
    if classes.size:
        codes = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
        if np.array_equal(classes.take(codes), y):
            return [(0, len(y), classes)]
    labels, first = np.unique(y, return_index=True)
    starts, known = [0], [classes]
    for row in np.sort(first[~np.isin(labels, classes)]).tolist():
        label = np.array([y[row]])
        starts.append(row)
        known.append(np.union1d(known[-1], label) if known[-1].size else label)
    parts = zip(starts, [*starts[1:], len(y)], known, strict=True)
    return [part for part in parts if part[0] < part[1]]
