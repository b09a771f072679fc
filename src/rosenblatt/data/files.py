"""File names: patterns, fingerprints and formats."""

from __future__ import annotations

import glob
import hashlib
import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from rosenblatt.errors import DataError, OptionError

STDIN = "-"
FORMATS = (
    "csv", "tsv", "jsonl", "parquet", "arrow", "svmlight", "fasttext", "vw", "text", "folder",
)  # fmt: skip

_SUFFIXES = {
    ".csv": "csv", ".tsv": "tsv", ".tab": "tsv",
    ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl",
    ".parquet": "parquet", ".pq": "parquet",
    ".arrow": "arrow", ".feather": "arrow", ".ipc": "arrow",
    ".svm": "svmlight", ".libsvm": "svmlight", ".svmlight": "svmlight",
    ".ft": "fasttext", ".fasttext": "fasttext", ".vw": "vw",
}  # fmt: skip
_COMPRESSED = {".gz", ".zst", ".zstd", ".bz2", ".lz4", ".xz"}
_SAMPLES, _SAMPLE_BYTES = 64, 1 << 16
_SVMLIGHT = re.compile(rb"[-+]?[0-9.]+(e[-+]?\d+)?([ \t]+(qid:\d+|\d+:[-+0-9.eE]+))+[ \t]*(#.*)?$")
_VW = re.compile(rb"[^|]{0,100}\|[^|\s]*(:[-+0-9.eE]+)?[ \t]")


def check_format(format: str | None) -> None:
    """Raise OptionError for an unknown format."""
    if format is not None and format not in FORMATS:
        raise OptionError(f"{format!r} is not a format; the formats are {', '.join(FORMATS)}")


def expand_paths(
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    in_store: Callable[[str], list[str]] | None = None,
) -> list[str]:
    """The files of one or several names or patterns with ``*``, ``?`` and ``**``.

    `in_store` lists the files of a URI.
    """
    names = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    found: list[str] = []
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
        found.extend(matches)
    if not found:
        raise DataError("no file was named")
    return found


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
    if path == STDIN or not Path(path).is_file():
        return None
    found = Path(path).stat()
    return found.st_mtime_ns if found.st_size > _SAMPLES * _SAMPLE_BYTES else None


def named_format(path: str) -> str | None:
    """The format by the suffix of a file name, or None."""
    for suffix in reversed(Path(path).suffixes):
        if suffix.lower() in _SUFFIXES:
            return _SUFFIXES[suffix.lower()]
        if suffix.lower() not in _COMPRESSED:
            break
    return None


def detect_format(path: str, look: Callable[[int], bytes]) -> str:
    """The format of a file by its name, else by its first lines.

    `look` returns a given number of first bytes, decompressed.
    """
    named = named_format(path)
    if named is not None:
        return named
    head = look(1 << 14)
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
