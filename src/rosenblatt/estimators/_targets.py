"""Labels as class numbers: one class per row, or several labels per row (an indicator matrix)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.model_selection import train_test_split
from sklearn.utils.multiclass import check_classification_targets

from rosenblatt.estimators import _checks as checks
from rosenblatt.kernels import family_cells as at
from rosenblatt.learners.examples import ONE, check_sparse
from rosenblatt.learners.problems import Moves, moves
from rosenblatt.learners.weights import State


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
        classes, codes, fewest = self.classes, self.codes, 2
        if self.sets is not None:
            classes, class_weight, fewest = np.arange(len(self.sets)), None, 1
        weighted = codes if weights.size == 1 else codes[weights > 0]
        weights = checks.weighted_by_class(weights, class_weight, classes, codes, classes[weighted])
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
    given = {
        "multiclass": estimator.multiclass in ("ovo", "joint"),
        "class_weight": estimator.class_weight is not None,
        "max_updates": estimator.max_updates is not None,
    }
    for name in (name for name, is_given in given.items() if is_given):
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


def with_new_classes(state: State, old: np.ndarray, new: np.ndarray, multiclass: str) -> State:
    """The state with zero weight vectors for the classes that are in `new` and not in `old`."""
    if len(new) <= 2:
        return state
    places, signs, sources, total = moved = moves(old, new, multiclass)

    def spread(array: np.ndarray) -> np.ndarray:
        out = np.zeros((total, *array.shape[1:]), array.dtype)
        shape = (-1,) + (1,) * (array.ndim - 1)
        out[places] = array[sources] * signs.astype(array.dtype).reshape(shape) + 0.0
        return out

    own_clock = multiclass == "ovo"
    clock = np.abs(spread(state.clock)) if own_clock else np.full(total, state.clock[0])
    sums = spread(state.sums) if state.sums.size else state.sums
    grown = State(spread(state.weights), spread(state.bias), sums, spread(state.bias_sums), clock)
    return _with_family_cells(state, grown, moved, multiclass) if state.book.size else grown


def _with_family_cells(state: State, grown: State, moved: Moves, multiclass: str) -> State:
    """The grown state with the cells and the book of a family member; NaN for new classes.

    Weights, sums of gradients and biases change sign where a class is on the other side; variances
    and sums of squares do not.
    """
    places, signs, sources, total = moved
    adaptive = state.cells.shape[2:] == (3,)
    cells = np.full((total, *state.cells.shape[1:]), np.nan)
    book = np.full((at.BOOK, total), np.nan)
    if sources:
        book[:, places] = state.book[:, sources]
        for row in (at.BIAS, at.BIAS_SUM, at.BIAS_W, *([at.BIAS_A] if adaptive else [])):
            book[row, places] *= signs
        cells[places] = state.cells[sources]
        if state.cells.shape[1] == state.weights.shape[1]:
            cells[places, :, : 2 if adaptive else 1] *= signs[:, None, None]
    if multiclass != "ovo":  # new classes have the clock of the old ones
        for row in (at.CLOCK, at.STEPS, at.SCALES):
            book[row] = state.book[row, 0]
    if multiclass == "joint":  # one book for all classes: its numbers are in the first column
        book[at.SCALE :] = state.book[at.SCALE :, :1]
        book[at.NORM] *= len(sources) / len(state.bias)
    return replace(grown, cells=cells if state.cells.size else state.cells, book=book)
