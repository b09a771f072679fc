"""Where bytes come from: names and globs, standard input, gzip and zstd, and what is in them."""

from __future__ import annotations

import glob
import hashlib
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from rosenblatt.data.ahead import in_order
from rosenblatt.errors import DataError

STDIN = "-"
FORMATS = ("csv", "tsv", "jsonl", "parquet", "arrow", "svmlight", "fasttext", "vw", "cache")

_SUFFIXES = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".svm": "svmlight",
    ".libsvm": "svmlight",
    ".svmlight": "svmlight",
    ".ft": "fasttext",
    ".fasttext": "fasttext",
    ".vw": "vw",
}
_MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
_SAMPLES, _SAMPLE_BYTES = 64, 1 << 16
_CHUNK_BYTES, _STEP_BYTES = 1 << 20, 1 << 16
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_SVMLIGHT = re.compile(rb"[-+]?[0-9.]+(e[-+]?\d+)?([ \t]+(qid:\d+|\d+:[-+0-9.eE]+))+[ \t]*(#.*)?$")
_VW = re.compile(rb"[^|]{0,100}\|[^|\s]*(:[-+0-9.eE]+)?[ \t]")


def expand(paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> list[str]:
    """The files meant by one or several names, where ``*``, ``?`` and ``**`` match many.

    >>> expand("-")
    ['-']
    """
    names = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    found: list[str] = []
    for name in [os.fspath(name) for name in names]:
        if name == STDIN or Path(name).exists():
            found.append(name)
        else:
            matches = sorted(glob.glob(name, recursive=True))  # noqa: PTH207
            if not matches:
                raise DataError("there is no such file", path=name)
            found.extend(matches)
    if not found:
        raise DataError("no file was named")
    return found


def fingerprint(path: str) -> dict[str, Any]:
    """What tells a file from others: its name, its size, and a digest of samples of its bytes.

    The samples are 64 pieces of 64 KB, evenly spaced from the first bytes to the last. So a file
    of up to 4 MB is looked at as a whole; in a larger one a change can fall between two samples.

    >>> fingerprint("-")
    {'name': '-'}
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


class ByteSource:
    """The bytes of one file or of standard input, decompressed, with a look at its beginning.

    Parameters
    ----------
    path : str
        A file, or ``"-"`` for standard input.

    Attributes
    ----------
    compression : {"gzip", "zstd"} or None
        Found out from the first bytes.
    is_plain : bool
        Whether the bytes stand in a file as they are, so that they can be read again.
    """

    def __init__(self, path: str) -> None:
        self.path = "<stdin>" if path == STDIN else path
        try:
            if path == STDIN:
                self._raw = pa.PythonFile(sys.stdin.buffer, mode="r")
                magic = bytes(sys.stdin.buffer.peek(8)[:8])  # type: ignore[union-attr]
            else:
                self._raw = pa.OSFile(path)
                magic = self._raw.read(8)
                self._raw.seek(0)
        except OSError as error:
            raise DataError(f"cannot be opened: {error.strerror or error}", path=path) from None
        kinds = [kind for start, kind in _MAGIC.items() if magic.startswith(start)]
        self.compression = kinds[0] if kinds else None
        self.is_plain = path != STDIN and not kinds
        # A second handle, so that lines can be counted while the first reads on, or is closed.
        self._again = pa.OSFile(path) if self.is_plain else None
        self._stream = pa.CompressedInputStream(self._raw, kinds[0]) if kinds else self._raw
        self._ahead = b""
        self._start, self._mark = True, 0
        self._fault = ""
        self._chunks = in_order(self._decompressed(), lambda chunk: chunk, most=1, spare=4)
        self._loose = np.empty(0, dtype=np.uint8)

    def head(self, size: int) -> bytes:
        """The first bytes, which stay to be read."""
        self._skip_mark()
        more = np.empty(max(0, size - len(self._ahead)), dtype=np.uint8)
        self._ahead += more[: self._fill(more)].tobytes()
        self.check(lambda: 1 + self._ahead.count(b"\n"))
        return self._ahead[:size]

    def fill(self, room: np.ndarray) -> int:
        """Put the next bytes into an array; how many there were, fewer only at the end."""
        self._skip_mark()
        ahead, self._ahead = self._ahead[: len(room)], self._ahead[len(room) :]
        room[: len(ahead)] = np.frombuffer(ahead, dtype=np.uint8)
        return len(ahead) + self._fill(room[len(ahead) :])

    def check(self, reached: Callable[[], int]) -> None:
        """Raise if the bytes came to an end too early; `reached` finds the line they reach to."""
        if self._fault:
            line = reached()
            raise DataError(self._fault, path=self.path, line=line if line > 1 else None)

    def line_at(self, place: int) -> int:
        """The line of a byte of a plain file, from 1, found by reading all that stands before."""
        assert self._again is not None, "the bytes cannot be read again"
        line, start, stop = 1, self._mark, self._mark + place
        while data := self._again.read_at(min(_CHUNK_BYTES, stop - start), start):
            line += data.count(b"\n")
            start += len(data)
        return line

    def close(self) -> None:
        """Let go of the file, as far as no block may still ask for its line."""
        self._chunks.close()
        self._stream.close()

    def _read(self, room: np.ndarray) -> int:
        """Some of the next bytes; those of compressed files come from a thread of their own."""
        if not self.compression:
            return int(self._stream.readinto(room))
        if len(self._loose) == 0:
            self._loose = next(self._chunks, self._loose)
        count = min(len(room), len(self._loose))
        room[:count] = self._loose[:count]
        self._loose = self._loose[count:]
        return count

    def _decompressed(self) -> Iterator[np.ndarray]:
        """The bytes of a compressed file; where it breaks off, first those before the break."""
        end = -1
        while end != 0:
            chunk, end = np.frombuffer(pa.allocate_buffer(_CHUNK_BYTES), dtype=np.uint8), 0
            try:
                while count := self._stream.readinto(chunk[end : end + _STEP_BYTES]):
                    end += count
            except OSError:
                if end:
                    yield chunk[:end]
                raise
            if end:
                yield chunk[:end]

    def _skip_mark(self) -> None:
        """Step over a byte order mark at the very beginning."""
        if self._start:
            self._start = False
            first = np.empty(len(_BYTE_ORDER_MARK), dtype=np.uint8)
            begin = first[: self._fill(first)].tobytes()
            self._ahead = begin.removeprefix(_BYTE_ORDER_MARK)
            self._mark = len(begin) - len(self._ahead)

    def _fill(self, room: np.ndarray) -> int:
        filled = 0
        try:
            while filled < len(room) and (count := self._read(room[filled:])):
                filled += count
        except OSError as error:
            what = f"{self.compression} data" if self.compression else "file"
            self._fault = f"the {what} cannot be read to the end: {error}"
        return filled


def detect_format(path: str, source: ByteSource) -> str:
    """What format a file has: by its name, and where that says nothing by its first lines.

    >>> import tempfile, pathlib
    >>> path = str(pathlib.Path(tempfile.mkdtemp()) / "a.txt")
    >>> _ = pathlib.Path(path).write_text("1 3:0.5 7:1\\n-1 2:1\\n")
    >>> detect_format(path, ByteSource(path))
    'svmlight'
    """
    for suffix in reversed(Path(path).suffixes):
        if suffix.lower() in _SUFFIXES:
            return _SUFFIXES[suffix.lower()]
        if suffix.lower() not in {".gz", ".zst", ".zstd"}:
            break
    head = source.head(1 << 14)
    if head.startswith(b"PAR1"):
        return "parquet"
    if head.startswith((b"ARROW1", b"\xff\xff\xff\xff")):
        return "arrow"
    lines = [line for line in head.split(b"\n")[:20] if line.strip()]
    if len(lines) > 1 and len(head) == 1 << 14:
        lines.pop()
    for kind, fits in (
        ("jsonl", lambda line: line.lstrip().startswith(b"{")),
        ("fasttext", lambda line: line.startswith(b"__label__")),
        ("svmlight", lambda line: bool(_SVMLIGHT.match(line.strip()))),
        ("vw", lambda line: bool(_VW.match(line))),
    ):
        if lines and all(fits(line) for line in lines):
            return kind
    tabs = sum(b"\t" in line for line in lines)
    return "tsv" if lines and tabs == len(lines) else "csv"
