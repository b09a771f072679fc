"""Row blocks preserve the inner products of rows with rows and with weights."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.svm import SVC

from rosenblatt import certify, verify
from rosenblatt.theory import dataset_margin, max_margin
from rosenblatt.theory.margin.max_margin import _row_block


def separated(seed, n=60, d=5, gap=0.5):
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n, d))
    w = generator.normal(size=d)
    y = (X @ w > 0).astype(int)
    return X + gap * np.outer(2 * y - 1, w / np.linalg.norm(w)), y


def test_iris_petals_have_the_margin_of_the_notes():
    X, y = load_iris(return_X_y=True)
    found = max_margin(X[:100, 2:], y[:100])
    assert found.lower == pytest.approx(0.2684931665, abs=1e-9)
    assert found.gap < 1e-9


@pytest.mark.parametrize("seed", range(4))
def test_the_geometric_margin_is_that_of_a_hard_support_vector_machine(seed):
    X, y = separated(seed)
    svm = SVC(kernel="linear", C=1e9, tol=1e-9).fit(X, y)
    found = max_margin(X, y, kind="geometric", rtol=1e-9)
    assert found.upper == pytest.approx(1 / np.linalg.norm(svm.coef_), rel=1e-5)
    assert set(found.rows) == set(svm.support_.tolist())
    w = np.array(found.weights, dtype=float)
    assert dataset_margin(X, y, w, float(found.bias)) == pytest.approx(found.lower, rel=1e-9)


@pytest.mark.parametrize("kind", ["augmented", "geometric"])
@pytest.mark.parametrize("seed", range(3))
def test_the_interval_is_narrow_and_the_same_for_dense_and_sparse(kind, seed):
    X, y = separated(seed, n=500, d=20)
    dense, csr = (max_margin(A, y, kind=kind) for A in (X, sparse.csr_array(X)))
    for found in (dense, csr):
        assert 0 < found.lower <= found.upper
        assert found.gap <= 1e-6
    assert dense.upper == pytest.approx(csr.upper, rel=1e-6)


def test_scaling_the_rows_scales_the_geometric_margin():
    X, y = separated(7)
    one = max_margin(X, y, kind="geometric")
    for factor in (1e-200, 1e-6, 1e250):
        other = max_margin(X * factor, y, kind="geometric")
        assert other.gap < 1e-5
        assert other.lower <= factor * one.upper * (1 + 1e-12)
        assert factor * one.lower <= other.upper * (1 + 1e-12)


def test_inseparable_rows_have_no_positive_lower_bound():
    X, y = [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], [0, 1, 1, 0]
    for kind in ("augmented", "geometric"):
        found = max_margin(X, y, kind=kind)
        assert found.lower <= 0 <= found.upper <= 1e-6


def test_the_margin_grows_when_rows_are_removed():
    X, y = separated(3, n=40)
    whole = max_margin(X, y)
    part = max_margin(X[:30], y[:30])
    assert part.upper >= whole.lower


def test_errors_name_the_invalid_option():
    with pytest.raises(ValueError, match="kind"):
        max_margin([[0.0], [1.0]], [0, 1], kind="functional")
    with pytest.raises(ValueError, match="rtol"):
        max_margin([[0.0], [1.0]], [0, 1], rtol=0)
    with pytest.raises(ValueError, match="two classes"):
        max_margin([[0.0], [1.0], [2.0]], [0, 1, 2])


@pytest.mark.parametrize("kind", ["augmented", "geometric"])
@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
def test_the_interval_closes_in_many_columns(kind, layout):
    generator = np.random.default_rng(3)
    X = generator.normal(size=(1500, 150))
    y = (X @ generator.normal(size=150) > 0).astype(int)
    found = max_margin(layout(X), y, kind=kind)
    assert 0 < found.lower <= found.upper
    assert found.gap <= 1e-6


def hashed(n, width, entries, seed=0):
    """Rows like those of hashed text: a few entries in many columns."""
    g = np.random.default_rng(seed)
    columns = g.integers(0, width, (n, entries)).ravel()
    rows = np.repeat(np.arange(n), entries)
    X = sparse.coo_array((np.ones(n * entries), (rows, columns)), shape=(n, width)).tocsr()
    X.sum_duplicates()
    return X, g.integers(0, 2, n)


@pytest.mark.parametrize("n", [20, 200])
def test_inner_products_are_preserved(n):
    X, _ = hashed(n, 5_000, 30)
    X = sparse.vstack([X[:-1], X[:1]]).tocsr()  # equal rows: their products are singular
    block = _row_block(X)
    assert block.values.shape[1] <= (n if n >= 128 else 30 * n)
    assert_allclose(block.values @ block.values.T, (X @ X.T).toarray(), rtol=1e-8, atol=1e-8)
    v = np.random.default_rng(1).normal(size=block.values.shape[1])
    w = block.expand(v)
    assert_allclose(X @ w, block.values @ v, rtol=1e-6, atol=1e-6)


def test_the_margin_of_sparse_rows_is_that_of_dense_ones():
    X, y = hashed(300, 2_000, 20)
    of_sparse, of_dense = max_margin(X, y), max_margin(X.toarray(), y)
    assert of_sparse.gap < 1e-5
    assert of_sparse.lower <= of_dense.upper
    assert of_dense.lower <= of_sparse.upper


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_hashed_rows_in_millions_of_columns_are_certified(fit_intercept):
    X, y = hashed(400, 2**22, 40)
    c = certify(X, y, fit_intercept=fit_intercept)
    assert c.verdict == "separable"
    assert c.augmented.upper - c.augmented.lower <= 1e-5 * c.augmented.upper
    found = verify(c, X, y)
    assert found, found.reason
