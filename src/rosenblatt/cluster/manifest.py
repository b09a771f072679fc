"""Which shards a data set has: decided by the files alone, never by the workers.

A file of lines can be cut after a line break that ends a row, not within quotes. A line break near
the wanted place is a candidate. Whether the quotes before it are all closed is a question to all
bytes before it; each part between two candidates is looked at on its own, by whoever has time,
supposing that it begins with a row. A part that ends within quotes moves the candidate behind it to
the next row end, and the part that begins there is looked at again.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from rosenblatt.cluster.stores import (
    bytes_of,
    expand_all,
    identity,
    open_file,
    size_of,
    store_errors,
)
from rosenblatt.data.arrow_tables import read_columnar
from rosenblatt.data.bytes import ByteSource, quoted_values
from rosenblatt.data.csv_tables import Dialect
from rosenblatt.data.files import check_format, detect_format
from rosenblatt.data.readers import dialect_of
from rosenblatt.errors import DataError, listed

_LINES = ("csv", "tsv", "jsonl", "svmlight", "fasttext", "vw")
_SHARDS = 16  # of a data set that is not so large as to need more
_LEAST_BYTES, _MOST_BYTES = 1 << 20, 64 << 20  # of a shard, unless their number was asked for

_WINDOW = 1 << 16

Look = Callable[[list[tuple[int, int]]], Iterable[bool]]
Work = Callable[..., Any]
Spread = Callable[[Work, Sequence[tuple[Any, ...]]], Iterable[Any]]
"""Calls a function with each of some tuples of arguments, perhaps elsewhere; results in order."""


class File(NamedTuple):
    """A file, and what must be known to read parts of it."""

    path: str
    about: dict[str, Any]  # what tells it from other files
    size: int
    packed: bool = False  # compressed, so that it cannot be cut
    dialect: Dialect | None = None  # how CSV and TSV are written
    groups: tuple[int, ...] = ()  # the bytes of each row group of a Parquet file
    names: tuple[str, ...] = ()  # the columns of a Parquet or Arrow file

    @property
    def has_lines(self) -> bool:
        """Whether it can be cut at the ends of lines."""
        return not self.packed and not self.names


class Range(NamedTuple):
    """A part of a file: row groups of Parquet, bytes of others."""

    file: File
    start: int
    end: int

    @property
    def size(self) -> int:
        """Its bytes."""
        groups = self.file.groups
        return sum(groups[self.start : self.end]) if groups else self.end - self.start


Shard = tuple[Range, ...]


@dataclass(frozen=True)
class Manifest:
    """The shards of a data set, in the order of the files."""

    format: str
    files: tuple[File, ...]
    shards: tuple[Shard, ...]

    def __len__(self) -> int:
        return len(self.shards)

    def to_json(self) -> dict[str, Any]:
        """What a model keeps of it: the files, and the parts of each shard by file number."""
        numbers = {file.path: i for i, file in enumerate(self.files)}
        return {
            "format": self.format,
            "files": [file.about for file in self.files],
            "shards": [[[numbers[p.file.path], p.start, p.end] for p in s] for s in self.shards],
        }


def make_manifest(
    paths: Any,
    *,
    format: str | None = None,
    header: bool | None = None,
    mentioned: Sequence[str] = (),
    shards: int | None = None,
    spread: Spread | None = None,
) -> Manifest:
    """Cut files into shards of about equal size.

    Parameters
    ----------
    paths
        Files and patterns, here or in a store.
    format, header
        As for :func:`rosenblatt.data.open`.
    mentioned : sequence of str
        Names of columns that the user mentioned.
    shards : int, optional
        About how many; by default 16, or more if these would be larger than 64 MB.
    spread : callable, optional
        Looks at files and parts of files elsewhere.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "a.csv"
    >>> _ = path.write_text("label,x\\n" + "yes,1\\nno,2\\n" * 50)
    >>> manifest = make_manifest(path, shards=4)
    >>> [[(part.start, part.end) for part in shard] for shard in manifest.shards]
    [[(0, 140)], [(140, 283)], [(283, 421)], [(421, 558)]]
    """
    check_format(format)
    names, call = expand_all(paths), spread or _here
    first = _format_of(names[0]) if format is None else format
    if first not in (*_LINES, "parquet", "arrow"):
        raise DataError(f"{first} files cannot be cut into shards", path=names[0])
    arguments = [(path, first, header, tuple(mentioned)) for path in names]
    files = tuple(call(look_at, arguments))
    for file in files[1:]:
        _must_be_alike(file, files[0])
    total = sum(sum(file.groups) if file.groups else file.size for file in files)
    if shards is None:
        target = min(_MOST_BYTES, max(_LEAST_BYTES, -(-total // _SHARDS)))
    else:
        target = max(1, -(-total // shards))
    ranges = [part for file in files for part in _cut(file, target, call)]
    return Manifest(first, files, tuple(_grouped(ranges, target)))


def name_of(*parts: Any) -> str:
    """A name that is a hash of plain data: the same data have the same name, here and elsewhere."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=repr).encode()).hexdigest()[:32]


def look_at(path: str, format: str, header: bool | None, mentioned: tuple[str, ...]) -> File:
    """What must be known of a file to cut it and to read its parts."""
    about, size = identity(path), size_of(path)
    if format == "parquet":
        return _look_at_parquet(path, about, size)
    if format == "arrow":
        first = next(read_columnar(path, format, None, 1, open_file), None)
        names = tuple(first.table.column_names) if first is not None else ("",)
        return File(path, about, size, names=names)
    source = ByteSource(path, open_file(path))
    dialect = dialect_of(source, format, header, mentioned)
    return File(path, about, size, source.compression is not None, dialect)


