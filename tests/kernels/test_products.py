"""Products of sparse rows: what SciPy computes, and no read outside of the arrays."""

import numpy as np
import pytest
from scipy import sparse

from rosenblatt.kernels.products import checked_products


def products(X, W):
    out = np.full((X.shape[0], W.shape[1]), 7, X.dtype)
    word = np.dtype(f"u{X.indices.itemsize}")
    fits = checked_products(X.data, X.indices.view(word), X.indptr.view(word), W, out)
    return fits, out


@pytest.mark.parametrize("problems", [1, 3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_products_are_those_of_scipy(problems, dtype, index):
    X = sparse.random(40, 30, 0.2, "csr", dtype=dtype, random_state=0)
    X.indices, X.indptr = X.indices.astype(index), X.indptr.astype(index)
    W = np.random.default_rng(0).normal(size=(30, problems)).astype(dtype)
    fits, out = products(X, W)
    assert fits
    assert out == pytest.approx(X @ W, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("problems", [1, 3])
@pytest.mark.parametrize(
    ("array", "place", "value"),
    [("indices", 5, 30), ("indices", 0, -1), ("indptr", 0, 1), ("indptr", 7, -3),
     ("indptr", 8, 10**6), ("indptr", 40, 10**6)],
)  # fmt: skip
def test_an_index_outside_is_refused(array, place, value, problems):
    X = sparse.random(40, 30, 0.2, "csr", random_state=0)
    getattr(X, array)[place] = value
    assert not products(X, np.ones((30, problems)))[0]
