"""A folder with a folder of text files per class, as a table."""

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
from rosenblatt.data.bytes import LONGEST_ROW, TOO_LONG
from rosenblatt.data.readers import Piece, Reader
from rosenblatt.errors import DataError, shown

_PIECE_BYTES = 4 << 20


def is_text_folder(path: str) -> bool:
    """Whether a folder has folders in it."""
    folder = Path(path)
    return folder.is_dir() and any(
        entry.is_dir() and not entry.name.startswith(".") for entry in folder.iterdir()
    )


class TextFolderReader(Reader):
    """A folder with a folder per class, in which every text file is a row.

    As rows are learned in order, they are sorted by a hash of their names, which mixes the classes.
    """

    def __init__(self, folder: str, skip: bool) -> None:
        self.files, self.format, self.header = [folder], "folder", True
        self._skip = skip
        root = Path(folder)
        classes = sorted(e for e in root.iterdir() if e.is_dir() and not e.name.startswith("."))
        rows = [
            (file.relative_to(root).as_posix(), where.name)
            for where in classes
            for file in sorted(where.rglob("*"))
            if file.is_file() and not file.name.startswith(".")
        ]
        self._rows = sorted(rows, key=lambda row: (zlib.crc32(row[0].encode()), row[0]))
        if not self._rows:
            raise DataError("there are no text files in its folders", path=folder)

    def head(self) -> pa.Table:
        """The rows of the first files."""
        chunk = next(self.pieces(None))()
        assert isinstance(chunk, Chunk)
        if chunk.table.num_rows == 0:
            raise DataError("no file can be read as UTF-8", path=self.files[0])
        return chunk.table

    def _read_sample(self) -> list[pa.Table]:
        return []

    def fingerprint(self) -> dict[str, Any]:
        """A digest of the names and sizes of the text files."""
        digest, root = hashlib.sha256(), Path(self.files[0])
        for name, _ in self._rows:
            digest.update(f"{name} {(root / name).stat().st_size}\n".encode())
        return {"format": "folder", "rows": len(self._rows), "sample": digest.hexdigest()}

    def pieces(self, columns: list[str] | None, numbers: Collection[str] = ()) -> Iterator[Piece]:
        """Some megabytes of files per piece."""
        root, start, size = Path(self.files[0]), 0, 0
        for end, (name, _) in enumerate(self._rows, start=1):
            size += (root / name).stat().st_size
            if size >= _PIECE_BYTES or end == len(self._rows):
                yield partial(self._read, start, end, columns, size)
                start, size = end, 0

    def _read(self, start: int, end: int, columns: list[str] | None, size: int) -> Chunk:
        labels, texts, bad = [], [], 0
        for name, label in self._rows[start:end]:
            path = Path(self.files[0]) / name
            try:
                with path.open("rb") as file:
                    content = file.read(LONGEST_ROW + 1)
                if len(content) > LONGEST_ROW:
                    raise DataError(TOO_LONG, path=path)
                texts.append(content.decode("utf-8-sig"))
                labels.append(label)
            except UnicodeDecodeError as error:
                if not self._skip:
                    fault = shown(error.object[error.start : error.start + 20])
                    raise DataError(f"expected UTF-8, found {fault}", path=path) from None
                bad += 1
            except OSError as error:
                raise DataError(f"cannot be read: {error.strerror}", path=path) from None
        table = pa.table({"label": labels, "text": pa.array(texts, pa.large_string())})
        chosen = table if columns is None else table.select(columns)
        return Chunk(chosen, self.files[0], partial(add, start + 1), bad, size)
