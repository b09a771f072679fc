"""Numbering columns as they are met, scaling by rarity, scoring what is known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rosenblatt.engine.compact import Numbering, Rarity, score, taken, used_places
from rosenblatt.engine.text import Rows

COLUMNS = st.lists(st.lists(st.integers(0, 63), max_size=12), max_size=5)


@settings(max_examples=60, deadline=None)
@given(COLUMNS)
def test_places_are_handed_out_in_the_order_of_first_meeting(batches):
    numbering, met = Numbering(bits=6), []
    for batch in batches:
        for column in batch:
            if column not in met:
                met.append(column)
        places = np.array(batch, dtype=np.uint32)
        numbering.number(places)
        assert places.tolist() == [met.index(column) for column in batch]
    assert numbering.columns.tolist() == met
    again = Numbering(6, numbering.columns)
    every = np.arange(64, dtype=np.uint32)
    assert np.array_equal(again.translated(every), numbering.translated(every))
    assert numbering.translated(every).tolist() == [
        met.index(c) if c in met else len(met) for c in range(64)
    ]


@settings(max_examples=30, deadline=None)
@given(COLUMNS)
def test_places_written_elsewhere_leave_the_columns_as_they_are(batches):
    one, other = Numbering(bits=6), Numbering(bits=6)
    for batch in batches:
        columns, out = np.array(batch, dtype=np.uint32), np.empty(len(batch), np.uint32)
        one.number(columns, out)
        assert columns.tolist() == batch
        other.number(columns)
        assert np.array_equal(columns, out)


def test_scores_ignore_columns_never_met():
    generator = np.random.default_rng(0)
    rows = Rows(
        np.array([0, 3, 3, 6], np.uint64),
        np.array([1, 5, 9, 5, 9, 2], np.uint32),
        generator.normal(size=6).astype(np.float32),
    )
    numbering = Numbering(4, np.array([5, 9], np.uint32))
    W, bias = generator.normal(size=(2, 3)).astype(np.float32), np.array([1.0, 2.0, 3.0])
    dense = np.zeros((16, 3))
    dense[[5, 9]] = W
    X = np.zeros((3, 16))
    for row in range(3):
        for j in range(int(rows.indptr[row]), int(rows.indptr[row + 1])):
            X[row, rows.indices[j]] += rows.values[j]
    assert score(rows, numbering, W, bias) == pytest.approx(X @ dense + bias, rel=1e-5)


def test_rarity_scales_by_inverse_frequency_to_unit_length():
    rows = Rows(np.array([0, 2, 4], np.uint64), np.array([0, 1, 0, 2], np.uint32), np.ones(4, "f4"))
    rarity = Rarity.of(rows)
    ratio = np.log(4 / 3) / np.log(4 / 2)
    assert rarity.scales / rarity.scales[1] == pytest.approx([ratio, 1, 1], rel=1e-6)
    assert rarity.rest / rarity.scales[1] == pytest.approx(np.log(4) / np.log(2), rel=1e-6)
    rarity.apply(rows)
    assert np.sum(rows.values.astype(float) ** 2) / 2 == pytest.approx(1.0, rel=1e-6)
    later = Rows(np.array([0, 1], np.uint64), np.array([7], np.uint32), np.ones(1, np.float32))
    rarity.apply(later)
    assert later.values[0] == pytest.approx(rarity.rest)
    beyond = rarity.of_places(np.array([1, 3, 4], np.uint32))
    assert beyond.tolist() == [rarity.scales[1], *[np.float32(rarity.rest)] * 2]


def test_used_places_are_those_that_learning_touched():
    W, U = np.zeros((4, 2)), np.zeros((4, 2))
    W[1, 1], U[3, 0] = 1, 2
    assert used_places(W, U).tolist() == [1, 3]
    assert used_places(W, np.zeros((1, 2))).tolist() == [1]


@pytest.mark.parametrize("shape", [(9,), (9, 1), (9, 3), (0, 2)])
def test_rows_are_taken_as_numpy_takes_them(shape):
    array = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    places = np.flatnonzero(np.arange(shape[0]) % 3).astype(np.uint32)
    assert np.array_equal(taken(array, places), array[places])


@settings(max_examples=30, deadline=None)
@given(st.lists(st.lists(st.integers(0, 8), max_size=6), min_size=1, max_size=8))
def test_rarity_is_what_numpy_makes_of_the_frequencies(places):
    lengths = [len(row) for row in places]
    indices = np.array([p for row in places for p in row], dtype=np.uint32)
    values = np.linspace(0.5, 2.0, len(indices), dtype=np.float32)
    rows = Rows(np.cumsum([0, *lengths]).astype(np.uint64), indices, values)
    n = len(places)
    scales = np.log((2 + n) / (1 + np.bincount(indices)))
    length = np.sqrt(np.sum((values * scales[indices]) ** 2.0) / n) or 1.0
    rarity, out = Rarity.of(rows), np.empty_like(values)
    assert rarity.scales == pytest.approx(scales / length, rel=1e-6)
    assert rarity.rest == pytest.approx(np.log(2 + n) / length, rel=1e-6)
    rarity.apply(rows, out)
    assert np.array_equal(out, values * rarity.scales[indices])
