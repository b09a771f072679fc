"""Bounds of parameter mixing against runs of the algorithm in plain Python."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rosenblatt import theory


def mixed_run(shards, shares, threshold, epochs, by_presence=False):
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
        present = sum(
            share * (rows != 0).any(axis=0) for share, rows in zip(shares, shards, strict=True)
        )
        moved = sum(share * (end - w) for share, end in zip(shares, ends, strict=True))
        w = w + moved / (np.where(present > 0, present, 1.0) if by_presence else 1.0)
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
    bound = theory.mixing_bound(radius, margin, shares, threshold=threshold)
    assert (updates @ shares).sum() <= bound.mixed * (1 + 1e-9)
    assert updates.sum() <= bound.total * (1 + 1e-9)


@given(problems(noise=False), st.integers(0, 2**32 - 1))
@settings(max_examples=60)
def test_the_bound_holds_where_features_are_mixed_from_the_shards_that_have_them(problem, seed):
    shards, shares, _, threshold = problem
    generator, own = np.random.default_rng(seed), []
    for rows in shards:  # each shard lacks some features
        kept = rows * (generator.random(rows.shape[1]) < 0.5)
        kept[:, 0] = np.abs(rows[:, 0]) + 0.1  # so that the first axis separates
        own.append(kept)
    Z = np.vstack(own)
    radius, margin = float(np.linalg.norm(Z, axis=1).max()), float(Z[:, 0].min())
    updates = mixed_run(own, shares, threshold, epochs=15, by_presence=True)
    bound = theory.mixing_bound(radius, margin, shares, threshold=threshold)
    assert (updates @ shares).sum() <= bound.mixed * (1 + 1e-9)


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
    bound = theory.mixing_loss_bound(radius, scale, losses, shares, epochs=12, threshold=threshold)
    assert (updates @ shares).sum() <= bound.mixed * (1 + 1e-9)


def test_the_best_factor_is_found():
    D, A, B = 25.0, 4.0, 60.0
    grid = np.linspace(D / 2 + 1e-3, 500, 400_001)
    least = float(((A * grid**2 + B * grid) / (2 * grid - D)).min())
    found = theory.mixing_loss_bound(5.0, 2.0, 3.0, 1, epochs=10).mixed
    assert found == pytest.approx(least, rel=1e-6)


def test_one_shard_has_the_bound_of_one_perceptron():
    one = theory.mixing_bound(5.0, 0.5, 1, threshold=1.0)
    assert one.mixed == one.total == theory.general_bound(5.0, [1.0], 0.5, threshold=1.0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: theory.mixing_bound(1.0, 0.0, 2), "must be positive"),
        (lambda: theory.mixing_bound(1.0, 1.0, 0), "at least one shard"),
        (lambda: theory.mixing_bound(1.0, 1.0, [0.5, 0.6]), "add up to 1"),
        (lambda: theory.mixing_loss_bound(1.0, 0.0, 1.0, 2, epochs=1), "must be positive"),
    ],
)
def test_numbers_without_a_meaning_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
