"""Rows on the device: those that fit stay there, others are streamed while the last are learned."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np

from rosenblatt.learners.examples import Examples
from rosenblatt.learners.protocol import Array

_STREAMED_BYTES = 256 << 20  # of each of the two buffers that rows are streamed through, at most
_SHARE_OF_MEMORY = 0.6  # of the free device memory that rows may take to stay


class Chunk(NamedTuple):
    """Rows on the device: those of visits ``first : first + visits``.

    Attributes
    ----------
    X : device array
    first, visits : int
    picked : bool
        Whether row i of X is visit ``first + i``; else the order says which row a visit is.
    """

    X: Any
    first: int
    visits: int
    picked: bool


class Resident:
    """Rows that stay on the device."""

    stays = True

    def __init__(self, device: Any, X: Any) -> None:
        self.X = device.xp.ascontiguousarray(device.xp.asarray(X))

    def chunks(self, order: Array) -> Iterator[Chunk]:
        """The rows of an order: all at once."""
        first, n = int(order[0]), len(order)
        in_a_row = np.array_equal(order, np.arange(first, first + n, dtype=order.dtype))
        yield Chunk(self.X[first : first + n] if in_a_row else self.X, 0, n, in_a_row)


class Streamed:
    """Rows in the memory of the processor or in a mapped file, copied to the device in chunks.

    While the device learns from one chunk, the next is gathered by a thread into pinned memory and
    copied in a stream of its own.
    """

    stays = False

    def __init__(self, device: Any, X: Array, chunk_bytes: int) -> None:
        self.device, self.X = device, X
        rows = max(1, chunk_bytes // max(1, X.shape[1] * X.itemsize))
        self.size = min(len(X), max(1024, rows // 1024 * 1024))
        shape = (self.size, X.shape[1])
        self._pinned = [device.pinned(shape, X.dtype) for _ in range(2)]
        self._arrays = [device.xp.empty(shape, X.dtype) for _ in range(2)]
        self._copied = [device.event() for _ in range(2)]
        self._learned = [device.event() for _ in range(2)]

    def chunks(self, order: Array) -> Iterator[Chunk]:
        """The rows of an order, chunk by chunk; a chunk is good until the next is asked for."""
        starts, begun = range(0, len(order), self.size), self.device.event()
        begun.record(self.device.main)  # the buffers may have been somebody else's until now
        self.device.copies.wait_event(begun)
        with ThreadPoolExecutor(1) as pool:
            coming = pool.submit(self._gather, order[: self.size], 0)
            for number, start in enumerate(starts):
                slot = number % 2
                count = coming.result()
                with self.device.copies:
                    if number >= 2:
                        self.device.copies.wait_event(self._learned[slot])
                    self.device.put(self._arrays[slot][:count], self._pinned[slot][:count])
                    self._copied[slot].record(self.device.copies)
                following = order[start + self.size : start + 2 * self.size]
                if following.size:
                    if number >= 1:
                        self._copied[1 - slot].synchronize()
                    coming = pool.submit(self._gather, following, 1 - slot)
                self.device.main.wait_event(self._copied[slot])
                yield Chunk(self._arrays[slot][:count], start, count, True)
                self._learned[slot].record(self.device.main)

    def _gather(self, some: Array, slot: int) -> int:
        np.take(self.X, some.astype(np.intp), axis=0, out=self._pinned[slot][: len(some)])
        return len(some)


def rows_of(device: Any, examples: Examples) -> Resident | Streamed:
    """The dense rows of examples on a device: there to stay if they fit, else streamed."""
    X = examples.rows.X  # type: ignore[union-attr]
    room = int(_SHARE_OF_MEMORY * device.free_bytes())
    if not isinstance(X, np.ndarray) or X.nbytes <= room:
        return Resident(device, X)
    return Streamed(device, X, min(_STREAMED_BYTES, room // 2))
