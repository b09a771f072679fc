"""Files by name or pattern, their bytes, decompressed, and blocks of rows that know their lines."""

from __future__ import annotations

import glob
import hashlib
import lzma
import os
import re
import select
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from rosenblatt.errors import DataError

STDIN = "-"
BLOCK_BYTES = 4 << 20

_MAGIC = {
    b"\x1f\x8b": "gzip",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"BZh": "bz2",
    b"\x04\x22\x4d\x18": "lz4",
    b"\xfd7zXZ\x00": "xz",
}
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
# A row takes up to ten times its size in memory, as tokens and as numbers.
LONGEST_ROW = 10 << 20
TOO_LONG = "a row is longer than 10 MB; is a quote left open?"
_NEWLINE, _QUOTE = ord("\n"), ord('"')
_ALL_BYTES = np.arange(256)
# If compressed data end early, the bytes of the last read are lost: reads are small.
_STEP_BYTES = 1 << 16
_SAMPLES, _SAMPLE_BYTES = 64, 1 << 16
_LIVE_WAIT = 0.002  # seconds to wait for more of a live stream before its lines are returned


def expand_paths(
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    in_store: Callable[[str], list[str]] | None = None,
) -> list[str]:
    """The files of one or several names or patterns with ``*``, ``?`` and ``**``.

    `in_store` lists the files of a URI.
    """
    names = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    files: list[str] = []
    for name in [os.fspath(name) for name in names]:
        if name == STDIN or Path(name).exists():
            matches = [name]
        elif "://" in name and in_store is not None:
            matches = in_store(name)
        else:
            matches = sorted(glob.glob(name, recursive=True))  # noqa: PTH207
        if not matches:
            is_uri = "://" in name and in_store is None
            why = "files of a store are read by workers: add --workers 1"
            raise DataError(why if is_uri else "there is no such file", path=name)
        files.extend(matches)
    if not files:
        raise DataError("no file was named")
    return files


def is_stream(path: str) -> bool:
    """Whether a path is standard input, a pipe or a device, which can be read only once."""
    return path == STDIN or not (Path(path).is_file() or Path(path).is_dir() or "://" in path)


