"""How arguments travel from Python to a kernel: as a block of pointers, sizes and numbers."""

from __future__ import annotations

import ctypes
import struct
from typing import Any

import numpy as np

_PLAIN = {bool: "b1", int: "i8", float: "f8"}
_NUMBERS = ("b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8")
# Numbers travel as 64 bits: the C rules for narrow ones differ from system to system.
_WIDE = {"b": "i8", "i": "i8", "u": "u8", "f": "f8"}
_addressof: Any = ctypes.addressof
_from_buffer: Any = ctypes.c_char.from_buffer
_double, _integer = struct.Struct("=d").pack, struct.Struct("=q").unpack
# A block of arguments and a place for the results: two addresses are quick to pass, where ctypes
# takes 0.1 µs for each of the thirty arguments of a walk.
C_FUNCTION: Any = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)


def block_of(words: list[int]) -> Any:
    """Arguments as 64-bit words one after the other."""
    return (ctypes.c_int64 * len(words))(*words)


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
