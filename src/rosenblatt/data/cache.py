"""Rows that were read once: kept in memory while they fit, on disk beyond that.

A folder on disk holds one file an array, written from front to back, so that what was there at a
checkpoint is still there after a crash: the files are cut back to the lengths the checkpoint
knows.
"""

from __future__ import annotations

import mmap
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.random import default_rng

from rosenblatt.engine.text import Rows

FIELDS: dict[str, np.dtype[Any]] = {
    "indices": np.dtype(np.uint32),
    "values": np.dtype(np.float32),
    "lengths": np.dtype(np.uint32),
    "codes": np.dtype(np.int32),
    "weights": np.dtype(np.float64),
}
_WIDE = ("indices", "values")
_ENTRY_BYTES = 8
GROUP_BYTES = 48 << 20
_POPULATE_READ = 22  # MADV_POPULATE_READ of Linux 5.14; Python does not name it yet


class Growing:
    """An array that grows at its end; what is there never changes.

    >>> numbers = Growing(np.arange(2))
    >>> numbers.extend(np.array([5]))
    >>> numbers.array.tolist()
    [0, 1, 5]
    """

    def __init__(self, start: np.ndarray) -> None:
        self._room, self._count = np.array(start), len(start)

    @property
    def array(self) -> np.ndarray:
        """All that was added."""
        return self._room[: self._count]

    def extend(self, more: np.ndarray) -> None:
        """Add at the end."""
        needed = self._count + len(more)
        if needed > len(self._room):
            grown = np.empty(2 * needed, dtype=self._room.dtype)
            grown[: self._count] = self.array
            self._room = grown
        self._room[self._count : needed] = more
        self._count = needed


