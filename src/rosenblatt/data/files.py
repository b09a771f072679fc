"""Where bytes come from: names and globs, standard input, gzip and zstd, and what is in them."""

from __future__ import annotations

import glob
import hashlib
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from rosenblatt.errors import DataError

Result = TypeVar("Result")

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
_STEP_BYTES = 1 << 16
# Before bytes that are unpacked ahead there is so much room, for the beginning of their first row.
_ROOM = 1 << 16
_NOTHING = np.empty(0, dtype=np.uint8)
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
    is_lasting : bool
        Whether the bytes can be read again: those of standard input cannot.
    """

    def __init__(self, path: str) -> None:
        self.path = "<stdin>" if path == STDIN else path
        self.is_lasting = path != STDIN
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
        # A second handle, so that lines can be counted while the first reads on, or is closed.
        self._again = pa.OSFile(path) if self.is_lasting else None
        self._stream = self._unpacked(self._raw)
        self._ahead = np.empty(0, dtype=np.uint8)
        self._start, self._mark, self._place = True, 0, 0
        self._fault = ""
        self._thread = ThreadPoolExecutor(1)
        self._begun: Future[tuple[np.ndarray, int, int]] | None = None
        self._is_new = True

    def head(self, size: int) -> bytes:
        """The first bytes, which stay to be read."""
        data, end = self.read(_NOTHING, size)
        self._ahead = np.concatenate([data[:end], self._ahead])
        self.check(lambda: 1 + self._ahead.tobytes().count(b"\n"))
        return data[:end].tobytes()

    def read(self, before: np.ndarray, size: int) -> tuple[np.ndarray, int]:
        """The next bytes after those of `before`, in an array; how many they are, with `before`.

        They are `size` in all, fewer only at the end. The array has room for one more.
        """
        self._skip_mark()
        begun, self._begun = self._begun, None
        if begun is None:
            return self._joined(before, size)
        data, first, end = begun.result()
        start = first - len(before)
        if start < 0 or end - start > size:
            self._ahead = data[first:end]
            return self._joined(before, size)
        data[start:first] = before
        return data[start:], end - start + self._fill(data[end : start + size])

    def read_on(self, size: int, work: Callable[[], Result]) -> Result:
        """The result of some work, done by another thread while this one unpacks what comes next.

        That is most of what the next `read` of so many bytes gives: how many bytes will stand
        before it may be known only when the work is done. Plain files need no unpacking. The first
        time it is the other thread that unpacks, as whoever reads will look at the beginning.
        """
        if not self.compression or len(self._ahead):
            return work()
        if self._is_new:
            self._is_new = False
            done = work()
            self._begun = self._thread.submit(self._begin, size)
            return done
        result = self._thread.submit(work)
        self._begun = Future()
        self._begun.set_result(self._begin(size))
        return result.result()

    def check(self, reached: Callable[[], int]) -> None:
        """Raise if the bytes came to an end too early; `reached` finds the line they reach to."""
        if self._fault:
            line = reached()
            raise DataError(self._fault, path=self.path, line=line if line > 1 else None)

    def line_at(self, place: int) -> int:
        """The line of a byte, from 1, found by reading all that stands before it once more."""
        line = 1
        for data in self._repeated(0, self._mark + place):
            line += data.count(b"\n")
        return line

    def close(self) -> None:
        """Let go of the file, as far as no block may still ask for its line."""
        self._thread.shutdown()
        self._stream.close()

    def _joined(self, before: np.ndarray, size: int) -> tuple[np.ndarray, int]:
        """As `read`, to memory of its own, beginning with the bytes that are there already."""
        # Arrow's memory is used again; memory from the system would come page by page each time.
        data = np.frombuffer(pa.allocate_buffer(size + 1), dtype=np.uint8)
        data[: len(before)] = before
        ahead = self._ahead[: size - len(before)]
        end = len(before) + len(ahead)
        data[len(before) : end] = ahead
        self._ahead = self._ahead[len(ahead) :]
        return data, end + self._fill(data[end:size])

    def _begin(self, size: int) -> tuple[np.ndarray, int, int]:
        """The next bytes in an array, where they begin and where they end."""
        room = min(_ROOM, size // 4)
        data = np.frombuffer(pa.allocate_buffer(room + size + 1), dtype=np.uint8)
        return data, room, room + self._fill(data[room:size])

    def _unpacked(self, raw: pa.NativeFile) -> pa.NativeFile:
        return pa.CompressedInputStream(raw, self.compression) if self.compression else raw

    def _repeated(self, start: int, stop: int) -> Iterator[bytes]:
        """The bytes between two places once more, or up to where they cannot be read on."""
        assert self._again is not None, "the bytes cannot be read again"
        stream, place = self._unpacked(self._again.get_stream(0, self._again.size())), 0
        while place < stop:
            try:
                data = stream.read(min(_STEP_BYTES, stop - place))
            except OSError:
                return
            if not data:
                return
            yield data[max(0, start - place) :]
            place += len(data)

    def _skip_mark(self) -> None:
        """Step over a byte order mark at the very beginning."""
        if self._start:
            self._start = False
            data, end = self._joined(_NOTHING, len(_BYTE_ORDER_MARK))
            if data[:end].tobytes() == _BYTE_ORDER_MARK:
                self._mark = end
            else:
                self._ahead = data[:end]

    def _fill(self, room: np.ndarray) -> int:
        """Put the next bytes of the file into an array; how many there were."""
        # What is read in one go before it fails is lost; where it can be, it is read once more.
        step = len(room) if self.is_lasting else _STEP_BYTES
        filled = 0
        try:
            while filled < len(room) and not self._fault:
                count = int(self._stream.readinto(room[filled : filled + step]))
                if count == 0:
                    break
                filled += count
        except OSError as error:
            what = f"{self.compression} data" if self.compression else "file"
            self._fault = f"the {what} cannot be read to the end: {error}"
            if self.is_lasting:
                known = b"".join(self._repeated(self._place, self._place + len(room)))
                filled = len(known)
                room[:filled] = np.frombuffer(known, dtype=np.uint8)
        self._place += filled
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
