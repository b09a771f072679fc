"""Numbering columns as they are met, and scoring by the weights of numbered columns."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rosenblatt.kernels.packing import Numbering, used_places
from rosenblatt.kernels.rows import Packed
from rosenblatt.kernels.text import Rows

COLUMNS = st.lists(st.lists(st.integers(0, 63), max_size=12), max_size=5)


def packed(numbering, *rows):
    """Lists of columns as packed rows in which all values are 1."""
    indices = np.array([column for row in rows for column in row], dtype=np.uint32)
    pointers = np.cumsum([0, *map(len, rows)]).astype(np.uint64)
    plain = Rows(pointers, indices, np.ones(len(indices), np.float32))
    return numbering.pack(plain, Packed.room(len(rows), len(indices)))


@settings(max_examples=60, deadline=None)
@given(COLUMNS)
def test_places_are_handed_out_in_the_order_of_first_meeting(batches):
    numbering, met = Numbering(64), []
    for batch in batches:
        for column in batch:
            if column not in met:
                met.append(column)
        found = packed(numbering, batch)
        assert found.near.tolist() == [met.index(column) for column in batch]
    assert numbering.columns.tolist() == met
    assert len(numbering) == len(met)
    again = Numbering(64, numbering.columns)
    every = list(range(64))
    assert np.array_equal(packed(again, every).near, packed(numbering, every).near)


def test_places_of_columns_never_met_are_minus_one():
    numbering = Numbering(16, np.array([5, 9], np.uint32))
    assert numbering.places_of(np.array([9, 3, 5], np.uint32)).tolist() == [1, -1, 0]


def test_scores_ignore_columns_never_met():
    generator = np.random.default_rng(0)
    rows = Rows(
        np.array([0, 3, 3, 6], np.uint64),
        np.array([1, 5, 9, 5, 9, 2], np.uint32),
        generator.normal(size=6).astype(np.float32),
    )
    numbering = Numbering(16, np.array([5, 9], np.uint32))
    W, bias = generator.normal(size=(2, 3)).astype(np.float32), np.array([1.0, 2.0, 3.0])
    dense = np.zeros((16, 3))
    dense[[5, 9]] = W
    X = np.zeros((3, 16))
    for row in range(3):
        for j in range(int(rows.indptr[row]), int(rows.indptr[row + 1])):
            X[row, rows.indices[j]] += rows.values[j]
    assert numbering.score(rows, W, bias) == pytest.approx(X @ dense + bias, rel=1e-5)


def test_used_places_are_those_that_learning_touched():
    W, U = np.zeros((4, 2)), np.zeros((4, 2))
    W[1, 1], U[3, 0] = 1, 2
    assert used_places(W, U).tolist() == [1, 3]
    assert used_places(W, np.zeros((1, 2))).tolist() == [1]


@pytest.mark.parametrize("problems", [1, 3])
def test_scores_are_the_sums_of_the_weights_of_numbered_columns(problems):
    generator = np.random.default_rng(0)
    sizes = generator.integers(0, 90, 40)  # rows shorter and longer than what is prefetched
    pointers = np.concatenate([[0], np.cumsum(sizes)]).astype(np.uint64)
    columns = generator.integers(0, 1000, sizes.sum()).astype(np.uint32)
    values = generator.integers(-3, 4, len(columns)).astype(np.float32)
    known = generator.permutation(1000)[:600].astype(np.uint32)
    W = generator.integers(-9, 10, (600, problems)).astype(np.float32)
    bias = np.arange(problems, dtype=float)
    table = np.zeros((1000, problems))
    table[known] = W
    found = Numbering(1000, known).score(Rows(pointers, columns, values), W, bias)
    for row in range(40):
        own = slice(int(pointers[row]), int(pointers[row + 1]))
        assert found[row].tolist() == (values[own] @ table[columns[own]] + bias).tolist()
