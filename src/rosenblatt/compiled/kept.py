"""Compiled kernels as they were kept on disk, so that a later process need not load a compiler.

To import Numba and to bring a dozen kernels from its own cache takes over half a second; to read
the same machine code from here takes milliseconds. A kept kernel is one file: a checksum, a line of
JSON that says what it was made from, and the image of :mod:`rosenblatt.compiled.machine`. It is
used only if everything is as it was: the sources it can be made of, the way arguments are passed,
the processor, Python, Numba and LLVM. Any doubt, and the caller compiles with Numba as ever.

Kernels are kept where Numba keeps its own: in ``NUMBA_CACHE_DIR`` if that is set, else beside the
package, else in the user's cache folder. Machine code is read only from files and folders that
belong to this user or to root, and that not everyone may write to.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from rosenblatt import rules
from rosenblatt.compiled.abi import callable_of
from rosenblatt.compiled.machine import Foreign, Image, is_supported
from rosenblatt.files import replacing

_HERE = Path(__file__).parent
_HARMLESS = {"NUMBA_CACHE_DIR", "NUMBA_NUM_THREADS"}  # settings that leave the code as it is


def sources_beside(function: Callable[..., Any]) -> str:
    """A digest of all that this kernel can be made of: its folder, the rules, and this package.

    It is taken when the kernel is declared: an upgrade of the package under a running process must
    not find its kernels under the name of the new ones.
    """
    return _digest(Path(function.__code__.co_filename).parent)


@cache
def _digest(folder: Path) -> str:
    files = [Path(rules.__file__), *sorted(_HERE.glob("*.py")), *sorted(folder.glob("*.py"))]
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()


def find(name: str, sources: str, arguments: str) -> Callable[..., Any] | None:
    """The kernel of this name for arguments spelled so, or None if there is no trusting it."""
    if _machine() is None:
        return None
    for folder in _folders():
        with suppress(OSError, ValueError, KeyError, TypeError, Foreign):
            header, code = _read(folder / _file_name(name, arguments))
            if header["made"] == _made(name, sources, arguments):
                image = Image(code, header["entry"], header["inner"], header["outer"])
                return callable_of(image, arguments, header["result"])
    return None


def keep(name: str, sources: str, arguments: str, result: str, image: Callable[[], Image]) -> None:
    """Write a kernel where :func:`find` will look for it, if it can be written anywhere.

    `image` is called only if the kernel is not there yet.
    """
    if _machine() is None:
        return
    made = _made(name, sources, arguments)
    for folder in _folders():
        path = folder / _file_name(name, arguments)
        with suppress(OSError, ValueError, KeyError):
            if _read(path)[0]["made"] == made:
                return
        with suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            _check_owner(folder.stat())
            linked = image()
            header = {"made": made, "result": result, **linked.header()}
            body = json.dumps(header).encode() + b"\n" + linked.code
            with replacing(path) as file:
                file.write(hashlib.sha256(body).digest() + body)
            return


def _read(path: Path) -> tuple[dict[str, Any], bytes]:
    """The header and the code of a file, if both are what was once written by a friend."""
    _check_owner(path.parent.stat())
    with path.open("rb") as file:
        _check_owner(os.fstat(file.fileno()))
        content = file.read()
    body = content[32:]
    if hashlib.sha256(body).digest() != content[:32]:
        raise ValueError(f"{path} is damaged")
    header, _, code = body.partition(b"\n")
    return json.loads(header), code


def _check_owner(found: os.stat_result) -> None:
    if found.st_uid not in (0, os.geteuid()) or found.st_mode & stat.S_IWOTH:
        raise PermissionError("others may write here")


def _file_name(name: str, arguments: str) -> str:
    """One name for one kernel on one machine: an edited kernel takes the place of the old one."""
    key = hashlib.sha256(f"{_machine()} {arguments}".encode()).hexdigest()
    return f"{name}-{key[:16]}.kernel"


def _made(name: str, sources: str, arguments: str) -> list[str]:
    return [name, arguments, sources, str(_machine())]


def _folders() -> Iterator[Path]:
    """Where kernels may be kept, best first."""
    ours = f"rosenblatt_{hashlib.sha256(bytes(_HERE)).hexdigest()[:16]}"
    if chosen := os.environ.get("NUMBA_CACHE_DIR"):
        yield Path(chosen) / ours
        return
    yield _HERE / "__pycache__"
    with suppress(RuntimeError):  # nobody's home
        yield Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / ours


@cache
def _machine() -> str | None:
    """What the code depends on besides its sources; None if that is not known here."""
    settings = {key for key in os.environ if key.startswith("NUMBA_")}
    if not is_supported() or settings - _HARMLESS or Path(".numba_config.yaml").exists():
        return None
    with suppress(OSError):
        parts = [sys.implementation.cache_tag.encode(), _processor()]
        parts += [_version(package) for package in ("numba", "llvmlite")]
        return hashlib.sha256(b"\n".join(parts)).hexdigest()
    return None


def _version(package: str) -> bytes:
    """The version of a package that is not imported for it."""
    found = find_spec(package)
    if found is None or found.origin is None:
        raise OSError(f"{package} is not there")
    return Path(found.origin).with_name("_version.py").read_bytes()


def _processor() -> bytes:
    """The model and the abilities of the first processor."""
    with open("/proc/cpuinfo", "rb", buffering=0) as file:  # noqa: PTH123 - unbuffered: it is long
        lines = file.read(1 << 13).split(b"\n\n")[0].splitlines()
    told = (b"vendor_id", b"cpu family", b"model", b"flags")
    found = [line for line in lines if line.startswith(told)]
    if not found[-1:] or not found[-1].startswith(b"flags"):
        raise OSError("the processor does not tell what it can do")
    return b"\n".join(found)
