"""From what the features of a row sum up to, to the scores of its classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rosenblatt.learners.problems import Problems, n_problems, votes

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Head:
    """A second matrix, a tree of binary decisions, first the one and then the other, or votes.

    Attributes
    ----------
    matrix : float32 array (width, outputs)
        By which the sums of a row are multiplied; empty for none.
    tree : int32 array (nodes, 2)
        The two children of each node, of which there is one less than classes: a class, or the
        number of classes plus a node before. The last is the root. An output s is the decision of
        its node: to the second child with probability 1 / (1 + exp(-s)). The scores are the
        logarithms of the probabilities of the classes. Empty for none.
    chosen : tuple of int
        The classes that are left; empty for all. Not in files.
    pairs : int
        The number of classes whose pairs vote: the sums are the scores of all pairs, and the scores
        of the classes their votes (:func:`rosenblatt.learners.problems.votes`). 0 without votes.
    unit : float
        Of the scores of pairs.

    Examples
    --------
    >>> head = Head(np.empty((0, 0), np.float32), np.array([[0, 1], [2, 3]], np.int32))
    >>> np.exp(head.scores(np.array([[0.0, 1.0]], np.float32))).round(2)
    array([[0.37, 0.37, 0.27]], dtype=float32)
    """

    matrix: Array
    tree: Array
    chosen: tuple[int, ...] = ()
    pairs: int = 0
    unit: float = 1.0

    @classmethod
    def of_pairs(cls, n_classes: int, unit: float) -> Head:
        """The votes of all pairs of classes, whose scores have a unit."""
        nothing = np.empty((0, 0), np.float32), np.empty((0, 2), np.int32)
        return cls(*nothing, pairs=n_classes, unit=unit)

    def outputs(self, sums: Array) -> Array:
        """The outputs of the matrix, (rows, outputs)."""
        return np.asarray(sums @ self.matrix) if self.matrix.size else sums

    def scores(self, sums: Array) -> Array:
        """The scores (rows, classes) of the sums of rows, (rows, width)."""
        scores = self._all_scores(sums)
        return scores[:, self.chosen] if self.chosen else scores

    def _all_scores(self, sums: Array) -> Array:
        if self.pairs:
            return votes(sums, Problems(self.pairs, "ovo", (self.unit, self.unit)))
        outputs = self.outputs(sums)
        if not self.tree.size:
            return outputs
        classes = len(self.tree) + 1
        right = np.ascontiguousarray(outputs.T)  # a node is a row, so that its rows are contiguous
        # log(1 / (1 + exp(-s))), whose exponent never overflows.
        right = np.minimum(right, 0) - np.log(1 + np.exp(-np.abs(right)))
        left = right - outputs.T
        scores = np.zeros((2 * classes - 1, len(sums)), np.float32)
        for node in range(classes - 2, -1, -1):
            first, second = self.tree[node]
            np.add(scores[classes + node], left[node], out=scores[first])
            np.add(scores[classes + node], right[node], out=scores[second])
        return np.ascontiguousarray(scores[:classes].T)

    def slopes(self, sums: Array) -> Array:
        """The derivatives of the scores of one row by its sums, (width, classes)."""
        outputs = self.outputs(sums[None, :])[0].astype(np.float64)
        slopes = np.eye(len(outputs))
        if self.tree.size:
            classes = len(self.tree) + 1
            taken = 1 / (1 + np.exp(-np.clip(outputs, -700, 700)))
            paths = np.zeros((2 * classes - 1, len(outputs)))
            for node in range(classes - 2, -1, -1):
                for child, slope in zip(self.tree[node], (-taken, 1 - taken), strict=True):
                    paths[child] = paths[classes + node]
                    paths[child, node] = slope[node]
            slopes = paths[:classes].T
        return np.asarray(self.matrix @ slopes if self.matrix.size else slopes)

    def check(self, weights: Array, classes: int) -> None:
        """Raise ValueError unless the shapes fit, no sum overflows, and the tree is one."""
        width = weights.shape[1]
        if self.pairs:
            if self.pairs != classes or classes < 3 or width != n_problems(classes, "ovo"):
                raise ValueError(f"{width} sums are not those of the pairs of {classes} classes")
            if not 0 < self.unit < np.inf:
                raise ValueError("the unit of votes is not a positive number")
            return
        outputs = classes - 1 if self.tree.size else classes
        if self.matrix.size and self.matrix.shape != (width, outputs):
            raise ValueError(f"a matrix of shape {self.matrix.shape} does not fit")
        if not self.matrix.size and width != outputs:
            raise ValueError(f"{width} sums are not {outputs} outputs")
        largest = np.abs(weights).max(initial=0.0).astype(np.float64)
        if self.matrix.size:
            largest *= np.abs(self.matrix.astype(np.float64)).sum(axis=0).max()
        if not largest < np.finfo(np.float32).max:
            raise ValueError("its weights are too large")
        if self.tree.size:
            n = classes - 1
            owners = np.arange(classes, 2 * classes - 1)[:, None]
            every = np.sort(self.tree.reshape(-1))
            if self.tree.shape != (n, 2) or not np.array_equal(every, np.arange(2 * n)):
                raise ValueError("the tree of classes is none")
            if (self.tree >= owners).any():
                raise ValueError("the tree of classes has a cycle")