def _look_at_parquet(path: str, about: dict[str, Any], size: int) -> File:
    from pyarrow import parquet

    with store_errors(path), open_file(path) as file:
        metadata = parquet.read_metadata(file)
        groups = tuple(
            metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups)
        )
        return File(path, about, size, groups=groups or (0,), names=tuple(metadata.schema.names))


def _format_of(path: str) -> str:
    return detect_format(path, ByteSource(path, open_file(path)).head)


def _must_be_alike(file: File, first: File) -> None:
    """Refuse a file whose columns are not those of the first; of Parquet, in any order."""
    if file.dialect is not None and first.dialect is not None:
        own, expected = file.dialect.names, first.dialect.names
    else:
        own, expected = tuple(sorted(file.names)), tuple(sorted(first.names))
    if own != expected:
        message = f"the columns are {listed(own)}, not as in the first file: {listed(expected)}"
        raise DataError(message, path=file.path)


def _cut(file: File, target: int, call: Spread) -> list[Range]:
    """The parts of a file, of about a size."""
    if file.groups:
        return [Range(file, i, i + 1) for i in range(len(file.groups))]
    count = max(1, round(file.size / target)) if file.has_lines else 1
    quoting = file.dialect.quoting if file.dialect else ""

    def look(parts: list[tuple[int, int]]) -> Iterable[bool]:
        return call(ends_within_quotes, [(file.path, *part, quoting) for part in parts])

    start = file.dialect.start if file.dialect else 0
    wanted = [at for i in range(1, count) if (at := file.size * i // count) > start]
    cuts = row_ends(file.path, wanted, file.size, quoting, look) if wanted else []
    edges = [0, *cuts, file.size]
    return [Range(file, a, b) for a, b in itertools.pairwise(edges)]


def _grouped(ranges: list[Range], target: int) -> Iterable[Shard]:
    """Put small parts together, in order, up to about a size; parts that touch become one."""
    shard: list[Range] = []
    for part in ranges:
        if shard and sum(p.size for p in shard) + part.size > target * 1.05:
            yield tuple(shard)
            shard = []
        if shard and shard[-1].file is part.file and shard[-1].end == part.start:
            shard[-1] = Range(part.file, shard[-1].start, part.end)
        else:
            shard.append(part)
    yield tuple(shard)


def _here(work: Work, arguments: Sequence[tuple[Any, ...]]) -> Iterable[Any]:
    return [work(*some) for some in arguments]


def row_ends(path: str, wanted: list[int], size: int, delimiter: str, look: Look) -> list[int]:
    """The places nearest after the wanted ones, which increase, at which a row begins.

    `look` tells of parts, given by begin and end, whether they end within quotes, where these mean
    something: where there is a delimiter.

    >>> import tempfile, pathlib
    >>> path = str(pathlib.Path(tempfile.mkdtemp()) / "a.csv")
    >>> _ = pathlib.Path(path).write_bytes(b'1,2\\n"3\\n",4\\n5,6\\n')
    >>> look = lambda parts: [ends_within_quotes(path, *part, ",") for part in parts]
    >>> row_ends(path, [5], 15, ",", look), row_ends(path, [5], 15, "", look)
    ([11], [7])
    """
    cuts = sorted({cut for at in wanted if (cut := _next_line(path, at, size)) < size})
    if not delimiter or not cuts:
        return cuts
    edges, open_at_end = [0, *cuts, size], dict[tuple[int, int], bool]()
    while True:
        parts = list(itertools.pairwise(edges))
        unknown = [part for part in parts[:-1] if part not in open_at_end]
        open_at_end |= dict(zip(unknown, look(unknown), strict=True))
        inside = next((part for part in parts[:-1] if open_at_end[part]), None)
        if inside is None:
            return edges[1:-1]
        moved = _row_end_after_quotes(path, inside[1], size, delimiter)
        edges = [edge for edge in edges if edge <= inside[0] or edge > max(inside[1], moved)]
        edges = sorted({*edges, *([moved] if moved < size else []), size})


def ends_within_quotes(path: str, start: int, end: int, delimiter: str) -> bool:
    """Whether a part of a file that begins with a row and ends with a line break ends in quotes."""
    data = np.frombuffer(bytes_of(path, start, end), np.uint8)
    values = quoted_values(data, delimiter)
    return len(values) > 0 and int(values[-1][1]) >= len(data)


def _next_line(path: str, at: int, size: int) -> int:
    """The place after the next line break."""
    for begin in range(at, size, _WINDOW):
        if (found := bytes_of(path, begin, begin + _WINDOW).find(b"\n")) >= 0:
            return begin + found + 1
    return size


def _row_end_after_quotes(path: str, at: int, size: int, delimiter: str) -> int:
    """The end of the first row after a place within quotes."""
    window = _WINDOW
    while True:
        data = np.frombuffer(b'"' + bytes_of(path, at, at + window), np.uint8)
        edges = [int(edge) for value in quoted_values(data, delimiter) for edge in value]
        for begin, stop in zip(edges[1::2], [*edges[2::2], len(data)], strict=True):
            if begin < len(data) and (found := data[begin:stop].tobytes().find(b"\n")) >= 0:
                return at + begin + found  # one less for the quote in front, one more to be after
        if at + window >= size:
            return size
        window *= 4
