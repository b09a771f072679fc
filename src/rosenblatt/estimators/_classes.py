"""Classes that turn up while learning."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rosenblatt.kernels.family_cells import (
    BIAS,
    BIAS_A,
    BIAS_SUM,
    BIAS_W,
    BOOK,
    CLOCK,
    NORM,
    SCALE,
    SCALES,
    STEPS,
)  # fmt: skip
from rosenblatt.learners.problems import Moves, moves
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
    book = np.full((BOOK, total), np.nan)
    if sources:
        book[:, places] = state.book[:, sources]
        for row in (BIAS, BIAS_SUM, BIAS_W, *([BIAS_A] if adaptive else [])):
            book[row, places] *= signs
        cells[places] = state.cells[sources]
        if state.cells.shape[1] == state.weights.shape[1]:
            cells[places, :, : 2 if adaptive else 1] *= signs[:, None, None]
    if multiclass != "ovo":  # as much time has passed for new classes as for old ones
        for row in (CLOCK, STEPS, SCALES):
            book[row] = state.book[row, 0]
    if multiclass == "joint":  # one book for all: its numbers are in the first column
        book[SCALE:] = state.book[SCALE:, :1]
        book[NORM] *= len(sources) / len(state.bias)
    return replace(found, cells=cells if state.cells.size else state.cells, book=book)
