"""Tables that are not lines of a file: in memory, or folders of text files."""

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
from rosenblatt.data.readers import BATCH_ROWS, Piece, Reader, refuse_duplicate_names
from rosenblatt.errors import DataError, shown

_PIECE_BYTES = 4 << 20  # of text files


class TableReader(Reader):
    """A table in memory."""

    def __init__(self, table: pa.Table) -> None:
        self.files, self.format, self.header = ["<table>"], "table", True
        self._table = table
        refuse_duplicate_names(table.column_names, self.files[0])

    def fingerprint(self) -> dict[str, Any]:
        """A digest of the first and last rows of the table."""
        table, digest = self._table, hashlib.sha256()
        for start in (0, max(0, table.num_rows - BATCH_ROWS)):
            digest.update(repr(table.slice(start, BATCH_ROWS).to_pydict()).encode())
        return {"format": "table", "rows": table.num_rows, "sample": digest.hexdigest()}

    def head(self) -> pa.Table:
        """The first rows."""
        if self._table.num_rows == 0:
            raise DataError("the table has no rows", path=self.files[0])
        return self._table.slice(0, BATCH_ROWS)

    def pieces(self, columns: list[str] | None, numbers: Collection[str] = ()) -> Iterator[Piece]:
        """Slices of the table."""
        table = self._table if columns is None else self._table.select(columns)
        # Not `nbytes`, which older versions of Arrow lack for some types, such as those of polars.
        size = table.get_total_buffer_size()
        for start in range(0, table.num_rows, BATCH_ROWS):
            part = table.slice(start, BATCH_ROWS)
            share = size * part.num_rows // table.num_rows
            yield partial(Chunk, part, self.files[0], partial(add, start + 1), 0, share)


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
        found = [
            (file.relative_to(root).as_posix(), where.name)
            for where in classes
            for file in sorted(where.rglob("*"))
            if file.is_file() and not file.name.startswith(".")
        ]
        self._rows = sorted(found, key=lambda row: (zlib.crc32(row[0].encode()), row[0]))
        if not self._rows:
            raise DataError("there are no text files in its folders", path=folder)

    def head(self) -> pa.Table:
        """The rows of the first files."""
        chunk = next(self.pieces(None))()
        assert isinstance(chunk, Chunk)
        if chunk.table.num_rows == 0:
            raise DataError("no file can be read as UTF-8", path=self.files[0])
        return chunk.table

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
                texts.append(path.read_bytes().decode("utf-8-sig"))
                labels.append(label)
            except UnicodeDecodeError as error:
                if not self._skip:
                    found = shown(error.object[error.start : error.start + 20])
                    raise DataError(f"expected UTF-8, found {found}", path=path) from None
                bad += 1
            except OSError as error:
                raise DataError(f"cannot be read: {error.strerror}", path=path) from None
        table = pa.table({"label": labels, "text": pa.array(texts, pa.large_string())})
        chosen = table if columns is None else table.select(columns)
        return Chunk(chosen, self.files[0], partial(add, start + 1), bad, size)
