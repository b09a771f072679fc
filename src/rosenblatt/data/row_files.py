"""The files of a row store: one per array, appended with running checksums, verified when read."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from rosenblatt.errors import ModelFormatError
from rosenblatt.files import naming_file, sync_folder

# The arrays of entries: which of the three parts of a row they belong to, and their type.
ENTRY_ARRAYS: dict[str, tuple[int, np.dtype[Any]]] = {
    "near": (0, np.dtype(np.uint16)),
    "far": (1, np.dtype(np.uint32)),
    "columns": (2, np.dtype(np.uint32)),
    "values": (2, np.dtype(np.float32)),
}
ROW_ARRAYS: dict[str, np.dtype[Any]] = {
    "lengths": np.dtype(np.uint32),  # of the three parts of a row
    "bases": np.dtype(np.float32),
    "codes": np.dtype(np.int32),
    "weights": np.dtype(np.float64),
}
DTYPES = {name: dtype for name, (_, dtype) in ENTRY_ARRAYS.items()} | ROW_ARRAYS
_NUMBERS_PER_READ = 1 << 20


class RowFiles:
    """The files in a folder, open for appending; `checksums` are of what they hold already."""

    def __init__(self, folder: Path, checksums: dict[str, int] | None = None) -> None:
        self.folder = folder
        self.checksums = dict(checksums or dict.fromkeys(DTYPES, 0))
        mode = "wb" if checksums is None else "ab"
        self._files: dict[str, Any] = {name: (folder / name).open(mode) for name in DTYPES}

    def write(self, name: str, array: np.ndarray) -> None:
        """Append to a file; on a full disk the OSError names it."""
        content = np.ascontiguousarray(array, dtype=DTYPES[name]).tobytes()
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
            found = path.stat().st_size
            if found < size:
                raise ValueError(f"it has {found:,} bytes of {size:,}")
            if found > size:
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
        while len(part := np.fromfile(file, dtype, _NUMBERS_PER_READ)):
            yield part


def _check_range(name: str, part: np.ndarray, places: int, classes: int) -> None:
    if name in ("near", "far", "columns"):
        if int(part.max()) >= places:
            raise ValueError(f"it names a feature beyond the {places:,} there are")
    elif name == "codes":
        if int(part.min()) < 0 or int(part.max()) >= classes:
            raise ValueError(f"it names a class beyond the {classes} there are")
    elif name != "lengths" and not np.isfinite(part).all():
        raise ValueError("it holds numbers that are not finite")
    elif name == "weights" and float(part.min()) < 0:
        raise ValueError("it holds negative weights")
