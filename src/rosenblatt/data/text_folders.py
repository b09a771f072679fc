"""A folder with one folder of text files per class, as a table of the columns label and text."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Collection, Iterator
from functools import partial
from operator import add
from pathlib import Path
from typing import Any

import pyarrow as pa

from rosenblatt.data.arrow_tables import Chunk
from rosenblatt.data.readers import Piece, Reader
from rosenblatt.errors import DataError, shown

_PIECE = 4 << 20  # bytes of text that make a piece


def is_text_folder(path: str) -> bool:
    """Whether a folder holds folders, and is not one of hashed rows."""
    folder = Path(path)
    return (
        folder.is_dir()
        and not (folder / "about.json").exists()
        and any(entry.is_dir() and not entry.name.startswith(".") for entry in folder.iterdir())
    )


class TextFolderReader(Reader):
    """The text files of a folder: each folder in it is a class, each file below that a row.

    The rows come in an order that depends on their names alone and mixes the classes, as rows are
    learned from in their order.
    """

    def __init__(self, folder: str, skip: bool) -> None:
        self.files, self.format, self.header = [folder], "folder", True
        self._skip = skip
        root = Path(folder)
        classes = sorted(e for e in root.iterdir() if e.is_dir() and not e.name.startswith("."))
        found = [
            (file.relative_to(root).as_posix(), where.name)
            for where in classes
            for file in sorted(where.rglob("*"))
            if file.is_file() and not file.name.startswith(".")
        ]
        self._rows = sorted(found, key=lambda row: (zlib.crc32(row[0].encode()), row[0]))
        if not self._rows:
            raise DataError("there are no text files in its folders", path=folder)

    def expect_text(self, columns: list[str], is_one_text: bool, format: str | None) -> None:
        """A folder has the columns label and text."""

    def head(self) -> pa.Table:
        """The first rows."""
        chunk, _ = next(self.pieces(None, 0))()
        assert isinstance(chunk, Chunk)
        if chunk.table.num_rows == 0:
            raise DataError("no file can be read as UTF-8", path=self.files[0])
        return chunk.table

    def fingerprint(self) -> dict[str, Any]:
        """Which files these are: a digest of their names and sizes."""
        digest, root = hashlib.sha256(), Path(self.files[0])
        for name, _ in self._rows:
            digest.update(f"{name} {(root / name).stat().st_size}\n".encode())
        return {"format": "folder", "rows": len(self._rows), "sample": digest.hexdigest()}

    def pieces(
        self, columns: list[str] | None, bits: int, numbers: Collection[str] = ()
    ) -> Iterator[Piece]:
        """Some files at a time."""
        root, start, size = Path(self.files[0]), 0, 0
        for end, (name, _) in enumerate(self._rows, start=1):
            size += (root / name).stat().st_size
            if size >= _PIECE or end == len(self._rows):
                yield partial(self._read, start, end, columns, size)
                start, size = end, 0

    def _read(
        self, start: int, end: int, columns: list[str] | None, size: int
    ) -> tuple[Chunk, int]:
        labels, texts, bad = [], [], 0
        for name, label in self._rows[start:end]:
            path = Path(self.files[0]) / name
            try:
                texts.append(path.read_bytes().decode("utf-8-sig"))
                labels.append(label)
            except UnicodeDecodeError as error:
                if not self._skip:
                    found = shown(error.object[error.start : error.start + 20])
                    raise DataError(f"expected UTF-8, found {found}", path=path) from None
                bad += 1
            except OSError as error:
                raise DataError(f"cannot be read: {error.strerror}", path=path) from None
        texts_column = pa.array(texts, pa.large_string())
        table = pa.table({"label": pa.array(labels, pa.string()), "text": texts_column})
        chosen = table if columns is None else table.select(columns)
        return Chunk(chosen, self.files[0], partial(add, start + 1), bad), size
