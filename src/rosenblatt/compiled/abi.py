"""How arguments and results travel between Python and a compiled kernel.

A kernel takes a place for its result, a place for an exception, and its arguments one after the
other: numbers as they are, tuples member by member, an array as (0, 0, size, item size, address,
lengths, strides). It answers with 0, or with another number if it failed. That is Numba's own
convention; the two zeros stand for owners of the memory, whom nobody needs to know while the caller
holds the array.

Each argument is *spelled* by what Numba compiles for: ``f4`` is a number of NumPy's type of that
name, ``f4C2`` a matrix of them with its rows one after the other, ``u4C1r`` a vector that must not
be written to, ``(i8,i8)`` a pair, ``Span(i8,i8)`` a named one. Two calls with the same spelling
run the same code.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from rosenblatt.compiled.machine import Image, free, load

_NUMBERS = {
    "b1": ctypes.c_bool,
    "i1": ctypes.c_int8, "i2": ctypes.c_int16, "i4": ctypes.c_int32, "i8": ctypes.c_int64,
    "u1": ctypes.c_uint8, "u2": ctypes.c_uint16, "u4": ctypes.c_uint32, "u8": ctypes.c_uint64,
    "f4": ctypes.c_float, "f8": ctypes.c_double,
}  # fmt: skip
_PLAIN = {int: "i8", float: "f8", bool: "b1"}


class Unspeakable(TypeError):  # noqa: N818 - not a mistake: Numba knows more kinds
    """A value of a kind that no kernel is kept for."""


def spelled(values: tuple[Any, ...]) -> str:
    """How a tuple of arguments is spelled.

    >>> spelled((3, np.zeros((2, 2), np.float32), (True, 0.5)))
    '(i8,f4C2,(b1,f8))'
    """
    return f"({','.join([_spelled(value) for value in values])})"


def kinds(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """What tells values of different spelling apart, in less time than it takes to spell them.

    >>> kinds((0.5, np.zeros(2))) == kinds((1.5, np.zeros(3)))
    True
    """
    return tuple([
        (value.dtype, value.ndim, value.flags.num) if type(value) is np.ndarray else _spelled(value)
        for value in values
    ])  # fmt: skip


def _spelled(value: Any) -> str:
    kind = type(value)
    if kind is np.ndarray or kind is np.memmap:
        flags, dtype = value.flags, value.dtype
        if flags.aligned and dtype.isnative:
            layout = "C" if flags.c_contiguous else "F" if flags.f_contiguous else "A"
            return array_spelled(dtype.str[1:], layout, value.ndim, flags.writeable)
    elif isinstance(value, tuple):
        return ("" if kind is tuple else kind.__name__) + spelled(value)
    elif kind in _PLAIN:
        if kind is not int or -(2**63) <= value < 2**63:
            return _PLAIN[kind]
    elif isinstance(value, np.generic):
        return value.dtype.str[1:]
    raise Unspeakable(f"no spelling for a {kind.__name__}")


def array_spelled(dtype: str, layout: str, ndim: int, writeable: bool) -> str:
    """How an array is spelled.

    >>> array_spelled("f4", "C", 2, True), array_spelled("u1", "C", 1, False)
    ('f4C2', 'u1C1r')
    """
    return f"{dtype}{layout}{ndim}{'' if writeable else 'r'}"


def parsed(spelling: str) -> Any:
    """A spelling taken apart: tuples, named or not, as tuples; anything else as its word.

    >>> parsed("(i8,Pair(f4C2,b1),())")
    ('i8', ('f4C2', 'b1'), ())
    """
    open_: list[Any] = []
    stack: list[list[Any]] = []
    for word in spelling.replace("(", "(,").replace(")", ",)").split(","):
        if word.endswith("("):
            stack.append(open_)
            open_ = []
        elif word == ")":
            done, open_ = tuple(open_), stack.pop()
            open_.append(done)
        elif word:
            open_.append(word)
    (whole,) = open_
    return whole


def callable_of(image: Image, arguments: str, result: str) -> Callable[..., Any]:
    """The kernel of an image as a Python function; how its arguments and result are spelled."""
    types = [kind for word in _flat(parsed(arguments)) for kind in _types(word)]
    prototype = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, *types)
    if result[0] != "(" and result[-1] == ")":
        raise Unspeakable(f"a named tuple as result: {result}")
    answer = parsed(result)
    place = _place_type(answer)
    kernel = load(image, prototype)

    def call(*values: Any) -> Any:
        answered, failed = place(), ctypes.c_void_p()
        passed: list[Any] = []
        for value in values:
            _pass(value, passed)
        status = kernel(ctypes.addressof(answered), ctypes.addressof(failed), *passed)
        if status != 0:
            raise RuntimeError(f"a kernel failed with status {status}")
        return _taken(answered, answer)

    return call


def _flat(spelling: Any) -> list[str]:
    if isinstance(spelling, str):
        return [spelling]
    return [word for member in spelling for word in _flat(member)]


def _types(word: str) -> list[Any]:
    """The machine's types of one argument."""
    if word in _NUMBERS:
        return [_NUMBERS[word]]
    if word[:2] not in _NUMBERS:
        raise Unspeakable(word)
    lengths = 2 * int(word[3])
    pointer, size = ctypes.c_void_p, ctypes.c_ssize_t
    return [pointer, pointer, size, size, pointer, *[size] * lengths]


