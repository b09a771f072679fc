"""Rows that were read once: kept in memory while they fit, on disk beyond that.

A folder on disk holds one file per array, written from front to back, so that what was there at a
checkpoint is still there after a crash: the files are cut back to the lengths the checkpoint
knows, and are refused if they are not what was written.
"""

from __future__ import annotations

import mmap
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.random import default_rng

from rosenblatt.data.row_files import KINDS, OF_ROWS, WIDE, RowFiles, check_files
from rosenblatt.errors import ModelFormatError
from rosenblatt.files import temporary_folder
from rosenblatt.kernels.rows import Packed

_ENTRY_BYTES = np.array([2, 4, 8])  # of each part
_MOST_BYTES = int(_ENTRY_BYTES.max())
GROUP_BYTES = 48 << 20
# What an operating system lacks is None: advice is not needed. Python does not name
# MADV_POPULATE_READ of Linux 5.14 yet.
_POPULATE_READ = 22 if sys.platform == "linux" else None
_WILL_NEED: int | None = getattr(mmap, "MADV_WILLNEED", None)
_DONT_NEED: int | None = getattr(mmap, "MADV_DONTNEED", None)


class Growing:
    """An array that grows at its end; what is there never changes."""

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
            grown = np.empty((2 * needed, *more.shape[1:]), dtype=self._room.dtype)
            grown[: self._count] = self.array
            self._room = grown
        self._room[self._count : needed] = more
        self._count = needed