class Store:
    """Sparse rows with their labels, appended block by block and visited in any order.

    Parameters
    ----------
    memory : int
        Bytes of rows to hold in memory. More than that goes to disk.
    folder : path, optional
        Where to keep the rows on disk from the start. Without it they go to a temporary folder
        when memory is used up, which disappears with the store.

    Examples
    --------
    >>> store = Store()
    >>> rows = Rows(np.array([0, 2], np.uint64), np.array([3, 5], np.uint32), np.ones(2, "f4"))
    >>> store.append(rows, np.array([1]))
    >>> store.append(rows, np.array([0]))
    >>> len(store), store.entries, [order.tolist() for order in store.orders(None)]
    (2, 4, [[0, 1]])
    """

    def __init__(
        self, memory: int = 128 << 20, folder: str | os.PathLike[str] | None = None
    ) -> None:
        self.memory = memory
        self.blocks = [0]
        self.entries = 0
        self._pointers = Growing(np.zeros(1, dtype=np.uint64))
        self._codes = Growing(np.empty(0, dtype=np.int32))
        self._omega: Growing | None = None  # while all rows weigh 1
        self._wide = _wide_arrays(0 if folder else memory // _ENTRY_BYTES)
        self._next = slice(0, 0)
        self._files: dict[str, BinaryIO] = {}
        self._maps: dict[str, mmap.mmap] = {}
        self._temporary: str | None = None
        self.folder = Path(folder) if folder else None
        if self.folder:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._open_files("wb")

    def __len__(self) -> int:
        return self.blocks[-1]

    @property
    def on_disk(self) -> bool:
        """Whether rows have left memory."""
        return bool(self._files)

    def append(self, rows: Rows, codes: np.ndarray, weights: np.ndarray | None = None) -> None:
        """Add a block of rows at the end."""
        indices, values = self.room(len(rows.indices))
        indices[:], values[:] = rows.indices, rows.values
        self.commit(rows.indptr, codes, weights)

    def room(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Where the columns and the values of the next block go: fill them, then :meth:`commit`.

        In memory this is where the rows will stay; on disk it is good until the next call.
        """
        if not self.on_disk and self.entries + count > len(self._wide["indices"]):
            self._spill()
        start = 0 if self.on_disk else self.entries
        self._next = slice(start, start + count)
        if self.on_disk and count > len(self._wide["indices"]):
            self._wide = _wide_arrays(count)
        return self._wide["indices"][self._next], self._wide["values"][self._next]

    def commit(
        self, indptr: np.ndarray, codes: np.ndarray, weights: np.ndarray | None = None
    ) -> None:
        """Add the block that was written into the room."""
        if self.on_disk:
            for name in _WIDE:
                self._write(name, self._wide[name][self._next])
            self._write("lengths", np.diff(indptr))
            self._write("codes", codes)
            self._write("weights", np.ones(len(codes)) if weights is None else weights)
        if weights is not None and self._omega is None:
            self._omega = Growing(np.ones(len(self)))
        if self._omega is not None:
            self._omega.extend(np.ones(len(codes)) if weights is None else weights)
        self._pointers.extend(indptr[1:] + np.uint64(self.entries))
        self._codes.extend(codes)
        self.blocks.append(len(self) + len(codes))
        self.entries += int(indptr[-1])

    def arrays(self) -> tuple[Any, np.ndarray, np.ndarray]:
        """All rows as the kernels want them, (values, columns, pointers); codes; weights."""
        if self.on_disk:
            self.flush()
            self._map()
            indices, values = (
                np.frombuffer(self._maps[name], FIELDS[name], self.entries)
                if name in self._maps
                else np.empty(0, FIELDS[name])
                for name in _WIDE
            )
        else:
            indices, values = (self._wide[name][: self.entries] for name in _WIDE)
        omega = np.ones(1) if self._omega is None else self._omega.array
        return (values, indices, self._pointers.array), self._codes.array, omega

    def orders(self, seed: Sequence[int] | None) -> Iterator[np.ndarray]:
        """The rows to visit in one epoch, group by group; file order without a seed.

        If all rows fit into memory they are one group, a permutation of everything. Otherwise
        blocks are drawn at random into groups of some ten MB and the rows of a group are mixed.
        While one group is visited the next is brought into memory.
        """
        generator = default_rng(seed)
        blocks = np.arange(len(self.blocks) - 1)
        whole = self.entries * _ENTRY_BYTES <= self.memory
        if seed is None or whole:
            groups = [blocks] if whole else np.array_split(blocks, self._cuts(blocks))
        else:
            blocks = generator.permutation(blocks)
            groups = np.array_split(blocks, self._cuts(blocks))
        with ThreadPoolExecutor(1) as helper:
            ready: Future[None] | None = None
            for i, group in enumerate(groups):
                if ready is not None:
                    ready.result()
                if self.on_disk and i + 1 < len(groups):
                    ready = helper.submit(self._advise, groups[i + 1], _POPULATE_READ)
                edges = [(self.blocks[b], self.blocks[b + 1]) for b in group]
                rows = np.concatenate(
                    [np.arange(a, b, dtype=np.uint64) for a, b in edges] or [np.empty(0, np.uint64)]
                )
                yield rows if seed is None else rows[generator.permutation(len(rows))]
                if self.on_disk and not whole:
                    self._advise(group, mmap.MADV_DONTNEED)

    def flush(self, sync: bool = False) -> None:
        """Hand what was appended to the operating system, and on request to the disk."""
        for file in self._files.values():
            if not file.writable():
                return
            file.flush()
            if sync:
                os.fsync(file.fileno())

    def summary(self) -> dict[str, Any]:
        """What :meth:`restored` needs to find the rows again."""
        return {"blocks": list(self.blocks), "entries": self.entries, "memory": self.memory}

    @classmethod
    def restored(
        cls, folder: str | os.PathLike[str], summary: dict[str, Any], writable: bool = True
    ) -> Store:
        """The store as it was when the summary was taken; what came later is cut off.

        One that is not writable must have the lengths of the summary, else ValueError is raised.
        """
        store = cls.__new__(cls)
        store.memory, store.folder = int(summary["memory"]), Path(folder)
        store.blocks, store.entries = list(summary["blocks"]), int(summary["entries"])
        store._wide, store._next = _wide_arrays(0), slice(0, 0)
        store._files, store._maps, store._temporary = {}, {}, None
        rows = store.blocks[-1]
        for name, kind in FIELDS.items():
            count = store.entries if name in _WIDE else rows
            size = count * kind.itemsize
            if writable:
                os.truncate(store.folder / name, size)
            elif (store.folder / name).stat().st_size != size:
                raise ValueError(f"{name} is not {size} bytes long")
        read = {
            name: np.fromfile(store.folder / name, FIELDS[name])
            for name in FIELDS
            if name not in _WIDE
        }
        pointers = np.cumsum(read["lengths"], dtype=np.uint64)
        store._pointers = Growing(np.concatenate([np.zeros(1, np.uint64), pointers]))
        store._codes = Growing(read["codes"])
        plain = bool(np.all(read["weights"] == 1.0))
        store._omega = None if plain else Growing(read["weights"])
        store._open_files("ab" if writable else "rb")
        return store

    def close(self) -> None:
        """Let go of files, and remove the temporary ones."""
        for file in self._files.values():
            file.close()
        self._maps.clear()
        self._files = {}
        if self._temporary:
            shutil.rmtree(self._temporary, ignore_errors=True)

    def __del__(self) -> None:
        self.close()

    def _cuts(self, blocks: np.ndarray) -> np.ndarray:
        """Where to cut a sequence of blocks into groups of about equal bytes."""
        pointers = self.arrays()[0][2]
        edges = np.array(self.blocks)
        sizes = (pointers[edges[blocks + 1]] - pointers[edges[blocks]]).astype(np.int64)
        filled = np.cumsum(sizes * _ENTRY_BYTES) // GROUP_BYTES
        return np.flatnonzero(np.diff(filled)) + 1

    def _open_files(self, mode: str) -> None:
        assert self.folder is not None
        self._files = {name: (self.folder / name).open(mode) for name in FIELDS}  # type: ignore[misc]

    def _write(self, name: str, array: np.ndarray) -> None:
        self._files[name].write(np.ascontiguousarray(array, dtype=FIELDS[name]).data)

    def _spill(self) -> None:
        """Move everything to disk."""
        self._temporary = tempfile.mkdtemp(prefix="rosenblatt-")
        self.folder = Path(self._temporary)
        self._open_files("wb")
        for name in _WIDE:
            self._write(name, self._wide[name][: self.entries])
        self._wide = _wide_arrays(0)
        self._write("lengths", np.diff(self._pointers.array))
        self._write("codes", self._codes.array)
        self._write("weights", np.ones(len(self)) if self._omega is None else self._omega.array)

    def _map(self) -> None:
        for name in _WIDE:
            size = self.entries * FIELDS[name].itemsize
            if size and (name not in self._maps or len(self._maps[name]) != size):
                assert self.folder is not None
                with (self.folder / name).open("rb") as file:
                    self._maps[name] = mmap.mmap(file.fileno(), size, access=mmap.ACCESS_COPY)

    def _advise(self, group: np.ndarray, advice: int) -> None:
        """Tell the operating system about the pages of some blocks."""
        pointers = self.arrays()[0][2]
        for block in group:
            first, last = (int(pointers[self.blocks[b]]) for b in (block, block + 1))
            for name in _WIDE:
                size = FIELDS[name].itemsize
                start = first * size // mmap.PAGESIZE * mmap.PAGESIZE
                if name not in self._maps or last * size <= start:
                    continue
                try:
                    self._maps[name].madvise(advice, start, last * size - start)
                except OSError:
                    if advice == _POPULATE_READ:
                        self._maps[name].madvise(mmap.MADV_WILLNEED, start, last * size - start)


def _wide_arrays(count: int) -> dict[str, np.ndarray]:
    """Room for so many entries, which is no memory until it is filled."""
    return {name: np.empty(count, FIELDS[name]) for name in _WIDE}
