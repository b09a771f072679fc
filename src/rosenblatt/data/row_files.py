"""The files of a store of rows: written with running checksums, read back only if whole."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from rosenblatt.errors import ModelFormatError
from rosenblatt.files import naming, sync_folder

# The part of a row that each belongs to, and what it is made of.
WIDE: dict[str, tuple[int, np.dtype[Any]]] = {
    "near": (0, np.dtype(np.uint16)),
    "far": (1, np.dtype(np.uint32)),
    "columns": (2, np.dtype(np.uint32)),
    "values": (2, np.dtype(np.float32)),
}
OF_ROWS: dict[str, np.dtype[Any]] = {
    "lengths": np.dtype(np.uint32),  # of the three parts of a row
    "bases": np.dtype(np.float32),
    "codes": np.dtype(np.int32),
    "weights": np.dtype(np.float64),
}
KINDS = {name: kind for name, (_, kind) in WIDE.items()} | OF_ROWS
_CHUNK = 1 << 20


class RowFiles:
    """One file per array in a folder, each written from front to back.

    `checksums` are of what the files hold already; without them they begin empty. Files that only
    this process reads need not be `sealed` by checksums.
    """

    def __init__(
        self, folder: Path, checksums: dict[str, int] | None = None, sealed: bool = True
    ) -> None:
        self.folder, self.sealed = folder, sealed
        self.checksums = dict(checksums or dict.fromkeys(KINDS, 0))
        mode = "wb" if checksums is None else "ab"
        self._files: dict[str, BinaryIO] = {
            name: (folder / name).open(mode)  # type: ignore[misc]
            for name in KINDS
        }

    def write(self, name: str, array: np.ndarray) -> None:
        """Append to a file; a full disk is an OSError that names it."""
        content = np.ascontiguousarray(array, dtype=KINDS[name]).data
        if self.sealed and content.nbytes:
            self.checksums[name] = zlib.crc32(content, self.checksums[name])
        with naming(self.folder / name):
            self._files[name].write(content)

    def flush(self, sync: bool = False) -> None:
        """Hand what was appended to the operating system, and on request to the disk."""
        for name, file in self._files.items():
            with naming(self.folder / name):
                file.flush()
                if sync:
                    os.fsync(file.fileno())
        if sync:
            sync_folder(self.folder)

    def close(self) -> None:
        """Close all files; what a full disk does not take is lost, as it was said."""
        for name, file in self._files.items():
            try:
                file.close()
            except OSError:
                self.checksums[name] = -1


def check_files(
    folder: Path,
    sizes: dict[str, int],
    checksums: dict[str, int],
    places: int,
    classes: int,
) -> None:
    """Cut files back to known sizes, and refuse what was not written so or leads outside.

    `sizes` are the numbers that each file is to hold; places and codes must be below `places` and
    `classes`. A ModelFormatError names the file, what is wrong with it, and what to do.
    """
    for name, kind in KINDS.items():
        path, size = folder / name, sizes[name] * kind.itemsize
        try:
            found = path.stat().st_size
            if found < size:
                raise ValueError(f"it has {found:,} bytes of {size:,}")
            if found > size:
                os.truncate(path, size)
            total = 0
            for part in _parts(path, kind):
                total = zlib.crc32(part.data, total)
                _check_range(name, part, places, classes)
            if total != checksums[name]:
                raise ValueError("it is not what was written (its checksum differs)")
        except (OSError, ValueError) as error:
            raise ModelFormatError(
                f"{path} is damaged: {error}; remove {folder.parent} and train again"
            ) from None


def _parts(path: Path, kind: np.dtype[Any]) -> Iterator[np.ndarray]:
    """The numbers of a file, some at a time."""
    with path.open("rb") as file:
        while len(part := np.fromfile(file, kind, _CHUNK)):
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
