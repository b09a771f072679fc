"""Two layouts of examples behind one face: which arrays, which kernels, how weights lie."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rosenblatt.kernels import csr, dense

if TYPE_CHECKING:
    from scipy import sparse


class DenseRows:
    """Rows of a C-contiguous matrix, used where they lie."""

    kernels = dense

    def __init__(self, X: np.ndarray) -> None:
        self.arrays: Any = X
        self.shape, self.dtype, self.stored = X.shape, X.dtype, X.size

    def lay_out(self, weights: np.ndarray) -> np.ndarray:
        """A copy of (problems, d) weights as the kernels want them."""
        return np.array(weights, order="C")

    def restore(self, W: np.ndarray) -> np.ndarray:
        """A copy of the kernels' weights as (problems, d)."""
        return np.array(W, order="C")

    def scores(self, weights: np.ndarray, bias: np.ndarray, chosen: slice) -> np.ndarray:
        """The scores of some rows with (problems, d) weights, as (rows, problems)."""
        return self.arrays[chosen] @ weights.T + bias.astype(self.dtype)


class CsrRows:
    """Rows of a canonical CSR matrix (sorted, no entry twice), used where they lie."""

    kernels = csr

    def __init__(self, X: sparse.csr_matrix | sparse.csr_array) -> None:
        wide = X.indices.dtype.itemsize > 4
        columns = X.indices.astype(np.uint32) if wide else X.indices.view(np.uint32)
        self.arrays: Any = (X.data, columns, X.indptr.astype(np.uint64))
        self.matrix, self.shape, self.dtype, self.stored = X, X.shape, X.dtype, X.nnz

    def lay_out(self, weights: np.ndarray) -> np.ndarray:
        """A copy of (problems, d) weights as the kernels want them: a feature's together."""
        return np.array(weights.T, order="C")

    def restore(self, W: np.ndarray) -> np.ndarray:
        """A copy of the kernels' weights as (problems, d)."""
        return np.array(W.T, order="C")

    def scores(self, weights: np.ndarray, bias: np.ndarray, chosen: slice) -> np.ndarray:
        """The scores of some rows with (problems, d) weights, as (rows, problems)."""
        return self.matrix[chosen] @ weights.T + bias.astype(self.dtype)


Rows = DenseRows | CsrRows


def rows_of(X: Any) -> Rows:
    """Take a checked float matrix, dense or CSR, without a copy where its layout allows."""
    # The command line trains without SciPy; its import would be a good part of a short run.
    from scipy import sparse

    if not sparse.issparse(X):
        return DenseRows(np.ascontiguousarray(X))
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return CsrRows(X)


def distinct(rows: Rows, codes: np.ndarray, omega: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The rows of positive weight with equal ones made one, in an order their values alone decide.

    Returns the row numbers and the weights, in which each of these rows carries the weight of all
    its copies. So a model that draws its order from this one depends on the examples as a weighted
    set, not on how a file happened to be sorted.
    """
    chosen = np.arange(rows.shape[0], dtype=np.uint64)
    if omega.size > 1:
        chosen = chosen[omega > 0]
    word = np.dtype(f"u{rows.dtype.itemsize}")
    generator = np.random.default_rng(1957)
    first, second = (
        generator.integers(0, np.iinfo(word).max, rows.shape[1], dtype=word) | word.type(1)
        for _ in range(2)
    )
    labels = codes[chosen].astype(np.uint64) << np.uint64(32)
    key = rows.kernels.keys(rows.arrays, chosen, first) ^ labels
    by_key = np.argsort(key)
    chosen, key = chosen[by_key], key[by_key]
    tied = key[1:] == key[:-1]
    if not tied.any():
        return chosen, omega

    suspects = np.flatnonzero(np.append(tied, False) | np.append(False, tied))
    finer = rows.kernels.keys(rows.arrays, chosen[suspects], second)
    chosen[suspects] = chosen[suspects[np.lexsort((finer, codes[chosen[suspects]], key[suspects]))]]
    close = chosen[suspects]
    alike = rows.kernels.same_as_next(rows.arrays, close)[:-1]
    same = np.zeros(chosen.size, bool)
    same[suspects[1:]] = alike & (codes[close[1:]] == codes[close[:-1]])
    merged = np.zeros(rows.shape[0])
    weights = np.broadcast_to(omega, merged.shape)[chosen]
    merged[chosen[~same]] = np.bincount(np.cumsum(~same) - 1, weights=weights)
    return chosen[~same], merged
