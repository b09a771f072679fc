"""Mixing: a fixed tree, whoever computes which part of it."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rosenblatt.training.mixing import Moves, tree_sum


def paired(left, right):
    return (left, right)


@given(st.integers(1, 40), st.integers(0, 5))
def test_sums_of_aligned_blocks_add_up_to_the_same_tree(n, k):
    items, size = list(range(n)), 1 << k
    blocks = [tree_sum(items[i : i + size], paired) for i in range(0, n, size)]
    assert tree_sum(blocks, paired) == tree_sum(items, paired)


def moves(generator, n_features, share):
    moved = np.flatnonzero(generator.random(n_features) < share).astype(np.uint32)
    values = generator.normal(size=(len(moved), 2)) * 10.0 ** generator.integers(-9, 9)
    return Moves(n_features, moved, values, generator.normal(size=2), np.ones(3))


@given(st.integers(0, 2**32 - 1), st.integers(1, 9), st.floats(0.0, 1.0))
def test_sparse_and_dense_moves_add_up_to_the_same_bits(seed, n, share):
    generator = np.random.default_rng(seed)
    items = [moves(generator, 50, share) for _ in range(n)]
    dense = [Moves(50, None, m.dense(), m.bias, m.counts) for m in items]
    one, other = tree_sum(items, Moves.__add__), tree_sum(dense, Moves.__add__)
    assert np.array_equal(one.dense(), other.dense())
    assert np.array_equal(one.bias, other.bias)
    assert one.counts.tolist() == [n] * 3
    expected = np.sum([m.dense() for m in items], axis=0)
    assert np.allclose(one.dense(), expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


def test_few_moves_are_listed_and_many_are_not():
    generator = np.random.default_rng(0)
    few = moves(generator, 1000, 0.01) + moves(generator, 1000, 0.01)
    many = moves(generator, 1000, 0.5) + moves(generator, 1000, 0.5)
    assert few.compact().index is not None
    assert np.array_equal(few.compact().dense(), few.dense())
    assert many.compact().index is None
    assert few.compact().nbytes < 1000 < many.nbytes


def test_adding_changes_neither_of_the_two():
    generator = np.random.default_rng(0)
    one, other = moves(generator, 50, 0.3), moves(generator, 50, 0.3)
    whole = one + other
    kept = whole.values.copy(), one.values.copy()
    _ = whole + other
    assert np.array_equal(whole.values, kept[0])
    assert np.array_equal(one.values, kept[1])
    assert whole.added(other) is whole
