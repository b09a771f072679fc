"""Iterative parameter mixing: weight changes of shards, summed in a fixed binary tree.

An epoch walks over every shard from the same weights w. Shard i ends at w_i, and the weights are
mixed: ``w + Σ μ_i (w_i - w)``, Σ μ_i = 1 (R. McDonald, K. Hall, G. Mann (2010), Distributed
training strategies for the structured perceptron). Sums are of float64, in a tree that depends on
the number of shards alone, and are rounded once: the mixed weights are the same, bit for bit,
whoever computed which part of the tree, in whatever order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from rosenblatt.learners.protocol import Array

Item = TypeVar("Item")
Made = TypeVar("Made")

_DENSE_FROM = 0.5  # share of the features from which listing them costs more than it saves


def tree_sum(items: Sequence[Item], add: Callable[[Item, Item], Item]) -> Item:
    """Sum items in a fixed binary tree: the left part is the largest power of two below n.

    So each aligned block of 2^k items is a subtree: the sum of the sums of such blocks is the same
    tree.

    >>> tree_sum(list("abcde"), lambda left, right: f"({left}{right})")
    '(((ab)(cd))e)'
    >>> blocks = [tree_sum(list(block), lambda left, right: f"({left}{right})") for block in
    ...           ("ab", "cd", "e")]
    >>> tree_sum(blocks, lambda left, right: f"({left}{right})")
    '(((ab)(cd))e)'
    """
    return tree_map(items, lambda item: item, add)


def tree_map(
    items: Sequence[Item], make: Callable[[Item], Made], add: Callable[[Made, Made], Made]
) -> Made:
    """Sum ``make(item)`` over items in the same tree, holding as few results as possible.

    >>> tree_map("abc", str.upper, lambda left, right: f"({left}{right})")
    '((AB)C)'
    """
    if len(items) == 1:
        return make(items[0])
    half = 1 << ((len(items) - 1).bit_length() - 1)
    left = tree_map(items[:half], make, add)
    return add(left, tree_map(items[half:], make, add))


@dataclass(frozen=True)
class Delta:
    """The sum of the weight changes of some shards, each times its share μ.

    Attributes
    ----------
    n_features : int
    index : uint32 array or None
        The features that change, each once; None if `values` holds all features.
    values : float64 array (features, numbers per feature)
    bias : float64 array (numbers per feature,)
    counts : float64 array
        What the shards counted, summed without shares.

    Examples
    --------
    >>> one = Delta(9, np.array([1, 4], "u4"), np.array([[0.5], [1.0]]), np.zeros(1), np.ones(1))
    >>> both = one + Delta(9, np.array([4], "u4"), np.array([[0.25]]), np.ones(1), np.ones(1))
    >>> both.values.ravel().tolist(), both.compact().index.tolist(), both.counts
    ([0.0, 0.5, 0.0, 0.0, 1.25, 0.0, 0.0, 0.0, 0.0], [1, 4], array([2.]))
    """

    n_features: int
    index: Array | None
    values: Array
    bias: Array
    counts: Array

    def __add__(self, other: Delta) -> Delta:
        return Delta(
            self.n_features, None, self.dense(), self.bias.copy(), self.counts.copy()
        ).add_in_place(other)

    def add_in_place(self, other: Delta) -> Delta:
        """Add another delta to this one, which must hold all features."""
        assert self.index is None, "only a delta of all features is added to in place"
        if other.index is None:
            self.values[...] += other.values
        else:
            self.values[other.index] += other.values
        self.bias[...] += other.bias
        self.counts[...] += other.counts
        return self

    def compact(self) -> Delta:
        """The same with an `index`, if few features change."""
        moved = np.flatnonzero(np.logical_or.reduce([self.values[:, j] != 0 for j in range(
            self.values.shape[1]
        )]))  # fmt: skip
        if self.index is not None or len(moved) >= _DENSE_FROM * self.n_features:
            return self
        return replace(self, index=moved.astype(np.uint32), values=self.values[moved])

    def dense(self) -> Array:
        """The changes of all features, as a new array."""
        if self.index is None:
            return self.values.copy()
        whole = np.zeros((self.n_features, self.values.shape[1]))
        whole[self.index] = self.values
        return whole
