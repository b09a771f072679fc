"""Second-order learners that keep the covariance of every pair of features."""

from __future__ import annotations

from typing import Any

import numpy as np

from rosenblatt.kernels._memory import zeros
from rosenblatt.kernels.family_cells import BIAS
from rosenblatt.kernels.family_full import walk_full
from rosenblatt.learners.examples import Examples
from rosenblatt.learners.family import Family
from rosenblatt.learners.family_parts import FamilyPart
from rosenblatt.learners.protocol import Array
from rosenblatt.learners.weights import State

MOST_FEATURES = 2048  # a matrix of 32 MB per problem, and its square in products per row


class FullPart(FamilyPart):
    """The weights of one problem and the covariance of all its features and the padding."""

    def __init__(self, rule: Any, classes: tuple[int, int], problems: int, learner: Family) -> None:
        super().__init__(rule, classes, problems, learner)
        self.depth, self.has_variances = 1, False
        self.cells = zeros((self.room,), learner.dtype)
        d = self.room + 1
        self.covariance = np.zeros((d + 2, d))
        self.covariance[:d] = np.eye(d)

    @property
    def kernel(self) -> Any:
        """What walks."""
        return walk_full

    def arguments(
        self, examples: Examples, order: Array, etas: Array, tally: Array, seen: Array
    ) -> tuple[Any, ...]:
        """What the kernel takes."""
        return (
            *examples.arrays, order, etas, self.cells, self.sums, self.covariance, self.book,
            self.rule, tally, seen,
        )  # fmt: skip

    def kept(self) -> Array:
        """The covariance as (1, features + 1, features + 1)."""
        return self.covariance[None, : self.room + 1]

    def restore(self, state: State, own: slice) -> None:
        """Take up what a state holds of this problem; NaN stands for what has yet to begin."""
        fresh = FullPart(self.rule, self.classes, self.problems, self.learner)
        self.room, self.covariance, self.book = fresh.room, fresh.covariance, fresh.book
        self.cells, self.sums = fresh.cells, fresh.sums
        self.cells[:] = state.weights[own][0]
        if self.sums.size and state.sums.size:
            self.sums[:] = state.sums[own][0]
        if state.cells.size:
            given = state.cells[own][0]
            known = self.covariance[: self.room + 1]
            known[...] = np.where(np.isnan(given), known, given)
        if state.book.size:
            self.book = np.where(np.isnan(state.book[:, own]), fresh.book, state.book[:, own])
        else:
            self.book[BIAS] = state.bias[own]


class FullFamily(Family):
    """A second-order member with a full covariance matrix per problem.

    Examples
    --------
    >>> from rosenblatt.learners.examples import examples_of
    >>> from rosenblatt.rules.second_order import Arow
    >>> examples = examples_of(np.array([[2.0, 1.0], [-1.0, 1.0]]), np.array([1, 0]))
    >>> learner = FullFamily(Arow(1.0), 2, 2, dense=True)
    >>> learner.walk(examples, np.arange(2, dtype=np.uint64)).updates
    2
    >>> learner.weights().weights.round(3)
    array([[ 0.536, -0.107]])
    """

    def restart(self, n_classes: int) -> None:
        """Forget all weights, to tell so many classes apart from now on."""
        if self.n_features > MOST_FEATURES:
            raise ValueError(
                f"covariance='full' keeps a matrix of all pairs of features, which is for "
                f"{MOST_FEATURES} features at most; these data have {self.n_features}. Use "
                "covariance='diagonal'."
            )
        super().restart(n_classes)
        if self.joint:
            raise ValueError(
                "covariance='full' goes with multiclass='ovr' or 'ovo'; for 'joint' use "
                "covariance='diagonal'."
            )

    def _new_part(self, classes: tuple[int, int], problems: int) -> FamilyPart:
        return FullPart(self.rule, classes, problems, self)
