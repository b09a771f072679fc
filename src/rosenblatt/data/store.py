"""Hashed rows, kept in memory while they fit and on disk beyond that, for later epochs.

On disk each array is a file that is only appended to. To resume from a checkpoint, the files are
truncated to the lengths that the checkpoint recorded and verified by checksum.
"""

from __future__ import annotations

import mmap
import os
import shutil
import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.random import default_rng

from rosenblatt.atomic_files import naming_file, sync_folder, temporary_folder
from rosenblatt.errors import ModelFormatError
from rosenblatt.kernels.rows import Packed

# The arrays of entries: which of the three parts of a row they belong to, and their type.
ENTRY_ARRAYS: dict[str, tuple[int, np.dtype[Any]]] = {
    "near": (0, np.dtype(np.uint16)),
    "far": (1, np.dtype(np.uint32)),
    "columns": (2, np.dtype(np.uint32)),
    "values": (2, np.dtype(np.float32)),
}
ROW_ARRAYS: dict[str, np.dtype[Any]] = {
    "pointers": np.dtype(np.uint64),  # where the three parts of a row begin, and of the last end
    "bases": np.dtype(np.float32),
    "codes": np.dtype(np.int32),
    "weights": np.dtype(np.float64),
}
DTYPES = {name: dtype for name, (_, dtype) in ENTRY_ARRAYS.items()} | ROW_ARRAYS
_ENTRY_BYTES = np.array([2, 4, 8])  # per entry of each part of a row
_MOST_ENTRY_BYTES = int(_ENTRY_BYTES.max())
_ROW_BYTES = 40  # of a row's pointers, base, code and weight
GROUP_BYTES = 48 << 20
# None where the operating system lacks them; they only save time and memory.
_WILL_NEED: int | None = getattr(mmap, "MADV_WILLNEED", None)
_DONT_NEED: int | None = getattr(mmap, "MADV_DONTNEED", None)


class GrowingArray:
    """An array that can be extended in amortised constant time."""

    def __init__(self, start: np.ndarray) -> None:
        self._allocated, self._count = np.array(start), len(start)

    @property
    def array(self) -> np.ndarray:
        """The array so far."""
        return self._allocated[: self._count]

    def extend(self, more: np.ndarray) -> None:
        """Append an array."""
        needed = self._count + len(more)
        if needed > len(self._allocated):
            grown = np.empty((2 * needed, *more.shape[1:]), dtype=self._allocated.dtype)
            grown[: self._count] = self.array
            self._allocated = grown
        self._allocated[self._count : needed] = more
        self._count = needed


