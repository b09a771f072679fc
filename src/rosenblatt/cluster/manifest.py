"""Files on this machine or in stores, cut into shards: by the files alone, never by the workers.

Stores are those of pyarrow (object stores, HDFS) and of fsspec (anything else).

A file of lines can be cut after a line break that ends a row, not within quotes. Each part between
two candidates is read on its own, by any worker: does it end within quotes if it begins outside of
them, and if it begins within? From these answers follows, part by part, which candidates are within
quotes; they move to the end of the row.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

import numpy as np
import pyarrow as pa
from pyarrow import fs

from rosenblatt.data.bytes import STDIN, ByteSource, expand_paths, fingerprint, quoted_values
from rosenblatt.data.formats import FORMATS, check_format, detect_format
from rosenblatt.data.readers import check_width, dialect_of
from rosenblatt.data.text_tables import Dialect
from rosenblatt.errors import DataError

_SHARDS = 16  # unless they would be larger than _MOST_BYTES
_LEAST_BYTES, _MOST_BYTES = 1 << 20, 64 << 20  # of a shard, unless their number is given
_WINDOW = 1 << 16  # bytes read at a time to find the end of a row
_PIECE = 1 << 20  # bytes read at a time to follow quotes
_WILDCARDS = "*?["
_ABOUT_ACCESS = re.compile(
    "denied|credential|forbidden|unauthorized|anonymous|access[ _]key|signature|401|403"
)
_LONGEST = 160  # characters of a store's error message

Work = Callable[..., Any]
Spread = Callable[[Work, Sequence[tuple[Any, ...]]], Iterable[Any]]
"""Calls a function with each tuple of arguments, perhaps on workers; returns results in order."""


class File(NamedTuple):
    """A file, and what is needed to read parts of it."""

    path: str
    identity: dict[str, Any]  # its fingerprint
    size: int
    compressed: bool = False  # and so cannot be cut
    dialect: Dialect | None = None  # of CSV and TSV
    groups: tuple[int, ...] = ()  # the bytes of each row group of a Parquet file
    names: tuple[str, ...] = ()  # the columns of a Parquet or Arrow file

    @property
    def has_lines(self) -> bool:
        """Whether it can be cut at the ends of lines."""
        return not self.compressed and not self.names


class Range(NamedTuple):
    """A part of a file: a range of row groups of Parquet, of bytes of other formats."""

    file: File
    start: int
    end: int

    @property
    def size(self) -> int:
        """In bytes."""
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
        """As saved in a model: the files, and the parts of each shard by file number."""
        numbers = {file.path: i for i, file in enumerate(self.files)}
        return {
            "format": self.format,
            "files": [file.identity for file in self.files],
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
        Files and patterns, on this machine or in a store.
    format, header
        As for :func:`rosenblatt.data.open`.
    mentioned : sequence of str
        Names of columns that the user mentioned.
    shards : int, optional
        About how many; by default 16, or more if these would be larger than 64 MB.
    spread : callable, optional
        Reads files and parts of files on workers: called with a function and a list of tuples of
        arguments, it returns the results in order.

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
    names, call = expand_all(paths), spread or _call_here
    first = format or detect_format(names[0], ByteSource(names[0], open_file(names[0])).head)
    if not FORMATS[first].can_be_cut:
        raise DataError(f"{first} files cannot be cut into shards", path=names[0])
    arguments = [(path, first, header, tuple(mentioned)) for path in names]
    files = tuple(call(inspect_file, arguments))
    for file in files[1:]:
        _check_columns(file, files[0])
    total = sum(sum(file.groups) if file.groups else file.size for file in files)
    if shards is None:
        target = min(_MOST_BYTES, max(_LEAST_BYTES, -(-total // _SHARDS)))
    else:
        target = max(1, -(-total // shards))
    ranges = [part for file in files for part in _cut(file, target, call)]
    return Manifest(first, files, tuple(_grouped(ranges, target)))


def digest_of(*parts: Any) -> str:
    """A hash of plain data."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=repr).encode()).hexdigest()[:32]


