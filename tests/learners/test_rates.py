"""Learning rates by inverse document frequency."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rosenblatt.kernels.packing import Numbering
from rosenblatt.kernels.rows import Packed
from rosenblatt.kernels.text import Rows
from rosenblatt.learners.rates import rarity_by, rarity_of


def test_rarity_scales_by_inverse_frequency_to_unit_length():
    columns = np.array([0, 1, 0, 2], np.uint32)
    rows = Rows(np.array([0, 2, 4], np.uint64), columns, np.ones(4, np.float32))
    rarity = rarity_of(Numbering(64).pack(rows, Packed.room(2, 4)), 2, 3)
    ratio = np.log(4 / 3) / np.log(4 / 2)
    assert rarity.scales / rarity.scales[1] == pytest.approx([ratio, 1, 1], rel=1e-6)
    assert rarity.rest / rarity.scales[1] == pytest.approx(np.log(4) / np.log(2), rel=1e-6)
    assert np.sum(rarity.rates[[0, 1, 0, 2]]) / 2 == pytest.approx(1.0, rel=1e-6)
    assert rarity.rates == pytest.approx(np.append(rarity.scales, rarity.rest) ** 2, rel=1e-6)
    beyond = rarity.of_places(np.array([1, 3, 4], np.uint32))
    assert beyond.tolist() == [rarity.scales[1], *[np.float32(rarity.rest)] * 2]


@settings(max_examples=30, deadline=None)
@given(st.lists(st.lists(st.integers(0, 8), max_size=6), min_size=1, max_size=8))
def test_rarity_is_what_numpy_makes_of_the_frequencies(columns):
    lengths = [len(row) for row in columns]
    met = list(dict.fromkeys(c for row in columns for c in row))
    places = np.array([met.index(c) for row in columns for c in row], dtype=np.int64)
    values = np.linspace(0.5, 2.0, len(places), dtype=np.float32)
    indices = np.array([c for row in columns for c in row], dtype=np.uint32)
    rows = Rows(np.cumsum([0, *lengths]).astype(np.uint64), indices, values)
    n = len(columns)
    scales = np.log((2 + n) / (1 + np.bincount(places)))
    length = np.sqrt(np.sum((values * scales[places]) ** 2.0) / n) or 1.0
    rarity = rarity_of(Numbering(64).pack(rows, Packed.room(n, len(places))), n, len(met))
    assert rarity.scales == pytest.approx(scales / length, rel=1e-6)
    assert rarity.rest == pytest.approx(np.log(2 + n) / length, rel=1e-6)


def test_a_feature_in_another_unit_weighs_as_much_as_the_others():
    frequencies, squares = np.array([50, 50, 50]), np.array([50.0, 50.0, 50e10])
    rarity = rarity_by(frequencies, squares, 100, is_text=False)
    assert rarity.scales[2] * 1e5 == pytest.approx(rarity.scales[0], rel=1e-6)
    everywhere = rarity_by(np.array([100, 100]), np.array([100.0, 100.0]), 100, is_text=False)
    assert everywhere.scales == pytest.approx([0.5**0.5] * 2, rel=1e-2)
