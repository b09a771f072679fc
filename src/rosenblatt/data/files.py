"""Where bytes come from: names and globs, standard input, gzip and zstd, and what is in them."""

from __future__ import annotations

import glob
import os
import re
import sys
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa

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


class ByteSource:
    """The bytes of one file or of standard input, decompressed, with a look at its beginning.

    Parameters
    ----------
    path : str
        A file, or ``"-"`` for standard input.
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
        self._stream = pa.CompressedInputStream(self._raw, kinds[0]) if kinds else self._raw
        self._ahead = b""
        self._start = True

    def head(self, size: int) -> bytes:
        """The first bytes, which stay to be read."""
        while len(self._ahead) < size:
            more = self._read(size - len(self._ahead))
            if not more:
                break
            self._ahead += more
        return self._ahead[:size]

    def read(self, size: int) -> bytes:
        """The next bytes; none at the end."""
        if self._ahead:
            ahead, self._ahead = self._ahead, b""
            return ahead
        return self._read(size)

    def close(self) -> None:
        """Let go of the file."""
        self._stream.close()

    def _read(self, size: int) -> bytes:
        try:
            found = self._stream.read(size)
        except OSError as error:
            what = f"{self.compression} data" if self.compression else "file"
            message = f"the {what} cannot be read to the end: {error}"
            raise DataError(message, path=self.path) from None
        if self._start and found:
            self._start = False
            found = found.removeprefix(b"\xef\xbb\xbf")
        return found


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