class Store:
    """Packed rows with their labels, appended block by block and visited in any order.

    Beyond `memory` bytes, or from the start if a `folder` is given, rows are on disk. Without a
    folder they go to a temporary one, which disappears with the store.
    """

    def __init__(
        self, memory: int = 128 << 20, folder: str | os.PathLike[str] | None = None
    ) -> None:
        self.memory = memory
        self.blocks = [0]
        self._pointers = Growing(np.zeros((1, 3), np.uint64))
        self._bases, self._codes = Growing(np.empty(0, "f4")), Growing(np.empty(0, "i4"))
        self._omega: Growing | None = None  # while all rows weigh 1
        self._wide = _wide_arrays(0 if folder else memory)
        self._files: RowFiles | None = None
        self._maps: dict[str, mmap.mmap] = {}
        self._temporary: BinaryIO | None = None  # the lock of a temporary folder
        self.folder = Path(folder) if folder else None
        if self.folder:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._files = RowFiles(self.folder)

    def __len__(self) -> int:
        return self.blocks[-1]

    @property
    def on_disk(self) -> bool:
        """Whether rows have left memory."""
        return self._files is not None

    @property
    def size(self) -> int:
        """The bytes that the entries of all rows take."""
        return int(self._ends @ _ENTRY_BYTES)

    @property
    def weights(self) -> np.ndarray:
        """The weight of each row, or a single one if all are 1."""
        return np.ones(1) if self._omega is None else self._omega.array

    @property
    def _ends(self) -> np.ndarray:
        """How many entries there are of each part."""
        return self._pointers.array[-1].astype(np.int64)

    def reserve(self, rows: int, entries: int) -> Packed:
        """Where the next block is to be packed, which is then to be committed.

        In memory this is where the rows will stay; on disk it is good until the next call.
        """
        most = entries * _MOST_BYTES
        if not self.on_disk and self.size + most > self.memory:
            self._spill()
        if self.on_disk and most > self._wide["values"].nbytes:
            self._wide = _wide_arrays(most)
        starts = np.zeros(3, np.int64) if self.on_disk else self._ends
        near, far, columns, values = (
            self._wide[name][starts[part] :][: entries + 1] for name, (part, _) in WIDE.items()
        )
        of_rows = np.empty(rows, np.float32), np.zeros((rows + 1, 3), np.uint64)
        return Packed(near, far, columns, values, *of_rows)

    def commit(self, rows: Packed, codes: np.ndarray, weights: np.ndarray | None = None) -> None:
        """Add the block that was packed into the room."""
        if self._files is not None:
            _write(self._files, rows, codes, weights)
        if weights is not None and self._omega is None:
            self._omega = Growing(np.ones(len(self)))
        if self._omega is not None:
            self._omega.extend(np.ones(len(codes)) if weights is None else weights)
        self._pointers.extend(rows.pointers[1:] + self._pointers.array[-1])
        self._bases.extend(rows.bases)
        self._codes.extend(codes)
        self.blocks.append(len(self) + len(codes))

    def arrays(self) -> tuple[Packed, np.ndarray, np.ndarray]:
        """All rows as the kernels want them; codes; weights."""
        if self.on_disk:
            self.flush()
            self._map()
        wide, ends = [], self._ends
        for name, (part, kind) in WIDE.items():
            if self.on_disk:
                wide.append(np.frombuffer(self._maps.get(name, b""), kind, int(ends[part])))
            else:
                wide.append(self._wide[name][: ends[part]])
        near, far, columns, values = wide
        rows = Packed(near, far, columns, values, self._bases.array, self._pointers.array)
        return rows, self._codes.array, self.weights

    def orders(self, seed: Sequence[int] | None) -> Iterator[np.ndarray]:
        """The rows to visit in one epoch, group by group; file order without a seed.

        If all rows fit into memory they are one group, a permutation of everything. Otherwise
        blocks are drawn at random into groups of some ten MB and the rows of a group are mixed.
        While one group is visited the next is brought into memory.
        """
        generator = default_rng(seed)
        blocks = np.arange(len(self.blocks) - 1)
        whole = self.size <= self.memory
        if seed is not None and not whole:
            blocks = generator.permutation(blocks)
        groups = [blocks] if whole else np.array_split(blocks, self._cuts(blocks))
        with ThreadPoolExecutor(1) as helper:
            ready: Future[None] | None = None
            for i, group in enumerate(groups):
                if ready is not None:
                    ready.result()
                if self.on_disk and i + 1 < len(groups):
                    ready = helper.submit(self._advise, groups[i + 1], _POPULATE_READ or _WILL_NEED)
                edges = [(0, 0), *((self.blocks[b], self.blocks[b + 1]) for b in group)]
                rows = np.concatenate([np.arange(a, b, dtype=np.uint64) for a, b in edges])
                yield rows if seed is None else rows[generator.permutation(len(rows))]
                if self.on_disk and not whole:
                    self._advise(group, _DONT_NEED)

    def flush(self, sync: bool = False) -> None:
        """Hand what was appended to the operating system, and on request to the disk."""
        if self._files is not None:
            self._files.flush(sync)

    def summary(self) -> dict[str, Any]:
        """What :meth:`restored` needs to find the rows again, and to know that they are whole."""
        return {
            "blocks": list(self.blocks),
            "ends": self._ends.tolist(),
            "memory": self.memory,
            "checksums": {} if self._files is None else dict(self._files.checksums),
        }

    @classmethod
    def restored(
        cls,
        folder: str | os.PathLike[str],
        summary: dict[str, Any],
        places: int = 1 << 32,
        classes: int = 1 << 31,
    ) -> Store:
        """The store as it was when the summary was taken; what came later is cut off.

        A file that is missing, cut or changed is a ModelFormatError, and so is a row with a place
        or a class beyond those that there are.
        """
        store = cls(0)
        store.memory, store.folder = int(summary["memory"]), Path(folder)
        store.blocks = [int(edge) for edge in summary["blocks"]]
        ends = [int(end) for end in summary["ends"]]
        if store.blocks[0] != 0 or np.any(np.diff(store.blocks) < 0) or len(ends) != 3:
            raise ValueError("the blocks of its rows make no sense")
        sizes = {name: ends[part] for name, (part, _) in WIDE.items()}
        sizes |= dict.fromkeys(OF_ROWS, len(store)) | {"lengths": 3 * len(store)}
        checksums = {name: int(summary["checksums"][name]) for name in KINDS}
        check_files(store.folder, sizes, checksums, places, classes)
        read = {name: np.fromfile(store.folder / name, kind) for name, kind in OF_ROWS.items()}
        pointers = np.zeros((len(store) + 1, 3), np.uint64)
        np.cumsum(read["lengths"].reshape(-1, 3), axis=0, dtype=np.uint64, out=pointers[1:])
        if pointers[-1].tolist() != ends:
            raise ModelFormatError(f"{store.folder / 'lengths'} is damaged: rows are missing")
        store._pointers = Growing(pointers)
        store._bases, store._codes = Growing(read["bases"]), Growing(read["codes"])
        plain = bool(np.all(read["weights"] == 1.0))
        store._omega = None if plain else Growing(read["weights"])
        store._files = RowFiles(store.folder, checksums)
        return store

    def close(self) -> None:
        """Let go of files, and remove the temporary ones."""
        if self._files is not None:
            self._files.close()
        self._maps.clear()
        self._files = None
        if self._temporary is not None:
            assert self.folder is not None
            shutil.rmtree(self.folder, ignore_errors=True)
            self._temporary.close()
            self._temporary = None

    def __del__(self) -> None:
        self.close()

    def _cuts(self, blocks: np.ndarray) -> np.ndarray:
        """Where to cut a sequence of blocks into groups of about equal bytes."""
        edges = self._pointers.array[self.blocks].astype(np.int64) @ _ENTRY_BYTES
        filled = np.cumsum(np.diff(edges)[blocks]) // GROUP_BYTES
        return np.flatnonzero(np.diff(filled)) + 1

    def _spill(self) -> None:
        """Move everything to disk."""
        rows, codes, _ = self.arrays()
        self.folder, self._temporary = temporary_folder()
        self._files = RowFiles(self.folder, sealed=False)
        _write(self._files, rows, codes, None if self._omega is None else self._omega.array)
        self._wide = _wide_arrays(0)

    def _map(self) -> None:
        for name, (part, kind) in WIDE.items():
            size = int(self._ends[part]) * kind.itemsize
            if size and (name not in self._maps or len(self._maps[name]) != size):
                assert self.folder is not None
                with (self.folder / name).open("rb") as file:
                    self._maps[name] = mmap.mmap(file.fileno(), size, access=mmap.ACCESS_COPY)

    def _advise(self, group: np.ndarray, advice: int | None) -> None:
        """Tell the operating system, if it listens, about the pages of some blocks."""
        if advice is None or not hasattr(mmap.mmap, "madvise"):
            return
        edges = self._pointers.array[self.blocks]
        self.arrays()
        for block in group:
            for name, (part, kind) in WIDE.items():
                first, last = (int(edges[b, part]) * kind.itemsize for b in (block, block + 1))
                start = first // mmap.PAGESIZE * mmap.PAGESIZE
                if name not in self._maps or last <= start:
                    continue
                try:
                    self._maps[name].madvise(advice, start, last - start)
                except OSError:
                    if advice == _POPULATE_READ and _WILL_NEED is not None:
                        self._maps[name].madvise(_WILL_NEED, start, last - start)


def _write(files: RowFiles, rows: Packed, codes: np.ndarray, omega: np.ndarray | None) -> None:
    """Append rows to their files."""
    for name in WIDE:
        files.write(name, getattr(rows, name))
    files.write("lengths", np.diff(rows.pointers, axis=0))
    files.write("bases", rows.bases)
    files.write("codes", codes)
    files.write("weights", np.ones(len(codes)) if omega is None else omega)


def _wide_arrays(size: int) -> dict[str, np.ndarray]:
    """Room for so many bytes of rows, whatever their parts; no memory until it is filled.

    There is room for one entry more, as packing writes an entry before it decides on its part.
    """
    return {
        name: np.empty(size // int(_ENTRY_BYTES[part]) + 1, kind)
        for name, (part, kind) in WIDE.items()
    }
