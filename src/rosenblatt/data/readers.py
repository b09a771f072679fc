"""The files of a source as chunks: tables whose rows know their lines, or sparse rows."""

from __future__ import annotations

import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import Any

import pyarrow as pa

from rosenblatt.data.arrow_tables import Chunk, null_types_as_strings, read_columnar, validated
from rosenblatt.data.bytes import LONGEST_ROW, TOO_LONG, Block, ByteSource, read_blocks
from rosenblatt.data.cells import MISSING_WORDS, Words
from rosenblatt.data.csv_tables import SAMPLE_BYTES, Dialect, detect_dialect, parse_csv
from rosenblatt.data.files import (
    STDIN,
    detect_format,
    fingerprint,
    is_stream,
    last_change,
    named_format,
)
from rosenblatt.data.json_tables import parse_json
from rosenblatt.data.sparse_lines import Lines, read_fasttext, read_sparse, read_text
from rosenblatt.errors import DataError, NoRowsError, counted, listed, shown

SPARSE = ("svmlight", "vw")
COLUMNAR = ("parquet", "arrow")
BATCH_ROWS = 8192
_MANY_COLUMNS = 10_000
_SEVERAL_LABELS = re.compile(rb"__label__\S[^\n]*[ \t]__label__\S")

# Reads a chunk when called, in any thread.
Piece = Callable[[], Chunk | Lines]


