"""Mixing: a fixed tree, whoever computes which part of it."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from rosenblatt import theory
from rosenblatt.cluster.engines import tree_sum
from rosenblatt.cluster.mixing import Delta


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


def mixed_run(shards, shares, threshold, epochs):
    """Iterative parameter mixing of premultiplied rows: updates per epoch and shard."""
    w = np.zeros(shards[0].shape[1])
    updates = np.zeros((epochs, len(shards)))
    for epoch in range(epochs):
        ends = []
        for i, rows in enumerate(shards):
            own = w.copy()
            for z in rows:
                if own @ z <= threshold:
                    own += z
                    updates[epoch, i] += 1
            ends.append(own)
        w = w + sum(share * (end - w) for share, end in zip(shares, ends, strict=True))
    return updates


@st.composite
def problems(draw, noise):
    """Rows in shards, shares, and a direction to compare with."""
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    d, n = draw(st.integers(1, 4)), draw(st.integers(4, 30))
    shards = draw(st.integers(1, 4))
    u = generator.normal(size=d)
    u /= np.linalg.norm(u)
    Z = generator.normal(size=(n, d))
    Z *= np.sign(Z @ u)[:, None]
    Z += np.outer(draw(st.floats(0.05, 1.0)) + 0.0 * Z[:, 0], u)
    if noise:
        Z[generator.random(n) < 0.2] *= -1
    shares = generator.uniform(0.2, 1.0, shards)
    parts = [Z[i::shards] for i in range(shards)]
    return parts, (shares / shares.sum()).tolist(), u, draw(st.sampled_from([0.0, 0.5, 2.0]))


@given(problems(noise=False))
@settings(max_examples=60)
def test_updates_by_shares_stay_below_the_bound_where_rows_can_be_separated(problem):
    shards, shares, u, threshold = problem
    Z = np.vstack(shards)
    radius, margin = float(np.linalg.norm(Z, axis=1).max()), float((Z @ u).min())
    updates = mixed_run(shards, shares, threshold, epochs=15)
    bound = theory.general_bound(radius, [1.0], margin, threshold=threshold)
    assert (updates @ shares).sum() <= bound * (1 + 1e-9)
    assert updates.sum() <= bound / min(shares) * (1 + 1e-9)


@given(problems(noise=True), st.floats(0.1, 10.0))
@settings(max_examples=60)
def test_updates_by_shares_stay_below_the_bound_of_any_weights_on_any_rows(problem, scale):
    shards, shares, u, threshold = problem
    radius = float(np.linalg.norm(np.vstack(shards), axis=1).max())
    losses = sum(
        share * np.maximum(0.0, 1.0 - scale * rows @ u).sum()
        for share, rows in zip(shares, shards, strict=True)
    )
    updates = mixed_run(shards, shares, threshold, epochs=12)
    D, A, B = radius**2 + 2 * threshold, scale**2, 2.0 * 12 * losses  # as in docs/theory/mixing.md
    t = (D + np.sqrt(D * D + 2 * B * D / A)) / 2
    assert (updates @ shares).sum() <= (A * t * t + B * t) / (2 * t - D) * (1 + 1e-9)
