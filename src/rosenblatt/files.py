"""Atomic writes, complete or absent, and files that only their user can have written."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any


@contextmanager
def replacing(path: str | os.PathLike[str], mode: str = "wb") -> Iterator[IO[Any]]:
    """Open a temporary file that replaces `path` when the block succeeds.

    After a failure, a kill or a full disk, the previous file at `path` is unchanged.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> target = pathlib.Path(tempfile.mkdtemp()) / "weights.txt"
    >>> with replacing(target, "w") as file:
    ...     _ = file.write("1 1 -1 -1")
    >>> target.read_text()
    '1 1 -1 -1'
    """
    target = Path(path)
    descriptor, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(descriptor, mode, encoding=None if "b" in mode else "utf-8") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).chmod(_mode_for(target))
        Path(temporary).replace(target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _mode_for(target: Path) -> int:
    """The permissions that `open` would have given the file."""
    if target.exists():
        return target.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def read_private(path: Path) -> bytes | None:
    """What :func:`write_private` wrote, or None if that is not certain.

    The folder and the file must belong to this user or to root and be closed to the writing of
    all others, and the content must have the checksum it was written with.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "private" / "note"
    >>> write_private(path, b"mine")
    >>> read_private(path), path.chmod(0o666), read_private(path)
    (b'mine', None, None)
    """
    with suppress(OSError):
        _check_private(path.parent.stat())
        with path.open("rb") as file:
            _check_private(os.fstat(file.fileno()))
            digest, content = file.read(32), file.read()
        if hashlib.sha256(content).digest() == digest:
            return content
    return None


def write_private(path: Path, content: bytes, siblings: str = "") -> None:
    """Keep `content` for :func:`read_private`; if that is not possible, do nothing.

    Making the folder removes all but the two newest of its `siblings`, a pattern.
    """
    folder = path.parent
    with suppress(OSError):
        if not folder.is_dir():
            old = sorted(folder.parent.glob(siblings), key=os.path.getmtime) if siblings else []
            for one in old[:-2]:
                _check_private(one.stat())
                shutil.rmtree(one, ignore_errors=True)
            folder.mkdir(0o700, parents=True, exist_ok=True)
        _check_private(folder.stat())
        with replacing(path) as file:
            file.write(hashlib.sha256(content).digest() + content)
        path.chmod(0o600)


def is_shared(folder: Path) -> bool:
    """Whether a folder is there in which somebody other than this user and root may write.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> is_shared(folder), folder.chmod(0o777), is_shared(folder), is_shared(folder / "none")
    (False, None, True, False)
    """
    try:
        _check_private(folder.stat())
    except PermissionError:
        return True
    except OSError:
        return False
    return False


def _check_private(found: os.stat_result) -> None:
    if hasattr(os, "geteuid") and (found.st_uid not in (0, os.geteuid()) or found.st_mode & 0o022):
        raise PermissionError("others may write here")
