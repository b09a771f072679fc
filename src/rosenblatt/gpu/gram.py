"""Gram entries on the GPU: all of them if they fit, else those of corrected rows."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from rosenblatt.learners.protocol import Array

_SHARE_OF_MEMORY = 0.7  # of the free GPU memory that Gram entries may take
_CHUNK_BYTES = 1 << 30  # of Gram entries computed at a time
EXACT_TF32, EXACT_FLOAT32 = 2048.0, 2.0**24  # the largest integers that both types hold exactly


class DeviceGram:
    """Gram entries between the rows of one matrix, on the GPU.

    A Gram matrix that fits into the free memory is computed once. Else Gram rows are computed when
    they are needed, and cached until `megabytes`, or a share of the free memory, are used up.

    `kernel` returns the kernel as a function of two matrices on the GPU, given the function that
    multiplies them; it is None if X holds the entries themselves.
    """

    def __init__(
        self, device: Any, kernel: Callable[[Any], Any] | None, X: Any, block_rows: int = 1024,
        megabytes: float | None = None,
    ) -> None:  # fmt: skip
        self.device, self.n, self.block_rows, self._given = device, X.shape[0], block_rows, X
        with device.main:
            self.X = device.xp.ascontiguousarray(device.xp.asarray(X))
            self._tf32 = kernel is not None and self._is_exact_in_tf32()
        # Not a method of this object: a cycle would keep its memory until garbage is collected.
        self.kernel = None if kernel is None else kernel(partial(_product, device, self._tf32))
        free = _SHARE_OF_MEMORY * device.free_bytes() if megabytes is None else megabytes * 2**20
        width = self.n * self.X.itemsize
        self.is_whole = kernel is None or self.n * width <= free
        capacity = self.n if self.is_whole else max(0, int(free // width) - block_rows)
        self.slots = np.full(self.n, -1, np.int32)
        self.cached, self.capacity = 0, capacity
        with device.main:
            if kernel is None:
                self.K = self.X
            else:
                spare = 0 if self.is_whole else block_rows  # for rows that are not cached
                self.K = device.xp.empty((capacity + spare, self.n), self.X.dtype)
            if self.is_whole:
                self._compute_all()

    @property
    def dtype(self) -> np.dtype[Any]:
        """The precision of the entries."""
        return np.dtype(self.X.dtype)

    def _is_exact_in_tf32(self) -> bool:
        """Whether products on tensor cores are exact: X holds small integers."""
        xp, X = self.device.xp, self.X
        if X.dtype != np.float32 or not bool((xp.abs(X) <= EXACT_TF32).all()):
            return False
        return bool((xp.rint(X) == X).all()) and float((X * X).sum(axis=1).max()) <= EXACT_FLOAT32

    def _compute_all(self) -> None:
        if self.kernel is not None:
            chunk = max(1, _CHUNK_BYTES // max(1, self.n * self.X.itemsize))
            for start in range(0, self.n, chunk):  # half of the symmetric matrix
                rows, end = slice(start, start + chunk), start + chunk
                self.K[rows, start:] = self.kernel(self.X[rows], self.X[start:])
                self.K[end:, rows] = self.K[rows, end:].T
        self.slots[:] = np.arange(self.n)

    def block(self, rows: Any) -> Any:
        """The entries between some rows."""
        X = self.X[rows]
        return self.device.xp.ascontiguousarray(self.kernel(X, X))  # type: ignore[misc]

    def cached_rows(self, rows: Array) -> Array:
        """The indices in ``K`` of the Gram rows of at most a block of rows, computed if missing."""
        missing = rows[self.slots[rows] < 0]
        kept = missing[: self.capacity - self.cached]
        if kept.size:
            places = np.arange(self.cached, self.cached + kept.size)
            self.K[self.cached : self.cached + kept.size] = self._entries(kept)
            self.slots[kept] = places
            self.cached += kept.size
        places, uncached = self.slots[rows].copy(), missing[kept.size :]
        if uncached.size:
            end = self.capacity + uncached.size
            self.K[self.capacity : end] = self._entries(uncached)
            places[places < 0] = np.arange(self.capacity, end)
        return places

    def _entries(self, rows: Array) -> Any:
        return self.kernel(self.X[rows], self.X)  # type: ignore[misc]

    def take(self, X: Any) -> Any:
        """Other rows, on the GPU."""
        return self.device.xp.asarray(X)

    def given(self, rows: Array) -> Any:
        """Some rows of the matrix as it was given, in host memory."""
        return self._given[rows]

    def combined(self, rows: Array, coefficients: Array) -> Any:
        """``coefficients @ K(rows, all)`` in double precision."""
        xp, out = self.device.xp, self.device.xp.zeros((len(coefficients), self.n))
        for start in range(0, rows.size, self.block_rows):
            some = slice(start, start + self.block_rows)
            here = rows[some]
            K = self.K[xp.asarray(here)] if self.is_whole else self._entries(here)
            out += xp.asarray(coefficients[:, some]) @ K.astype(np.float64)
        return out


def _product(device: Any, tf32: bool, A: Any, B: Any) -> Any:
    """``A·B'``, on tensor cores where that is exact."""
    out = device.xp.empty((A.shape[0], B.shape[0]), A.dtype)
    A, B = map(device.xp.ascontiguousarray, (A, B))
    device.product(A, B, out, tf32=tf32 and A.dtype == np.float32)
    return out
