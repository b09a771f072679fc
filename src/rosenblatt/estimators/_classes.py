"""Classes that turn up while learning."""

from __future__ import annotations

import numpy as np

from rosenblatt.learners.problems import moves
from rosenblatt.learners.weights import State


def arrivals(y: np.ndarray, classes: np.ndarray) -> list[tuple[int, np.ndarray]]:
    """Where in y labels come up that are not among `classes`, and the classes known from there on.

    The first entry stands for the start of y. Learning row by row meets a label at its first row
    and not before, however the rows are divided into calls.

    >>> arrivals(np.array(["b", "a", "b", "c"]), np.array(["b"]))[1:]
    [(1, array(['a', 'b'], dtype='<U1')), (3, array(['a', 'b', 'c'], dtype='<U1'))]
    """
    found = [(0, classes)]
    if classes.size and np.array_equal(classes.take(codes_of(y, classes)), y):
        return found
    labels, first = np.unique(y, return_index=True)
    fresh = ~np.isin(labels, classes)
    for row, label in sorted(zip(first[fresh].tolist(), labels[fresh], strict=True)):
        known = np.union1d(found[-1][1], np.array([label])) if found[-1][1].size else [label]
        found.append((row, np.asarray(known)))
    return found


def codes_of(y: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """The class number of each label; some number for a label that is not among the classes."""
    return np.minimum(np.searchsorted(classes, y), len(classes) - 1)


def grown(state: State, old: np.ndarray, new: np.ndarray, multiclass: str) -> State:
    """The state with the weight vectors of classes that have come up, all zero."""
    if len(new) <= 2:
        return state
    places, signs, sources, total = moves(old, new, multiclass)

    def spread(array: np.ndarray) -> np.ndarray:
        out = np.zeros((total, *array.shape[1:]), array.dtype)
        shape = (-1,) + (1,) * (array.ndim - 1)
        out[places] = array[sources] * signs.astype(array.dtype).reshape(shape) + 0.0
        return out

    own_clock = multiclass == "ovo"
    clock = np.abs(spread(state.clock)) if own_clock else np.full(total, state.clock[0])
    sums = spread(state.sums) if state.sums.size else state.sums
    return State(
        spread(state.weights), spread(state.bias), sums, spread(state.bias_sums), clock
    )  # fmt: skip
