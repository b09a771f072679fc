"""Atomic writes, lock files, and cache files that only the user can have written."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, BinaryIO

from rosenblatt.errors import OptionError

_WRITE_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO)
_UNFINISHED = ".unfinished"
_LOCK_NAME = "owner"  # the lock file of a temporary folder
_TEMPORARY_PREFIX = "rosenblatt-"


@contextmanager
def atomic_write(
    path: str | os.PathLike[str], mode: str = "wb", permissions: int = 0o666
) -> Iterator[IO[Any]]:
    """Open a temporary file that replaces `path` when the block succeeds.

    After an error, a kill or a full disk, the previous file at `path` is unchanged. After success
    file and directory entry are synced to disk. A symbolic link stays, and the file that it names
    is replaced. A new file has these permissions, less the umask; an old one keeps its own.
    """
    target = Path(os.path.realpath(path))
    with naming_file(path):
        descriptor, temporary = _unfinished(target, permissions)
        try:
            with os.fdopen(descriptor, mode, encoding=None if "b" in mode else "utf-8") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
                if os.name == "nt":  # an open file cannot be renamed there
                    file.close()
                if target.exists():
                    temporary.chmod(target.stat().st_mode & 0o777)
                temporary.replace(target)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        sync_folder(target.parent)


def check_output(
    target: Path, read: Iterable[str | os.PathLike[str]] = (), what: str = "output"
) -> None:
    """Raise OptionError if a file cannot be written, or if one of the files `read` is replaced.

    To be called before the work. Paths in `read` that do not exist, such as ``"-"``, are skipped;
    `what` names the output in messages.
    """
    folder = Path(os.path.realpath(target)).parent
    if not folder.is_dir():
        shown = folder if target.is_symlink() else target.parent
        raise OptionError(f"the {what} cannot be written to {target}: there is no folder {shown}")
    if target.exists() and not target.is_file():
        raise OptionError(f"the {what} cannot be written to {target}: that is not a file")
    for path in map(Path, read):
        if path.exists() and ((target.exists() and path.samefile(target)) or folder.samefile(path)):
            raise OptionError(
                f"the {what} would replace {target}, which is read; name another file"
            )
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise OptionError(f"the {what} cannot be written to {target}: {error.strerror}") from None
    remove_leftovers(target)


def _unfinished(target: Path, permissions: int) -> tuple[int, Path]:
    """A new temporary file beside the target, locked while this process writes it."""
    while True:
        temporary = target.with_name(f".{target.name}.{os.urandom(4).hex()}{_UNFINISHED}")
        # Not by `tempfile`, whose files only the user may read: here the system applies the umask,
        # which a process cannot read without changing it for all of its threads.
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        with suppress(FileExistsError):
            descriptor = os.open(temporary, flags, permissions)
            if _lock(descriptor) and _is_at(descriptor, temporary):
                return descriptor, temporary
            os.close(descriptor)  # another run took it for a leftover and removes it


@contextmanager
def naming_file(path: str | os.PathLike[str]) -> Iterator[None]:
    """Add the path to write errors of the system that name no file, as on a full disk."""
    try:
        yield
    except OSError as error:
        is_temporary = str(error.filename).endswith(_UNFINISHED)
        if not is_temporary and (error.filename is not None or error.errno not in _WRITE_ERRORS):
            raise
        raise OSError(error.errno, error.strerror, os.fspath(path)) from None


def sync_folder(folder: Path) -> None:
    """Sync the directory entries of a folder to disk, if the system can."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def acquire_lock(path: Path) -> BinaryIO | None:
    """Create and lock a file; return it, or None if another process holds the lock.

    The lock ends when the file is closed or the process ends. Remove the file, if at all, before
    closing it.
    """
    while True:
        file = path.open("ab")
        if not _lock(file.fileno()):
            file.close()
            return None
        if _is_at(file.fileno(), path):
            return file
        file.close()  # removed by another process before it was locked


