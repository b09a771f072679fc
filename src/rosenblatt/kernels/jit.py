"""The one way to declare kernels, compile them, keep them on disk and call them.

A kernel is a module-level function of arrays, numbers and tuples of these. Numba compiles it for
the argument types of a call, as a C function of a block of pointers, sizes and numbers. The object
code is kept on disk; a later process loads it with LLVM's own loader and never imports Numba.

The rules: C-contiguous arrays in; None, a number or a tuple of numbers out; nothing is allocated
(scratch memory is an argument) and nothing raised. A kernel that breaks them does not compile.
Object code is kept in ``ROSENBLATT_CACHE_DIR``, else in the user's cache folder, and only read if
nobody else could have written it. Numba's own cache, which holds pickles, is never used.
"""

from __future__ import annotations

import ctypes
import gc
import hashlib
import os
import struct
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, update_wrapper
from importlib.metadata import version
from pathlib import Path
from threading import RLock
from typing import Any

from rosenblatt.files import is_shared, read_private, user_cache, write_private
from rosenblatt.kernels.arguments import C_FUNCTION, Entry, block_of, take_apart

# Let sums be reordered, so that a dot product runs in vector lanes. Nothing here lets the compiler
# assume that NaN and infinity do not occur: `y·s <= δ` keeps its meaning.
REORDER = {"reassoc", "contract"}
_SETTINGS = ".numba_config.yaml"

_LOCK = RLock()
_undeclared: list[tuple[Any, Callable, Any, str]] = []  # what Numba has not been told yet
_engines: list[Any] = []  # own the code of loaded kernels
_seconds, _announce = 0.0, None


def on_compile(callback: Any) -> None:
    """Call `callback(name)` before a kernel is compiled, instead of printing a line once."""
    global _announce
    _announce = callback


def compile_seconds() -> float:
    """The seconds this process has spent compiling, for rates that must not count them."""
    return _seconds