def _pass(value: Any, passed: list[Any]) -> None:
    if isinstance(value, np.ndarray):
        size, item = value.size, value.itemsize
        passed += (None, None, size, item, _address(value), *value.shape, *value.strides)
    elif isinstance(value, tuple):
        for member in value:
            _pass(member, passed)
    else:
        passed.append(value.item() if isinstance(value, np.generic) else value)


def _address(array: Any) -> int:
    try:
        return ctypes.addressof(ctypes.c_char.from_buffer(array))
    except (TypeError, ValueError):  # read-only, empty, or with gaps: this always works, and slowly
        address: int = array.__array_interface__["data"][0]
        return address


def _place_type(spelling: Any) -> Any:
    """Where a result is written: numbers, arrays, and tuples of them."""
    if spelling == ():
        return ctypes.c_void_p
    words = [spelling] if isinstance(spelling, str) else spelling
    if not all(word in _NUMBERS or word[2:3] == "C" for word in words):
        raise Unspeakable(f"a result spelled {spelling}")
    fields = [
        (f"{at}.{part}", kind)
        for at, word in enumerate(words)
        for part, kind in enumerate(_types(word))
    ]
    return type("Result", (ctypes.Structure,), {"_fields_": fields})


def _taken(place: Any, spelling: Any) -> Any:
    """The result as a Python value."""
    if spelling == ():
        return None
    words = [spelling] if isinstance(spelling, str) else spelling
    values = tuple(
        getattr(place, f"{at}.0") if word in _NUMBERS else _array(place, at, word)
        for at, word in enumerate(words)
    )
    return values[0] if isinstance(spelling, str) else values


def _array(place: Any, at: int, word: str) -> np.ndarray:
    """An array that a kernel has made, and whose memory is given back with the last view of it."""
    owner, _, size, _, address, *rest = (
        getattr(place, f"{at}.{part}") for part in range(len(_types(word)))
    )
    dtype, ndim = np.dtype(word[:2]), int(word[3])
    memory = (ctypes.c_char * (size * dtype.itemsize)).from_address(address)
    array = np.ndarray(rest[:ndim], dtype, memory)
    if owner is None:  # a view of an argument, which may not live as long
        return array.copy()
    weakref.finalize(memory, _release, owner).atexit = False
    return array


def _release(owner: int) -> None:
    """One user less of a block of memory, whose header begins with how many there are."""
    users = ctypes.c_size_t.from_address(owner)
    users.value -= 1
    if users.value == 0:
        free(owner)