def temporary_folder() -> tuple[Path, BinaryIO]:
    """Create a temporary folder; return it and the lock that shows that its process is alive."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=_TEMPORARY_PREFIX))
        with suppress(FileNotFoundError):
            held = acquire_lock(folder / _LOCK_NAME)
            if held is not None:
                return folder, held


def remove_leftovers(target: Path | None = None) -> int:
    """Remove temporary files of killed runs; return how many.

    These are unfinished copies of `target`, or without one temporary folders. What is locked by a
    live process or does not have a name that this package gives is left alone.
    """
    removed = 0
    with suppress(OSError):
        if target is not None:
            target = Path(os.path.realpath(target))
            made = re.compile(re.escape(f".{target.name}.") + r"\w{8}" + re.escape(_UNFINISHED))
            for path in [p for p in target.parent.iterdir() if made.fullmatch(p.name)]:
                removed += _remove(path, path)
        else:
            for path in Path(tempfile.gettempdir()).glob(f"{_TEMPORARY_PREFIX}*/{_LOCK_NAME}"):
                removed += _remove(path, path.parent)
    return removed


def _remove(lock: Path, whole: Path) -> bool:
    """Remove a file or a folder if no process holds its lock and the user owns it."""
    try:
        if hasattr(os, "geteuid") and lock.lstat().st_uid != os.geteuid():
            return False
        with lock.open("rb+") as file:
            if not _lock(file.fileno(), required=True) or not _is_at(file.fileno(), lock):
                return False
            if os.name == "nt":
                file.close()
            if whole.is_dir():
                shutil.rmtree(whole)
            else:
                whole.unlink()
    except OSError:
        return False
    return True


def _lock(descriptor: int, required: bool = False) -> bool:
    """Lock an open file without waiting; return whether this process now holds the lock.

    Where the file system has no locks, return ``not required``.
    """
    try:
        if os.name == "nt":
            import msvcrt

            locking: Any = msvcrt  # mypy checks one platform only
            locking.locking(descriptor, locking.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    except (OSError, ImportError):  # no locks on some network file systems
        return not required
    return True


def _is_at(descriptor: int, path: Path) -> bool:
    """Whether an open file is still the one at this path."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


def read_private(path: Path) -> bytes | None:
    """Read a file written by :func:`write_private`, or None if it cannot be trusted.

    Folder and file must belong to the user or root and not be writable by others, and the content
    must match its checksum.

    >>> path = Path(tempfile.mkdtemp()) / "private" / "note"
    >>> write_private(path, b"mine", "private-*")
    >>> read_private(path), path.chmod(0o666), read_private(path)
    (b'mine', None, None)
    """
    with suppress(OSError), path.open("rb") as file:
        if _is_private(path.parent.stat()) and _is_private(os.fstat(file.fileno())):
            digest, content = file.read(32), file.read()
            if _sealed(path, content) == digest:
                return content
    return None


def _sealed(path: Path, content: bytes) -> bytes:
    """The checksum of a private file, which holds for its name and folder only."""
    return hashlib.sha256(f"{path.parent.name}/{path.name}\n".encode() + content).digest()


def write_private(path: Path, content: bytes, siblings: str) -> None:
    """Write a file for :func:`read_private`, or do nothing if that is not possible.

    If the folder is created, all but the two newest folders beside it that match the pattern
    `siblings` are removed.
    """
    folder = path.parent
    with suppress(OSError):
        if not folder.is_dir():
            old = sorted(folder.parent.glob(siblings), key=os.path.getmtime)[:-2]
            for one in [one for one in old if _is_private(one.stat())]:
                shutil.rmtree(one, ignore_errors=True)
            folder.mkdir(0o755, parents=True, exist_ok=True)
        if _is_private(folder.stat()):
            # Others may read: the user of a container reads what root compiled.
            with atomic_write(path, permissions=0o644) as file:
                file.write(_sealed(path, content) + content)


def can_keep(folder: Path) -> bool:
    """Whether :func:`write_private` can write files in a folder, which may not exist yet."""
    if folder.exists():
        return _is_private(folder.stat()) and os.access(folder, os.W_OK)
    there = next((parent for parent in folder.parents if parent.exists()), None)
    return there is not None and there.is_dir() and os.access(there, os.W_OK)


def is_shared(folder: Path) -> bool:
    """Whether a folder exists and users other than this one and root may write to it."""
    try:
        return not _is_private(folder.stat())
    except OSError:
        return False


def _is_private(status: os.stat_result) -> bool:
    if not hasattr(os, "geteuid"):
        return True
    return status.st_uid in (0, os.geteuid()) and not status.st_mode & 0o022


def user_cache() -> Path | None:
    """The cache folder: ``ROSENBLATT_CACHE_DIR``, else below the user's own cache folder.

    None if that is not an absolute path: files in the working folder may come from an archive.
    """
    user = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA") or "~/.cache"
    base = Path(os.environ.get("ROSENBLATT_CACHE_DIR") or user + "/rosenblatt")
    with suppress(RuntimeError):  # no home folder
        base = base.expanduser()
    return base if base.is_absolute() else None