class Kernel:
    """A function that runs as machine code, without the global interpreter lock."""

    def __init__(self, function: Callable, fastmath: Any) -> None:
        update_wrapper(self, function)
        self.py_func, self.fastmath = function, fastmath
        self._bound: dict[Any, Any] = {}  # by the kinds of the arguments, and by their spelling
        _undeclared.append((self, function, fastmath, ""))

    def __repr__(self) -> str:
        return f"<kernel {self.py_func.__qualname__}>"

    def __call__(self, *arguments: Any) -> Any:
        """Run the kernel; compile it if this machine never ran it with such arguments."""
        (function, slots, unpack), passed = self._called(arguments)
        function(block_of(passed), out := slots())
        return unpack(out)

    def bound(self, *arguments: Any) -> Callable[[], Any]:
        """A call with these arrays, whose addresses are looked up and converted once."""
        (function, slots, unpack), passed = self._called(arguments)
        block, out = block_of(passed), slots()
        places = ctypes.addressof(block), ctypes.addressof(out)

        def call(held: Any = (arguments, block)) -> Any:
            function(*places)
            return unpack(out)

        return call

    def _called(self, arguments: tuple[Any, ...]) -> tuple[Any, list[Any]]:
        """The C function for arguments of these kinds, and what it is to be called with."""
        kinds: list[Any] = []
        passed: list[Any] = []
        take_apart(arguments, kinds, passed)
        bound = self._bound.get(key := tuple(kinds))
        if bound is None:
            with _LOCK:
                bound = self._bound[key] = self._bind(Entry(arguments))
        return bound, passed

    def _bind(self, entry: Entry) -> Any:
        """The C function, the place for its results, and how to read them there."""
        if entry.spelling not in self._bound:
            path = _path(self.py_func, entry.spelling)
            made = read_private(path) if path else None
            if made is None:
                made = _compile(self, entry)
                if path:
                    if is_shared(path.parent):
                        _say_once(f"others may write in {path.parent}: no code is taken from there")
                    write_private(path, made, siblings="kernels-*")
            results, code = made.split(b"\n", 1)
            function = C_FUNCTION(_load(code))
            layout = struct.Struct(b"=" + results.lstrip(b"("))
            unpack = layout.unpack if results[:1] == b"(" else lambda out: layout.unpack(out)[0]
            unpack = unpack if results else lambda out: None
            self._bound[entry.spelling] = function, ctypes.c_int64 * (layout.size // 8), unpack
        return self._bound[entry.spelling]


def kernel(function: Callable | None = None, *, fastmath: Any = False) -> Any:
    """Declare a kernel, which is compiled when it is called, or into kernels that call it.

    >>> import numpy as np
    >>> @kernel
    ... def total(values, scale):
    ...     s = 0.0
    ...     for i in range(values.size):
    ...         s += values[i] * scale
    ...     return s, values.size
    >>> total(np.arange(4.0), 0.5)
    (3.0, 4)
    """
    return Kernel(function, fastmath) if function else lambda function: Kernel(function, fastmath)


@cache
def inlined(function: Callable) -> Any:
    """Let kernels call a pure function of numbers; for Python it stays what it is."""
    _undeclared.append((function, function, False, ""))
    return function


def by_layout(name: str, **choices: Kernel) -> Callable:
    """A function that is another kernel for each class of its first argument, a NamedTuple.

    ``dot = by_layout("dot", Dense=dense_dot, Csr=csr_dot)``; in a kernel the compiler chooses.
    """

    def chosen(rows: Any, *rest: Any) -> Any:
        return choices[type(rows).__name__](rows, *rest)

    chosen.__name__ = name
    for layout, choice in choices.items():
        _undeclared.append((chosen, choice.py_func, choice.fastmath, layout))
    return chosen


def prefetch(array: Any, index: Any) -> None:
    """Ask for the cache line of a one-dimensional ``array[index]`` before it is needed.

    It is brought into the second-level cache, which can wait for many more lines at once than the
    first: 20 against 12 GB/s for random rows of 3 KB on a Zen 4 core.
    """


def _compile(kernel: Kernel, entry: Entry) -> bytes:
    """The format of a kernel's results, a newline, and its object code."""
    global _seconds
    started, collecting = time.perf_counter(), gc.isenabled()
    gc.disable()  # Numba makes many objects and little garbage: looking for it is 15 % of its time
    try:
        with _without_settings_of_the_folder():
            if _announce is not None:
                _announce(kernel.py_func.__name__)
            else:
                _say_once("compiling, once on this machine ...")
            from rosenblatt.kernels import compiler

        compiler.declare(_undeclared)
        return compiler.compile_kernel(kernel.py_func, kernel.fastmath, entry)
    finally:
        _seconds += time.perf_counter() - started
        if collecting:
            gc.enable()


@cache
def _say_once(line: str) -> None:
    if not os.environ.get("ROSENBLATT_QUIET"):
        print(f"rosenblatt: {line}", file=sys.stderr, flush=True)


@contextmanager
def _without_settings_of_the_folder() -> Iterator[None]:
    """Let Numba be imported without the reader of its settings file.

    Numba obeys a file in the working folder, which may have come out of an archive, when it is
    imported and whenever it compiles; but not if PyYAML was missing when it was imported.
    """
    if Path(_SETTINGS).exists():
        _say_once(f"the file {_SETTINGS} in this folder is ignored")
        warnings.filterwarnings("ignore", "A Numba config file is found")
    if "numba" in sys.modules:
        yield
        return
    before = {name: sys.modules[name] for name in ("yaml",) if name in sys.modules}
    sys.modules["yaml"] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        del sys.modules["yaml"]
        sys.modules.update(before)


def _load(code: bytes) -> int:
    """The address of the kernel of an object file, which stays loaded."""
    engine = _llvm().create_mcjit_compiler(_llvm().parse_assembly(""), target_machine())
    engine.add_object_file(_llvm().ObjectFileRef.from_data(code))
    _engines.append(engine)
    return engine.get_function_address("kernel")


@cache
def _llvm() -> Any:
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm


def target_machine() -> Any:
    """This processor, for LLVM; whoever makes an engine of it owns it."""
    triple, features = _llvm().get_process_triple(), _llvm().get_host_cpu_features().flatten()
    reloc = "static" if triple.startswith(("x86", "i686")) else "default"  # what MCJIT can load
    target = _llvm().Target.from_triple(triple)
    return target.create_target_machine(
        cpu=_llvm().get_host_cpu_name(), features=features, opt=3, reloc=reloc, jit=True
    )


@cache
def _digest(folder: Path) -> bytes:
    """A digest of all that the kernels of a folder can be made of."""
    here = Path(__file__).parent
    files = {*folder.glob("*.py"), *here.glob("*.py"), *here.parent.glob("rules*/*.py")}
    files |= {*here.parent.glob("rules*.py")}
    content = b"".join(path.read_bytes() for path in sorted(files))
    return hashlib.sha256(content).digest()


_digest(Path(__file__).parent)  # now: an upgrade under a running process must not be taken for it


@cache
def cache_folder() -> Path | None:
    """Where kernels of these sources are kept, for this processor and these compilers.

    None if there is no such place.
    """
    base = user_cache()
    if base is None:
        return None
    parts = [sys.implementation.cache_tag, version("numba"), version("llvmlite")]
    parts += [_llvm().get_host_cpu_name(), _llvm().get_host_cpu_features().flatten()]
    sources = _digest(Path(__file__).parent)
    return base / f"kernels-{hashlib.sha256(repr(parts).encode() + sources).hexdigest()[:16]}"


def _path(function: Callable, spelling: str) -> Path | None:
    """Where a kernel is kept; nowhere if it was not declared in a file."""
    file, folder = Path(function.__code__.co_filename), cache_folder()
    if folder is None or not file.is_file():
        return None
    spelled = f"{function.__module__} {function.__qualname__} {spelling}"
    name = hashlib.sha256(_digest(file.parent) + spelled.encode()).hexdigest()[:16]
    return folder / f"{function.__name__}-{name}"
