"""Row blocks preserve the inner products of rows with rows and with weights."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from rosenblatt import certify, verify
from rosenblatt.theory import max_margin
from rosenblatt.theory.margin.row_blocks import row_block


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
    block = row_block(X)
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