def inspect_file(path: str, format: str, header: bool | None, mentioned: tuple[str, ...]) -> File:
    """Read what is needed to cut a file and to read parts of it."""
    about, kind = identity(path), FORMATS[format]
    with open_file(path) as file:
        size = int(file.size())
        if kind.parts is not None:
            with store_errors(path):
                groups, names = kind.parts(file)
            return File(path, about, size, groups=groups, names=names)
    source = ByteSource(path, open_file(path))
    dialect = dialect_of(source, kind, header, mentioned)
    return File(path, about, size, source.compression is not None, dialect)


def _check_columns(file: File, first: File) -> None:
    """Raise a DataError for another number of columns than in the first file, without names."""
    if file.dialect is not None and first.dialect is not None and not file.dialect.header:
        check_width(file.dialect, first.dialect.names, file.path)


def _cut(file: File, target: int, call: Spread) -> list[Range]:
    """Cut a file into parts of about `target` bytes."""
    if file.groups:
        return [Range(file, i, i + 1) for i in range(len(file.groups))]
    count = max(1, round(file.size / target)) if file.has_lines else 1
    quoting = file.dialect.quoting if file.dialect else ""
    start = file.dialect.start if file.dialect else 0
    offsets = [at for i in range(1, count) if (at := file.size * i // count) > start]
    cuts = row_ends(file.path, offsets, file.size, quoting, call)
    edges = [0, *cuts, file.size]
    return [Range(file, a, b) for a, b in itertools.pairwise(edges)]


def _grouped(ranges: list[Range], target: int) -> Iterable[Shard]:
    """Group small parts in order, up to about `target` bytes; adjacent parts become one."""
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


def _call_here(work: Work, arguments: Sequence[tuple[Any, ...]]) -> Iterable[Any]:
    return [work(*one) for one in arguments]


def row_ends(
    path: str, offsets: list[int], size: int, delimiter: str, call: Spread = _call_here
) -> list[int]:
    """Where the first row after each of some offsets begins, in increasing order.

    Without a delimiter quotes mean nothing.

    >>> import tempfile, pathlib
    >>> path = str(pathlib.Path(tempfile.mkdtemp()) / "a.csv")
    >>> _ = pathlib.Path(path).write_bytes(b'1,2\\n"3\\n",4\\n5,6\\n')
    >>> row_ends(path, [5], 15, ","), row_ends(path, [5], 15, "")
    ([11], [7])
    """
    cuts = sorted({cut for at in offsets if (cut := _next_line(path, at, size)) < size})
    if not delimiter:
        return cuts
    parts = [(path, *part, delimiter) for part in itertools.pairwise([0, *cuts])]
    is_open, ends = False, set()
    for cut, states in zip(cuts, call(quote_states, parts), strict=True):
        is_open = states[is_open]
        ends.add(_row_end_after_quotes(path, cut, size, delimiter) if is_open else cut)
    return sorted(ends - {size})


def quote_states(path: str, start: int, end: int, delimiter: str) -> tuple[bool, bool]:
    """Whether a part of a file ends within quotes if it begins outside of quotes, or within.

    The part is read in pieces, so that the memory does not depend on its size.
    """
    states, rest = [False, True], b""
    with open_file(path) as file:
        for begin in range(start, end, _PIECE):
            size = min(_PIECE, end - begin)
            content = rest + file.read_at(size, begin)
            cut = len(content) if begin + size == end else _cut_off_quotes(content)
            piece, rest = content[:cut], content[cut:]
            if b'"' in piece:
                states = [_ends_within_quotes(b'"' * state + piece, delimiter) for state in states]
    return states[0], states[1]


def _cut_off_quotes(content: bytes) -> int:
    """The last place with a quote neither before nor after it, so that none opens or ends there."""
    quotes = np.frombuffer(content, np.uint8) == ord('"')
    places = np.flatnonzero(~(quotes[:-1] | quotes[1:]))
    return int(places[-1]) + 1 if len(places) else 0


def _ends_within_quotes(content: bytes, delimiter: str) -> bool:
    data = np.frombuffer(content, np.uint8)
    values = quoted_values(data, delimiter)
    return len(values) > 0 and int(values[-1][1]) >= len(data)


def _next_line(path: str, at: int, size: int) -> int:
    """The offset after the next line break."""
    for begin in range(at, size, _WINDOW):
        if (place := read_bytes(path, begin, begin + _WINDOW).find(b"\n")) >= 0:
            return begin + place + 1
    return size


def _row_end_after_quotes(path: str, at: int, size: int, delimiter: str) -> int:
    """The end of the first row after an offset within quotes."""
    window = _WINDOW
    while True:
        data = np.frombuffer(b'"' + read_bytes(path, at, at + window), np.uint8)
        edges = [int(edge) for value in quoted_values(data, delimiter) for edge in value]
        for begin, stop in zip(edges[1::2], [*edges[2::2], len(data)], strict=True):
            if begin < len(data) and (place := data[begin:stop].tobytes().find(b"\n")) >= 0:
                return at + begin + place  # one less for the quote in front, one more to be after
        if at + window >= size:
            return size
        window *= 4


def is_remote(path: str) -> bool:
    """Whether a path is the URI of a store."""
    return "://" in path


def expand_all(paths: Any) -> list[str]:
    """The files that match names and patterns, on this machine or in a store."""
    files = expand_paths(paths, _expand_uri)
    for path in files:
        if path == STDIN:
            raise DataError(
                "standard input cannot be cut into shards: write it to a file first, or leave out "
                "--workers (workers=None)"
            )
        if not is_remote(path) and Path(path).is_dir():
            raise DataError("is a folder; name the files in it, as in 'folder/*.csv'", path=path)
    return files


def _expand_uri(uri: str) -> list[str]:
    """The files of a store that match a pattern, sorted by name."""
    if uri.startswith("file://"):
        return expand_paths(unquote(urlsplit(uri).path))
    with store_errors(uri):
        before = uri[: min((uri.find(c) for c in _WILDCARDS if c in uri), default=len(uri))]
        if before == uri:
            return [uri]
        base_uri = before.rpartition("/")[0]
        store, base = open_store(base_uri)
        listed = store.get_file_info(fs.FileSelector(base, recursive=True, allow_not_found=True))
    lead, pattern = len(base), uri[len(base_uri) :]
    return sorted(
        base_uri + info.path[lead:]
        for info in listed
        if info.type == fs.FileType.File and fnmatchcase(info.path[lead:], pattern)
    )


def open_store(uri: str) -> tuple[fs.FileSystem, str]:
    """The file system of a URI, and the path in it."""
    try:
        return fs.FileSystem.from_uri(uri)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        pass  # a scheme that Arrow does not know
    try:
        import fsspec
    except ImportError:
        kind = uri.partition(":")[0]
        raise DataError(
            f"{kind}:// needs fsspec and its package for such stores (pip install fsspec)", path=uri
        ) from None
    store, path = fsspec.core.url_to_fs(uri)
    return fs.PyFileSystem(fs.FSSpecHandler(store)), path


@contextmanager
def store_errors(path: str) -> Any:
    """Turn the error of a store into a DataError of one sentence that names the file."""
    try:
        yield
    except DataError:
        raise
    except FileNotFoundError:
        raise DataError("there is no such file", path=path) from None
    except Exception as error:
        # Stores of fsspec raise errors of many packages, also where credentials are missing.
        reason = " ".join(str(error).split()) or type(error).__name__
        about_access = _ABOUT_ACCESS.search(reason.lower())
        if len(reason) > _LONGEST:
            reason = reason[: _LONGEST - 3] + "..."
        hint = "; are the credentials of the store set on this machine?" if about_access else ""
        raise DataError(f"cannot be opened: {reason}{hint}", path=path) from None


def open_file(path: str) -> pa.NativeFile:
    """Open a file for reading at any offset."""
    with store_errors(path):
        if not is_remote(path):
            return pa.OSFile(path)
        store, inner = open_store(path)
        return store.open_input_file(inner)


def identity(path: str) -> dict[str, Any]:
    """The fingerprint of a file: name, size, and samples of its bytes or its time of change."""
    if not is_remote(path):
        return fingerprint(path)
    with store_errors(path):
        store, inner = open_store(path)
        info = store.get_file_info(inner)
    return {"name": path, "size": info.size, "modified": info.mtime_ns}


def read_bytes(path: str, start: int, end: int) -> bytes:
    """The bytes of a file between two offsets, or up to its end."""
    with open_file(path) as file:
        return bytes(file.read_at(end - start, start))
