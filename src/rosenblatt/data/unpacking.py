"""What Parquet and Arrow files unpack to, looked at before they are unpacked.

A page or a buffer of a few bytes can claim gigabytes, which Arrow allocates, and a text that is
stored once may stand in every row.
"""

from __future__ import annotations

import struct
from collections.abc import Container, Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rosenblatt.data.bytes import LONGEST_ROW, TOO_LONG
from rosenblatt.data.cells import is_stringlike

BATCH_BYTES = 2 << 20  # of texts; hashed, each byte may become 48
_MOST_UNPACKED = 64 << 20  # bytes at once, unless the file has a hundredth of them
_SHARE = 100
_MOST_ABOUT = 64 << 20  # bytes that tell what a file or a batch holds
_UNSUSPICIOUS = (0, 1)  # codecs: none, and Snappy, which packs at most 1 : 21
_HEADER_BYTES = 1 << 10, 1 << 14, 1 << 18, 1 << 24  # tried in turn: a header may hold long texts
_DICTIONARY = 2  # a kind of page
_TEXT, _OF_FIXED_LENGTH, _REPEATED = 6, 7, 2  # kinds of values
_NO_SENSE = (
    *(LookupError, ValueError, TypeError, AttributeError),
    *(struct.error, OverflowError, RecursionError),
)
_DELTA_TEXTS, _OF_DICTIONARIES = 7, (2, 8)  # encodings


def refuse_bomb(unpacked: int, packed: int) -> None:
    """Raise ArrowInvalid if many bytes that are unpacked at once are packed in very few."""
    if unpacked > _MOST_UNPACKED and unpacked > _SHARE * packed:
        raise pa.ArrowInvalid(
            f"{packed:,} bytes of it unpack to {unpacked / 1e6:,.0f} MB at once; if that is meant, "
            "write it without compression, or in smaller pages and batches"
        )


