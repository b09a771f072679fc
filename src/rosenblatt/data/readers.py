"""What a source reads, as chunks: files, or a table in memory."""

from __future__ import annotations

import hashlib
import math
import os
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import chain
from operator import add
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pyarrow as pa

from rosenblatt.data.arrow_tables import Chunk
from rosenblatt.data.bytes import (
    LONGEST_ROW,
    STDIN,
    TOO_LONG,
    Block,
    ByteSource,
    fingerprint,
    is_stream,
    last_change,
    read_blocks,
    status,
)
from rosenblatt.data.cells import MISSING_WORDS, Words
from rosenblatt.data.columnar import BATCH_ROWS, columnar_sample, read_columnar, select
from rosenblatt.data.formats import FORMATS, Format, Parsing, detect_format, named_format
from rosenblatt.data.samples import Sampled, block_at, place_bytes, places, slices
from rosenblatt.data.sparse_lines import Lines, lines_table
from rosenblatt.data.text_tables import (
    SAMPLE_BYTES,
    Dialect,
    detect_dialect,
    is_json_array,
    json_array_blocks,
)
from rosenblatt.errors import DataError, NoRowsError, counted, listed, shown, visible
from rosenblatt.kernels.crosses import NO_PRODUCTS
from rosenblatt.kernels.sparse_lines import parse_vw

