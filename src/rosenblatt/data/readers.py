"""Files of one format as pieces: tables with their lines, or sparse rows that came as such."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from functools import partial
from itertools import chain

import numpy as np
import pyarrow as pa

from rosenblatt.data.blocks import Block, read_blocks
from rosenblatt.data.files import ByteSource, detect_format
from rosenblatt.data.lines import Lines, read_fasttext, read_sparse
from rosenblatt.data.separated import SAMPLE_BYTES, Dialect, parse_csv, sniff_dialect
from rosenblatt.data.tables import Chunk, parse_json, read_columnar
from rosenblatt.engine.row_ends import last_row_end, row_starts
from rosenblatt.errors import DataError

SPARSE = ("svmlight", "vw")
_COLUMNAR = ("parquet", "arrow")
_BATCH_ROWS = 8192
_HEADER_BYTES = 1 << 16

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
        self._head: Chunk | None = None
        self._head_size = 0
        self._rest: Iterator[Chunk] | None = None

    def head(self) -> pa.Table:
        """The first rows of the first file, with all columns; they stay to be read."""
        if self._head is None:
            self._head = self._read_head()
        if self._head.table.num_rows == 0:
            raise DataError("the file has no rows", path=self.files[0])
        return self._head.table

    def _read_head(self) -> Chunk:
        nothing = Chunk(pa.table({}), self.files[0], lambda row: row)
        if self.format in _COLUMNAR:
            self._rest = read_columnar(self.files[0], self.format, None, _BATCH_ROWS)
            return next(self._rest, nothing)
        assert self._first is not None, "the beginning is looked at before the rest is read"
        size = self._block_bytes
        while True:
            head = self._first.head(size)
            found = self._parse_head(head, len(head) < size) or nothing
            if found.table.num_rows or len(head) < size:
                return found
            size *= 2

    def _parse_head(self, head: bytes, is_all: bool) -> Chunk | None:
        """The whole rows of the first file's beginning; None if there are none."""
        assert self._first is not None
        if not head.strip():
            raise DataError("the file is empty", path=self.files[0])
        dialect = self._dialect(self._first) if self.format in ("csv", "tsv") else None
        quoting = dialect.quoting if dialect else 0
        end = len(head) if is_all else last_row_end(np.frombuffer(head, dtype=np.uint8), quoting)
        data = head[:end] if head[:end].endswith(b"\n") or end == 0 else head[:end] + b"\n"
        block = Block.of(data, self._first.path)
        block = _without_header(block, dialect) if dialect else block
        self._head_size = len(block.array)
        if not block.lines:
            return None
        if dialect is not None:
            return parse_csv(block, dialect, list(dialect.names), True)
        if self.format == "fasttext":
            return read_fasttext(block, True)
        return parse_json(block, None, True)

    def first_lines(self) -> pa.Table:
        """The first lines of the first file as they stand, in one column of bytes."""
        head = ByteSource(self.files[0]).head(self._block_bytes)
        lines = [line for line in head[: head.rfind(b"\n") + 1].split(b"\n") if line.strip()]
        return pa.table({"line": pa.array(lines, pa.binary())})

    def pieces(
        self, columns: list[str] | None, bits: int, numbers: Collection[str] = ()
    ) -> Iterator[Piece]:
        """All pieces in order, as functions that give a piece and its size in bytes.

        Parameters
        ----------
        columns : list of str or None
            The columns to read; None for all.
        bits : int
            Sparse formats have ``2**bits`` columns.
        numbers : collection of str
            Columns of CSV and TSV that hold numbers.
        """
        for path in self.files:
            if self.format in _COLUMNAR:
                yield from self._columnar_pieces(path, columns)
                continue
            source = self._take(path)
            if self.format in ("csv", "tsv"):
                blocks = self._csv_blocks(source, columns, numbers)
            else:
                blocks = (
                    (block, partial(self._parse, block, columns, bits))
                    for block in read_blocks(source, self._block_bytes)
                )
            is_first = path == self.files[0]
            for block, piece in blocks:
                yield self._known(block, columns, piece) if is_first else piece
                is_first = False
            source.close()

    def _known(self, block: Block, columns: list[str] | None, piece: Piece) -> Piece:
        """The piece of the first block of all, which need not be read twice."""
        head = self._head
        if head is None or (head.bad and not self._skip) or len(block.array) != self._head_size:
            return piece
        table = head.table if columns is None else head.table.select(columns)
        return partial(_as_it_is, head._replace(table=table), len(block.array))

    def _columnar_pieces(self, path: str, columns: list[str] | None) -> Iterator[Piece]:
        chunks = self._begun(columns) if path == self.files[0] else None
        for chunk in chunks or read_columnar(path, self.format, columns, _BATCH_ROWS):
            yield partial(_as_it_is, chunk, chunk.table.nbytes)

    def _begun(self, columns: list[str] | None) -> Iterator[Chunk] | None:
        """The first file from its beginning, whose first batch was read, if it has all columns."""
        rest, self._rest = self._rest, None
        if rest is None or self._head is None:
            return None
        return (
            chain([self._head], rest) if columns in (None, self._head.table.column_names) else None
        )

    def _csv_blocks(
        self, source: ByteSource, columns: list[str] | None, numbers: Collection[str]
    ) -> Iterator[tuple[Block, Piece]]:
        dialect = self._dialect(source)
        names = list(dialect.names)
        if self._head is not None and names != self._head.table.column_names:
            message = f"the columns are {', '.join(names)}, not as in the first file"
            raise DataError(message, path=source.path, line=1)
        is_first = True
        for block in read_blocks(source, self._block_bytes, dialect.quoting):
            rows = _without_header(block, dialect) if is_first else block
            is_first = False
            if rows.lines:
                yield rows, partial(self._parse_csv, rows, dialect, columns or names, numbers)

    def _parse_csv(
        self, block: Block, dialect: Dialect, columns: list[str], numbers: Collection[str]
    ) -> tuple[Chunk, int]:
        return parse_csv(block, dialect, columns, self._skip, numbers), len(block.array)

    def _parse(
        self, block: Block, columns: list[str] | None, bits: int
    ) -> tuple[Chunk | Lines, int]:
        size = len(block.array)
        if self.format in SPARSE:
            return read_sparse(block, self.format, bits, self._skip), size
        if self.format == "fasttext":
            return read_fasttext(block, self._skip), size
        schema = None if self._head is None else self._head.table.schema
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
        head = source.head(max(self._block_bytes, SAMPLE_BYTES))
        return sniff_dialect(head, self.format, source.path, self._header)


def _as_it_is(chunk: Chunk, size: int) -> tuple[Chunk, int]:
    return chunk, size


def _without_header(block: Block, dialect: Dialect) -> Block:
    if not dialect.header:
        return block
    for size in (_HEADER_BYTES, len(block.array)):
        starts = row_starts(block.array[:size], dialect.quoting)
        if len(starts) > 1:
            return block.after(int(starts[1]))
    return block.after(len(block.array))