class Store:
    """Packed rows with their labels, appended block by block and visited in any order.

    Beyond `memory` bytes, or from the start if a `folder` is given, rows are on disk. Without a
    folder they go to a temporary one, which is removed with the store.
    """

    def __init__(
        self, memory: int = 128 << 20, folder: str | os.PathLike[str] | None = None
    ) -> None:
        self.memory = memory
        self.blocks = [0]
        self._edges = [np.zeros(3, np.int64)]  # the pointers of the first row of each block
        self._rows = _no_rows()  # in memory
        self._is_weighted = False  # whether the weight of any row is not 1
        self._entries = _entry_arrays(0 if folder else memory)
        self._files: RowFiles | None = None
        self._maps: dict[str, mmap.mmap] = {}
        self._lock: BinaryIO | None = None  # of a temporary folder
        self.folder = Path(folder) if folder else None
        if self.folder:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._files = RowFiles(self.folder)
            self._files.write("pointers", self._edges[0])

    def __len__(self) -> int:
        return self.blocks[-1]

    @property
    def on_disk(self) -> bool:
        """Whether the rows are on disk."""
        return self._files is not None

    @property
    def size(self) -> int:
        """The bytes that all rows take."""
        return int(self._ends @ _ENTRY_BYTES) + _ROW_BYTES * len(self)

    @property
    def weights(self) -> np.ndarray:
        """The weight of each row, or a single 1 if all are 1."""
        return self._row_array("weights") if self._is_weighted else np.ones(1)

    @property
    def _ends(self) -> np.ndarray:
        """The number of entries in each of the three parts."""
        return self._edges[-1]

    def reserve(self, rows: int, entries: int) -> Packed:
        """Arrays to pack the next block into, before :meth:`commit`.

        In memory the rows stay where they are packed; on disk the arrays are reused by the next
        call.
        """
        most = entries * _MOST_ENTRY_BYTES
        if not self.on_disk and self.size + most > self.memory:
            self._spill()
        if self.on_disk and most > self._entries["values"].nbytes:
            self._entries = _entry_arrays(most)
        starts = np.zeros(3, np.int64) if self.on_disk else self._ends
        near, far, columns, values = (
            self._entries[name][starts[part] :][: entries + 1]
            for name, (part, _) in ENTRY_ARRAYS.items()
        )
        pointers = np.zeros((rows + 1, 3), np.uint64)
        return Packed(near, far, columns, values, np.empty(rows, np.float32), pointers)

    def commit(self, rows: Packed, codes: np.ndarray, weights: np.ndarray | None = None) -> None:
        """Append the block that was packed into the reserved arrays."""
        ones, ends = np.ones(len(codes)), self._ends
        arrays = {
            "pointers": rows.pointers[1:] + ends.astype(np.uint64),
            "bases": rows.bases,
            "codes": codes,
            "weights": ones if weights is None else weights,
        }
        self._is_weighted |= weights is not None and bool((weights != 1.0).any())
        if self._files is not None:
            for name in ENTRY_ARRAYS:
                self._files.write(name, getattr(rows, name))
        for name, array in arrays.items():
            if self._files is None:
                self._rows[name].extend(array)
            else:
                self._files.write(name, array)
        self._edges.append(ends + rows.pointers[-1].astype(np.int64))
        self.blocks.append(len(self) + len(codes))

    def arrays(self) -> tuple[Packed, np.ndarray, np.ndarray]:
        """All rows, their codes and their weights."""
        self.flush()
        near, far, columns, values = (
            self._mapped(name, end) if self.on_disk else self._entries[name][:end]
            for name, end in self._entry_counts().items()
        )
        pointers, bases, codes = (self._row_array(name) for name in ("pointers", "bases", "codes"))
        return Packed(near, far, columns, values, bases, pointers), codes, self.weights

    def _entry_counts(self) -> dict[str, int]:
        ends = self._ends.tolist()
        return {name: ends[part] for name, (part, _) in ENTRY_ARRAYS.items()}

    def _row_array(self, name: str) -> np.ndarray:
        """The array of something that each row has."""
        if not self.on_disk:
            return self._rows[name].array
        if name != "pointers":
            return self._mapped(name, len(self))
        return self._mapped(name, 3 * len(self) + 3).reshape(-1, 3)

    def orders(self, seed: Sequence[int] | None) -> Iterator[np.ndarray]:
        """The rows to visit in one epoch, group by group; in file order if `seed` is None.

        If all rows fit into memory they are one group and fully shuffled. Otherwise blocks are
        drawn at random into groups of `GROUP_BYTES` and the rows of a group are shuffled; the
        next group is prefetched.
        """
        generator = default_rng(seed)
        blocks = np.arange(len(self.blocks) - 1)
        fits_memory = self.size <= self.memory
        if seed is not None and not fits_memory:
            blocks = generator.permutation(blocks)
        groups = [blocks] if fits_memory else np.array_split(blocks, self._cuts(blocks))
        for i, group in enumerate(groups):
            if self.on_disk and i + 1 < len(groups):
                self._prefetch(groups[i + 1])
            edges = [(0, 0), *((self.blocks[b], self.blocks[b + 1]) for b in group)]
            rows = np.concatenate([np.arange(a, b, dtype=np.uint64) for a, b in edges])
            yield rows if seed is None else rows[generator.permutation(len(rows))]
            if self.on_disk and not fits_memory:
                self.release()

    def release(self) -> None:
        """Let the operating system drop what was read of rows on disk."""
        if _DONT_NEED is None:
            return
        for mapped in self._maps.values():
            with suppress(OSError):
                mapped.madvise(_DONT_NEED)

    def flush(self, sync: bool = False) -> None:
        """Flush the files to the operating system, and with `sync` to the disk."""
        if self._files is not None:
            self._files.flush(sync)

    def summary(self) -> dict[str, Any]:
        """The lengths and checksums from which :meth:`restored` opens the rows again."""
        return {
            "blocks": list(self.blocks),
            "ends": self._ends.tolist(),
            "memory": self.memory,
            "is_weighted": self._is_weighted,
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
        """The store as it was at its :meth:`summary`; rows that were appended later are removed.

        A missing, short or changed file, or a place or class out of range, raises
        ModelFormatError.
        """
        store = cls(0)
        store.memory, store.folder = int(summary["memory"]), Path(folder)
        store.blocks = [int(edge) for edge in summary["blocks"]]
        ends = [int(end) for end in summary["ends"]]
        if store.blocks[0] != 0 or np.any(np.diff(store.blocks) < 0) or len(ends) != 3:
            raise ValueError("the blocks of its rows make no sense")
        sizes = {name: ends[part] for name, (part, _) in ENTRY_ARRAYS.items()}
        sizes |= dict.fromkeys(ROW_ARRAYS, len(store)) | {"pointers": 3 * len(store) + 3}
        checksums = {name: int(summary["checksums"][name]) for name in DTYPES}
        check_files(store.folder, sizes, checksums, places, classes)
        store._files = RowFiles(store.folder, checksums)
        store._edges = list(store._row_array("pointers")[store.blocks].astype(np.int64))
        if store._ends.tolist() != ends:
            raise ModelFormatError(f"{store.folder / 'pointers'} is damaged: rows are missing")
        store._is_weighted = bool(summary["is_weighted"])
        return store

    def close(self) -> None:
        """Close the files, and remove a temporary folder."""
        if self._files is not None:
            self._files.close()
        self._maps.clear()
        self._files = None
        if self._lock is not None:
            assert self.folder is not None
            shutil.rmtree(self.folder, ignore_errors=True)
            self._lock.close()
            self._lock = None

    def __del__(self) -> None:
        self.close()

    def _cuts(self, blocks: np.ndarray) -> np.ndarray:
        """Where to split a sequence of blocks into groups of `GROUP_BYTES`."""
        edges = np.array(self._edges) @ _ENTRY_BYTES
        filled = np.cumsum(np.diff(edges)[blocks]) // GROUP_BYTES
        return np.flatnonzero(np.diff(filled)) + 1

    def _spill(self) -> None:
        """Move all rows to a temporary folder."""
        arrays = {name: self._entries[name][:end] for name, end in self._entry_counts().items()}
        arrays |= {name: array.array for name, array in self._rows.items()}
        self.folder, self._lock = temporary_folder()
        self._files = RowFiles(self.folder)
        for name, array in arrays.items():
            self._files.write(name, array)
        self._entries, self._rows = _entry_arrays(0), _no_rows()

    def _mapped(self, name: str, count: int) -> np.ndarray:
        """The array in a file, which is mapped again where it has grown."""
        size = count * DTYPES[name].itemsize
        if size and (name not in self._maps or len(self._maps[name]) != size):
            assert self.folder is not None
            self.flush()
            with (self.folder / name).open("rb") as file:
                self._maps[name] = mmap.mmap(file.fileno(), size, access=mmap.ACCESS_COPY)
        return np.frombuffer(self._maps.get(name, b""), DTYPES[name], count)

    def _prefetch(self, group: np.ndarray) -> None:
        """Tell the operating system which pages will be used."""
        if _WILL_NEED is None:
            return
        edges = self._edges
        self.arrays()
        for block in group:
            for name, (part, dtype) in ENTRY_ARRAYS.items():
                first, last = (int(edges[b][part]) * dtype.itemsize for b in (block, block + 1))
                start = first // mmap.PAGESIZE * mmap.PAGESIZE
                if name in self._maps and last > start:
                    with suppress(OSError):
                        self._maps[name].madvise(_WILL_NEED, start, last - start)


def _no_rows() -> dict[str, GrowingArray]:
    """The arrays of what each row has."""
    arrays = {name: GrowingArray(np.empty(0, dtype)) for name, dtype in ROW_ARRAYS.items()}
    return arrays | {"pointers": GrowingArray(np.zeros((1, 3), np.uint64))}


def _entry_arrays(size: int) -> dict[str, np.ndarray]:
    """Entry arrays that can hold `size` bytes of rows however these split into parts.

    The system allocates pages as they are written. There is one entry more than needed, as packing
    writes an entry before it decides on its part.
    """
    return {
        name: np.empty(size // int(_ENTRY_BYTES[part]) + 1, dtype)
        for name, (part, dtype) in ENTRY_ARRAYS.items()
    }


class RowFiles:
    """The files in a folder, open for appending; `checksums` are of what they hold already."""

    def __init__(self, folder: Path, checksums: dict[str, int] | None = None) -> None:
        self.folder = folder
        self.checksums = dict(checksums or dict.fromkeys(DTYPES, 0))
        mode = "wb" if checksums is None else "ab"
        self._files: dict[str, Any] = {name: (folder / name).open(mode) for name in DTYPES}

    def write(self, name: str, array: np.ndarray) -> None:
        """Append to a file; on a full disk the OSError names it."""
        content = np.ascontiguousarray(array, dtype=DTYPES[name]).data.cast("B")
        self.checksums[name] = zlib.crc32(content, self.checksums[name])
        with naming_file(self.folder / name):
            self._files[name].write(content)

    def flush(self, sync: bool = False) -> None:
        """Flush all files to the operating system, and with `sync` to the disk."""
        for name, file in self._files.items():
            with naming_file(self.folder / name):
                file.flush()
                if sync:
                    os.fsync(file.fileno())
        if sync:
            sync_folder(self.folder)

    def close(self) -> None:
        """Close all files; a full disk was reported by an earlier write or flush."""
        for file in self._files.values():
            with suppress(OSError):
                file.close()


def check_files(
    folder: Path, sizes: dict[str, int], checksums: dict[str, int], places: int, classes: int
) -> None:
    """Truncate files to known sizes, then verify checksums and ranges.

    `sizes` are numbers of array elements; places and codes must be below `places` and `classes`.
    A ModelFormatError names the file, what is wrong with it, and what to do.
    """
    for name, dtype in DTYPES.items():
        path, size = folder / name, sizes[name] * dtype.itemsize
        try:
            n_bytes = path.stat().st_size
            if n_bytes < size:
                raise ValueError(f"it has {n_bytes:,} bytes of {size:,}")
            if n_bytes > size:
                os.truncate(path, size)
            checksum = 0
            for part in _parts(path, dtype):
                checksum = zlib.crc32(part.data, checksum)
                _check_range(name, part, places, classes)
            if checksum != checksums[name]:
                raise ValueError("it is not what was written (its checksum differs)")
        except (OSError, ValueError) as error:
            raise ModelFormatError(
                f"{path} is damaged: {error}; remove {folder.parent} and train again"
            ) from None


def _parts(path: Path, dtype: np.dtype[Any]) -> Iterator[np.ndarray]:
    """The array in a file, part by part."""
    with path.open("rb") as file:
        while len(part := np.fromfile(file, dtype, 3 << 18)):
            yield part


def _check_range(name: str, part: np.ndarray, places: int, classes: int) -> None:
    if name in ("near", "far", "columns"):
        if int(part.max()) >= places:
            raise ValueError(f"it names a feature beyond the {places:,} there are")
    elif name == "codes":
        if int(part.min()) < 0 or int(part.max()) >= classes:
            raise ValueError(f"it names a class beyond the {classes} there are")
    elif name == "pointers":
        if np.any(part[3:] < part[:-3]):
            raise ValueError("it has a row that ends before it begins")
    elif not np.isfinite(part).all():
        raise ValueError("it holds numbers that are not finite")
    elif name == "weights" and float(part.min()) < 0:
        raise ValueError("it holds negative weights")
