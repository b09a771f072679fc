"""All that needs Numba: compiling kernels, its cache, and what Python has no words for.

Numba's disk cache has two blind spots: it does not notice that a function called from another
file was edited, and its key ignores compiler options. Kernels of the engine have functions in
other files, such as :func:`rosenblatt.rules.step`. So the cache key gains a digest of all the
sources a kernel can be made of.

Whatever goes into that cache or comes out of it is kept as plain machine code as well
(:mod:`rosenblatt.compiled.kept`).
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numba
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.caching import CompileResultCacheImpl, FunctionCache
from numba.extending import intrinsic, overload
from numba.np.numpy_support import as_dtype

from rosenblatt.compiled import jit, kept
from rosenblatt.compiled.abi import array_spelled
from rosenblatt.compiled.machine import Foreign, link
from rosenblatt.compiled.runtime import runtime


def dispatcher_of(kernel: jit.Kernel) -> Any:
    """Numba's function for a kernel."""
    compiled: Any = numba.njit(**kernel.targetoptions)(kernel.py_func)
    if "inline" not in kernel.targetoptions:
        with suppress(RuntimeError):  # no folder for the cache can be written
            compiled._cache = _Cache(kernel.py_func)
            compiled._cache._impl.kernel = kernel
    return compiled


class _Keeping(CompileResultCacheImpl):
    """What passes through Numba's cache, kept as machine code on the way."""

    kernel: jit.Kernel

    def reduce(self, cres: Any) -> Any:
        payload = super().reduce(cres)
        self._keep(*payload)
        return payload

    def rebuild(self, target_context: Any, payload: Any) -> Any:
        self._keep(*payload)
        return super().rebuild(target_context, payload)

    def _keep(
        self, library: Any, described: Any, environment: Any, signature: Any, *_: Any
    ) -> None:
        if self.kernel.name is None:
            return
        with suppress(Exception):  # a new Numba may do it otherwise: then nothing is kept
            kept.keep(
                self.kernel.name,
                self.kernel.sources,
                spelled_type(types.Tuple(signature.args)),
                spelled_type(signature.return_type),
                lambda: link([library[2][0], runtime()], described.llvm_func_name),
            )


class _Cache(FunctionCache):
    """Numba's cache, with the digest of our sources in its key."""

    _impl_class = _Keeping

    def _index_key(self, sig: Any, codegen: Any) -> tuple[Any, ...]:
        return (*super()._index_key(sig, codegen), self._impl.kernel.sources)


def spelled_type(kind: Any) -> str:
    """What :func:`rosenblatt.compiled.abi.spelled` makes of a value of this type of Numba's."""
    if kind == types.none:
        return "()"
    if isinstance(kind, types.Array) and kind.aligned:
        return array_spelled(spelled_type(kind.dtype), kind.layout, kind.ndim, kind.mutable)
    if isinstance(kind, types.BaseTuple):
        members: Any = kind
        name = members.instance_class.__name__ if hasattr(kind, "instance_class") else ""
        return f"{name}({','.join(spelled_type(member) for member in members)})"
    if kind in types.number_domain or kind == types.boolean:
        return as_dtype(kind).str[1:]
    raise Foreign(str(kind))


@overload(jit.prefetch)
def _prefetch(array, index):
    if isinstance(array, types.Array) and array.ndim == 1:
        return lambda array, index: _prefetched(array, index)
    return None


@intrinsic
def _prefetched(typing_context: Any, array: Any, index: Any) -> Any:
    signature = types.void(array, index)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        view = context.make_array(array)(context, builder, arguments[0])
        at = builder.bitcast(
            cgutils.gep_inbounds(builder, view.data, arguments[1]), ir.IntType(8).as_pointer()
        )
        flag = ir.IntType(32)
        declared = cgutils.get_or_insert_function(
            builder.module,
            ir.FunctionType(ir.VoidType(), [ir.IntType(8).as_pointer(), flag, flag, flag]),
            "llvm.prefetch.p0",
        )
        builder.call(declared, [at, flag(0), flag(2), flag(1)])
        return context.get_dummy_value()

    return signature, generate


@overload(jit.load_shared)
def _load_shared(array, index):
    return lambda array, index: _loaded(array, index)


@overload(jit.store_shared)
def _store_shared(array, index, value):
    kind = array.dtype
    return lambda array, index, value: _stored(array, index, kind(value))


@overload(jit.fence)
def _fence():
    return lambda: _fenced()


@intrinsic
def _loaded(typing_context: Any, array: Any, index: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        view = context.make_array(array)(context, builder, arguments[0])
        at = cgutils.gep_inbounds(builder, view.data, arguments[1])
        return builder.load_atomic(at, "acquire", array.dtype.bitwidth // 8)

    return array.dtype(array, index), generate


@intrinsic
def _stored(typing_context: Any, array: Any, index: Any, value: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        view = context.make_array(array)(context, builder, arguments[0])
        at = cgutils.gep_inbounds(builder, view.data, arguments[1])
        builder.store_atomic(arguments[2], at, "release", array.dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(array, index, value), generate


@intrinsic
def _fenced(typing_context: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        builder.fence("acq_rel")
        return context.get_dummy_value()

    return types.void(), generate