class Reader:
    """The files of one source, all of one format.

    `stream`, if given, is read instead of the only file, whose name is for messages. `mentioned`
    are names of columns in the user's options: they tell a header from data. Cells equal to one of
    the `missing` words are missing values. Lines of `live` standard input are read as they arrive.
    """

    text_column = "text"  # the name of the column for lines of plain text
    bits = 31  # sparse formats have 2**bits columns
    multilabel = False  # whether lines of fastText may have several labels
    schema: pa.Schema | None = None  # the columns of a table, if known without reading
    _first_file: ByteSource | None = None  # opened to detect the format, not yet read
    _head: pa.Table | None = None
    # The part of which the head was read, and its chunks from the first on.
    _begun: tuple[Any, Iterator[Any]] = None, iter(())

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
        self._first_part: Any = files[0]  # of which the head is read
        self._mentioned, self.header = mentioned, header
        self._skip, self._block_bytes, self._stream = skip, block_bytes, stream
        self._first_file = ByteSource(files[0], stream, live)
        self.format = format or detect_format(files[0], self._first_file.head)

    def head(self) -> pa.Table:
        """The first rows of the first file, with all columns; iteration still starts with them."""
        if self._head is None:
            items = self._items(self._first_part, None)
            first = next(items, None)
            if first is None:
                raise NoRowsError("the file has no rows", path=self.files[0])
            chunk = first(None, True)
            if chunk.table.num_rows == 0:
                raise self._no_rows(first, chunk.bad)
            if self.format in COLUMNAR:
                refuse_duplicate_names(chunk.table.column_names, self.files[0])
            if not chunk.bad or self._skip:
                first = partial(_select, chunk, None)
            self._head = chunk.table
            self._begun = self._first_part, chain([first], items)
        return self._head

    @property
    def column_names(self) -> list[str]:
        """The names of all columns."""
        return self.schema.names if self.schema else self.head().column_names

    def _no_rows(self, first: Any, bad: int) -> DataError:
        """The error for a file without rows, or with bad rows only."""
        if not bad:
            return NoRowsError("the file has no rows", path=self.files[0])
        try:
            first(None, False)
        except DataError as error:
            if not self._skip:
                return error
            message = f"no row can be read: {counted(bad, 'bad row')} left out. The first: {error}"
            return DataError(message, path=self.files[0])
        raise AssertionError("bad rows raise if they are not skipped")

    def has_several_labels(self) -> bool:
        """Whether a line at the beginning of a fastText file has several labels."""
        if self.format != "fasttext" or self._first_file is None:
            return False
        return _SEVERAL_LABELS.search(self._first_file.head(1 << 16)) is not None

    def prefer_plain_text(self, columns: list[str], is_one_text: bool, format: str | None) -> None:
        """Read plain text, one row per line, for a model of one column of text.

        Unless the format is given, told by the file name, or there is a header with the column.
        """
        self.text_column = columns[0] if columns else self.text_column
        if format is None and is_one_text and self._may_be_text():
            self.format = "text"

    def _may_be_text(self) -> bool:
        file = self._first_file
        if self.format not in ("csv", "tsv") or named_format(self.files[0]) or file is None:
            return False
        if not (sample := _sample(file)).strip():
            return True
        dialect = detect_dialect(sample, self.format, self.files[0], None, self._mentioned)
        return not set(self._mentioned) & set(dialect.names) or dialect.names == ("1",)

    def fingerprint(self) -> dict[str, Any]:
        """Names, sizes and digests of samples, to recognise the files again."""
        return {"format": self.format, "files": [fingerprint(path) for path in self.files]}

    def last_changes(self) -> list[int | None]:
        """Per file :func:`last_change`."""
        return [last_change(path) for path in self.files]

    def first_lines(self) -> pa.Table:
        """The first lines of the first file, unparsed, in one binary column."""
        block = next(self._open(self.parts[0])[1])
        return pa.table({"line": pa.array([line for _, line in block.filled_lines()], pa.binary())})

    def pieces(self, columns: list[str] | None, numbers: Collection[str] = ()) -> Iterator[Piece]:
        """All chunks in order, each as a function that reads it.

        None means all columns; `numbers` are the columns of CSV and TSV that hold numbers.
        """
        for part in self.parts:
            (begun, items), self._begun = self._begun, (None, iter(()))
            if begun is None or part != begun or not self._has_read(columns):
                items = self._items(part, columns)
            for item in items:
                yield partial(item, columns, self._skip, numbers)

    def _has_read(self, columns: list[str] | None) -> bool:
        """Whether :meth:`head` has read the wanted columns and no others, or lines."""
        if self.format not in COLUMNAR or columns is None or self._head is None:
            return True
        return set(columns) == set(self._head.column_names)

    def _items(self, part: Any, columns: list[str] | None) -> Iterator[Any]:
        """The chunks of a part as functions of columns, skip and numbers."""
        if self.format in COLUMNAR:
            return (partial(_select, c, self.format) for c in self._columnar(part, columns))
        dialect, blocks = self._open(part)
        return (partial(self._parse, block, dialect) for block in blocks)

    def _parse(
        self,
        block: Block,
        dialect: Dialect | None,
        columns: list[str] | None,
        skip: bool,
        numbers: Collection[str] = (),
    ) -> Chunk | Lines:
        found: Chunk | Lines
        if dialect is not None:
            wanted = list(dialect.names) if columns is None else columns
            found = parse_csv(block, dialect, wanted, skip, numbers, self.missing)
        elif self.format in SPARSE:
            found = read_sparse(block, self.format, self.bits, skip)
        elif self.format == "fasttext":
            found = read_fasttext(block, skip, self.multilabel)
        elif self.format == "text":
            found = read_text(block, self.text_column)
        else:
            found = parse_json(block, self._schema(columns), skip)
        return found._replace(size=len(block.array))

    def _schema(self, columns: list[str] | None) -> pa.Schema | None:
        """The columns of JSON lines as in the first rows; None before these are read."""
        found = self.schema
        if found is None:
            if self._head is None:
                return None
            found = null_types_as_strings(self._head.schema)
        return found if columns is None else pa.schema([found.field(name) for name in columns])

    def _columnar(self, path: str, columns: list[str] | None) -> Iterator[Chunk]:
        return read_columnar(path, self.format, columns, BATCH_ROWS)

    def blocks(self) -> Iterator[Block]:
        """The lines of all files, for formats of lines."""
        for path in self.files:
            yield from self._open(path)[1]

    def _open(self, path: str) -> tuple[Dialect | None, Iterator[Block]]:
        """The dialect of CSV and TSV, else None, and the blocks of a file after its header."""
        source = self._bytes(path)
        dialect = dialect_of(source, self.format, self.header, self._mentioned)
        if dialect is None:
            return None, self._blocks(source, None)
        names = list(dialect.names)
        if self._head is None:
            self.header = dialect.header
        elif names != self._head.column_names:
            message = f"the columns are {listed(names)}, not as in the first file"
            raise DataError(message, path=source.path, line=1)
        return dialect, self._blocks(source, dialect)

    def _blocks(self, source: ByteSource, dialect: Dialect | None) -> Iterator[Block]:
        start = dialect.start if dialect else 0
        size = self._block_bytes
        if dialect and len(dialect.names) > _MANY_COLUMNS:  # a block should have hundreds of rows
            size = max(size, 512 * len(dialect.names))
        for block in read_blocks(source, size, dialect.quoting if dialect else ""):
            rows = block.after(min(start, len(block.array))) if start else block
            start -= len(block.array) - len(rows.array)
            # Blank blocks are skipped. In plain text a blank line is a row: there are as many
            # predictions as lines.
            if self.format == "text" or rows.array[:1000].tobytes().strip() or rows.data.strip():
                yield rows

    def _bytes(self, path: str) -> ByteSource:
        """The bytes of a file; the first file is open already, as its format was detected."""
        if self._first_file is not None and path == self.files[0]:
            first, self._first_file = self._first_file, None
            return first
        if is_stream(path) or self._stream is not None:
            name = "<stdin>" if path == STDIN else path
            raise DataError("a stream can be read only once", path=name)
        return ByteSource(path)


