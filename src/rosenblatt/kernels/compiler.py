"""All that needs Numba: from a kernel to object code. Imported when there is something to compile.

A kernel is put into a C function that makes its arguments of a block of words and stores its
results in another. Numba compiles that as a ``cfunc``; LLVM then drops what only Python can call
(the report of exceptions, which kernels do not raise), and what is left needs neither of them.

Compile time is mostly Numba's Python: 0.6 s to start, then about 0.05 s for each function that a
kernel calls, those of NumPy included: ``np.searchsorted`` takes 0.4 s, a loop in its place 0.05 s.
LLVM's levels of optimisation make no difference. Wrappers for Python, the garbage collector, a
function of its own for the kernel and :func:`numba.carray` would add 15 % each.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Callable
from functools import reduce
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
from llvmlite import ir

from rosenblatt.kernels import jit

# Numba obeys a settings file in the working folder, which may have come out of an archive; but not
# if PyYAML was missing when it was imported.
_SETTINGS = ".numba_config.yaml"
if Path(_SETTINGS).exists():
    jit.print_once(f"the file {_SETTINGS} in this folder is ignored")
    warnings.filterwarnings("ignore", "A Numba config file is found")
_yaml = sys.modules.get("yaml")
if "numba" not in sys.modules:
    sys.modules["yaml"] = None  # type: ignore[assignment]
import numba  # noqa: E402
from numba.core import cgutils, types  # noqa: E402
from numba.extending import intrinsic, lower_builtin, overload, type_callable  # noqa: E402

sys.modules.pop("yaml", None)
if _yaml is not None:
    sys.modules["yaml"] = _yaml

_NUMBERS = ("b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8")
_RESULTS = {"b": "?7x", "i": "q", "u": "Q", "f": "d"}  # struct formats of eight bytes each
_UNKNOWN = ("Py", "_Py", "numba", "NRT", ".numba")  # symbols that a process without Numba lacks
_WORDS = types.CPointer(types.int64)
_OPTIONS: dict[str, Any] = {"error_model": "numpy", "boundscheck": False, "debug": False}
# Functions that only kernels call: wrappers for others would take longer to compile than they do.
_PARTS = {**_OPTIONS, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def object_code(function: Callable, fastmath: Any, argument_types: tuple[Any, ...]) -> bytes:
    """The struct format of the results of a kernel, a newline, and the object code."""
    while jit.undeclared:
        called, choose, its_fastmath = jit.undeclared.pop()
        options: Any = {**_PARTS, "fastmath": its_fastmath}
        overload(called, strict=False, jit_options=options)(_by_first(choose))
    results: list[str] = []
    names: dict[str, Any] = {"np": np, "array": _array, "double": _double}
    names |= {"kernel": numba.njit(inline="always", fastmath=fastmath, **_OPTIONS)(function)}
    names |= {"store": _store_in(results)}
    arguments = _made_of_words(argument_types, names)
    exec(f"def entry(block, out): store(out, kernel({arguments}))", names)
    signature = types.void(_WORDS, _WORDS)
    compiled = numba.cfunc(signature, fastmath=fastmath, **_OPTIONS)(names["entry"])
    code = _linked(compiled.inspect_llvm(), compiled.native_name, function.__qualname__)
    return "".join(results).encode() + b"\n" + code


def _by_first(choose: Callable[[type], Callable | None]) -> Callable:
    """Chooses the function to be compiled by the class of the first argument."""
    return lambda *types: choose(getattr(types[0], "instance_class", type))


def _made_of_words(argument_types: tuple[Any, ...], names: dict[str, Any]) -> str:
    """Python that makes arguments of these types of a block of words; `names` gets its classes.

    >>> _made_of_words((np.dtype("f4"), (np.dtype("i8"), 2, jit.USABLE)), {})
    'np.float32(double(block[0])), array(block[1], (block[2], block[3], ), np.int64), '
    """
    words = (f"block[{i}]" for i in count())

    def made(kind: Any) -> str:
        if isinstance(kind, tuple) and isinstance(kind[0], type):
            name = "" if kind[0] is tuple else kind[0].__name__
            names[name] = kind[0]
            return f"{name}({''.join(map(made, kind[1]))}), "
        dtype = kind if isinstance(kind, np.dtype) else kind[0]
        if dtype.str[1:] not in _NUMBERS or not dtype.isnative:
            raise TypeError(f"a kernel cannot take numbers of type {dtype}")
        word, name = next(words), f"np.{dtype.type.__name__}"
        if kind is dtype:
            return f"{name}({f'double({word})' if dtype.kind == 'f' else word}), "
        _, dimensions, flags = kind
        if flags != jit.USABLE or not 0 < dimensions < 4:
            raise TypeError("a kernel takes C-contiguous, aligned arrays of 1 to 3 dimensions")
        lengths = "".join(f"{next(words)}, " for _ in range(dimensions))
        return f"array({word}, ({lengths}), {name}), "

    return "".join(map(made, argument_types))


@intrinsic
def _double(typing_context: Any, word: Any) -> Any:
    """The float64 whose bits a word holds."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.DoubleType())

    return types.float64(word), generate


