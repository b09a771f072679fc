"""Declare kernels, call them, and cache their object code. Numba is imported only to compile.

A kernel is a module-level function of arrays, numbers and tuples of these. For the argument types
of a call, :mod:`.compiler` makes it a C function of a block of 64-bit words; later processes load
the object code with LLVM's own loader. Kernels take C-contiguous arrays, return None, a number or a
tuple of numbers, and neither allocate (scratch memory is an argument) nor raise: one that does is
refused when it is compiled.

Object code lies in ``ROSENBLATT_CACHE_DIR``, else in the user's cache folder, and is only loaded if
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
from collections.abc import Callable, Iterator
from functools import cache, update_wrapper
from importlib.metadata import version
from pathlib import Path
from threading import RLock
from types import FunctionType
from typing import Any

import numpy as np

from rosenblatt.atomic_files import can_keep, is_shared, read_private, user_cache, write_private

# Lets sums be reordered, so that a dot product runs in vector lanes. Never all of "fastmath":
# `y·s <= δ` must keep its meaning for NaN and infinity.
REORDER = {"reassoc", "contract"}
USABLE = 0x101  # the flags of C-contiguous, aligned arrays
_PLAIN = {bool: np.dtype("?"), int: np.dtype("i8"), float: np.dtype("f8")}
_double, _integer = struct.Struct("=d").pack, struct.Struct("=q").unpack
_addressof: Any = ctypes.addressof
_from_buffer: Any = ctypes.c_char.from_buffer
# The addresses of the arguments and the results: ctypes takes 0.1 µs for each value it passes.
_FUNCTION: Any = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)

_LOCK = RLock()
_engines: list[Any] = []  # own the code of loaded kernels
_seconds, _announce = 0.0, None
# Functions Numba does not know yet, what chooses their bodies by the class of the first argument,
# and their fastmath.
undeclared: list[tuple[Callable, Callable[[type], Callable | None], Any]] = []
_chosen: set[Callable] = set()  # those of Python that kernels choose by class


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
        self._loaded: dict[tuple[Any, ...], Any] = {}
        undeclared.append((self, lambda kind: function, fastmath))

    def __repr__(self) -> str:
        return f"<kernel {self.py_func.__qualname__}>"

    def __call__(self, *arguments: Any) -> Any:
        """Run the kernel; compile it if it is not cached for arguments of these types."""
        (function, results, unpack), block = self._lookup(arguments)
        function(block, out := results())
        return unpack(out)

    def bound(self, *arguments: Any) -> Callable[[], Any]:
        """A call with these arrays, whose addresses are looked up once."""
        (function, results, unpack), words = self._lookup(arguments)
        block = ctypes.create_string_buffer(words)
        places = ctypes.addressof(block), ctypes.addressof(out := results())

        def call(alive: Any = (arguments, block)) -> Any:
            function(*places)
            return unpack(out)

        return call

    def _lookup(self, arguments: tuple[Any, ...]) -> tuple[Any, bytes]:
        """The C function for arguments of these types, and the block of words to pass."""
        words: list[Any] = []
        loaded = self._loaded.get(types := types_of(arguments, words))
        if loaded is None:
            with _LOCK:
                loaded = self._loaded.get(types) or self._load(types)
        return loaded, struct.pack(f"={len(words)}q", *words)  # ctypes takes ten times as long

    def _load(self, types: tuple[Any, ...]) -> Any:
        """The C function, the type of its results, and the function that reads them."""
        path = _cache_path(self.py_func, repr(types) + "".join(_digests(types)))
        compiled = read_private(path) if path else None
        if compiled is None:
            compiled = _compile(self, types)
            if path:
                if is_shared(path.parent):
                    print_once(f"others may write in {path.parent}: no code is taken from there")
                write_private(path, compiled, siblings="kernels-*")
        results, code = compiled.split(b"\n", 1)
        layout = struct.Struct(b"=" + results.lstrip(b"("))
        unpack = layout.unpack if results[:1] == b"(" else lambda out: layout.unpack(out)[0]
        unpack = unpack if results else lambda out: None
        loaded = _FUNCTION(_load_object(code)), ctypes.c_int64 * (layout.size // 8), unpack
        self._loaded[types] = loaded
        return loaded


def types_of(values: tuple[Any, ...], words: list[Any]) -> tuple[Any, ...]:
    """The types of arguments, which decide about the machine code; `words` gets what is passed.

    The type of a number is its dtype, of an array (dtype, dimensions, flags), of a tuple its class
    and the types of its members.
    """
    types: list[Any] = []
    for value in values:
        kind = type(value)
        if kind is np.ndarray:
            types.append((value.dtype, value.ndim, value.flags.num & USABLE))
            try:
                words.append(_addressof(_from_buffer(value)))
            except (TypeError, ValueError):  # read-only, empty or not contiguous: slower
                words.append(value.__array_interface__["data"][0])
            words += value.shape
        elif kind in _PLAIN:
            types.append(_PLAIN[kind])
            words.append(_integer(_double(value))[0] if kind is float else value)
        elif isinstance(value, tuple):
            types.append((kind, types_of(value, words)))
        elif isinstance(value, np.generic):
            types.append(value.dtype)
            number = value.item()
            if isinstance(number, float):
                number = _integer(_double(number))[0]
            words.append(number - (1 << 64) if number >= 1 << 63 else number)
        elif isinstance(value, np.ndarray):
            types += types_of((value.view(np.ndarray),), words)
        else:
            raise TypeError(f"a kernel cannot take a {kind.__name__}")
    return tuple(types)


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
    """Let kernels call a pure function of numbers; in Python it stays what it is.

    So do the functions that it calls by their global names.
    """
    if function in _chosen:
        return function
    undeclared.append((function, lambda kind: function, False))
    for name in function.__code__.co_names:
        called = function.__globals__.get(name)
        if isinstance(called, FunctionType):
            inlined(called)
    return function


def chosen_by_class(function: Callable, choose: Callable[[type], Callable | None]) -> None:
    """Let kernels call, for a function of Python, the one that `choose` returns for a class.

    The class is that of the first argument, a NamedTuple, as for :func:`by_class`.
    """
    _chosen.add(function)
    undeclared.append((function, choose, False))


def by_class(name: str, choose: Callable[[type], Callable | None]) -> Callable:
    """A function that is another one for each class of its first argument, a NamedTuple.

    `choose` gets the class and returns the function; in a kernel the compiler calls it. Functions
    that these call must be kernels or :func:`inlined`.
    """

    def chosen(first: Any, *others: Any) -> Any:
        function = choose(type(first))
        assert function is not None, f"{name} has no function for {type(first).__name__}"
        return function(first, *others)

    chosen.__name__ = name
    undeclared.append((chosen, choose, False))
    return chosen


def by_layout(name: str, **choices: Kernel) -> Callable:
    """A function that calls another kernel for each class of its first argument, a NamedTuple.

    ``dot = by_layout("dot", Dense=dense_dot, Csr=csr_dot)``; in a kernel the compiler chooses.
    """

    def chosen(rows: Any, *rest: Any) -> Any:
        return choices[type(rows).__name__](rows, *rest)

    def choice(layout: str) -> Callable[[type], Callable | None]:
        return lambda kind: choices[layout].py_func if kind.__name__ == layout else None

    chosen.__name__ = name
    undeclared.extend((chosen, choice(key), one.fastmath) for key, one in choices.items())
    return chosen


def prefetch(array: Any, index: Any) -> None:
    """Prefetch the cache line of a one-dimensional ``array[index]`` into the second-level cache.

    That cache waits for more lines at once than the first: 20 against 12 GB/s for random rows.
    """


def _compile(kernel: Kernel, types: tuple[Any, ...]) -> bytes:
    global _seconds
    started, collecting = time.perf_counter(), gc.isenabled()
    gc.disable()  # Numba makes many objects and little garbage: collecting is 15 % of its time
    try:
        if _announce is not None:
            _announce(kernel.py_func.__name__)
        elif note := compiling_note():
            print_once(note)
        from rosenblatt.kernels import compiler

        return compiler.object_code(kernel.py_func, kernel.fastmath, types)
    finally:
        _seconds += time.perf_counter() - started
        if collecting:
            gc.enable()


def compiling_note() -> str | None:
    """What to say before compiling: why it takes time now, and how to avoid it later.

    None if it was said on this machine before, and what is compiled will be kept.
    """
    folder = cache_folder()
    if folder is None or not can_keep(folder):
        return (
            "compiling, in every process, as there is no folder of this user to keep the result "
            "in: set ROSENBLATT_CACHE_DIR to one, or to one that root filled by rosenblatt warm-up"
        )
    if folder.exists():
        return None
    return "compiling, once on this machine (all at once: rosenblatt warm-up) ..."


@cache
def print_once(line: str) -> None:
    """Print a line to standard error, the first time, unless ``ROSENBLATT_QUIET`` is set."""
    if not os.environ.get("ROSENBLATT_QUIET"):
        print(f"rosenblatt: {line}", file=sys.stderr, flush=True)


def _load_object(code: bytes) -> int:
    """The address of the function ``kernel`` of an object file, which stays loaded."""
    engine = llvm().create_mcjit_compiler(llvm().parse_assembly(""), target_machine())
    engine.add_object_file(llvm().ObjectFileRef.from_data(code))
    _engines.append(engine)
    return engine.get_function_address("kernel")


@cache
def llvm() -> Any:
    """LLVM, ready for this machine."""
    import llvmlite.binding

    llvmlite.binding.initialize_native_target()
    llvmlite.binding.initialize_native_asmprinter()
    return llvmlite.binding


def target_machine() -> Any:
    """This processor, for LLVM; an engine made of it owns it."""
    triple, features = llvm().get_process_triple(), llvm().get_host_cpu_features().flatten()
    reloc = "static" if triple.startswith(("x86", "i686")) else "default"  # what MCJIT can load
    return llvm().Target.from_triple(triple).create_target_machine(
        cpu=llvm().get_host_cpu_name(), features=features, opt=3, reloc=reloc, jit=True
    )  # fmt: skip


@cache
def _digest(folder: Path) -> bytes:
    """A digest of all sources that the kernels of a folder can be compiled from."""
    here = Path(__file__).parent
    files = {*folder.glob("*.py"), *here.glob("*.py"), *here.parent.glob("rules/*.py")}
    return hashlib.sha256(b"".join(path.read_bytes() for path in sorted(files))).digest()


_digest(Path(__file__).parent)  # now: an upgrade under a running process must not be taken for it


@cache
def cache_folder() -> Path | None:
    """The folder for these sources, this processor and these compilers; None if there is none."""
    if (base := user_cache()) is None:
        return None
    parts = [sys.implementation.cache_tag, version("numba"), version("llvmlite")]
    parts += [llvm().get_host_cpu_name(), llvm().get_host_cpu_features().flatten()]
    sources = _digest(Path(__file__).parent)
    return base / f"kernels-{hashlib.sha256(repr(parts).encode() + sources).hexdigest()[:16]}"


def _digests(types: tuple[Any, ...]) -> Iterator[str]:
    """Digests of the code that classes of arguments stand for, where it is not in the sources."""
    for kind in types:
        if isinstance(kind, tuple) and isinstance(kind[0], type):
            yield getattr(kind[0], "code_digest", "")
            yield from _digests(kind[1])


def _cache_path(function: Callable, types: str) -> Path | None:
    """Where object code is cached; None for a kernel that was not declared in a file."""
    file, folder = Path(function.__code__.co_filename), cache_folder()
    if folder is None or not file.is_file():
        return None
    key = f"{function.__module__} {function.__qualname__} {types}".encode()
    name = hashlib.sha256(_digest(file.parent) + key).hexdigest()[:16]
    return folder / f"{function.__name__}-{name}"
