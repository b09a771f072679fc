"""What must be the same wherever a task runs, for its result to have the same bits."""

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

_VERSIONS = (
    "a worker has {name} {found}, this process {expected}: install the same versions everywhere"
)
_SENTENCES = {
    "processor": (
        "a worker has another kind of processor, whose vector instructions add numbers up in "
        "another order: take machines of one kind, and start this process on one of them"
    ),
    "sources": "a worker has other sources of rosenblatt: install the same everywhere",
}

Facts = tuple[tuple[str, str], ...]


class WorkerError(OptionError):
    """A worker cannot take part: it has other versions, another processor, or no package."""


@cache
def facts() -> Facts:
    """Versions, the sources, and what the processor can do, of this process.

    Vector instructions decide in which order a kernel adds numbers up.
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


def checked(expected: Facts, function: Callable[..., Any], *arguments: Any) -> Any:
    """What a function computes, unless the run was begun by a process with other facts."""
    if sentence := difference(expected, facts()):
        raise WorkerError(sentence)
    return function(*arguments)


def difference(expected: Facts, found: Facts) -> str:
    """One sentence about the first fact in which a worker differs; empty if there is none."""
    for (name, value), (_, own) in zip(expected, found, strict=False):
        if own != value:
            return _SENTENCES.get(name, _VERSIONS).format(name=name, found=own, expected=value)
    return ""