@intrinsic
def _array(typing_context: Any, address: Any, shape: Any, dtype: Any) -> Any:
    """The array of this shape at an address; see :func:`numba.carray`."""
    kind = types.Array(dtype.dtype, len(shape), "C")

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        view = context.make_array(kind)(context, builder)
        size = context.get_abi_sizeof(context.get_data_type(kind.dtype))
        lengths = cgutils.unpack_tuple(builder, arguments[1])
        steps = [context.get_constant(types.intp, size)]
        for length in reversed(lengths[1:]):
            steps.insert(0, builder.mul(steps[0], length))
        view.meminfo, view.parent = view.meminfo.type(None), view.parent.type(None)
        view.data = builder.inttoptr(arguments[0], view.data.type)
        view.itemsize, view.nitems = steps[-1], reduce(builder.mul, lengths)
        view.shape = cgutils.pack_array(builder, lengths)
        view.strides = cgutils.pack_array(builder, steps)
        return view._getvalue()

    return kind(address, shape, dtype), generate


def _store_in(results: list[str]) -> Any:
    """A function ``store(out, value)`` for the results of a kernel, whose format `results` gets."""

    @intrinsic
    def store(typing_context: Any, out: Any, value: Any) -> Any:
        is_tuple = isinstance(value, types.BaseTuple)
        members = list(value) if is_tuple else [] if value == types.none else [value]
        formats = [_RESULTS[np.dtype(str(types.unliteral(kind))).kind] for kind in members]
        results[:] = ["("] * is_tuple + formats

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            for i, kind in enumerate(members):
                one = builder.extract_value(arguments[1], i) if is_tuple else arguments[1]
                wide = types.float64 if formats[i] == "d" else types.int64
                one = context.cast(builder, one, kind, wide)
                place = builder.gep(arguments[0], [context.get_constant(types.intp, i)])
                builder.store(one, builder.bitcast(place, one.type.as_pointer()))
            return context.get_dummy_value()

        return types.void(out, value), generate

    return store


type_callable(jit.prefetch)(lambda context: lambda array, index: types.void)


@lower_builtin(jit.prefetch, types.Array, types.Integer)
def _prefetch(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    view = context.make_array(signature.args[0])(context, builder, arguments[0])
    index = context.cast(builder, arguments[1], signature.args[1], types.intp)
    place = builder.bitcast(builder.gep(view.data, [index]), cgutils.voidptr_t)
    flag = ir.IntType(32)
    kind = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, flag, flag, flag])
    function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
    builder.call(function, [place, flag(0), flag(2), flag(1)])  # to read, second level, data
    return context.get_dummy_value()


def _linked(text: str, name: str, kernel: str) -> bytes:
    """Object code with one visible function, ``kernel``, that needs nothing of Numba or Python."""
    llvm, machine = jit.llvm(), jit.target_machine()
    # Kernels allocate nothing, so nothing has to be released: slices only seem to own memory.
    declared = r"declare (void @NRT_MemInfo_call_dtor\(.*?\)).*"
    module = llvm.parse_assembly(re.sub(declared, r"define \1 { ret void }", text))
    for value in [*module.functions, *module.global_variables]:
        if not value.is_declaration and value.name != name:
            value.linkage = "internal"
    module.get_function(name).name = "kernel"
    tuning = llvm.create_pipeline_tuning_options(speed_level=3)
    builder = llvm.create_pass_builder(machine, tuning)
    builder.getModulePassManager().run(module, builder)  # removes what cannot be reached
    values = [*module.functions, *module.global_variables]
    missing = [v.name for v in values if v.is_declaration and v.name.startswith(_UNKNOWN)]
    if missing:
        raise TypeError(f"{kernel} allocates, raises or uses objects: it needs {missing}")
    return machine.emit_object(module)