_MANY_COLUMNS = 10_000
_LATER_BYTES = 1 << 20
_TAG_BYTES = 1 << 14  # that tell whether rows of Vowpal Wabbit files have tags
LOOK_BYTES = 1 << 10  # that tell an array of JSON objects from lines

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
    products = NO_PRODUCTS  # of the features of Vowpal Wabbit lines
    multilabel = False  # whether lines of fastText may have several labels
    schema: pa.Schema | None = None  # the columns of a table, if known without reading
    _first_file: ByteSource | None = None  # opened to detect the format, not yet read
    _head: pa.Table | None = None
    _head_lines: Callable[[int], int] = partial(add, 1)
    _sample: list[pa.Table] | None = None
    _head_bytes = 0
    begins_only = False  # whether the sample is the first rows, and more follow
    _has_one_format = True
    _statuses: Mapping[str, Any] = MappingProxyType({})  # of the files when they were opened
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
        self._statuses = {} if stream is not None else {path: status(path) for path in files}
        self.parts: Sequence[Any] = files
        self._first_part: Any = files[0]  # of which the head is read
        self._mentioned, self.header = mentioned, header
        self._skip, self._block_bytes, self._stream = skip, block_bytes, stream
        self._first_file = ByteSource(files[0], stream, live)
        self.format = format or detect_format(files[0], self._first_file.head)
        self._has_one_format = format is not None

    def head(self) -> pa.Table:
        """The first rows of the first file, with all columns; iteration still starts with them."""
        if self._head is None:
            items = self._items(self._first_part, None)
            first = next(items, None)
            if first is None:
                raise NoRowsError("the file has no rows", path=self.files[0])
            chunk = first(self._parsing(None, True))
            if chunk.table.num_rows == 0:
                raise self._no_rows(first, chunk.bad)
            if self.kind.batches is not None:
                refuse_duplicate_names(chunk.table.column_names, self.files[0])
            if not chunk.bad or self._skip:
                first = partial(select, chunk, None)
            self._head, self._head_lines = chunk.table, chunk.line_of
            self._head_bytes = chunk.size
            self._begun = self._first_part, chain([first], items)
        return self._head

    def head_chunk(self) -> Chunk:
        """The first rows with their lines."""
        return Chunk(self.head(), self.files[0], self._head_lines)

    def sample(self) -> list[pa.Table]:
        """Rows from all over the files, place by place; the first ones, where that is costly."""
        if self._sample is None:
            self._sample = self._read_sample() or slices(self.head())
        return self._sample

    def _read_sample(self) -> list[pa.Table]:
        """Rows from all over the files; empty if the head has as many, or they cannot be read."""
        head, files = self.head(), self._sampled_files()
        is_small = len(files) == 1 and (files[0].only_begin or files[0].size <= self._block_bytes)
        is_read_on = len(files) > 1 or any(not file.only_begin for file in files)
        self.begins_only = not is_read_on and self._head_bytes > self._block_bytes // 2
        if is_small and self.kind.batches is None:
            return []
        how, tables = self._parsing(head.column_names, True), []
        if self.kind.batches is not None:
            return columnar_sample([f.path for f in files], self.kind, self._open_raw, head.schema)
        step = max((place_bytes(file.dialect) for file in files), default=1)
        for file, at in places(files, step):
            if block := block_at(file, at, self._open_raw):
                known = head.column_names
                if file.dialect is not None:
                    names = set(file.dialect.names)
                    known = [name for name in known if name in names]
                chunk = self._parse(block, file.dialect, how._replace(columns=known), self.kind)
                assert isinstance(chunk, Chunk), "only tables are sampled"
                tables.append(chunk.table)
        return [table for table in tables if table.num_rows]

    def _sampled_files(self) -> list[Sampled]:
        """The files as far as they can be sampled: those of the first format, on a disk."""
        files: list[Sampled] = []
        if self._stream is not None or not self.kind.names_columns:
            return files
        for path in self.files:
            if is_stream(path) or self._kind_of(path) is not self.kind:
                continue
            if self.kind.batches is not None:
                files.append(Sampled(path, 0))
                continue
            source = ByteSource(path)
            dialect = dialect_of(source, self.kind, self.header, self._names_mentioned())
            begin = source.compression is not None or is_json_array(source.head(LOOK_BYTES))
            files.append(Sampled(path, Path(path).stat().st_size, dialect, begin))
            source.close()
        return files

    def _open_raw(self, path: str) -> pa.NativeFile:
        """A file open for reading at any place."""
        return pa.OSFile(path)

    @property
    def kind(self) -> Format:
        """The record of the format, of the first file if there are several."""
        return FORMATS[self.format]

    def _kind_of(self, part: Any) -> Format:
        """The format of a file: tables may be of several."""
        named = None if self._has_one_format else named_format(part)
        kind = self.kind if named is None else FORMATS[named]
        return kind if kind.names_columns and self.kind.names_columns else self.kind

    @property
    def column_names(self) -> list[str]:
        """The names of all columns."""
        return self.schema.names if self.schema else self.head().column_names

    def _no_rows(self, first: Any, bad: int) -> DataError:
        """The error for a file without rows, or with bad rows only."""
        if not bad:
            return NoRowsError("the file has no rows", path=self.files[0])
        try:
            first(self._parsing(None, False))
        except DataError as error:
            if not self._skip:
                return error
            message = f"no row can be read: {counted(bad, 'bad row')} left out. The first: {error}"
            return DataError(message, path=self.files[0])
        raise AssertionError("bad rows raise if they are not skipped")

    def has_several_labels(self) -> bool:
        """Whether a row at the beginning has several labels, in a format that shows it."""
        if self.kind.several is None or self._first_file is None:
            return False
        return bool(self.kind.several(self._first_file.head(1 << 16)))

    def prefer_plain_text(
        self, columns: list[str], is_one_text: bool, format: str | None, live: bool
    ) -> None:
        """Read plain text, one row per line, for a model of one column of text.

        Unless the format is given, told by the file name, or there is a header with the column.
        `live` standard input is text also if its first line happens to have a label.
        """
        self.text_column = columns[0] if columns else self.text_column
        if format is None and is_one_text:
            has_labels = live and self.kind.name == "fasttext" and is_stream(self.files[0])
            if has_labels or self._may_be_text():
                self.format = "text"

    def _may_be_text(self) -> bool:
        file = self._first_file
        if not self.kind.delimiters or named_format(self.files[0]) or file is None:
            return False
        if not (sample := _sample(file)).strip():
            return True
        dialect = detect_dialect(sample, self.kind.delimiters, self.files[0], None, self._mentioned)
        one_column = len(dialect.names) == 1
        if one_column and ".txt" in map(str.lower, Path(self.files[0]).suffixes):
            return True  # whose first line may happen to be the name of the column
        return not set(self._mentioned) & set(dialect.names) or dialect.names == ("1",)

    def fingerprint(self) -> dict[str, Any]:
        """Names, sizes and digests of samples, to recognise the files again."""
        return {"format": self.format, "files": [fingerprint(path) for path in self.files]}

    @property
    def size(self) -> float:
        """The bytes of all files as they lie on the disk; infinite for streams and stores."""
        statuses = self._statuses.values()
        return sum(math.inf if about is None else about[2] for about in statuses) or math.inf

    def last_changes(self) -> list[int | None]:
        """Per file :func:`last_change`."""
        return [last_change(path) for path in self.files]

    def has_tags(self) -> bool:
        """Whether rows at the beginning have tags, in the format that has them."""
        if self.kind.name != "vw":
            return False
        if self._first_file is None:
            data = next(self._open(self._first_part)[1]).array
        else:
            data = Block.of(self._first_file.head(_TAG_BYTES) + b"\n", "").array
        tags = parse_vw(data, self.bits).tags
        return bool(tags is not None and (tags[:, 1] > tags[:, 0]).any())

    def first_lines(self) -> pa.Table:
        """The first lines of the first file, unparsed, in one cell."""
        return lines_table(next(self._open(self.parts[0])[1]).array)

    def pieces(self, columns: list[str] | None, numbers: Collection[str] = ()) -> Iterator[Piece]:
        """All chunks in order, each as a function that reads it.

        None means all columns; `numbers` are the columns of CSV and TSV that hold numbers.
        """
        if columns is None and len(self.parts) > 1 and self.kind.names_columns:
            columns = self.column_names
        how = self._parsing(columns, self._skip, numbers)
        for part in self.parts:
            (begun, items), self._begun = self._begun, (None, iter(()))
            if begun is None or part != begun or not self._has_read(columns):
                items = self._items(part, columns)
            for item in items:
                yield partial(item, how)
                self._check_unchanged([part])
        self._check_unchanged()

    @contextmanager
    def unchanged(self) -> Iterator[None]:
        """Raise a DataError that says so if rows are wrong as a file was changed meanwhile."""
        try:
            yield
        except DataError:
            self._check_unchanged()
            raise

    def _check_unchanged(self, parts: Iterable[Any] | None = None) -> None:
        """Raise DataError if a file, by default of all, is not as it was when it was opened.

        One that was deleted can still be read.
        """
        for path in self._statuses if parts is None else parts:
            before = self._statuses.get(path) if isinstance(path, str) else None
            if before is not None and status(path) not in (before, None):
                raise DataError("was changed while it was read", path=path)

    def _has_read(self, columns: list[str] | None) -> bool:
        """Whether :meth:`head` has read the wanted columns and no others, or lines."""
        if self.kind.batches is None or columns is None or self._head is None:
            return True
        return set(columns) == set(self._head.column_names)

    def _items(self, part: Any, columns: list[str] | None) -> Iterator[Any]:
        """The chunks of a part as functions of a :class:`Parsing`."""
        kind = self._kind_of(part)
        if kind.batches is not None:
            return (partial(select, c, kind) for c in self._columnar(part, columns, kind))
        dialect, blocks = self._open(part)
        return (partial(self._parse, block, dialect, kind=kind) for block in blocks)

    def _parsing(
        self, columns: list[str] | None, skip: bool, numbers: Collection[str] = ()
    ) -> Parsing:
        schema = self.schema
        if schema is None and self._head is not None:
            schema = self._head.schema
        return Parsing(
            columns,
            skip,
            numbers,
            self.missing,
            None,
            schema,
            self.bits,
            self.products,
            self.multilabel,
            self.text_column,
        )

    def _parse(
        self, block: Block, dialect: Dialect | None, how: Parsing, kind: Format
    ) -> Chunk | Lines:
        assert kind.parse is not None, "formats of columns have no blocks"
        chunk = kind.parse(block, how._replace(dialect=dialect))
        return chunk._replace(size=len(block.array))

    def _columnar(self, path: str, columns: list[str] | None, kind: Format) -> Iterator[Chunk]:
        return read_columnar(path, kind, columns, BATCH_ROWS)

    def blocks(self) -> Iterator[Block]:
        """The lines of all files, for formats of lines."""
        with self.unchanged():
            for path in self.files:
                yield from self._open(path)[1]
        self._check_unchanged()

    def _open(self, path: str) -> tuple[Dialect | None, Iterator[Block]]:
        """The dialect of CSV and TSV, else None, and the blocks of a file after its header."""
        source, kind = self._bytes(path), self._kind_of(path)
        header = self.header if self.kind.delimiters else None
        if kind.name == "jsonl" and is_json_array(source.head(LOOK_BYTES)):
            return None, json_array_blocks(source)
        dialect = dialect_of(source, kind, header, self._names_mentioned())
        if dialect is None:
            return None, self._blocks(source, None)
        if self._head is None:
            self.header = dialect.header
        elif not dialect.header:
            check_width(dialect, self._head.column_names, source.path)
        return dialect, self._blocks(source, dialect)

    def _names_mentioned(self) -> Collection[str]:
        """The names that tell a header from data: also those of the first file."""
        return self._mentioned if self._head is None else self._head.column_names

    def _blocks(self, source: ByteSource, dialect: Dialect | None) -> Iterator[Block]:
        start = dialect.start if dialect else 0
        # The first block shows what the columns are; small ones stay in the processor's cache.
        sizes = [self._block_bytes, min(self._block_bytes, _LATER_BYTES)]
        if dialect and len(dialect.names) > _MANY_COLUMNS:  # a block should have hundreds of rows
            sizes = [max(size, 512 * len(dialect.names)) for size in sizes]
        for block in read_blocks(source, sizes[0], dialect.quoting if dialect else "", sizes[1]):
            rows = block.after(min(start, len(block.array))) if start else block
            start -= len(block.array) - len(rows.array)
            # Blank blocks are skipped. In plain text a blank line is a row: there are as many
            # predictions as lines.
            if self.kind.blank_rows or rows.array[:1000].tobytes().strip() or rows.data.strip():
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


