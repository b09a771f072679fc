"""What rows are told apart by: the class that each has, or the labels of which it has several."""

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

_WIDEST = 1 << 16  # whole numbers from so narrow a range are looked up in a table


class Targets(NamedTuple):
    """The classes, and which of them each row has.

    >>> Targets.of(np.array([[True, False], [True, True], [True, False]]))
    Targets(classes=array([0, 1]), codes=array([0, 1, 0], dtype=int32), sets=array([[ True, False],
           [ True,  True]]))
    """

    classes: np.ndarray  # the labels, sorted; of an indicator matrix the numbers of its columns
    codes: np.ndarray  # the class number of each row; of a matrix the number of its set of labels
    sets: np.ndarray | None = None  # of a matrix, bool (sets, labels): the labels of each set

    @classmethod
    def of(cls, y: np.ndarray) -> Targets:
        """Those of checked labels, or of a checked indicator matrix."""
        if y.ndim == 1:
            return cls(*classes_and_codes(y))
        packed = np.packbits(y, axis=1)
        _, first, codes = np.unique(packed, axis=0, return_index=True, return_inverse=True)
        return cls(np.arange(y.shape[1]), codes.reshape(-1).astype(np.int32), y[first])

    def alike(self, y: np.ndarray) -> Targets:
        """Those of other rows that are told apart by the same classes."""
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
        """What is known of some rows: class numbers, or which labels they have."""
        return self.codes[rows] if self.sets is None else self.sets[self.codes[rows]]

    def weights(self, sample_weight: Any, class_weight: Any) -> np.ndarray:
        """The weight of each row by itself and by its class; a single one where all are 1.

        Fewer than two classes of positive weight are refused, but one set of labels will do.
        """
        classes, codes, fewest = self.classes, self.codes, 2
        if self.sets is not None:
            classes, class_weight, fewest = np.arange(len(self.sets)), None, 1
        weights = checks.check_weights(sample_weight, len(codes))
        if class_weight is not None:
            if isinstance(class_weight, dict) and any(not v >= 0 for v in class_weight.values()):
                raise ValueError(f"class_weight must not be negative, got {class_weight}.")
            counted = codes if weights.size == 1 else codes[weights > 0]
            factors = checks.class_factors(class_weight, classes, classes[counted])
            weights = np.broadcast_to(weights, codes.shape) * factors[codes]
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
        """So large a share of the rows: as large a one of each class, or of all rows."""
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
        return np.asarray(out)


def indicators(estimator: BaseEstimator, y: Any) -> np.ndarray | None:
    """An indicator matrix (rows, labels) as a bool array; None where y is not of several columns.

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
    if values.dtype == bool:
        return np.ascontiguousarray(values)
    is_zero, is_one = values == 0, values == 1
    bad = ~(is_zero | is_one)
    if not bad.any():
        return np.ascontiguousarray(is_one)
    raise ValueError(
        f"y has shape {shape} and holds {values[bad].tolist()[0]!r}, but several columns are an "
        "indicator matrix: 1 where a row has the label of the column, 0 where it has not. For one "
        "label per row y should be a 1d array; for outputs of other kinds use "
        f"MultiOutputClassifier({type(estimator).__name__}()) of sklearn.multioutput."
    )


def _array_of(y: Any) -> Any:
    """A list of rows as an array; lists of labels are refused."""
    if type(y) is not list or not y or not (np.ndim(y[0]) == 1 or isinstance(y[0], set)):
        return y
    try:
        found = np.asarray(y)
    except ValueError:  # lists of different lengths
        found = np.empty(0)
    if found.ndim == 2 and (found.shape[1] == 1 or found.dtype.kind in "biuf"):
        return found
    raise ValueError(
        "y holds a list of labels per row. Make a column of 0 and 1 per label by "
        "MultiLabelBinarizer().fit_transform(y) of sklearn.preprocessing."
    )


def refuse_indicators(estimator: BaseEstimator, y: Any) -> None:
    """Say how a model of one label per row learns from rows of several."""
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


def check_label_options(estimator: Any) -> None:
    """Refuse what has a meaning only where each row has one class."""
    of_classes = {
        "multiclass": estimator.multiclass in ("ovo", "joint"),
        "class_weight": estimator.class_weight is not None,
        "max_updates": estimator.max_updates is not None,
        "device": getattr(estimator, "device", "cpu") == "cuda",
    }
    for name, given in of_classes.items():
        if given:
            raise ValueError(
                f"{name}={getattr(estimator, name)!r} is for one class per row, but y is an "
                f"indicator matrix of several labels. Leave {name} as it is by default."
            )


def check_same_labels(y: np.ndarray, classes: np.ndarray, several: bool) -> None:
    """Refuse rows from which a model cannot go on."""
    if several and (y.ndim == 1 or y.shape[1] != len(classes)):
        raise ValueError(
            f"y has shape {y.shape}, but the model has learned from indicator matrices of "
            f"{len(classes)} columns."
        )
    if not several and y.ndim == 2:
        raise ValueError(
            f"y has shape {y.shape}, but the model has learned from one label per row."
        )


def check_count(classes: Any, y: np.ndarray) -> None:
    """Refuse classes that are not as many as an indicator matrix has columns."""
    if classes is not None and len(classes) != y.shape[1]:
        raise ValueError(f"classes names {len(classes)} labels, but y has {y.shape[1]} columns.")


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


def arrivals(y: np.ndarray, classes: np.ndarray) -> list[tuple[int, int, np.ndarray]]:
    """The stretches of y in which the same classes are known, and these: `classes`, and new ones.

    Learning row by row meets a label at its first row and not before, however the rows are divided
    into calls.

    >>> arrivals(np.array(["b", "a", "b", "c"]), np.array(["b"]))[1:]
    [(1, 3, array(['a', 'b'], dtype='<U1')), (3, 4, array(['a', 'b', 'c'], dtype='<U1'))]
    """
    found = [(0, classes)]
    if classes.size:
        codes = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
        if np.array_equal(classes.take(codes), y):
            return [(0, len(y), classes)]
    labels, first = np.unique(y, return_index=True)
    fresh = ~np.isin(labels, classes)
    for row, label in sorted(zip(first[fresh].tolist(), labels[fresh], strict=True)):
        known = np.union1d(found[-1][1], np.array([label])) if found[-1][1].size else [label]
        found.append((row, np.asarray(known)))
    ends = [row for row, _ in found[1:]] + [len(y)]
    return [(a, b, known) for (a, known), b in zip(found, ends, strict=True) if a < b]


def grown(state: State, old: np.ndarray, new: np.ndarray, multiclass: str) -> State:
    """The state with the weight vectors of classes that have come up, all zero."""
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
    found = State(spread(state.weights), spread(state.bias), sums, spread(state.bias_sums), clock)
    return _family_grown(state, found, moved, multiclass) if state.book.size else found


def _family_grown(state: State, found: State, moved: Moves, multiclass: str) -> State:
    """The cells and the book of a member of the family; NaN for what has yet to begin.

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
    if multiclass != "ovo":  # as much time has passed for new classes as for old ones
        for row in (at.CLOCK, at.STEPS, at.SCALES):
            book[row] = state.book[row, 0]
    if multiclass == "joint":  # one book for all: its numbers are in the first column
        book[at.SCALE :] = state.book[at.SCALE :, :1]
        book[at.NORM] *= len(sources) / len(state.bias)
    return replace(found, cells=cells if state.cells.size else state.cells, book=book)