def fingerprint(path: str) -> dict[str, Any]:
    """Name, size and a digest of samples of a file, to recognise it again.

    The samples are 64 pieces of 64 KB, evenly spaced: all of a file up to 4 MB. In a larger file a
    change can fall between two samples: see :func:`last_change`.
    """
    if path == STDIN or not Path(path).is_file():
        return {"name": path}
    size = Path(path).stat().st_size
    digest = hashlib.sha256()
    with Path(path).open("rb") as file:
        last = max(0, size - _SAMPLE_BYTES)
        for start in sorted({last * i // (_SAMPLES - 1) for i in range(_SAMPLES)}):
            file.seek(start)
            digest.update(file.read(_SAMPLE_BYTES))
    return {"name": Path(path).name, "size": size, "sample": digest.hexdigest()}


def last_change(path: str) -> int | None:
    """Modification time of a file in nanoseconds; None if its fingerprint covers all its bytes."""
    about = _stat(path)
    return about.st_mtime_ns if about and about.st_size > _SAMPLES * _SAMPLE_BYTES else None


def status(path: str) -> tuple[int, ...] | None:
    """What changes with a file on disk: which one it is, its size and time; None for streams."""
    about = _stat(path)
    return about and (about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns)


def _stat(path: str) -> os.stat_result | None:
    """What the system knows of a file on disk; None for streams, and where there is none now."""
    try:
        about = None if path == STDIN else Path(path).stat()
    except OSError:
        return None
    return about if about and stat.S_ISREG(about.st_mode) else None


class ByteSource:
    """The bytes of a file, decompressed, without a byte order mark.

    A `path` of ``"-"`` is standard input. If a `stream` is given, it is read and `path` is only for
    messages. `part` is a range of bytes to read. `fault` is why the bytes could not be read to the
    end, or empty. With `live`, lines of an uncompressed stream are returned as they arrive.
    """

    def __init__(
        self, path: str, stream: Any = None, live: bool = False, part: tuple[int, int] | None = None
    ) -> None:
        self.path, self.fault = "<stdin>" if path == STDIN else path, ""
        self._all_read, self._outstanding = False, 0
        if path == STDIN and stream is None:
            stream = sys.stdin.buffer
        try:
            if stream is None and is_stream(path) and Path(path).exists():
                stream = Path(path).open("rb")  # noqa: SIM115 - closed with this
            raw = pa.OSFile(path) if stream is None else stream
            if not isinstance(raw, pa.NativeFile):
                raw = pa.PythonFile(stream, mode="r")
            if part is not None:
                magic = raw.read_at(8, part[0])
                raw = raw.get_stream(part[0], part[1] - part[0])
            elif hasattr(stream, "peek"):
                magic = bytes(stream.peek(8)[:8])
            else:
                magic = raw.read(8)
                raw.seek(0)
        except OSError as error:
            raise DataError(f"cannot be opened: {error.strerror or error}", path=path) from None
        kinds = (kind for start, kind in _MAGIC.items() if magic.startswith(start))
        self.compression = next(kinds, None)
        if part is not None and self.compression is None:
            self._outstanding = part[1] - part[0]
        self._stream: Any = raw
        if self.compression == "xz":  # unknown to Arrow
            self._stream = lzma.LZMAFile(raw)  # noqa: SIM115 - closed with this
        elif self.compression is not None:
            self._stream = pa.CompressedInputStream(raw, self.compression)
        self._live: Any = None
        self._head = b""
        if live and self.compression is None and _can_select(stream):
            # From here on reads are not buffered.
            self._head = stream.read(len(stream.peek(8)))
            self._live = stream.raw
        self._fill_head(len(_BYTE_ORDER_MARK))
        self._head = self._head.removeprefix(_BYTE_ORDER_MARK)

    def head(self, size: int) -> bytes:
        """The first bytes, without consuming them."""
        self._fill_head(size)
        self.check(1 + self._head.count(b"\n"))
        return self._head[:size]

    @property
    def ended(self) -> bool:
        """Whether all bytes have been read."""
        return self._all_read and not self._head

    def read_into(self, room: np.ndarray) -> int:
        """Fill an array with the next bytes; return how many: fewer only at the end.

        Or when a live stream has no more bytes for the moment after a whole line.
        """
        filled = min(len(self._head), len(room))
        room[:filled] = np.frombuffer(self._head[:filled], dtype=np.uint8)
        self._head = self._head[filled:]
        if self._live is not None:
            return self._read_live(room, filled)
        step = _STEP_BYTES if self.compression else len(room)
        while filled < len(room) and not self.fault:
            try:
                count = int(self._stream.readinto(room[filled : filled + step]))
            except (OSError, EOFError, lzma.LZMAError) as error:
                what = f"{self.compression} data" if self.compression else "file"
                self.fault = f"the {what} cannot be read to the end: {error}"
                break
            if count == 0:
                break
            filled += count
            self._outstanding -= count
        self._all_read = filled < len(room)
        if self._all_read and self._outstanding > 0 and not self.fault:
            missing = f"{self._outstanding:,} bytes are missing"
            self.fault = f"was changed while it was read: {missing}"
        return filled

    def _read_live(self, room: np.ndarray, filled: int) -> int:
        has_line = _newlines(room[:filled]) > 0
        while filled < len(room) and not self._all_read:
            if has_line and not select.select([self._live], [], [], _LIVE_WAIT)[0]:
                break
            count = self._live.readinto(room[filled:])
            self._all_read = count == 0
            has_line = has_line or _newlines(room[filled : filled + count]) > 0
            filled += count
        return filled

    def check(self, line: int) -> None:
        """Raise DataError if the bytes ended early, on this line."""
        if self.fault:
            raise DataError(self.fault, path=self.path, line=line if line > 1 else None)

    def close(self) -> None:
        """Close the file."""
        self._stream.close()

    def _fill_head(self, size: int) -> None:
        if size > len(self._head) and not self._all_read:
            room = np.empty(size, dtype=np.uint8)
            self._head = room[: self.read_into(room)].tobytes()


def _can_select(stream: Any) -> bool:
    """Whether `select` works on a stream: not on Windows, and not without a file descriptor."""
    try:
        return os.name != "nt" and hasattr(stream, "raw") and stream.fileno() >= 0
    except (OSError, AttributeError, ValueError):
        return False


class Block(NamedTuple):
    """Whole rows of a file, ending in a line break, and the number of their first line, from 1."""

    array: np.ndarray
    path: str
    line: int

    @classmethod
    def of(cls, data: bytes, path: str, line: int = 1) -> Block:
        """A block of these bytes."""
        return cls(np.frombuffer(data, dtype=np.uint8), path, line)

    @property
    def data(self) -> bytes:
        """The bytes, copied."""
        return self.array.tobytes()

    def line_at(self, place: int) -> int:
        """The line number of a byte."""
        return self.line + _newlines(self.array[:place])

    def after(self, place: int) -> Block:
        """The block from a byte on."""
        return Block(self.array[place:], self.path, self.line_at(place))

    def filled_lines(self) -> Iterator[tuple[int, bytes]]:
        """The lines that are not blank, with their numbers."""
        lines = enumerate(self.data.split(b"\n"), start=self.line)
        return ((number, line) for number, line in lines if line.strip(b" \t\r"))

    def filled_line(self, place: int) -> int:
        """The number of the line at index `place` among those that are not blank."""
        return next(islice(self.filled_lines(), place, None))[0]


def _newlines(array: np.ndarray) -> int:
    return int(np.count_nonzero(array == _NEWLINE))


def read_blocks(
    source: ByteSource, size: int, quoting: str = "", later: int | None = None
) -> Iterator[Block]:
    """Split a file into blocks of whole rows, of about `size` bytes; all but the first of `later`.

    `quoting` is the delimiter if line breaks within double quotes belong to values, as in CSV, or
    empty.
    """
    line, room, begun = 1, size, np.empty(0, dtype=np.uint8)
    while True:
        # Arrow's allocator reuses memory that has been touched before. One byte more, as a last
        # line without a line break gets one.
        data = np.frombuffer(pa.allocate_buffer(len(begun) + room + 1), dtype=np.uint8)
        data[: len(begun)] = begun
        end = len(begun) + source.read_into(data[len(begun) : -1])
        if source.ended:
            source.check(line + _newlines(data[:end]))
            if end:
                data[end] = _NEWLINE
                yield Block(data[: end + int(data[end - 1] != _NEWLINE)], source.path, line)
            source.close()
            return
        cut = _last_row_end(data[:end], quoting)
        if cut == 0:
            if end > LONGEST_ROW:
                raise DataError(TOO_LONG, path=source.path, line=line)
            # Doubling keeps the work linear when one row spans many reads.
            begun, room = data[:end], min(2 * room, LONGEST_ROW + 1 - end)
            continue
        block, size = Block(data[:cut], source.path, line), later or size
        begun, room, line = data[cut:end], size, block.line_at(cut)
        yield block


def _last_row_end(data: np.ndarray, delimiter: str) -> int:
    """The index after the last line break outside quotes, or 0."""
    stop = len(data)
    for start, end in reversed(quoted_values(data, delimiter) if delimiter else []):
        if cut := _last_newline(data, int(end), stop):
            return cut
        stop = int(start)
    return _last_newline(data, 0, stop)


def quoted_values(data: np.ndarray, delimiter: str) -> Sequence[Sequence[int]]:
    """Begins and ends of quoted values; the last may be unfinished.

    Only a quote at the beginning of a value opens one. If every second quote is there, or doubles
    the one before it, quotes are in pairs; otherwise a regular expression finds the values.
    """
    quotes = np.append(np.flatnonzero(data == _QUOTE), len(data))
    opening = quotes[:-1:2]
    before = np.isin(_ALL_BYTES, [*delimiter.encode(), *b'\n\r"'])[data[opening - 1]]
    if np.all(before | (opening == 0)):
        return np.column_stack([opening, quotes[1::2][: len(opening)] + 1])  # type: ignore[return-value]
    quoted = rb'"(?<![^%b\n\r]")[^"]*+(?:""[^"]*+)*+"?' % re.escape(delimiter.encode())
    return [value.span() for value in re.finditer(quoted, data)]  # type: ignore[call-overload]


def _last_newline(data: np.ndarray, start: int, stop: int) -> int:
    while stop > start:
        first = max(start, stop - _STEP_BYTES)
        if (place := data[first:stop].tobytes().rfind(b"\n")) >= 0:
            return first + place + 1
        stop = first
    return 0