def _select(
    chunk: Chunk,
    format: str | None,
    columns: list[str] | None,
    skip: bool,
    numbers: Collection[str] = (),
) -> Chunk:
    """A chunk with some of its columns; one from a columnar `format` is validated."""
    table = chunk.table if columns is None else chunk.table.select(columns)
    selected = chunk._replace(table=table)
    return validated(selected._replace(size=table.nbytes), format) if format else selected


def refuse_duplicate_names(names: list[str], path: str, is_detected: bool = False) -> None:
    """Raise DataError if two columns have the same name; `is_detected` means the header is."""
    if len(set(names)) < len(names):
        twice = next(name for name, count in Counter(names).items() if count > 1)
        hint = "; if the first row is data, say --no-header (header=False)" if is_detected else ""
        raise DataError(
            f"the column name {shown(twice)} occurs twice in the header{hint}", path=path
        )


def dialect_of(
    source: ByteSource, format: str, header: bool | None, mentioned: Collection[str]
) -> Dialect | None:
    """The dialect of a CSV or TSV file, None for other formats.

    Prints a note to standard error if it is uncertain whether the first row is a header.
    """
    if format not in ("csv", "tsv"):
        return None
    dialect = detect_dialect(_sample(source), format, source.path, header, mentioned)
    refuse_duplicate_names(list(dialect.names), source.path, header is None)
    if not dialect.is_certain and not os.environ.get("ROSENBLATT_QUIET"):
        what, option = ("the header", "--no-header") if dialect.header else ("data", "--header")
        print(
            f"rosenblatt: {source.path}: the first row was taken for {what}; if that is wrong, "
            f"say {option} (header={not dialect.header})",
            file=sys.stderr,
        )
    return dialect


def _sample(source: ByteSource) -> bytes:
    """The beginning of a file, at least one whole line."""
    size = 2 * SAMPLE_BYTES
    while True:
        head = source.head(size)
        if b"\0" in head:
            message = "expected a table in UTF-8, found a zero byte; is this a binary file?"
            raise DataError(message, path=source.path)
        if len(head) < size or b"\n" in head[SAMPLE_BYTES:]:
            return head
        if size >= LONGEST_ROW:
            raise DataError(TOO_LONG, path=source.path, line=1 + head.count(b"\n"))
        size *= 2
