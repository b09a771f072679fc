"""The one way to declare kernels, and the one place that decides who runs them.

A kernel that was compiled before is taken from :mod:`rosenblatt.compiled.kept`, as machine code
that needs no compiler. Any other call goes to Numba (:mod:`rosenblatt.compiled.compiler`), which
compiles the kernel, or brings it from its own cache, and keeps it for the next process.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from importlib import import_module
from threading import RLock
from typing import Any

from rosenblatt.compiled import kept
from rosenblatt.compiled.abi import Unspeakable, kinds, spelled

# Let sums be reordered, so that a dot product runs in vector lanes. Nothing here lets the compiler
# assume that NaN and infinity do not occur: `y·s <= δ` keeps its meaning.
REORDER = {"reassoc", "contract"}

# Numba takes half a second to load, and then a few microseconds to call a kernel where a kept one
# takes ten to thirty. Whoever calls one kernel as often as this has use for Numba.
_OFTEN = 1 << 14

_PACKAGE = __name__.partition(".")[0]
_COMPILING = RLock()
_EXPLAINED_IN: list[str] = []


def explained_in(module: str) -> None:
    """Have a module imported before Numba compiles, which tells it what some functions stand for.

    (The module needs Numba, and so cannot be imported before there is something to compile.)
    """
    _EXPLAINED_IN.append(module)


def before_compiling() -> None:
    """Called before Numba is imported; a program may put its own preparations here."""


class Kernel:
    """A function that runs as machine code.

    The global interpreter lock is released meanwhile. Inside another kernel it stands for its
    dispatcher, by the three names that Numba looks for there.
    """

    def __init__(self, function: Callable, **targetoptions: Any) -> None:
        update_wrapper(self, function)
        self.py_func, self.targetoptions = function, targetoptions
        name, inside = f"{function.__module__}.{function.__qualname__}", f"{_PACKAGE}."
        # By this name it is kept; only here does the digest of sources tell whether it was edited.
        self.name = name.removeprefix(inside) if name.startswith(inside) else None
        self.sources = "" if self.name is None else kept.sources_beside(function)
        self._found: dict[tuple[Any, ...], Callable | None] = {}
        self._calls = 0
        self._dispatcher: Any = None

    def __call__(self, *arguments: Any) -> Any:
        """Run the kernel as it was kept; else through Numba, as every call from then on."""
        if self._dispatcher is None and self._calls < _OFTEN:
            self._calls += 1
            found = self._kept(arguments)
            if found is not None:
                return found(*arguments)
        return self.dispatcher(*arguments)

    def _kept(self, arguments: tuple[Any, ...]) -> Callable | None:
        if self.name is None:
            return None
        try:
            kind = kinds(arguments)
            if kind not in self._found:
                self._found[kind] = kept.find(self.name, self.sources, spelled(arguments))
        except Unspeakable:
            return None
        return self._found[kind]

    @property
    def dispatcher(self) -> Any:
        """Numba's function, the quickest way in for whoever calls it example by example."""
        if self._dispatcher is None:
            with _COMPILING:
                before_compiling()
                from rosenblatt.compiled.compiler import dispatcher_of

                for module in _EXPLAINED_IN:
                    import_module(module)
                self._dispatcher = self._dispatcher or dispatcher_of(self)
        return self._dispatcher

    @property
    def _numba_type_(self) -> Any:
        return self.dispatcher._numba_type_


def kernel(function: Callable | None = None, *, fastmath: Any = False) -> Any:
    """Compile `function` when it is first called, and keep the result on disk where that works.

    A folder that cannot be written costs the compile time of every process, never an error.
    """
    if function is None:
        return lambda function: kernel(function, fastmath=fastmath)
    return Kernel(function, nogil=True, error_model="numpy", fastmath=fastmath)


def inlined(function: Callable) -> Any:
    """Compile a small function into each kernel that calls it."""
    return Kernel(function, inline="always", error_model="numpy")


def prefetch(array: Any, index: Any) -> None:
    """Ask for the cache line of a one-dimensional ``array[index]`` before it is needed.

    It is brought into the second-level cache, which can wait for many more lines at once than the
    first: 20 against 12 GB/s for random rows of 3 KB on a Zen 4 core. For kernels only.
    """


def load_shared(array: Any, index: Any) -> Any:
    """What another thread has stored in a one-dimensional ``array[index]``, seen in order.

    All that thread has written before it stored it can be read after this. For kernels only.
    """


def store_shared(array: Any, index: Any, value: Any) -> None:
    """Store to a one-dimensional ``array[index]`` for another thread. For kernels only."""


def fence() -> None:
    """Let nothing that is read or written before this happen after it. For kernels only."""
