"""Files on this machine, in object stores and HDFS (pyarrow.fs), or anywhere else (fsspec)."""

from __future__ import annotations

from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pyarrow as pa
from pyarrow import fs

from rosenblatt.data.bytes import STDIN, expand_paths, fingerprint
from rosenblatt.errors import DataError

_WILDCARDS = "*?["
_ACCESS_WORDS = (
    "denied", "credential", "forbidden", "unauthorized", "anonymous", "access key", "access_key",
    "signature", "401", "403",
)  # fmt: skip
_LONGEST = 160  # characters of a store's error message


def is_remote(path: str) -> bool:
    """Whether a path is the URI of a store."""
    return "://" in path


def expand_all(paths: Any) -> list[str]:
    """The files that match names and patterns, on this machine or in a store."""
    found = expand_paths(paths, _expand_uri)
    for path in found:
        if path == STDIN:
            raise DataError(
                "standard input cannot be cut into shards: write it to a file first, or leave out "
                "--workers (workers=None)"
            )
        if not is_remote(path) and Path(path).is_dir():
            raise DataError("is a folder; name the files in it, as in 'folder/*.csv'", path=path)
    return found


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
    found, path = fsspec.core.url_to_fs(uri)
    return fs.PyFileSystem(fs.FSSpecHandler(found)), path


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
        said = " ".join(str(error).split()) or type(error).__name__
        cut = said if len(said) <= _LONGEST else said[: _LONGEST - 3] + "..."
        about_access = any(word in said.lower() for word in _ACCESS_WORDS)
        hint = "; are the credentials of the store set on this machine?" if about_access else ""
        raise DataError(f"cannot be opened: {cut}{hint}", path=path) from None


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
