"""Files of one format as pieces: tables with their lines, or sparse rows that came as such."""

from __future__ import annotations

import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import pyarrow as pa

from rosenblatt.counts import counted
from rosenblatt.data.arrow_tables import Chunk, null_types_as_strings, read_columnar, validated
from rosenblatt.data.bytes import Block, ByteSource, read_blocks
from rosenblatt.data.cells import MISSING_WORDS, Words
from rosenblatt.data.csv_tables import SAMPLE_BYTES, Dialect, detect_dialect, parse_csv
from rosenblatt.data.files import STDIN, detect_format, fingerprint, last_change, named_format
from rosenblatt.data.json_tables import parse_json
from rosenblatt.data.sparse_lines import Lines, read_fasttext, read_sparse, read_text
from rosenblatt.errors import DataError, NoRowsError, listed, shown

SPARSE = ("svmlight", "vw")
COLUMNAR = ("parquet", "arrow")
BATCH_ROWS = 8192
_MANY_COLUMNS = 10_000
_SEVERAL = re.compile(rb"__label__\S[^\n]*[ \t]__label__\S")

Piece = Callable[[], tuple[Chunk | Lines, int]]


class Reader:
    """The files of one source, all of one format, cut into pieces that threads can work on.

    Where a `stream` is read, the only file's name is what messages call it. Names of columns that
    the user `mentioned` tell a header from data; `missing` words are missing values. Lines of
    plain text are a column named `text`. A `live` standard input is read as its lines come.
    """

    text = "text"
    bits = 31  # sparse formats have 2**bits columns
    multilabel = False  # whether lines of fastText may have several labels
    schema: pa.Schema | None = None  # the columns of a table, where they are known already

    def __init__(
        self,
        files: list[str],
        format: str | None,
        header: bool | None,
        skip: bool,
        block_bytes: int,
        stream: Any = None,
        mentioned: Collection[str] = (),
        missing: Words = MISSING_WORDS,
        live: bool = False,
    ) -> None:
        self.files, self.missing = files, missing
        self.parts: Sequence[Any] = files
        self._first_part: Any = files[0]  # where the first rows are
        self._mentioned, self.header = mentioned, header
        self._skip, self._block_bytes, self._stream = skip, block_bytes, stream
        self._first: ByteSource | None = ByteSource(files[0], stream, live)
        self.format = format or detect_format(files[0], self._first.head)
        self._head: Chunk | None = None
        # The file that was opened to see its first rows is read on from there, once.
        self._begun: _Begun | None = None

    def head(self) -> pa.Table:
        """The first rows of the first file, with all columns; they stay to be read."""
        if self._head is None:
            self._head = self._read_head() or Chunk(pa.table({}), self.files[0], int)
        if self._head.table.num_rows == 0:
            raise self._no_rows(self._head.bad)
        return self._head.table

    @property
    def column_names(self) -> list[str]:
        """All columns."""
        return self.schema.names if self.schema else self.head().column_names

    def _no_rows(self, bad: int) -> DataError:
        """That there are none, or only bad ones, and what is wrong with the first."""
        if not bad or self._begun is None:
            return NoRowsError("the file has no rows", path=self.files[0])
        try:
            self._parse(self._begun.first, self._begun.dialect, None, False)
        except DataError as error:
            if not self._skip:
                return error
            message = f"no row can be read: {counted(bad, 'bad row')} left out. The first: {error}"
            return DataError(message, path=self.files[0])
        raise AssertionError("rows that were left out as bad are bad")

    def _read_head(self) -> Chunk | None:
        part = self._first_part
        if self.format in COLUMNAR:
            batch = next(self._columnar(part, None), None)
            if batch is not None:
                must_differ(batch.table.column_names, batch.path)
            return batch if batch is None else validated(batch, self.format)
        dialect, blocks = self._open(part)
        first = next(blocks, None)
        if first is None:
            return None
        self._begun = _Begun(part, dialect, first, blocks)
        found, _ = self._parse(first, dialect, None, True)
        assert isinstance(found, Chunk), "sparse formats have no columns"
        return found

    def has_several_labels(self) -> bool:
        """Whether a line among the first of a fastText file has several labels."""
        if self.format != "fasttext" or self._first is None:
            return False
        return _SEVERAL.search(self._first.head(1 << 16)) is not None

    def expect_text(self, columns: list[str], is_one_text: bool, format: str | None) -> None:
        """Take lines for plain text where a model of one column of text is to read them.

        Unless the format was given, or is told by the name of the file or by a header.
        """
        self.text = columns[0] if columns else self.text
        if format is None and is_one_text and self._may_be_text():
            self.format = "text"

    def _may_be_text(self) -> bool:
        if self.format not in ("csv", "tsv") or named_format(self.files[0]) or self._first is None:
            return False
        if not (sample := _sample(self._first)).strip():
            return True
        dialect = detect_dialect(sample, self.format, self.files[0], None, self._mentioned)
        return not set(self._mentioned) & set(dialect.names) or dialect.names == ("1",)

    def fingerprint(self) -> dict[str, Any]:
        """Which files these are: their names, sizes and samples of what is in them."""
        return {"format": self.format, "files": [fingerprint(path) for path in self.files]}

    def last_changes(self) -> list[int | None]:
        """When files were written that are too large for their fingerprints to cover them."""
        return [last_change(path) for path in self.files]

    def first_lines(self) -> pa.Table:
        """The first lines of the first file as they stand, in one column of bytes."""
        block = next(self._open(self.parts[0])[1])
        return pa.table({"line": pa.array([line for _, line in block.filled_lines()], pa.binary())})

    def pieces(self, columns: list[str] | None, numbers: Collection[str] = ()) -> Iterator[Piece]:
        """All pieces in order, as functions that give a piece and its size in bytes.

        All columns if `columns` is None; `numbers` are the columns of CSV and TSV that hold
        numbers.
        """
        for part in self.parts:
            if self.format in COLUMNAR:
                for chunk in self._columnar(part, columns):
                    yield partial(_columnar, chunk, self.format)
                continue
            begun, self._begun = self._begun, None
            if begun is not None and part == begun.part:
                dialect, blocks = begun.dialect, begun.rest
                yield self._first_piece(begun, columns)
            else:
                dialect, blocks = self._open(part)
            for block in blocks:
                yield partial(self._parse, block, dialect, columns, self._skip, numbers)

    def blocks(self) -> Iterator[Block]:
        """The lines of all files, of a format of lines."""
        for path in self.files:
            yield from self._open(path)[1]

    def _first_piece(self, begun: _Begun, columns: list[str] | None) -> Piece:
        """The rows that were read to see what they are, unless bad ones were left out."""
        head = self._head
        if head is None or (head.bad and not self._skip):
            return partial(self._parse, begun.first, begun.dialect, columns, self._skip)
        table = head.table if columns is None else head.table.select(columns)
        return partial(as_it_is, head._replace(table=table), len(begun.first.array))

    def _parse(
        self,
        block: Block,
        dialect: Dialect | None,
        columns: list[str] | None,
        skip: bool,
        numbers: Collection[str] = (),
    ) -> tuple[Chunk | Lines, int]:
        size = len(block.array)
        if dialect is not None:
            wanted = list(dialect.names) if columns is None else columns
            return parse_csv(block, dialect, wanted, skip, numbers, self.missing), size
        if self.format in SPARSE:
            return read_sparse(block, self.format, self.bits, skip), size
        if self.format == "fasttext":
            return read_fasttext(block, skip, self.multilabel), size
        if self.format == "text":
            return read_text(block, self.text), size
        return parse_json(block, self._schema(columns), skip), size

    def _schema(self, columns: list[str] | None) -> pa.Schema | None:
        """The columns of JSON lines as the first rows have them, where these have been read."""
        found = self.schema
        if found is None:
            if self._head is None:
                return None
            found = null_types_as_strings(self._head.table.schema)
        return found if columns is None else pa.schema([found.field(name) for name in columns])

    def _columnar(self, path: str, columns: list[str] | None) -> Iterator[Chunk]:
        return read_columnar(path, self.format, columns, BATCH_ROWS)

    def _open(self, path: str) -> tuple[Dialect | None, Iterator[Block]]:
        """How a file is written, where that is a question, and its blocks, without a header."""
        source = self._take(path)
        dialect = dialect_of(source, self.format, self.header, self._mentioned)
        if dialect is None:
            return None, self._blocks(source, None)
        names = list(dialect.names)
        if self._head is None:
            self.header = dialect.header
        elif names != self._head.table.column_names:
            message = f"the columns are {listed(names)}, not as in the first file"
            raise DataError(message, path=source.path, line=1)
        return dialect, self._blocks(source, dialect)

    def _blocks(self, source: ByteSource, dialect: Dialect | None) -> Iterator[Block]:
        start = dialect.start if dialect else 0
        size = self._block_bytes
        if dialect and len(dialect.names) > _MANY_COLUMNS:  # let a block have some hundred rows
            size = max(size, 512 * len(dialect.names))
        for block in read_blocks(source, size, dialect.quoting if dialect else ""):
            rows = block.after(min(start, len(block.array))) if start else block
            start -= len(block.array) - len(rows.array)
            # The second look, at all of them, is for a long blank beginning. A blank line of text
            # is a row, so that there are as many predictions as lines.
            if self.format == "text" or rows.array[:1000].tobytes().strip() or rows.data.strip():
                yield rows

    def _take(self, path: str) -> ByteSource:
        """The bytes of a file; the first was opened to detect its format."""
        if self._first is not None and path == self.files[0]:
            first, self._first = self._first, None
            return first
        if path == STDIN or self._stream is not None:
            name = "<stdin>" if path == STDIN else path
            raise DataError("a stream can be read only once", path=name)
        return ByteSource(path)


