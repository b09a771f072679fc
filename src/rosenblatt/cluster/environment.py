"""What must be equal on all workers for their results to have the same bits."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import rosenblatt
from rosenblatt.errors import OptionError

_PACKAGES = ("numpy", "pyarrow", "numba", "llvmlite")
_VERSION_DIFFERS = (
    "a worker has {name} {found}, this process {expected}: install the same versions everywhere"
)
_MESSAGES = {
    "processor": (
        "a worker has another kind of processor, whose vector instructions add numbers up in "
        "another order: take machines of one kind, and start this process on one of them"
    ),
    "sources": "a worker has other sources of rosenblatt: install the same everywhere",
}

Environment = tuple[tuple[str, str], ...]


class WorkerError(OptionError):
    """A worker cannot take part: it has other versions, another processor, or no package."""


@cache
def environment() -> Environment:
    """The versions of packages, a hash of the sources and the processor of this process.

    The vector instructions of a processor decide in which order kernels add numbers up.
    """
    import llvmlite.binding as llvm

    package = Path(rosenblatt.__file__).parent
    sources = b"".join(path.read_bytes() for path in sorted(package.rglob("*.py")))
    processor = llvm.get_host_cpu_name() + llvm.get_host_cpu_features().flatten()
    return (
        ("rosenblatt", rosenblatt.__version__),
        ("sources", hashlib.sha256(sources).hexdigest()[:16]),
        *((name, version(name)) for name in _PACKAGES),
        ("processor", hashlib.sha256(processor.encode()).hexdigest()[:16]),
    )


def run_checked(expected: Environment, function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function, or raise a WorkerError if the environment here is not the expected one."""
    if message := difference(expected, environment()):
        raise WorkerError(message)
    return function(*arguments)


def difference(expected: Environment, found: Environment) -> str:
    """A message about the first difference between two environments; empty if they are equal."""
    for (name, value), (_, own) in zip(expected, found, strict=False):
        if own != value:
            return _MESSAGES.get(name, _VERSION_DIFFERS).format(
                name=name, found=own, expected=value
            )
    return ""
