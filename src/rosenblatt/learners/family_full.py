"""Second-order learners that keep the covariance of every pair of features."""

from __future__ import annotations

from typing import Any

import numpy as np

from rosenblatt.kernels.family_full import walk_full
from rosenblatt.learners.examples import Examples
from rosenblatt.learners.family import Family, FamilyPart
from rosenblatt.learners.parts import Part
from rosenblatt.learners.protocol import Array

MOST_FEATURES = 2048  # a matrix of 32 MB per problem, and its square in products per row


class FullPart(FamilyPart):
    """The weights of one problem and the covariance of all its features and the padding."""

    @property
    def kernel(self) -> Any:
        """What walks."""
        return walk_full

    def _begin(self) -> None:
        self.depth, self.has_variances = 1, False
        super()._begin()
        d = self.room + 1
        self.covariance = np.zeros((d + 2, d))
        self.covariance[:d] = np.eye(d)

    def arguments(
        self, examples: Examples, order: Array, etas: Array, tally: Array, seen: Array
    ) -> tuple[Any, ...]:
        """What the kernel takes."""
        return (
            *examples.arrays, order, etas, self.cells, self.sums_, self.covariance, self.book,
            self.learner.member, tally, seen,
        )  # fmt: skip

    def kept(self) -> tuple[Array, Array]:
        """The covariance as (1, features + 1, features + 1), and the book."""
        return self.covariance[None, : self.room + 1], self.book

    def _restore_cells(self, weights: Array, cells: Array) -> None:
        self.cells[:] = weights[0]
        if cells.size:
            known = self.covariance[: self.room + 1]
            known[...] = np.where(np.isnan(cells[0]), known, cells[0])

    def _restart_norm(self) -> None:
        """No second-order member looks at the length of the weights."""


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
        if self.multiclass == "joint" and n_classes > 2:
            raise ValueError(
                "covariance='full' goes with multiclass='ovr' or 'ovo'; for 'joint' use "
                "covariance='diagonal'."
            )
        super().restart(n_classes)

    def _new_part(self, classes: tuple[int, int], problems: int) -> Part:
        return FullPart(self, classes, problems)
