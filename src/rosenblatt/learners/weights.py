"""The state of a linear learner, as plain arrays."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from rosenblatt.learners.problems import Moves, moves
from rosenblatt.learners.protocol import Array
from rosenblatt.rules import storage as at
from rosenblatt.rules.registry import rule_of


class Weights(NamedTuple):
    """Weights (problems, features), or by pairs, and biases (problems,)."""

    weights: Any
    bias: Array


@dataclass(frozen=True)
class State:
    """The state of a linear learner, as plain arrays.

    Attributes
    ----------
    weights, bias : arrays (problems, features) and (problems,)
        Or the weights are a :class:`rosenblatt.learners.pairs.PairWeights`, and `sums` those of its
        pairs.
    sums, bias_sums : arrays of the same shapes
        The averaging sums u; `sums` is empty if nothing is averaged.
    clock : array (problems,)
        Weighted steps of the average so far.
    before : Weights or None
        The weights at the start of the current epoch.
    cells : array (problems, ...)
        What a member of the family has beside the weights, such as variances; else empty.
    book : array (10, problems)
        The numbers of such a member, see :mod:`rosenblatt.rules.storage`; else empty.
    """

    weights: Any
    bias: Array
    sums: Array
    bias_sums: Array
    clock: Array
    before: Weights | None = None
    cells: Array = field(default_factory=lambda: np.zeros((0, 0, 0)))
    book: Array = field(default_factory=lambda: np.zeros((0, 0)))

    @property
    def n_features(self) -> int:
        """The number of features; weights by pairs are (features, classes)."""
        return self.weights.shape[1 if isinstance(self.weights, np.ndarray) else 0]

    def in_columns(self, places: Array, n_features: int, base: Array | None) -> State:
        """The state of a learner of packed columns for all columns, of initial weights `base`."""
        cells, sums = self.cells, self.sums
        weights = in_columns(self.weights, places, n_features, base)
        if sums.size:
            sums = in_columns(sums, places, n_features)
        if cells.size:
            cells = np.full((len(cells), n_features, cells.shape[2]), np.nan)
            cells[..., 0] = weights / self.book[at.SCALE, :, None]
            cells[:, places] = self.cells
        return replace(self, weights=weights, cells=cells, sums=sums)

    @classmethod
    def zero(
        cls, problems: int, features: int, dtype: Any = np.float64, averaging: bool = False
    ) -> State:
        """The state before learning.

        >>> State.zero(1, 2).weights
        array([[0., 0.]])
        """
        shape = (problems, features)
        return cls(
            np.zeros(shape, dtype),
            np.zeros(problems),
            np.zeros(shape if averaging else (0, 0)),
            np.zeros(problems),
            np.zeros(problems),
        )


def in_columns(array: Array, places: Array, n_features: int, others: Array | None = None) -> Array:
    """An array (problems, places) of packed columns as one of all columns; `others` is the rest.

    >>> in_columns(np.array([[5.0, 7.0]]), np.array([2, 0]), 3)
    array([[7., 0., 5.]])
    """
    shape = (array.shape[0], n_features)
    whole = np.zeros(shape, array.dtype) if others is None else others.copy()
    whole[:, places] = array
    return whole


def with_new_classes(learner: Any, old: np.ndarray, new: np.ndarray) -> State:
    """Its state with zero weight vectors for the classes that are in `new` and not in `old`."""
    state: State = learner.state()
    multiclass = learner.spec.multiclass
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
    if not state.book.size:
        return grown
    signed = rule_of(type(learner.spec.rule)).storage.signed
    return _with_cells(state, grown, moved, multiclass, signed)


def _with_cells(state: State, grown: State, moved: Moves, multiclass: str, signed: int) -> State:
    """The grown state with the cells and the book of a family member; NaN for new classes.

    Weights, sums of gradients and biases change sign where a class is on the other side; variances
    and sums of squares do not: only the first numbers of a cell are `signed`.
    """
    places, signs, sources, total = moved
    cells = np.full((total, *state.cells.shape[1:]), np.nan)
    book = np.full((at.BOOK, total), np.nan)
    if sources:
        book[:, places] = state.book[:, sources]
        for row in (at.BIAS, at.BIAS_SUM, at.BIAS_W, *([at.BIAS_A] if signed > 1 else [])):
            book[row, places] *= signs
        cells[places] = state.cells[sources]
        if state.cells.shape[1] == state.weights.shape[1]:
            cells[places, :, :signed] *= signs[:, None, None]
    if multiclass != "ovo":  # new classes have the clock of the old ones
        for row in (at.CLOCK, at.STEPS, at.SCALES):
            book[row] = state.book[row, 0]
    if multiclass == "joint":  # one book for all classes: its numbers are in the first column
        book[at.SCALE :] = state.book[at.SCALE :, :1]
    return replace(grown, cells=cells if state.cells.size else state.cells, book=book)
