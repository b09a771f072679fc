"""Files of one format as pieces: tables with their lines, or sparse rows that came as such."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import pyarrow as pa

from rosenblatt.data.blocks import Block, read_blocks
from rosenblatt.data.files import ByteSource, detect_format
from rosenblatt.data.lines import Lines, read_fasttext, read_sparse
from rosenblatt.data.tables import (
    Chunk,
    Dialect,
    parse_csv,
    parse_json,
    read_columnar,
    sniff_dialect,
)
from rosenblatt.engine.parsers import row_starts
from rosenblatt.errors import DataError

SPARSE = ("svmlight", "vw")
_COLUMNAR = ("parquet", "arrow")
_BATCH_ROWS = 8192

Piece = Callable[[], tuple[Chunk | Lines, int]]


class Reader:
    """The files of one source. Reading is cut into pieces that threads can work on.

    Parameters
    ----------
    files : list of str
        All of one format; the first is looked at to find it out.
    format, header
        If known.
    skip : bool
        Leave out bad rows rather than raise.
    block_bytes : int
        How much of a text file makes a piece.
    """

    def __init__(
        self,
        files: list[str],
        format: str | None,
        header: bool | None,
        skip: bool,
        block_bytes: int,
    ) -> None:
        self.files = files
        self._header, self._skip, self._block_bytes = header, skip, block_bytes
        self._first: ByteSource | None = ByteSource(files[0])
        self.format = format or detect_format(files[0], self._first)
        self._names: list[str] | None = None
        self._schema: pa.Schema | None = None

    def head(self) -> pa.Table:
        """The first rows of the first file, with all columns; they stay to be read."""
        table = self._head()
        if table.num_rows == 0:
            raise DataError("the file has no rows", path=self.files[0])
        self._names, self._schema = table.column_names, table.schema
        return table

    def _head(self) -> pa.Table:
        if self.format in _COLUMNAR:
            for chunk in read_columnar(self.files[0], self.format, None, _BATCH_ROWS):
                return chunk.table
            return pa.table({})
        assert self._first is not None, "the beginning is looked at before the rest is read"
        head, path = self._first.head(self._block_bytes), self._first.path
        if self.format in ("csv", "tsv"):
            dialect = self._dialect(self._first)
            block = _without_header(_whole_rows(head, path, dialect.quoting), dialect)
            if not block.data:
                return pa.table({})
            return parse_csv(block, dialect, list(dialect.names), True).table
        block = _whole_rows(head, path)
        if self.format == "fasttext":
            return read_fasttext(block, True).table
        return parse_json(block, None, True).table

    def pieces(self, columns: list[str] | None, bits: int) -> Iterator[Piece]:
        """All pieces in order, as functions that give a piece and its size in bytes.

        Parameters
        ----------
        columns : list of str or None
            The columns to read; None for all.
        bits : int
            Sparse formats have ``2**bits`` columns.
        """
        for path in self.files:
            if self.format in _COLUMNAR:
                for chunk in read_columnar(path, self.format, columns, _BATCH_ROWS):
                    yield partial(_as_it_is, chunk)
                continue
            source = self._take(path)
            if self.format in ("csv", "tsv"):
                yield from self._csv_pieces(source, columns)
            else:
                for block in read_blocks(source, self._block_bytes):
                    yield partial(self._parse, block, columns, bits)
            source.close()

    def _csv_pieces(self, source: ByteSource, columns: list[str] | None) -> Iterator[Piece]:
        dialect = self._dialect(source)
        if self._names is not None and list(dialect.names) != self._names:
            message = f"the columns are {', '.join(dialect.names)}, not as in the first file"
            raise DataError(message, path=source.path, line=1)
        is_first = True
        for block in read_blocks(source, self._block_bytes, dialect.quoting):
            rows = _without_header(block, dialect) if is_first else block
            is_first = False
            if rows.data:
                yield partial(self._parse_csv, rows, dialect, columns or list(dialect.names))

    def _parse_csv(self, block: Block, dialect: Dialect, columns: list[str]) -> tuple[Chunk, int]:
        return parse_csv(block, dialect, columns, self._skip), len(block.data)

    def _parse(
        self, block: Block, columns: list[str] | None, bits: int
    ) -> tuple[Chunk | Lines, int]:
        size = len(block.data)
        if self.format in SPARSE:
            return read_sparse(block, self.format, bits, self._skip), size
        if self.format == "fasttext":
            return read_fasttext(block, self._skip), size
        schema = self._schema
        if schema is not None and columns is not None:
            schema = pa.schema([schema.field(name) for name in columns])
        return parse_json(block, schema, self._skip), size

    def _take(self, path: str) -> ByteSource:
        """The bytes of a file; those of the first were opened to look at its beginning."""
        if self._first is not None and path == self.files[0]:
            first, self._first = self._first, None
            return first
        if path == "-":
            raise DataError("standard input can be read only once", path="<stdin>")
        return ByteSource(path)

    def _dialect(self, source: ByteSource) -> Dialect:
        head = source.head(self._block_bytes)
        return sniff_dialect(head, self.format, source.path, self._header)


def _as_it_is(chunk: Chunk) -> tuple[Chunk, int]:
    return chunk, chunk.table.nbytes


class _Head:
    """A file's beginning, in the shape of a :class:`ByteSource`."""

    def __init__(self, data: bytes, path: str) -> None:
        self.data, self.path = data, path

    def read(self, size: int) -> bytes:
        data, self.data = self.data, b""
        return data


def _whole_rows(head: bytes, path: str, quoting: int = 0) -> Block:
    """The rows of a file's beginning that are there to their end."""
    for block in read_blocks(_Head(head, path), max(1, len(head)), quoting):  # type: ignore[arg-type]
        return block
    raise DataError("the file is empty", path=path)


def _without_header(block: Block, dialect: Dialect) -> Block:
    if not dialect.header:
        return block
    starts = row_starts(np.frombuffer(block.data, dtype=np.uint8), dialect.quoting)
    end = int(starts[1]) if len(starts) > 1 else len(block.data)
    return Block(block.data[end:], block.path, block.line + block.data.count(b"\n", 0, end))
