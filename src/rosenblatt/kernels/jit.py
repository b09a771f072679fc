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

import numpy as np

from rosenblatt.files import is_shared, read_private, user_cache, write_private

# Let sums be reordered, so that a dot product runs in vector lanes. Nothing here lets the compiler
# assume that NaN and infinity do not occur: `y·s <= δ` keeps its meaning.
REORDER = {"reassoc", "contract"}
_SETTINGS = ".numba_config.yaml"

_PLAIN = {bool: "b1", int: "i8", float: "f8"}
_NUMBERS = ("b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8")
# Numbers travel as 64 bits: the C rules for narrow ones differ from system to system.
_WIDE = {"b": "i8", "i": "i8", "u": "u8", "f": "f8"}
_addressof: Any = ctypes.addressof
_from_buffer: Any = ctypes.c_char.from_buffer
_double, _integer = struct.Struct("=d").pack, struct.Struct("=q").unpack
# A block of arguments and a place for the results: two addresses are quick to pass, where ctypes
# takes 0.1 µs for each of the thirty arguments of a walk.
_FUNCTION: Any = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)

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
        (function, slots, unpack), block = self._called(arguments)
        function(block, out := slots())
        return unpack(out)

    def bound(self, *arguments: Any) -> Callable[[], Any]:
        """A call with these arrays, whose addresses are looked up and converted once."""
        (function, slots, unpack), block = self._called(arguments)
        places = ctypes.addressof(block), ctypes.addressof(out := slots())

        def call(held: Any = (arguments, block)) -> Any:
            function(*places)
            return unpack(out)

        return call

    def _called(self, arguments: tuple[Any, ...]) -> tuple[Any, Any]:
        """The C function for arguments of these kinds, and the block of words it is to be given."""
        kinds: list[Any] = []
        passed: list[Any] = []
        take_apart(arguments, kinds, passed)
        bound = self._bound.get(key := tuple(kinds))
        if bound is None:
            with _LOCK:
                bound = self._bound[key] = self._bind(Entry(arguments))
        return bound, (ctypes.c_int64 * len(passed))(*passed)

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
            function = _FUNCTION(_load(code))
            layout = struct.Struct(b"=" + results.lstrip(b"("))
            unpack = layout.unpack if results[:1] == b"(" else lambda out: layout.unpack(out)[0]
            unpack = unpack if results else lambda out: None
            self._bound[entry.spelling] = function, ctypes.c_int64 * (layout.size // 8), unpack
        return self._bound[entry.spelling]


def take_apart(values: tuple[Any, ...], kinds: list[Any], passed: list[Any]) -> None:
    """What tells arguments of different spelling apart, and the words C is given for them."""
    for value in values:
        kind = type(value)
        if kind in _PLAIN:
            kinds.append(kind)
            passed.append(_integer(_double(value))[0] if kind is float else value)
        elif isinstance(value, np.ndarray):
            kinds += (value.dtype, value.ndim, value.flags.num)
            try:
                passed.append(_addressof(_from_buffer(value)))
            except (TypeError, ValueError):  # read-only, empty or with gaps: works, but slowly
                passed.append(value.__array_interface__["data"][0])
            passed += value.shape
        elif isinstance(value, tuple):
            kinds += (kind, len(value))
            take_apart(value, kinds, passed)
        else:
            kinds.append(kind)
            number = value.item() if isinstance(value, np.generic) else value
            passed.append(_integer(_double(number))[0] if isinstance(number, float) else number)


class Entry:
    """The C function around a kernel: how arguments are spelled, passed and put together again.

    ``f4`` is a number of NumPy's type of that name, ``f4:2`` a matrix of them, ``(i8,i8)`` a pair,
    ``Csr(f4:1,u4:1,u8:1)`` a named tuple. Equal spelling means equal machine code.
    """

    def __init__(self, values: tuple[Any, ...]) -> None:
        self.words: list[str] = []  # the types of the words c0, c1, ... of a block
        self.classes: dict[str, type] = {}
        self.spelling, self.call = self._add_all(values)

    def _add_all(self, values: tuple[Any, ...]) -> tuple[str, str]:
        added = [self._add(value) for value in values]
        return ",".join(word for word, _ in added), "".join(f"{inside}, " for _, inside in added)

    def _add(self, value: Any) -> tuple[str, str]:
        """The spelling of a value, and how it is made of the words of a block."""
        at, dtype = len(self.words), np.dtype(_PLAIN.get(type(value), getattr(value, "dtype", "O")))
        if isinstance(value, tuple):
            name = "" if type(value) is tuple else type(value).__name__
            self.classes[name] = type(value)
            spelled, inside = self._add_all(value)
            return f"{name}({spelled})", f"{name}({inside})"
        if (word := dtype.str[1:]) not in _NUMBERS or not dtype.isnative:
            raise TypeError(f"a kernel cannot take a {type(value).__name__} of type {dtype}")
        if not isinstance(value, np.ndarray):
            self.words.append(_WIDE[word[0]])
            return word, f"np.{dtype.type.__name__}(c{at})"
        if not (value.flags.c_contiguous and value.flags.aligned and 0 < value.ndim < 4):
            raise TypeError("a kernel takes C-contiguous, aligned arrays of 1 to 3 dimensions")
        self.words += [f"{word}*", *["i8"] * value.ndim]
        lengths = "".join(f"c{at + 1 + i}, " for i in range(value.ndim))
        return f"{word}:{value.ndim}", f"array(c{at}, ({lengths}))"


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
    files = {*folder.glob("*.py"), *here.glob("*.py"), *here.parent.glob("rules/*.py")}
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
