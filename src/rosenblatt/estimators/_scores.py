"""The scores of linear classifiers on many rows at once."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.extmath import safe_sparse_dot

from rosenblatt.kernels.products import checked_products
from rosenblatt.learners.examples import check_sparse


def linear_scores(X: Any, weights: Any, bias: np.ndarray) -> np.ndarray:
    """``X·wᵀ + b`` of (problems, features) weights; a vector for a single problem.

    The indices of a CSR matrix are checked on the way.

    >>> linear_scores(np.eye(2), np.array([[1.0, 2.0]]), np.array([0.5]))
    array([1.5, 2.5])
    """
    sparse_rows = hasattr(X, "indptr")
    scores = (
        _checked(X, weights) if sparse_rows else safe_sparse_dot(X, weights.T, dense_output=True)
    )
    scores = scores + bias.astype(weights.dtype)
    return scores[:, 0] if scores.shape[1] == 1 else scores


def _checked(X: Any, weights: Any) -> Any:
    """The products of sparse rows and weights."""
    narrow = X.indices.dtype == X.indptr.dtype and X.indices.dtype in (np.int32, np.int64)
    if type(weights) is np.ndarray and X.dtype == weights.dtype and narrow:
        word = np.dtype(f"u{X.indices.itemsize}")
        out = np.empty((X.shape[0], len(weights)), X.dtype)
        arrays = X.data, X.indices.view(word), X.indptr.view(word)
        fits = X.indptr.shape == (X.shape[0] + 1,) and all(a.flags.c_contiguous for a in arrays)
        if fits and checked_products(*arrays, np.ascontiguousarray(weights.T), out):
            return out
    check_sparse(X)
    return safe_sparse_dot(X, weights.T, dense_output=True)