class _Thrift:
    """Records in Thrift's compact protocol, as dicts by the number of the field."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def record(self) -> dict[int, Any]:
        """The record that begins here."""
        fields: dict[int, Any] = {}
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._integer()
            fields[number] = head & 15 == 1 if head & 15 < 3 else self._value(head & 15)
        return fields

    def _value(self, kind: int) -> Any:
        if kind in (4, 5, 6):
            return self._integer()
        if kind in (7, 8):  # a double, or bytes after their count
            size = 8 if kind == 7 else self._varint()
            self.at += size
            return self.data[self.at - size : self.at]
        if kind == 9:
            head = self._byte()
            count = head >> 4 if head < 240 else self._varint()
            return [self._value(head & 15) for _ in range(count)]
        if kind == 12:
            return self.record()
        return self._byte()

    def _integer(self) -> int:
        number = self._varint()
        return (number >> 1) ^ -(number & 1)

    def _varint(self) -> int:
        number = shift = 0
        while (byte := self._byte()) & 128:
            number |= (byte & 127) << shift
            shift += 7
            if shift > 63:
                raise ValueError("a number of more than 64 bits")
        return number | byte << shift

    def _byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]


class _Values(NamedTuple):
    """A column of values in a row group of a Parquet file."""

    path: str
    length: int  # of texts that all have as many bytes, else 0
    is_text: bool
    is_nested: bool
    codec: int
    values: int
    unpacked: int
    packed: int
    at: int


def _groups(file: pa.NativeFile) -> list[list[_Values]]:
    """The columns of each row group, from the metadata at the end of a file.

    Not by pyarrow, which ends the process at some damaged ones.
    """
    count = check_footer(file)
    return _parsed(_about(file, count, file.size() - 8 - count))


def check_footer(file: pa.NativeFile) -> int:
    """The bytes of metadata at the end of a Parquet file; ArrowInvalid if they are too many."""
    end = file.read_at(8, max(0, file.size() - 8))
    count = int.from_bytes(end[:4], "little") if end[4:] == b"PAR1" else 0
    _refuse_metadata(count)
    return count


def _about(file: pa.NativeFile, count: int, at: int) -> bytes:
    """The bytes that tell what a file or a batch holds."""
    _refuse_metadata(count)
    return bytes(file.read_at(count, max(0, at)))


def _refuse_metadata(count: int) -> None:
    if count > _MOST_ABOUT:
        raise pa.ArrowInvalid(f"it claims {count:,} bytes of metadata; {_MOST_ABOUT:,} are allowed")


@lru_cache(maxsize=4)
def _parsed(metadata: bytes) -> list[list[_Values]]:
    about = _Thrift(metadata).record()
    leaves = [element for element in about[2] if 1 in element]
    return [
        [_values(element, chunk[3]) for element, chunk in zip(leaves, group[1], strict=True)]
        for group in about[4]
    ]


def _values(element: dict[int, Any], chunk: dict[int, Any]) -> _Values:
    names = [name.decode() for name in chunk[3]]
    return _Values(
        ".".join(names),
        element.get(2, 0) if chunk[1] == _OF_FIXED_LENGTH else 0,
        chunk[1] == _TEXT,
        len(names) > 1 or element.get(3) == _REPEATED,
        chunk[4],
        chunk[5],
        chunk[6],
        chunk[7],
        min(chunk[9], chunk.get(11) or chunk[9]),
    )


class _Page(NamedTuple):
    """A page by its header: sizes are bytes."""

    kind: int
    unpacked: int
    packed: int
    values: int
    encoding: int


def _pages(file: pa.NativeFile, chunk: _Values) -> Iterator[_Page]:
    """The pages of a column of a row group, by their headers.

    In a file of a remote store, where each look is a request, the column is taken for one page.
    """
    if not isinstance(file, pa.OSFile):
        yield _Page(0, chunk.unpacked, chunk.packed, chunk.values, 0)
        return
    at, end = chunk.at, chunk.at + chunk.packed
    while at < end:
        for size in _HEADER_BYTES:
            thrift = _Thrift(file.read_at(size, at))
            try:
                header = thrift.record()
                # Of a page with values, of a dictionary, and of a page of the second version.
                about = header.get(5) or header.get(7) or header.get(8) or {}
                encoding = about.get(4 if 8 in header else 2, 0)
                page = _Page(header[1], header[2], header[3], about.get(1, 0), encoding)
                break
            except _NO_SENSE:
                if len(thrift.data) < size or size == _HEADER_BYTES[-1]:
                    raise
        if min(page) < 0:
            raise ValueError("a page of negative size")
        yield page
        at += thrift.at + page.packed


def rows_at_once(
    file: pa.NativeFile, columns: list[str] | None, rows: int, groups: Container[int]
) -> int:
    """How many rows of a Parquet file to decode at once: `rows`, halved until their texts fit.

    Raises ArrowInvalid for pages that unpack to far more than the file has.
    """
    longest, names = 0, None if columns is None else frozenset(columns)
    with _sense():
        for number, group in enumerate(_groups(file)):
            if number in groups:
                longest = max(longest, _longest(file, names, rows, number, group))
    while rows > 1 and rows * longest > _MOST_UNPACKED:
        rows //= 2
    return rows


@contextmanager
def _sense() -> Iterator[None]:
    """Raise ArrowInvalid for what Python raises at metadata that make no sense."""
    try:
        yield
    except pa.ArrowException:
        raise
    except _NO_SENSE as error:
        raise pa.ArrowInvalid(f"its metadata make no sense: {error}") from None


def _longest(
    file: pa.NativeFile,
    columns: Container[str] | None,
    rows: int,
    number: int,
    group: list[_Values],
) -> int:
    """About the bytes of the longest text in a row group, if rows of these are much."""
    longest = unpacked = packed = 0
    for chunk in group:
        if columns is not None and not _belongs(chunk.path, columns):
            continue
        longest = max(longest, chunk.length)
        if chunk.codec in _UNSUSPICIOUS and not (chunk.is_text or chunk.is_nested):
            continue
        pages = list(_pages(file, chunk))
        dictionaries = [page for page in pages if page.kind == _DICTIONARY]
        # One of each is in memory at a time.
        for these in (dictionaries, [page for page in pages if page.kind != _DICTIONARY]):
            largest = max(these, key=lambda page: page.unpacked, default=None)
            if largest is not None:
                unpacked, packed = unpacked + largest.unpacked, packed + largest.packed
        if chunk.is_nested:
            unpacked += 8 * sum(page.values for page in pages)
        if chunk.is_text:
            longest = max([longest, *map(_mean_text, pages)])
            if any(page.unpacked * rows > _MOST_UNPACKED for page in dictionaries):
                longest = max(longest, _longest_repeated(file, number, chunk.path))
    refuse_bomb(unpacked, packed)
    return longest


def _belongs(path: str, columns: Container[str]) -> bool:
    """Whether a column of values is one of `columns`, or inside of one."""
    parts = path.split(".")
    return any(".".join(parts[: i + 1]) in columns for i in range(len(parts)))


def _mean_text(page: _Page) -> int:
    """The mean size of the texts of a page, or the largest possible one if they share bytes."""
    if page.kind == _DICTIONARY or page.encoding in _OF_DICTIONARIES:
        return 0
    return page.unpacked // (1 if page.encoding == _DELTA_TEXTS else max(page.values, 1))


def _longest_repeated(file: pa.NativeFile, group: int, path: str) -> int:
    """The bytes of the longest text in the dictionary of a column of a row group."""
    from pyarrow import parquet

    with parquet.ParquetFile(
        file, read_dictionary=[path], buffer_size=1 << 16, pre_buffer=False
    ) as opened:
        texts = next(opened.iter_batches(1, [group], [path])).column(0)
    return int(_text_sizes(texts.dictionary).max(initial=0)) if _is_coded(texts) else 0


def _is_coded(cells: pa.Array) -> bool:
    """Whether cells are numbers of values in a dictionary."""
    return bool(pa.types.is_dictionary(cells.type))


def _text_sizes(cells: pa.Array) -> np.ndarray:
    """The bytes of each cell, if it is text, decoded."""
    kind, n = cells.type, len(cells)
    if _is_coded(cells):
        sizes = pa.array(_text_sizes(cells.dictionary)).take(cells.indices)
    elif pa.types.is_string_view(kind) or pa.types.is_binary_view(kind):
        views = np.frombuffer(cells.buffers()[1], np.int32).reshape(-1, 4)
        return views[cells.offset : cells.offset + n, 0].astype(np.int64)
    elif is_stringlike(kind):
        sizes = pc.binary_length(cells)
    else:
        return np.zeros(n, np.int64)
    return pc.fill_null(sizes, 0).to_numpy(zero_copy_only=False).astype(np.int64)


def small_batches(batches: Iterable[pa.RecordBatch], rows: int) -> Iterator[pa.RecordBatch]:
    """Batches joined to `rows` rows, or cut, so that the texts of each fit."""
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        enough = sum(b.num_rows for b in waiting) >= rows
        if enough or sum(b.nbytes for b in waiting) > BATCH_BYTES:
            yield from _cut(_joined(waiting))
            waiting = []
    if waiting:
        yield from _cut(_joined(waiting))


def _joined(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    if len(batches) == 1:
        return batches[0]
    return pa.Table.from_batches(batches).combine_chunks().to_batches()[0]


def _cut(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """A batch, cut so that each part has texts of at most `BATCH_BYTES`, or one row."""
    texts = [cells for cells in batch.columns if _is_coded(cells) or is_stringlike(cells.type)]
    if not texts:
        yield batch
        return
    sizes = sum(map(_text_sizes, texts), np.zeros(batch.num_rows, np.int64))
    if sizes.max(initial=0) > LONGEST_ROW or sizes.min(initial=0) < 0:
        raise pa.ArrowInvalid(TOO_LONG)
    ends = np.cumsum(sizes)
    begin = 0
    while begin < batch.num_rows:
        before = ends[begin - 1] if begin else 0
        end = int(np.searchsorted(ends, before + BATCH_BYTES, side="right"))
        yield batch.slice(begin, max(end, begin + 1) - begin)
        begin = max(end, begin + 1)


class _Flat(NamedTuple):
    """A table of a flatbuffer: its bytes, and where it begins."""

    data: bytes
    at: int

    def place(self, field: int) -> int:
        """Where a field of the table lies; 0 if it is left out."""
        fields = self.at - self.number("i", self.at)
        if 4 + 2 * field >= self.number("H", fields):
            return 0
        offset = self.number("H", fields + 4 + 2 * field)
        return self.at + offset if offset else 0

    def number(self, kind: str, at: int) -> int:
        """The number of a kind, as `struct` calls it, at a place."""
        if at < 0:
            raise ValueError("a place before the begin")
        return int(struct.unpack_from("<" + kind, self.data, at)[0])

    def table(self, field: int) -> _Flat | None:
        """The table that a field refers to."""
        at = self.place(field)
        return _Flat(self.data, at + self.number("I", at)) if at else None

    def structs(self, field: int, kind: str) -> list[tuple[int, ...]]:
        """The structs of a vector."""
        at = self.place(field)
        if not at:
            return []
        begin = at + self.number("I", at)
        size = self.number("I", begin) * struct.calcsize("<" + kind)
        if begin + 4 + size > len(self.data):
            raise ValueError("a vector that is longer than the data")
        return list(struct.iter_unpack("<" + kind, self.data[begin + 4 : begin + 4 + size]))


def check_arrow(file: pa.NativeFile, is_file: bool) -> None:
    """Raise ArrowInvalid for batches of a local Arrow file that unpack to far too much."""
    if not isinstance(file, pa.OSFile):
        return
    size, at = file.size(), 0
    with _sense():
        if is_file:
            (count,) = struct.unpack("<I", file.read_at(4, max(0, size - 10)))
            footer = _root(_about(file, count, size - 10 - count))
            for at, _, _ in [*footer.structs(2, "qi4xq"), *footer.structs(3, "qi4xq")]:
                _check_message(file, at)
        while at < size and not is_file:
            at = _check_message(file, at)


def _root(data: bytes) -> _Flat:
    return _Flat(data, _Flat(data, 0).number("I", 0))


def _check_message(file: pa.NativeFile, at: int) -> int:
    """Check the message at a place of an Arrow file; return where the next one begins."""
    first, size = struct.unpack("<ii", file.read_at(8, at).ljust(8, b"\0"))
    begin = at + 8
    if first != -1:  # as written before Arrow 0.15
        begin, size = at + 4, first
    if size == 0:
        return file.size()
    if size < 0 or at < 0:
        raise ValueError("a message of negative length")
    message = _root(_about(file, size, begin))
    kind, batch, length = message.place(1), message.table(2), message.place(3)
    body = begin + size
    end = body + (message.number("q", length) if length else 0)
    if end <= at:
        raise ValueError("a message of negative length")
    kind = message.data[kind] if kind else 0
    if batch is not None and kind == 2:  # of a dictionary
        batch = batch.table(1)
    if batch is not None and kind in (2, 3) and batch.place(3):
        unpacked = 0
        for offset, packed in batch.structs(2, "qq"):
            if packed >= 8:
                (claim,) = struct.unpack("<q", file.read_at(8, body + offset))
                unpacked += max(claim, packed if claim == -1 else 0)
        refuse_bomb(unpacked, end - body)
    return end
