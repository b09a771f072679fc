"""The arrays of some problems, in the layout of the kernels."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rosenblatt.kernels import learn, measures
from rosenblatt.kernels._memory import zeros
from rosenblatt.learners.examples import Examples
from rosenblatt.learners.protocol import Array, Limits
from rosenblatt.learners.weights import State


@dataclass
class Part:
    """The arrays of some problems that one kernel call trains together.

    ``W`` is a vector for a single problem; else (problems, features) for dense rows and (features,
    problems) for sparse ones. ``classes`` are its first class, or its negative and positive one.
    """

    classes: tuple[int, int]
    problems: int
    dense: bool
    W: Array
    U: Array
    book: Array
    moves: Array
    before: Array = field(default_factory=lambda: np.empty(0))
    before_bias: Array = field(default_factory=lambda: np.empty(0))

    @property
    def scratch(self) -> tuple[Array, ...]:
        """The scratch memory that a walk takes: none for a single problem."""
        return () if self.W.ndim == 1 else (self.moves,)

    def __getstate__(self) -> tuple[Any, ...]:
        """All but the scratch memory; None for what is empty."""
        arrays = (self.W, self.U, self.book, self.before, self.before_bias)
        own = (array if array.size else None for array in arrays)
        return self.classes, self.problems, self.dense, self.W.dtype.char, self.W.shape, *own

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.classes, self.problems, self.dense, kind, shape, W, U, self.book, *before = state
        self.W = np.zeros(shape, kind) if W is None else W
        self.U, self.moves = np.empty(0) if U is None else U, np.empty((3, self.problems))
        self.before, self.before_bias = (np.empty(0) if a is None else a for a in before)

    def mark(self) -> None:
        """Remember the weights."""
        self.before, self.before_bias = self.W.copy(), self.book[learn.BIAS].copy()

    def measure(self, n_features: int, padding: float = 1.0) -> Array:
        """The squared length of each problem's weights, and of their change (problems, 2).

        The change is that since the last mark or measure. Problem by problem, so that the sums do
        not depend on how parts divide them. The bias counts as the weight of the padding, b/c.
        """
        W, bias = self._without_room(self.W, n_features), self.book[learn.BIAS]
        if self.before.shape != W.shape:
            self.before = taller(self.before[: len(W)], len(W))
        paddings = np.array([bias, bias - self.before_bias]) / (padding or 1.0)
        self.before_bias = bias.copy()
        sums = paddings * paddings
        if W.ndim == 1:
            sums[:, 0] += measures.norm_and_change(W, self.before)
            return sums.T
        found = np.zeros((2, self.problems))
        add_up = measures.row_norms_and_changes if self.dense else measures.norms_and_changes
        add_up(W, self.before, found)
        return (found + sums).T

    def missed(self, examples: Examples, rows: Array, enough: float) -> float:
        """The weight of the rows that these problems alone get wrong, beyond `enough` not all."""
        codes, omega, bias = examples.codes, examples.omega, self.book[learn.BIAS]
        one, scratch = self.W.ndim == 1, np.empty(self.problems, self.W.dtype)
        if not (bias.any() or self.W.any()):  # at the start: all scores are zero
            return examples.weight_of(rows if one else rows[codes[rows] != 0])
        if not one:
            return float(
                measures.missed_by_each(
                    examples.rows, codes, omega, rows, self.W, bias, enough, scratch
                )
            )
        quick, tally = examples.screened or examples.rows, tally_of(self.classes, Limits())
        return float(
            measures.missed_by_one(
                quick, codes, omega, rows, self.W, float(bias[0]), tally, enough, scratch[:, None]
            )
        )

    def correct(
        self, examples: Examples, order: Array, coefficients: Array, eta: float, rates: Array,
        rule: Array, averaging: bool,
    ) -> None:  # fmt: skip
        """Add rows times their coefficients (rows, problems) and the rate, all at once."""
        clock, heap = float(self.book[learn.CLOCK, 0]), np.zeros_like(self.W)
        wide = heap.reshape((self.problems, -1) if self.dense else (-1, self.problems))
        learn.add_rows(examples.rows, order, coefficients, wide, rates)
        self.W += self.W.dtype.type(eta) * heap
        change = eta * rule[learn.PADDING] * coefficients.sum(axis=0)
        self.book[learn.BIAS] += change
        if averaging:
            self.sums()[...] += clock * eta * heap.astype(np.float64)
            self.book[learn.BIAS_SUM] += clock * change

    def sums(self) -> Array:
        """The averaging sums, as tall as the weights."""
        if self.U.shape != self.W.shape:
            self.U = taller(self.U, len(self.W), self.W.shape[1:], np.float64)
        return self.U

    def mean(self, n_features: int) -> tuple[Array, Array]:
        """The mean of the weights after each step, and of the biases."""
        steps = max(float(self.book[learn.CLOCK, 0]), 1e-300)
        W, U = (self._without_room(array, n_features) for array in (self.W, self.sums()))
        out = np.empty_like(W)
        measures.mean_weights(W.reshape(-1), U.reshape(-1), steps, out.reshape(-1))
        return out, self.book[learn.BIAS] - self.book[learn.BIAS_SUM] / steps

    def _without_room(self, array: Array, n_features: int) -> Array:
        """The part of an array that belongs to features met so far."""
        return array if self.dense else array[:n_features]

    def shown(self, array: Array, n_features: int) -> Array:
        """An array in the layout of ``W`` as (problems, features), without the room for more."""
        array = self._without_room(array, n_features)
        return array[None] if array.ndim == 1 else array if self.dense else array.T

    def restore(self, state: State, own: slice, averaging: bool) -> None:
        """Take up what a state holds of these problems; its arrays are copied."""
        self.W = self._laid_out(state.weights[own], self.W.dtype)
        if averaging and state.sums.size:
            self.U = self._laid_out(state.sums[own], np.float64)
        self.book[learn.BIAS], self.book[learn.BIAS_SUM] = state.bias[own], state.bias_sums[own]
        self.book[learn.CLOCK, 0] = state.clock[own][0]
        if state.before is not None:
            self.before = self._laid_out(state.before.weights[own], self.W.dtype)
            self.before_bias = state.before.bias[own].copy()

    def _laid_out(self, weights: Array, dtype: Any) -> Array:
        """A copy of (problems, features) weights in the layout of ``W``."""
        if self.W.ndim == 1:
            return np.array(weights[0], dtype=dtype)
        return np.array(weights if self.dense else weights.T, dtype=dtype, order="C")


def tally_of(classes: tuple[int, int], limits: Limits) -> Array:
    """Limits and counts as the kernels keep them."""
    tally = np.zeros(learn.TALLY, np.int64)
    tally[learn.ALLOWED], tally[learn.RUN], tally[learn.LONGEST] = limits
    tally[learn.NEGATIVE], tally[learn.POSITIVE] = classes
    return tally


def taller(
    array: Array, rows: int, rest: tuple[int, ...] | None = None, dtype: Any = None
) -> Array:
    """A copy of an array with room for more rows, which are zero."""
    grown = zeros((rows, *(array.shape[1:] if rest is None else rest)), dtype or array.dtype)
    if array.size:
        grown[: len(array)] = array
    return grown