class _Begun(NamedTuple):
    """A file, or a part of one, whose first block was read."""

    part: Any
    dialect: Dialect | None
    first: Block
    rest: Iterator[Block]


def must_differ(names: list[str], path: str, is_detected: bool = False) -> None:
    """Refuse two columns of one name."""
    if len(set(names)) < len(names):
        twice = next(name for name, count in Counter(names).items() if count > 1)
        hint = "; if the first row is data, say --no-header (header=False)" if is_detected else ""
        raise DataError(
            f"the column name {shown(twice)} occurs twice in the header{hint}", path=path
        )


def dialect_of(
    source: ByteSource, format: str, header: bool | None, mentioned: Collection[str]
) -> Dialect | None:
    """How a file is written, where that is a question; a line to standard error where in doubt."""
    if format not in ("csv", "tsv"):
        return None
    dialect = detect_dialect(_sample(source), format, source.path, header, mentioned)
    must_differ(list(dialect.names), source.path, header is None)
    if not dialect.is_certain and not os.environ.get("ROSENBLATT_QUIET"):
        what, option = ("the header", "--no-header") if dialect.header else ("data", "--header")
        print(
            f"rosenblatt: {source.path}: the first row was taken for {what}; if that is wrong, "
            f"say {option} (header={not dialect.header})",
            file=sys.stderr,
        )
    return dialect


def _sample(source: ByteSource) -> bytes:
    """The beginning of a file, as much as shows how it is written: a few lines, one at least."""
    size = 2 * SAMPLE_BYTES
    while len(head := source.head(size)) == size and b"\n" not in head[SAMPLE_BYTES:]:
        size *= 2
    return head


def as_it_is(chunk: Chunk, size: int) -> tuple[Chunk, int]:
    """A piece that is read already."""
    return chunk, size


def _columnar(chunk: Chunk, format: str) -> tuple[Chunk, int]:
    return validated(chunk, format), chunk.table.nbytes
