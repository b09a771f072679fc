"""What a source reads, as chunks: files of one format, a table in memory, a folder of texts."""

from __future__ import annotations

import hashlib
import os
import sys
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from itertools import chain
from operator import add
from pathlib import Path
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
)
from rosenblatt.data.cells import MISSING_WORDS, Words
from rosenblatt.data.formats import FORMATS, Format, Parsing, detect_format, named_format
from rosenblatt.data.sparse_lines import Lines
from rosenblatt.data.text_tables import SAMPLE_BYTES, Dialect, detect_dialect
from rosenblatt.errors import DataError, NoRowsError, counted, listed, shown, visible

BATCH_ROWS = 8192
_MANY_COLUMNS = 10_000
_PIECE_BYTES = 4 << 20  # of text files

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
            chunk = first(self._parsing(None, True))
            if chunk.table.num_rows == 0:
                raise self._no_rows(first, chunk.bad)
            if self.kind.batches is not None:
                refuse_duplicate_names(chunk.table.column_names, self.files[0])
            if not chunk.bad or self._skip:
                first = partial(_select, chunk, None)
            self._head = chunk.table
            self._begun = self._first_part, chain([first], items)
        return self._head

    @property
    def kind(self) -> Format:
        """The record of the format."""
        return FORMATS[self.format]

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
        how = self._parsing(columns, self._skip, numbers)
        for part in self.parts:
            (begun, items), self._begun = self._begun, (None, iter(()))
            if begun is None or part != begun or not self._has_read(columns):
                items = self._items(part, columns)
            for item in items:
                yield partial(item, how)

    def _has_read(self, columns: list[str] | None) -> bool:
        """Whether :meth:`head` has read the wanted columns and no others, or lines."""
        if self.kind.batches is None or columns is None or self._head is None:
            return True
        return set(columns) == set(self._head.column_names)

    def _items(self, part: Any, columns: list[str] | None) -> Iterator[Any]:
        """The chunks of a part as functions of a :class:`Parsing`."""
        if self.kind.batches is not None:
            return (partial(_select, c, self.kind) for c in self._columnar(part, columns))
        dialect, blocks = self._open(part)
        return (partial(self._parse, block, dialect) for block in blocks)

    def _parsing(
        self, columns: list[str] | None, skip: bool, numbers: Collection[str] = ()
    ) -> Parsing:
        schema = self.schema
        if schema is None and self._head is not None:
            schema = self._head.schema
        bits, multilabel, text = self.bits, self.multilabel, self.text_column
        return Parsing(columns, skip, numbers, self.missing, None, schema, bits, multilabel, text)

    def _parse(self, block: Block, dialect: Dialect | None, how: Parsing) -> Chunk | Lines:
        assert self.kind.parse is not None, "formats of columns have no blocks"
        chunk = self.kind.parse(block, how._replace(dialect=dialect))
        return chunk._replace(size=len(block.array))

    def _columnar(self, path: str, columns: list[str] | None) -> Iterator[Chunk]:
        return read_columnar(path, self.kind, columns, BATCH_ROWS)

    def blocks(self) -> Iterator[Block]:
        """The lines of all files, for formats of lines."""
        for path in self.files:
            yield from self._open(path)[1]

    def _open(self, path: str) -> tuple[Dialect | None, Iterator[Block]]:
        """The dialect of CSV and TSV, else None, and the blocks of a file after its header."""
        source = self._bytes(path)
        dialect = dialect_of(source, self.kind, self.header, self._mentioned)
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


def _select(chunk: Chunk, format: Format | None, how: Parsing) -> Chunk:
    """A chunk with some of its columns; one from a `format` of columns is validated.

    Arrow does not check the offsets in Arrow files, nor whether Parquet strings are UTF-8.
    """
    table = chunk.table if how.columns is None else chunk.table.select(how.columns)
    if format is None:
        return chunk._replace(table=table)
    try:
        table.validate(full=True)
    except pa.ArrowException as error:
        raise _unreadable(format, error, chunk.path, chunk.line_of(0) - 1) from None
    return chunk._replace(table=table, size=table.nbytes)


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


def read_columnar(
    path: str,
    format: Format,
    columns: list[str] | None,
    rows: int,
    open: Callable[[str], pa.NativeFile] = pa.OSFile,
    groups: range | None = None,
) -> Iterator[Chunk]:
    """Read a file of a format that holds columns, or `groups` of its parts, in batches.

    Lines are rows, counted from 1. The chunks are not validated.
    """
    done = 0
    if is_stream(path):
        name = "<stdin>" if path == STDIN else path
        message = f"{format.name} cannot be read from standard input or a pipe; name a file"
        raise DataError(message, path=name)
    assert format.batches is not None, "formats of lines are read by blocks"
    try:
        with open(path) as file:
            for batch in format.batches(file, columns, rows, groups):
                # Decodes the names, which may not be UTF-8.
                table = pa.Table.from_arrays(batch.columns, names=batch.schema.names)
                yield Chunk(table, path, partial(add, done + 1))
                done += batch.num_rows
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise _unreadable(format, error, path, done) from None


def _unreadable(format: Format, error: Exception, path: str, done: int) -> DataError:
    message = f"the {format.name.capitalize()} file cannot be read: {error}"
    return DataError(message, path=path, line=done + 1 if done else None)


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
                    content = shown(error.object[error.start : error.start + 20])
                    raise DataError(f"expected UTF-8, found {content}", path=path) from None
                bad += 1
            except OSError as error:
                raise DataError(f"cannot be read: {error.strerror}", path=path) from None
        table = pa.table({"label": labels, "text": pa.array(texts, pa.large_string())})
        chosen = table if columns is None else table.select(columns)
        return Chunk(chosen, self.files[0], partial(add, start + 1), bad, size)
