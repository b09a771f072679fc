"""Packed rows: the same rows in fewer bytes, and the same arithmetic."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rosenblatt.kernels import rows as layouts
from rosenblatt.kernels.packing import Numbering
from rosenblatt.kernels.rows import NEAR, Packed
from rosenblatt.kernels.text import Rows

D = NEAR + 8
VALUES = st.sampled_from([0.5, 0.5, 0.5, 1.0, -2.0, 0.0])
COLUMNS = st.one_of(st.integers(0, 5), st.integers(NEAR - 2, D - 1))
ROWS = st.lists(st.dictionaries(COLUMNS, VALUES, max_size=9), min_size=1, max_size=6)
RATES = np.array([0.25, 4.0, 1.0, 2.0], np.float32)


def packed_rows(rows):
    indices = np.array([c for row in rows for c in row], dtype=np.uint32)
    values = np.array([v for row in rows for v in row.values()], dtype=np.float32)
    pointers = np.cumsum([0, *map(len, rows)]).astype(np.uint64)
    # Each column has its own number as its place.
    numbering = Numbering(1 << 17, np.arange(D, dtype=np.uint32))
    plain = Rows(pointers, indices, values)
    return numbering.pack(plain, Packed.room(len(rows), len(indices)))


def entries(rows, i):
    """The entries of a packed row, as they are said to lie."""
    (a, c, e), (b, d, f) = rows.pointers[i].tolist(), rows.pointers[i + 1].tolist()
    shared = [*rows.near[a:b].tolist(), *rows.far[c:d].tolist()]
    found = [(place, float(rows.bases[i])) for place in shared]
    return found + list(zip(rows.columns[e:f].tolist(), rows.values[e:f].tolist(), strict=True))


@settings(max_examples=80, deadline=None)
@given(ROWS)
def test_packing_keeps_every_entry(plain):
    rows = packed_rows(plain)
    for i, row in enumerate(plain):
        found = entries(rows, i)
        assert dict(found) == row
        assert len(found) == len(row)
    assert (rows.far >= NEAR).all()


def test_what_shares_the_least_value_of_a_row_is_not_repeated():
    rows = packed_rows([{1: 0.5, NEAR: 0.5, 2: 1.0, 3: 0.5}, {}, {4: -1.0, 5: -1.0}])
    assert rows.near.tolist() == [1, 3, 4, 5]
    assert rows.far.tolist() == [NEAR]
    assert rows.columns.tolist() == [2]
    assert rows.values.tolist() == [1.0]
    assert rows.bases.tolist() == [0.5, 0.0, -1.0]


@settings(max_examples=60, deadline=None)
@given(ROWS, st.sampled_from([1, 3]), st.integers(0, 99))
def test_scores_and_corrections_are_those_of_plain_rows(plain, problems, seed):
    rows, generator = packed_rows(plain), np.random.default_rng(seed)
    W = generator.normal(size=(D, problems)).astype(np.float32)
    rates = RATES[np.minimum(np.arange(D), len(RATES) - 1)]
    taus, s = generator.normal(size=problems), np.empty(problems, np.float32)
    for i, row in enumerate(plain):
        at, x = np.array(list(row), dtype=np.int64), np.array(list(row.values()), dtype=float)
        expected, number = x @ W[at].astype(float), np.uint64(i)
        layouts.packed_dots(rows, number, W, s)
        assert s == pytest.approx(expected, rel=1e-4, abs=1e-5)
        first = np.ascontiguousarray(W[:, 0])
        assert layouts.packed_dot(rows, number, first) == pytest.approx(
            expected[0], rel=1e-4, abs=1e-5
        )
        length = np.sum(rates[at] * x * x)
        assert layouts.packed_square(rows, number, RATES) == pytest.approx(length, rel=1e-5)
        for wrong in (1, problems):
            moved, target = W.copy(), W.copy()
            target[at] += (rates[at] * x)[:, None] * taus
            layouts.packed_add_each(rows, number, moved, taus, wrong, RATES)
            np.testing.assert_allclose(moved, target, rtol=1e-4, atol=1e-5)
