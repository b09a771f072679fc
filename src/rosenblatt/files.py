"""Atomic writes, complete or absent; locks; and files that only their user can have written."""

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

_OF_WRITING = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO)
_UNFINISHED = ".unfinished"
_OWNER = "owner"  # the lock file of a temporary folder
_TEMPORARY = "rosenblatt-"


@contextmanager
def atomic_write(path: str | os.PathLike[str], mode: str = "wb") -> Iterator[IO[Any]]:
    """Open a temporary file that replaces `path` when the block succeeds.

    After a failure, a kill or a full disk, the previous file at `path` is unchanged. Afterwards
    the new file is on the disk, and so is its name.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> target = pathlib.Path(tempfile.mkdtemp()) / "weights.txt"
    >>> with atomic_write(target, "w") as file:
    ...     _ = file.write("1 1 -1 -1")
    >>> target.read_text()
    '1 1 -1 -1'
    """
    target = Path(path)
    with naming(target):
        descriptor, temporary = _unfinished(target)
        try:
            with os.fdopen(descriptor, mode, encoding=None if "b" in mode else "utf-8") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
                if os.name == "nt":  # an open file cannot be renamed there
                    file.close()
                temporary.chmod(_mode_for(target))
                temporary.replace(target)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        sync_folder(target.parent)


def check_output(
    target: Path, read: Iterable[str | os.PathLike[str]] = (), what: str = "output"
) -> None:
    """Refuse a file that cannot be written, or that would replace what is read; before the work.

    Parameters
    ----------
    target : path
        The file to write.
    read : iterable of paths
        The files that are read; those that do not exist, such as ``"-"``, are passed over.
    what : str
        What the messages call it.

    Raises
    ------
    OptionError
        Naming the file and what is wrong with it.

    Examples
    --------
    >>> check_output(Path("nowhere") / "small.model", what="model")
    Traceback (most recent call last):
    ...
    rosenblatt.errors.OptionError: the model cannot be written to nowhere/small.model: there is no \
folder nowhere
    """
    folder = target.parent
    if not folder.is_dir():
        raise OptionError(f"the {what} cannot be written to {target}: there is no folder {folder}")
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


def _unfinished(target: Path) -> tuple[int, Path]:
    """A new temporary file beside the target, locked while this process writes it."""
    while True:
        descriptor, name = tempfile.mkstemp(_UNFINISHED, f".{target.name}.", target.parent)
        if _lock(descriptor) and _is_at(descriptor, Path(name)):
            return descriptor, Path(name)
        os.close(descriptor)  # another run took it for a leftover and removes it


@contextmanager
def naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Let an error of the operating system that names no file, as of a full disk, name this one.

    >>> with naming("a.model"):
    ...     raise OSError(28, "No space left on device")
    Traceback (most recent call last):
    ...
    OSError: [Errno 28] No space left on device: 'a.model'
    """
    try:
        yield
    except OSError as error:
        is_own = str(error.filename).endswith(_UNFINISHED)
        if not is_own and (error.filename is not None or error.errno not in _OF_WRITING):
            raise
        raise OSError(error.errno, error.strerror, os.fspath(path)) from None


def sync_folder(folder: Path) -> None:
    """Bring the names in a folder to the disk, where the system can."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def acquire_lock(path: Path) -> BinaryIO | None:
    """A lock: a file, made if needed, that this process holds until it closes it or ends.

    None if another one holds it. It is to be removed, if at all, before it is closed.

    >>> path = Path(tempfile.mkdtemp()) / "lock"
    >>> with acquire_lock(path):
    ...     acquire_lock(path) is None
    True
    >>> with acquire_lock(path):
    ...     path.exists()
    True
    """
    while True:
        file = path.open("ab")
        if not _lock(file.fileno()):
            file.close()
            return None
        if _is_at(file.fileno(), path):
            return file
        file.close()  # it was removed before it was locked


def temporary_folder() -> tuple[Path, BinaryIO]:
    """A new temporary folder and the lock in it that says that its owner lives."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=_TEMPORARY))
        with suppress(FileNotFoundError):
            held = acquire_lock(folder / _OWNER)
            if held is not None:
                return folder, held


def remove_leftovers(target: Path | None = None) -> int:
    """Remove what killed runs left: unfinished copies of a file, or temporary folders.

    What a living process holds stays, and so does what nobody here has made. The number removed.
    """
    removed = 0
    with suppress(OSError):
        if target is not None:
            made = re.compile(re.escape(f".{target.name}.") + r"\w{8}" + re.escape(_UNFINISHED))
            for path in [p for p in target.parent.iterdir() if made.fullmatch(p.name)]:
                removed += _remove(path, path)
        else:
            for path in Path(tempfile.gettempdir()).glob(f"{_TEMPORARY}*/{_OWNER}"):
                removed += _remove(path, path.parent)
    return removed


def _remove(lock: Path, whole: Path) -> bool:
    """Remove a file or a folder if nobody holds its lock."""
    try:
        if hasattr(os, "geteuid") and lock.lstat().st_uid != os.geteuid():
            return False
        with lock.open("rb+") as file:
            if not _lock(file.fileno(), surely=True) or not _is_at(file.fileno(), lock):
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


def _lock(descriptor: int, surely: bool = False) -> bool:
    """Lock an open file for this process; where the system has no locks, that counts as done.

    A lock ends with the process that holds it, however that ends.
    """
    try:
        if os.name == "nt":
            import msvcrt

            locking: Any = msvcrt  # mypy looks at one platform only
            locking.locking(descriptor, locking.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    except (OSError, ImportError):  # some network folders have no locks
        return not surely
    return True


def _is_at(descriptor: int, path: Path) -> bool:
    """Whether an open file still has this name."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


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
        with atomic_write(path) as file:
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


def user_cache() -> Path | None:
    """The folder for what can be made again: ``ROSENBLATT_CACHE_DIR``, else the user's cache.

    None if there is no such place. The working folder, which may have come out of an archive, is
    never one: a relative path counts for nothing.
    """
    user = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA") or "~/.cache"
    base = Path(os.environ.get("ROSENBLATT_CACHE_DIR") or user + "/rosenblatt")
    with suppress(RuntimeError):  # nobody's home
        base = base.expanduser()
    return base if base.is_absolute() else None
