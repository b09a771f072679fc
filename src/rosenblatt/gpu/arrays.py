"""Arrays on the GPU: what callers hand over, and the rows that learners walk over.

Rows are resident if they fit, else streamed while earlier ones are learned from.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np

from rosenblatt.gpu.device import CUDA, CUDA_MANAGED, DeviceError, current_device, translated_errors
from rosenblatt.learners.examples import Examples
from rosenblatt.learners.protocol import Array

_STREAMED_BYTES = 256 << 20  # of each of the two buffers for streamed rows, at most
_SHARE_OF_MEMORY = 0.6  # of the free GPU memory that resident rows may take


def is_on_cuda(array: Any) -> bool:
    """Whether an array lies on a CUDA device."""
    if not hasattr(array, "__dlpack_device__"):
        return False
    return int(array.__dlpack_device__()[0]) in (CUDA, CUDA_MANAGED)


def device_of(array: Any) -> Any:
    """The current device; an error if the array lies on another one."""
    device, number = current_device(), int(array.__dlpack_device__()[1])
    if number != device.number:
        raise DeviceError(
            f"Data lie on CUDA device {number}, but the current one is {device.number}: move them "
            "there, or make their device the current one."
        )
    return device


def to_host(array: Any) -> Any:
    """A copy in host memory of an array on a CUDA device; other arrays unchanged."""
    if not is_on_cuda(array):
        return array
    device = device_of(array)
    with translated_errors():
        return device.host(device.xp.from_dlpack(array))


def like_input(result: Any, X: Any) -> Any:
    """The result as the kind of array that X is, which lies on a CUDA device (CuPy, torch, JAX)."""
    with translated_errors():
        result = current_device().xp.asarray(result)
    module = sys.modules.get(type(X).__module__.partition(".")[0])
    if module is None or module.__name__ == "cupy" or not hasattr(module, "from_dlpack"):
        return result
    return module.from_dlpack(result)


class Chunk(NamedTuple):
    """Rows on the GPU: those of visits ``first : first + visits``."""

    X: Any
    first: int
    visits: int
    in_order: bool  # whether row i of X is visit first + i; else the order says which row it is


class Resident:
    """Rows that all lie on the GPU."""

    is_resident = True

    def __init__(self, device: Any, X: Any) -> None:
        self.X = device.xp.ascontiguousarray(device.xp.asarray(X))

    def chunks(self, order: Array) -> Iterator[Chunk]:
        """The rows of an order, in one chunk."""
        first, n = int(order[0]), len(order)
        in_order = np.array_equal(order, np.arange(first, first + n, dtype=order.dtype))
        yield Chunk(self.X[first : first + n] if in_order else self.X, 0, n, in_order)


class Streamed:
    """Rows in host memory or in a mapped file, copied to the GPU in chunks.

    While the GPU learns from one chunk, a thread gathers the next into pinned memory, from where it
    is copied in a stream of its own.
    """

    is_resident = False

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
        """The rows of an order, chunk by chunk; a chunk is valid until the next one."""
        starts, begun = range(0, len(order), self.size), self.device.event()
        begun.record(self.device.main)  # earlier work may still read the buffers
        self.device.copies.wait_event(begun)
        with ThreadPoolExecutor(1) as pool:
            gathered = pool.submit(self._gather, order[: self.size], 0)
            for number, start in enumerate(starts):
                slot = number % 2
                count = gathered.result()
                with self.device.copies:
                    if number >= 2:
                        self.device.copies.wait_event(self._learned[slot])
                    self.device.put(self._arrays[slot][:count], self._pinned[slot][:count])
                    self._copied[slot].record(self.device.copies)
                following = order[start + self.size : start + 2 * self.size]
                if following.size:
                    if number >= 1:
                        self._copied[1 - slot].synchronize()
                    gathered = pool.submit(self._gather, following, 1 - slot)
                self.device.main.wait_event(self._copied[slot])
                yield Chunk(self._arrays[slot][:count], start, count, True)
                self._learned[slot].record(self.device.main)

    def _gather(self, some: Array, slot: int) -> int:
        np.take(self.X, some.astype(np.intp), axis=0, out=self._pinned[slot][: len(some)])
        return len(some)


def device_rows(device: Any, examples: Examples) -> Resident | Streamed:
    """The dense rows of examples on the GPU: resident if they fit, else streamed."""
    X = examples.rows.X  # type: ignore[union-attr]
    room = int(_SHARE_OF_MEMORY * device.free_bytes())
    if not isinstance(X, np.ndarray) or X.nbytes <= room:
        return Resident(device, X)
    return Streamed(device, X, min(_STREAMED_BYTES, room // 2))
