"""Gram entries on a device, all of them where they fit, else those of corrected rows."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from rosenblatt.learners.protocol import Array

_SHARE_OF_MEMORY = 0.7  # of the free device memory that Gram entries may take
_CHUNK_BYTES = 1 << 30  # of Gram entries made at a time
EXACT_WHOLE, EXACT_SINGLE = 2048.0, 2.0**24  # whole numbers exact in 10 bits, and in 23


class DeviceGram:
    """Gram entries between the rows of one matrix, on a device.

    Where the whole Gram matrix fits into the device's free memory it is made once. Otherwise the
    rows of the matrix that are needed first, those that were corrected, are kept as far as memory
    goes, and others are made anew each time.

    Parameters
    ----------
    device : Cuda
    kernel : callable
        Makes the function of two device matrices, given what multiplies them; None if X holds the
        entries themselves.
    X : array (n, d)
    block_rows : int
        Rows of a block.
    megabytes : float or None
        Memory for Gram entries; None: as far as the device goes.
    """

    def __init__(
        self, device: Any, kernel: Callable[[Any], Any] | None, X: Any, block_rows: int = 1024,
        megabytes: float | None = None,
    ) -> None:  # fmt: skip
        self.device, self.n, self.block_rows, self._given = device, X.shape[0], block_rows, X
        with device.main:
            self.X = device.xp.ascontiguousarray(device.xp.asarray(X))
            self._tf32 = kernel is not None and self._is_exact_in_tf32()
        # No method of this object, which would hold it until garbage is collected.
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
                self.K = device.xp.empty((capacity + (0 if self.is_whole else block_rows), self.n),
                                         self.X.dtype)  # fmt: skip
            if self.is_whole:
                self._make_all()

    @property
    def dtype(self) -> np.dtype[Any]:
        """The precision of the entries."""
        return np.dtype(self.X.dtype)

    def _is_exact_in_tf32(self) -> bool:
        """Whether tensor cores make products of these rows exactly: small whole numbers do."""
        xp, X = self.device.xp, self.X
        if X.dtype != np.float32 or not bool((xp.abs(X) <= EXACT_WHOLE).all()):
            return False
        return bool((xp.rint(X) == X).all()) and float((X * X).sum(axis=1).max()) <= EXACT_SINGLE

    def _make_all(self) -> None:
        if self.kernel is not None:
            chunk = max(1, _CHUNK_BYTES // max(1, self.n * self.X.itemsize))
            for start in range(0, self.n, chunk):  # each pair of rows once
                rows, end = slice(start, start + chunk), start + chunk
                self.K[rows, start:] = self.kernel(self.X[rows], self.X[start:])
                self.K[end:, rows] = self.K[rows, end:].T
        self.slots[:] = np.arange(self.n)

    def block(self, rows: Any) -> Any:
        """The entries between some rows."""
        X = self.X[rows]
        return self.device.xp.ascontiguousarray(self.kernel(X, X))  # type: ignore[misc]

    def rows_in_cache(self, rows: Array) -> Array:
        """The places in ``K`` of the Gram rows of some rows, at most a block; made if need be."""
        missing = rows[self.slots[rows] < 0]
        kept = missing[: self.capacity - self.cached]
        if kept.size:
            places = np.arange(self.cached, self.cached + kept.size)
            self.K[self.cached : self.cached + kept.size] = self._entries(kept)
            self.slots[kept] = places
            self.cached += kept.size
        places, passing = self.slots[rows].copy(), missing[kept.size :]
        if passing.size:
            end = self.capacity + passing.size
            self.K[self.capacity : end] = self._entries(passing)
            places[places < 0] = np.arange(self.capacity, end)
        return places

    def _entries(self, rows: Array) -> Any:
        return self.kernel(self.X[rows], self.X)  # type: ignore[misc]

    def take(self, X: Any) -> Any:
        """Other rows on the device."""
        return self.device.xp.asarray(X)

    def given(self, rows: Array) -> Any:
        """Some rows of the matrix, which was given on the processor."""
        return self._given[rows]

    def added(self, rows: Array, coefficients: Array) -> Any:
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
