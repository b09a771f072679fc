"""The pairs and triples of columns that a sample shows to matter."""

import numpy as np

from rosenblatt.lifts.best_pairs import best_pairs, best_triples


def test_the_pairs_that_interact_are_found_among_many_columns():
    random = np.random.default_rng(0)
    codes = random.integers(0, 4, (40, 4000))
    y = (codes[3] > 1) ^ (codes[11] > 1)
    assert best_pairs(codes, np.eye(2)[y.astype(int)], 1) == [(3, 11)]


def test_no_triple_is_found_in_noise_or_where_two_columns_say_it():
    generator = np.random.default_rng(6)
    sides = generator.integers(0, 2, (20, 4000)).astype(np.float32)
    noise = generator.integers(0, 3, 4000)
    pair = (sides[0] + sides[1]).astype(int) % 2
    assert best_triples(sides, noise) == best_triples(sides, pair) == []
    assert best_triples(sides[:, :300], pair[:300]) == []  # too few rows to tell