def check_width(dialect: Dialect, expected: Sequence[str], path: str) -> None:
    """Raise DataError for a file without a header that has not as many columns as the first."""
    if len(dialect.names) != len(expected):
        message = f"the columns are {listed(dialect.names)}, not as in the first file: "
        raise DataError(message + listed(expected), path=path, line=1)


def refuse_duplicate_names(names: list[str], path: str, is_detected: bool = False) -> None:
    """Raise DataError if two columns have the same name; `is_detected` means the header is."""
    if len(set(names)) < len(names):
        twice = next(name for name, count in Counter(names).items() if count > 1)
        hint = "; if the first row is data, say --no-header (header=False)" if is_detected else ""
        raise DataError(
            f"the column name {shown(twice)} occurs twice in the header{hint}", path=path
        )


def dialect_of(
    source: ByteSource, format: Format, header: bool | None, mentioned: Collection[str]
) -> Dialect | None:
    """The dialect of a file whose format has delimiters, None for others.

    Prints a note to standard error if it is uncertain whether the first row is a header.
    """
    if not format.delimiters:
        return None
    dialect = detect_dialect(_sample(source), format.delimiters, source.path, header, mentioned)
    refuse_duplicate_names(list(dialect.names), source.path, header is None)
    if not dialect.is_certain and not os.environ.get("ROSENBLATT_QUIET"):
        what, option = ("the header", "--no-header") if dialect.header else ("data", "--header")
        print(
            f"rosenblatt: {visible(source.path)}: the first row was taken for {what}; "
            f"if that is wrong, say {option} (header={not dialect.header})",
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

    def _read_sample(self) -> list[pa.Table]:
        return slices(self._table)

    def pieces(self, columns: list[str] | None, numbers: Collection[str] = ()) -> Iterator[Piece]:
        """Slices of the table."""
        table = self._table if columns is None else self._table.select(columns)
        # Not `nbytes`, which older versions of Arrow lack for some types, such as those of polars.
        size = table.get_total_buffer_size()
        for start in range(0, table.num_rows, BATCH_ROWS):
            part = table.slice(start, BATCH_ROWS)
            share = size * part.num_rows // table.num_rows
            yield partial(Chunk, part, self.files[0], partial(add, start + 1), 0, share)
