"""Mixing: a fixed tree, whoever computes which part of it."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rosenblatt.training.mixing import Delta, tree_sum


def paired(left, right):
    return (left, right)


@given(st.integers(1, 40), st.integers(0, 5))
def test_sums_of_aligned_blocks_add_up_to_the_same_tree(n, k):
    items, size = list(range(n)), 1 << k
    blocks = [tree_sum(items[i : i + size], paired) for i in range(0, n, size)]
    assert tree_sum(blocks, paired) == tree_sum(items, paired)


def delta(generator, n_features, share):
    changed = np.flatnonzero(generator.random(n_features) < share).astype(np.uint32)
    values = generator.normal(size=(len(changed), 2)) * 10.0 ** generator.integers(-9, 9)
    return Delta(n_features, changed, values, generator.normal(size=2), np.ones(3))


@given(st.integers(0, 2**32 - 1), st.integers(1, 9), st.floats(0.0, 1.0))
def test_sparse_and_dense_deltas_add_up_to_the_same_bits(seed, n, share):
    generator = np.random.default_rng(seed)
    items = [delta(generator, 50, share) for _ in range(n)]
    dense = [Delta(50, None, m.dense(), m.bias, m.counts) for m in items]
    one, other = tree_sum(items, Delta.__add__), tree_sum(dense, Delta.__add__)
    assert np.array_equal(one.dense(), other.dense())
    assert np.array_equal(one.bias, other.bias)
    assert one.counts.tolist() == [n] * 3
    expected = np.sum([m.dense() for m in items], axis=0)
    assert np.allclose(one.dense(), expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


def test_few_changes_are_indexed_and_many_are_not():
    generator = np.random.default_rng(0)
    few = delta(generator, 1000, 0.01) + delta(generator, 1000, 0.01)
    many = delta(generator, 1000, 0.5) + delta(generator, 1000, 0.5)
    assert few.compact().index is not None
    assert np.array_equal(few.compact().dense(), few.dense())
    assert many.compact().index is None
    assert few.compact().values.nbytes < 1000 < many.values.nbytes


def test_adding_changes_neither_of_the_two():
    generator = np.random.default_rng(0)
    one, other = delta(generator, 50, 0.3), delta(generator, 50, 0.3)
    whole = one + other
    kept = whole.values.copy(), one.values.copy()
    _ = whole + other
    assert np.array_equal(whole.values, kept[0])
    assert np.array_equal(one.values, kept[1])
    assert whole.add_in_place(other) is whole
