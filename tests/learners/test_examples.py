"""Examples: layouts of rows, and what makes rows distinct."""

import numpy as np
import pytest
from scipy import sparse

from rosenblatt.learners import examples as examples_module
from rosenblatt.learners.examples import csr_rows, distinct, examples_of

ONE = np.ones(1)


def distinct_of(X, y, omega):
    return distinct(examples_of(X, y, omega))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dense_and_sparse_rows_are_put_into_the_same_order(dtype):
    random = np.random.default_rng(0)
    X = np.where(random.random((200, 8)) < 0.4, random.normal(size=(200, 8)), 0).astype(dtype)
    X[::7] = X[3]
    X[5, 2] = -0.0
    y = random.integers(0, 2, 200)
    dense, weights = distinct_of(X, y, ONE)
    from_csr, other_weights = distinct_of(sparse.csr_array(X), y, ONE)
    assert np.array_equal(X[dense], X[from_csr])
    assert np.array_equal(weights[dense], other_weights[from_csr])


def test_equal_rows_of_one_class_become_one_with_their_weight():
    X = np.array([[1.0, 2], [3, 4], [1, 2], [1, 2], [3, 4]])
    y = np.array([0, 0, 0, 1, 0])
    rows, weights = distinct_of(X, y, np.array([1.0, 0.5, 2, 4, 0]))
    found = {(tuple(X[r]), y[r]): weights[r] for r in rows.tolist()}
    assert found == {((1, 2), 0): 3.0, ((3, 4), 0): 0.5, ((1, 2), 1): 4.0}
    assert weights.sum() == 7.5


def test_rows_that_differ_in_sign_alone_are_told_apart():
    X = np.array([[1.0, -1.0], [-1.0, 1.0], [1.0, 1.0], [-1.0, -1.0]])
    forward, _ = distinct_of(X, np.zeros(4, int), ONE)
    backward, _ = distinct_of(X[::-1].copy(), np.zeros(4, int), ONE)
    assert np.array_equal(X[forward], X[::-1][backward])


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_order_of_rows_does_not_depend_on_a_power_of_two(layout, dtype):
    random = np.random.default_rng(1)
    X = (random.integers(-2, 3, (300, 3)) * 2.0 ** random.integers(-3, 4, (300, 1))).astype(dtype)
    y = random.integers(0, 3, 300)
    rows, weights = distinct_of(layout(X), y, ONE)
    assert len(rows) < 300
    for power in (-20, -1, 1, 7):
        scaled, other = distinct_of(layout(X * dtype(2.0**power)), y, ONE)
        assert np.array_equal(scaled, rows)
        assert np.array_equal(other, weights)
    mixed = random.permutation(300)
    again, _ = distinct_of(layout(X[mixed]), y[mixed], ONE)
    assert np.array_equal(X[mixed][again], X[rows])


def test_contiguous_rows_are_used_where_they_lie():
    X = np.ones((5, 3), np.float32)
    assert examples_of(X, [0] * 5).rows.X is X
    S = sparse.csr_array(X)
    assert np.shares_memory(csr_rows(S).data, S.data)
    assert np.shares_memory(csr_rows(S).columns, S.indices)


def test_entries_stored_twice_are_added_up_in_a_copy():
    S = sparse.csr_array((np.ones(3), np.array([1, 0, 1]), np.array([0, 3])), shape=(1, 2))
    data, columns, _ = csr_rows(S)
    assert dict(zip(columns.tolist(), data.tolist(), strict=True)) == {0: 1.0, 1: 2.0}
    assert S.nnz == 3


def test_wide_indices_are_narrowed():
    S = sparse.csr_array(np.eye(3))
    S.indices, S.indptr = S.indices.astype(np.int64), S.indptr.astype(np.int64)
    assert csr_rows(S).columns.dtype == np.uint32


def test_different_rows_with_one_key_are_ordered_by_another(monkeypatch):
    drawn = examples_module.key_multipliers

    def colliding(n_features, word, series=0):
        return drawn(n_features, word, 1) if series else np.ones(n_features, word)

    monkeypatch.setattr(examples_module, "key_multipliers", colliding)
    random = np.random.default_rng(2)
    X = np.array([random.permutation([1.0, 2.0, 3.0, 5.0]) for _ in range(60)])
    rows, weights = distinct_of(X, np.zeros(60, int), ONE)
    assert len(rows) == len(np.unique(X, axis=0)) == np.count_nonzero(weights)
    mixed = random.permutation(60)
    again, _ = distinct_of(X[mixed], np.zeros(60, int), ONE)
    assert np.array_equal(X[mixed][again], X[rows])


@pytest.mark.parametrize("word", [np.dtype(np.uint32), np.dtype(np.uint64)])
def test_multipliers_are_those_of_numpys_generator(word):
    most = np.iinfo(word).max
    generator = np.random.Generator(np.random.PCG64(1957))
    whole = generator.integers(0, most, 2 * 70_001, dtype=word) | word.type(1)
    for series in (0, 1):
        part = whole[series * 70_001 : (series + 1) * 70_001]
        assert np.array_equal(examples_module.key_multipliers(70_001, word, series), part)
