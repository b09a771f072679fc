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
from rosenblatt.data.separated import Dialect, parse_csv, sniff_dialect
from rosenblatt.data.tables import Chunk, parse_json, read_columnar
from rosenblatt.engine.row_ends import row_starts
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
        self._batches: Iterator[Chunk] | None = None

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
            self._batches = read_columnar(self.files[0], self.format, None, _BATCH_ROWS)
            return next(self._batches, nothing)
        assert self._first is not None, "the beginning is looked at before the rest is read"
        head, path = self._first.head(self._block_bytes), self._first.path
        if self.format in ("csv", "tsv"):
            dialect = self._dialect(self._first)
            block = _without_header(_whole_rows(head, path, dialect.quoting), dialect)
            self._head_size = len(block.bytes)
            return parse_csv(block, dialect, list(dialect.names), True) if block.lines else nothing
        block = _whole_rows(head, path)
        self._head_size = len(block.bytes)
        if self.format == "fasttext":
            return read_fasttext(block, True)
        return parse_json(block, None, True)

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
        if head is None or (head.bad and not self._skip) or len(block.bytes) != self._head_size:
            return piece
        table = head.table if columns is None else head.table.select(columns)
        return partial(_as_it_is, head._replace(table=table), len(block.bytes))

    def _columnar_pieces(self, path: str, columns: list[str] | None) -> Iterator[Piece]:
        head, batches = self._head, None
        if head is not None and path == self.files[0]:
            batches, self._batches = self._batches, None
        if batches is not None and columns in (None, head.table.column_names):
            chunks = chain([head], batches)
        else:
            chunks = read_columnar(path, self.format, columns, _BATCH_ROWS)
        for chunk in chunks:
            yield partial(_as_it_is, chunk, chunk.table.nbytes)

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
        return parse_csv(block, dialect, columns, self._skip, numbers), len(block.bytes)

    def _parse(
        self, block: Block, columns: list[str] | None, bits: int
    ) -> tuple[Chunk | Lines, int]:
        size = len(block.bytes)
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
        head = source.head(self._block_bytes)
        return sniff_dialect(head, self.format, source.path, self._header)


def _as_it_is(chunk: Chunk, size: int) -> tuple[Chunk, int]:
    return chunk, size


class _Head:
    """A file's beginning, in the shape of a :class:`ByteSource`."""

    def __init__(self, data: bytes, path: str) -> None:
        self.data, self.path = data, path

    def fill(self, room: np.ndarray) -> int:
        data, self.data = self.data[: len(room)], self.data[len(room) :]
        room[: len(data)] = np.frombuffer(data, dtype=np.uint8)
        return len(data)

    def check(self, line: int) -> None:
        """A beginning may end anywhere."""


def _whole_rows(head: bytes, path: str, quoting: int = 0) -> Block:
    """The rows of a file's beginning that are there to their end."""
    for block in read_blocks(_Head(head, path), max(1, len(head)), quoting):  # type: ignore[arg-type]
        return block
    raise DataError("the file is empty", path=path)


def _without_header(block: Block, dialect: Dialect) -> Block:
    if not dialect.header:
        return block
    for size in (_HEADER_BYTES, len(block.bytes)):
        starts = row_starts(block.bytes[:size], dialect.quoting)
        if len(starts) > 1:
            return block.after(int(starts[1]))
    return block.after(len(block.bytes))
