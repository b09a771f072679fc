"""Files of one format as pieces: tables with their lines, or sparse rows that came as such."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from functools import partial
from itertools import chain
from typing import NamedTuple

import pyarrow as pa

from rosenblatt.counts import counted
from rosenblatt.data.blocks import Block, read_blocks
from rosenblatt.data.byte_source import ByteSource
from rosenblatt.data.files import detect_format
from rosenblatt.data.json_lines import parse_json
from rosenblatt.data.lines import Lines, read_fasttext, read_sparse
from rosenblatt.data.separated import SAMPLE_BYTES, Dialect, parse_csv, sniff_dialect
from rosenblatt.data.tables import Chunk, read_columnar, validated, without_nulls
from rosenblatt.errors import DataError
from rosenblatt.kernels.row_ends import row_starts

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
        self._first: ByteSource | None = ByteSource(files[0], block_bytes)
        self.format = format or detect_format(files[0], self._first.head)
        self._read_from: ByteSource | None = None
        self._head: Chunk | None = None
        # What was opened to look at its beginning is read on from there, once.
        self._begun: _Begun | None = None
        self._rest: Iterator[Chunk] | None = None

    def head(self) -> pa.Table:
        """The first rows of the first file, with all columns; they stay to be read."""
        if self._head is None:
            self._head = self._read_head() or Chunk(pa.table({}), self.files[0], int)
        if self._head.table.num_rows == 0:
            raise self._no_rows(self._head.bad)
        return self._head.table

    def _no_rows(self, bad: int) -> DataError:
        """That there are none, or only bad ones, and what is wrong with the first."""
        if not bad or self._begun is None:
            return DataError("the file has no rows", path=self.files[0])
        try:
            self._parse(self._begun.first, self._begun.dialect, None, False)
        except DataError as error:
            if not self._skip:
                return error
            message = f"no row can be read: {counted(bad, 'bad row')} left out. The first: {error}"
            return DataError(message, path=self.files[0])
        raise AssertionError("rows that were left out as bad are bad")

    def _read_head(self) -> Chunk | None:
        if self.format in _COLUMNAR:
            self._rest = read_columnar(self.files[0], self.format, None, _BATCH_ROWS)
            batch = next(self._rest, None)
            return batch if batch is None or self.format == "parquet" else validated(batch)
        dialect, blocks = self._open(self.files[0])
        first = next(blocks, None)
        if first is None:
            return None
        self._begun = _Begun(dialect, first, blocks)
        found, _ = self._parse(first, dialect, None, True)
        assert isinstance(found, Chunk), "sparse formats have no columns"
        return found

    def first_lines(self) -> pa.Table:
        """The first lines of the first file as they stand, in one column of bytes."""
        head = ByteSource(self.files[0], self._block_bytes).head(self._block_bytes)
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
            begun, self._begun = self._begun, None
            if begun is not None and path == self.files[0]:
                dialect, blocks = begun.dialect, begun.rest
                yield self._first_piece(begun, columns)
            else:
                dialect, blocks = self._open(path)
            for block in blocks:
                yield partial(self._parse, block, dialect, columns, self._skip, bits, numbers)

    def _first_piece(self, begun: _Begun, columns: list[str] | None) -> Piece:
        """What the look at the beginning has read, unless it passed over something bad."""
        head = self._head
        if head is None or (head.bad and not self._skip):
            return partial(self._parse, begun.first, begun.dialect, columns, self._skip)
        table = head.table if columns is None else head.table.select(columns)
        return partial(_as_it_is, head._replace(table=table), len(begun.first.array))

    def _columnar_pieces(self, path: str, columns: list[str] | None) -> Iterator[Piece]:
        chunks = self._begun_batches(columns) if path == self.files[0] else None
        piece = _of_parquet if self.format == "parquet" else _of_arrow
        for chunk in chunks or read_columnar(path, self.format, columns, _BATCH_ROWS):
            yield partial(piece, chunk)

    def _begun_batches(self, columns: list[str] | None) -> Iterator[Chunk] | None:
        """The first file from its beginning, if the look at it had the columns wanted."""
        rest, self._rest = self._rest, None
        if rest is None or self._head is None:
            return None
        has_all = columns in (None, self._head.table.column_names)
        return chain([self._head], rest) if has_all else None

    def _parse(
        self,
        block: Block,
        dialect: Dialect | None,
        columns: list[str] | None,
        skip: bool,
        bits: int = 0,
        numbers: Collection[str] = (),
    ) -> tuple[Chunk | Lines, int]:
        size = len(block.array)
        if dialect is not None:
            wanted = list(dialect.names) if columns is None else columns
            return parse_csv(block, dialect, wanted, skip, numbers), size
        if self.format in SPARSE:
            return read_sparse(block, self.format, bits, skip), size
        if self.format == "fasttext":
            return read_fasttext(block, skip), size
        return parse_json(block, self._schema(columns), skip), size

    def _schema(self, columns: list[str] | None) -> pa.Schema | None:
        """The columns of JSON lines as the first rows have them, where these have been read."""
        if self._head is None:
            return None
        found = without_nulls(self._head.table.schema)
        return found if columns is None else pa.schema([found.field(name) for name in columns])

    def _open(self, path: str) -> tuple[Dialect | None, Iterator[Block]]:
        """How a file is written, where that is a question, and its blocks, without a header."""
        source = self._take(path)
        if self.format not in ("csv", "tsv"):
            return None, self._blocks(source, None)
        dialect = sniff_dialect(_sample(source), self.format, source.path, self._header)
        names = list(dialect.names)
        if self._head is not None and names != self._head.table.column_names:
            message = f"the columns are {', '.join(names)}, not as in the first file"
            raise DataError(message, path=source.path, line=1)
        return dialect, self._blocks(source, dialect)

    def is_waiting(self) -> bool:
        """Whether the next of the pieces now read can be had at once."""
        return self._read_from is None or self._read_from.is_waiting()

    def _blocks(self, source: ByteSource, dialect: Dialect | None) -> Iterator[Block]:
        self._read_from = source
        has_header = dialect is not None and dialect.header
        for block in read_blocks(source, dialect.quoting if dialect else 0):
            rows = _without_header(block, dialect) if has_header and dialect else block
            has_header = False
            if len(rows.array):
                yield rows
        source.close()

    def _take(self, path: str) -> ByteSource:
        """The bytes of a file; those of the first were opened to look at its beginning."""
        if self._first is not None and path == self.files[0]:
            first, self._first = self._first, None
            return first
        if path == "-":
            raise DataError("standard input can be read only once", path="<stdin>")
        return ByteSource(path, self._block_bytes)


class _Begun(NamedTuple):
    """A file whose first block was looked at."""

    dialect: Dialect | None
    first: Block
    rest: Iterator[Block]


def _sample(source: ByteSource) -> bytes:
    """The beginning of a file, as much as shows how it is written: a few lines, one at least."""
    size = 2 * SAMPLE_BYTES
    while len(head := source.head(size)) == size and b"\n" not in head[SAMPLE_BYTES:]:
        size *= 2
    return head


def _as_it_is(chunk: Chunk, size: int) -> tuple[Chunk, int]:
    return chunk, size


def _of_parquet(chunk: Chunk) -> tuple[Chunk, int]:
    return chunk, chunk.table.nbytes


def _of_arrow(chunk: Chunk) -> tuple[Chunk, int]:
    return _of_parquet(validated(chunk))


def _without_header(block: Block, dialect: Dialect) -> Block:
    for size in (SAMPLE_BYTES, len(block.array)):
        starts = row_starts(block.array[:size], dialect.quoting)
        if len(starts) > 1:
            return block.after(int(starts[1]))
    return block.after(len(block.array))
