"""All that needs Numba: compiling kernels to object code. Imported when there is something to do.

A kernel is put into a C function that makes arrays of a block of pointers and sizes and writes the
results to a place it is given. Numba compiles that as a ``cfunc``; LLVM then drops what only Python
can call (the report of exceptions, which kernels do not raise), and what is left needs neither of
them.

Where the time goes, so that kernels are written for it (numba 0.68, seconds of processor time):
about two thirds is Numba's own Python, type inference and the making of LLVM's language, and a
third is LLVM. Importing and starting Numba takes 0.6. Each function takes 0.02 to 0.1 and its
statements more: a walk over CSR rows took 2.1 with its answers for layouts in layers of functions,
and 0.65 without. Functions of NumPy are compiled like one's own: ``np.searchsorted`` takes 0.4, a
loop in its place 0.05. LLVM's levels of optimisation make no difference to the sum, nor does the
counting of owners; wrappers for Python (15 %), the garbage collector (15 %) and a function of its
own around the kernel (15 %) do, and are avoided here.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm
import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic, lower_builtin, overload, type_callable

from rosenblatt.kernels import jit

_OPTIONS = {"error_model": "numpy", "boundscheck": False, "debug": False}
# Functions that only kernels call: wrappers for others would take longer to compile than they do.
_PARTS = {**_OPTIONS, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
_FORMATS = {"b": "?7x", "i": "q", "u": "Q", "f": "d"}  # of results in eight bytes each


def declare(undeclared: list[tuple[Any, Callable, Any, str]]) -> None:
    """Tell Numba what to compile where a kernel calls these, and forget the list."""
    while undeclared:
        called, compiled, fastmath, layout = undeclared.pop()
        options: Any = {**_PARTS, "fastmath": fastmath}
        overload(called, strict=False, jit_options=options)(_chosen(compiled, layout))


def _chosen(compiled: Callable, layout: str) -> Callable:
    def choose(*types: Any) -> Callable | None:
        found = getattr(types[0], "instance_class", type).__name__ if layout else ""
        return compiled if found == layout else None

    return choose


def compile_kernel(function: Callable, fastmath: Any, entry: jit.Entry) -> bytes:
    """The format of a kernel's results as of struct, a newline, and its object code."""
    results: list[str] = []
    options = {**_OPTIONS, "fastmath": fastmath}
    kernel = numba.njit(inline="always", **options)(function)
    names: Any = {**entry.classes, "np": np, "array": _array, "kernel": kernel}
    names["put"] = _result_writer(results)
    names |= {f"word{i}": _word(i, _numba_type(word)) for i, word in enumerate(entry.words)}
    words = "".join(f"c{i} = word{i}(block); " for i in range(len(entry.words)))
    exec(f"def entry(block, out): {words}put(out, kernel({entry.call}))", names)
    place = types.CPointer(types.int64)
    signature = types.void(place, place)
    compiled = numba.cfunc(signature, **options)(names["entry"])
    code = _object_code(compiled.inspect_llvm(), compiled.native_name, function.__qualname__)
    return "".join(results).encode() + b"\n" + code


def _numba_type(word: str) -> Any:
    kind = numba.from_dtype(np.dtype(word.rstrip("*")))
    return types.CPointer(kind) if word[-1] == "*" else kind


def _object_code(text: str, name: str, kernel: str) -> bytes:
    """Object code with one function to be seen, ``kernel``, which needs nothing of Numba."""
    # Nothing is allocated, so nothing has to be given back: slices of arrays only seem to own them
    declared = r"declare (void @NRT_MemInfo_call_dtor\(.*?\)).*"
    module = llvm.parse_assembly(re.sub(declared, r"define \1 { ret void }", text))
    for value in [*module.functions, *module.global_variables]:
        if not value.is_declaration and value.name != name:
            value.linkage = "internal"
    module.get_function(name).name = "kernel"
    machine = jit.target_machine()
    tuning = llvm.create_pipeline_tuning_options(speed_level=3)
    builder = llvm.create_pass_builder(machine, tuning)
    builder.getModulePassManager().run(module, builder)  # drops all that cannot be reached now
    values = [*module.functions, *module.global_variables]
    unknown = ("Py", "_Py", "numba", "NRT", ".numba")  # to a process without Numba
    missing = [v.name for v in values if v.is_declaration and v.name.startswith(unknown)]
    if missing:
        raise TypeError(f"{kernel} allocates, raises or uses objects: it needs {missing}")
    return machine.emit_object(module)


def _word(at: int, kind: Any) -> Any:
    """A function that takes a word of a block for a pointer or a number of this type."""

    @intrinsic
    def word(typing_context: Any, block: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            place = builder.gep(arguments[0], [context.get_constant(types.intp, at)])
            target = context.get_value_type(kind)
            if isinstance(kind, types.CPointer):
                return builder.inttoptr(builder.load(place), target)
            return builder.bitcast(builder.load(place), target)

        return kind(block), generate

    return word


@intrinsic
def _array(typing_context: Any, pointer: Any, shape: Any) -> Any:
    """What :func:`numba.carray` does, which would be compiled anew for each type and shape."""
    kind = types.Array(pointer.dtype, len(shape), "C")

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        view = context.make_array(kind)(context, builder)
        size = context.get_abi_sizeof(context.get_data_type(kind.dtype))
        lengths = cgutils.unpack_tuple(builder, arguments[1])
        steps = [context.get_constant(types.intp, size)]
        for length in reversed(lengths[1:]):
            steps.insert(0, builder.mul(steps[0], length))
        view.meminfo, view.parent = view.meminfo.type(None), view.parent.type(None)
        view.data, view.itemsize = arguments[0], steps[-1]
        view.nitems = functools.reduce(builder.mul, lengths)
        view.shape = cgutils.pack_array(builder, lengths)
        view.strides = cgutils.pack_array(builder, steps)
        return view._getvalue()

    return kind(pointer, shape), generate


def _result_writer(results: list[str]) -> Any:
    """A function ``put(out, value)`` for the C function; `results` gets the format of the value."""

    @intrinsic
    def put(typing_context: Any, out: Any, value: Any) -> Any:
        is_tuple = isinstance(value, types.BaseTuple)
        members = list(value) if is_tuple else [] if value == types.none else [value]
        formats = [_FORMATS[np.dtype(str(types.unliteral(kind))).kind] for kind in members]
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

    return put


def _item(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    kind, index = signature.args[:2]
    view = context.make_array(kind)(context, builder, arguments[0])
    place = context.cast(builder, arguments[1], index, types.intp)
    return cgutils.gep_inbounds(builder, view.data, place)


type_callable(jit.prefetch)(lambda context: lambda array, index: types.void)


@lower_builtin(jit.prefetch, types.Array, types.Integer)
def _prefetch(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    byte, flag = ir.IntType(8).as_pointer(), ir.IntType(32)
    place = _item(context, builder, signature, arguments)
    kind = ir.FunctionType(ir.VoidType(), [byte, flag, flag, flag])
    function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
    # Read rather than write, second-level cache, data rather than instructions.
    builder.call(function, [builder.bitcast(place, byte), flag(0), flag(2), flag(1)])
    return context.get_dummy_value()
