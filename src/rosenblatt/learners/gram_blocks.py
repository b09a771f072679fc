"""Gram entries computed block by block, and cached within a memory budget."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from rosenblatt.learners.protocol import Array

MIB = 2**20
BYTES_AN_ENTRY = 24  # an entry in double precision, and what kernels need on the way
SMALLEST = 8  # rows of a block, at least
_IN_CACHE = 1 << 20  # bytes of entries that a kernel function works on at a time


class GramBlocks:
    """Gram entries between the rows of one matrix.

    Half of the budget is working memory; the other half caches whole rows of the Gram matrix,
    those that were needed first. Cached rows are never evicted: epochs visit rows cyclically, so
    that a cache that is too small would evict each row just before it is needed.

    Parameters
    ----------
    kernel : callable
        Computes a block from two matrices; None if X is the Gram matrix itself.
    X : array or sparse matrix (n, d)
    megabytes : float
        The budget.
    block_rows : int
        Rows scored and walked through at a time, if the budget allows.

    Attributes
    ----------
    n : int
        The rows of the matrix.
    block_rows, pending_rows, chunk_rows : int
        Rows walked at a time; rows of pending updates before they are added to all scores; rows
        whose scores are updated at a time.

    Examples
    --------
    >>> gram = GramBlocks(lambda A, B: A @ B.T, np.eye(3), megabytes=1)
    >>> gram.block(np.array([0]), np.array([0, 1]))
    array([[1., 0.]])
    >>> scores = np.zeros((1, 3))
    >>> gram.add(scores, np.array([2]), np.array([[5.0]]), None)
    >>> scores
    array([[0., 0., 5.]])
    """

    def __init__(
        self,
        kernel: Callable[[Any, Any], Array] | None,
        X: Any,
        megabytes: float = 200.0,
        block_rows: int = 256,
    ) -> None:
        self.kernel = kernel
        self.X = X
        self.n = X.shape[0]
        stored = X.nnz * 2 if hasattr(X, "nnz") else X.size
        width = X.dtype.itemsize * stored / max(1, self.n)
        budget = megabytes * MIB
        block, pending, chunk = block_rows, 2 * block_rows, 8 * block_rows

        def working() -> float:
            entries = block * (block + pending) + pending * chunk
            return entries * BYTES_AN_ENTRY + width * (2 * block + pending + chunk)

        while working() > budget / 2 and chunk > SMALLEST:
            block, pending, chunk = (max(SMALLEST, size // 2) for size in (block, pending, chunk))
        self.block_rows, self.pending_rows, self.chunk_rows = block, pending, chunk
        spare = 0.0 if kernel is None else budget - min(working(), budget)
        capacity = int(spare // (self.n * X.dtype.itemsize))
        self.slots = np.full(self.n, -1, np.int32)
        self.cache = np.empty((min(capacity, self.n), self.n), X.dtype)
        self.cached = 0
        self.whole: Array | None = X if kernel is None and X.flags.c_contiguous else None
        """All entries, if they are in memory, else None."""

    def make_all(self, kernel_by: Callable[[Any], Any] | None = None) -> None:
        """Compute all entries now, if the budget allows, as for a few thousand rows.

        `kernel_by` makes the kernel from a function that multiplies one matrix with the other
        transposed, if the kernel is a function of such products: then one product is enough.
        """
        if self.kernel is None or self.cached or len(self.cache) < self.n:
            return
        if type(self.X) is not np.ndarray or self.X.dtype != np.float64:
            kernel_by = None  # the kernel may need products in double precision
        if kernel_by is not None:
            np.dot(self.X, self.X.T, out=self.cache)
        size = max(SMALLEST, _IN_CACHE // (self.n * self.cache.itemsize))
        for start in range(0, self.n, size):
            chunk, kernel = slice(start, start + size), self.kernel
            if kernel_by is not None:
                kernel = kernel_by(lambda A, B, some=chunk: self.cache[some])
            self.cache[chunk] = kernel(self.X[chunk], self.X)
        self.slots[:] = np.arange(self.n)
        self.cached, self.whole = self.n, self.cache

    def block(self, rows: Array, columns: Array) -> Array:
        """The entries between some rows and some others."""
        if self.kernel is None or self.whole is not None:
            entries = self.X if self.whole is None else self.whole
            return entries[np.ix_(rows, columns)]
        return np.ascontiguousarray(self.kernel(self.X[rows], self.X[columns]))

    def host_rows(self, rows: Array) -> Any:
        """Some rows of the matrix, in host memory."""
        return self.X[rows]

    def add(self, scores: Array, rows: Array, coefficients: Array, to: Array | None) -> None:
        """Add ``coefficients @ K(rows, to)`` to ``scores[:, to]``; None: to all rows.

        ``scores`` is (problems, n) in double precision, `to` holds each row at most once.
        """
        for start in range(0, rows.size, self.pending_rows):
            block = slice(start, start + self.pending_rows)
            is_cached = self.slots[rows[block]] >= 0
            if is_cached.any():
                self._recall(
                    scores, rows[block][is_cached], coefficients[:, block][:, is_cached], to
                )
            if not is_cached.all():
                self._make(
                    scores, rows[block][~is_cached], coefficients[:, block][:, ~is_cached], to
                )

    def _recall(self, scores: Any, rows: Any, coefficients: Any, to: Any) -> None:
        slots = self.slots[rows]
        for chunk in self._chunks(to):
            index = (slots, chunk) if isinstance(chunk, slice) else np.ix_(slots, chunk)
            scores[:, chunk] += coefficients @ self.cache[index].astype(np.float64, copy=False)

    def _make(self, scores: Any, rows: Any, coefficients: Any, to: Any) -> None:
        first, last = self.cached, self.cached
        if to is None:
            last = min(self.cached + rows.size, self.cache.shape[0])
        left = None if self.kernel is None else self.X[rows]
        for chunk in self._chunks(to):
            if self.kernel is None:
                K = self.X[rows, chunk] if to is None else self.X[np.ix_(rows, chunk)]
            else:
                K = self.kernel(left, self.X[chunk])
            if last > first:
                self.cache[first:last, chunk] = K[: last - first]
            scores[:, chunk] += coefficients @ K.astype(np.float64, copy=False)
        self.slots[rows[: last - first]] = np.arange(first, last)
        self.cached = last

    def _chunks(self, to: Array | None) -> Iterator[Any]:
        for start in range(0, self.n if to is None else to.size, self.chunk_rows):
            chunk = slice(start, start + self.chunk_rows)
            yield chunk if to is None else to[chunk]
