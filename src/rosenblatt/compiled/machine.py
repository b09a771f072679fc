"""Machine code that stands alone: linked once from compiled objects, run by any later process.

A kernel that Numba has compiled is an ELF object: instructions, constants, and a list of places
where addresses are to be filled in. :func:`link` lays the objects of a kernel out as one image
and keeps, of that list, what the kernel itself can reach. :func:`load` copies such an image into
memory, fills in the addresses and hands back the function. It needs neither Numba nor LLVM.

Only x86-64 Linux is known here, and only what Numba's kernels need: addresses of 64 bits, read-only
sections, functions of the C library. Anything else is :exc:`Foreign`.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import struct
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from functools import cache
from typing import Any

import numpy as np

_SECTION = np.dtype(
    [("name", "u4"), ("type", "u4"), ("flags", "u8"), ("address", "u8"), ("offset", "u8"),
     ("size", "u8"), ("link", "u4"), ("info", "u4"), ("align", "u8"), ("entry", "u8")]
)  # fmt: skip
_SYMBOL = np.dtype(
    [("name", "u4"), ("kind", "u1"), ("other", "u1"), ("section", "u2"), ("value", "u8"),
     ("size", "u8")]
)  # fmt: skip
_RELOCATION = np.dtype([("offset", "u8"), ("type", "u4"), ("symbol", "u4"), ("addend", "i8")])

_PROGRAM, _SYMBOLS, _RELOCATIONS = 1, 2, 4  # types of sections
_WRITABLE, _LOADED = 1, 2  # flags of sections
_FUNCTION = 2  # a kind of symbol
_ADDRESS = 1  # the type of relocation that is a plain address


class Foreign(Exception):  # noqa: N818 - nothing went wrong: this code is not for us
    """The code needs something that is not known here."""


@dataclass
class Image:
    """Code and constants in one piece, and the places where addresses are missing.

    Attributes
    ----------
    entry : int
        Where the function begins.
    inner : list of (place, target)
        At `place` goes the address of the image plus `target`.
    outer : list of (place, name)
        At `place` goes the address of a function of the C library.
    """

    code: bytes
    entry: int
    inner: list[tuple[int, int]] = field(default_factory=list)
    outer: list[tuple[int, str]] = field(default_factory=list)

    def header(self) -> dict[str, Any]:
        """All but the code."""
        return {key: value for key, value in asdict(self).items() if key != "code"}


def is_supported() -> bool:
    """Whether this is a machine whose code is known here."""
    return sys.platform == "linux" and os.uname().machine == "x86_64" and len(_libraries()) == 2


def link(objects: list[bytes], entry: str) -> Image:
    """One image of ELF objects, of which `entry` and all it can reach will run."""
    layout = _Layout()
    for data in objects:
        layout.add(data)
    if entry not in layout.names:
        raise Foreign(f"there is no function {entry!r}")
    image = Image(bytes(layout.code), layout.names[entry])
    seen, waiting = set(), [layout.piece_at(image.entry)]
    while waiting:
        piece = waiting.pop()
        if piece in seen:
            continue
        seen.add(piece)
        for place, kind, name, addend in layout.relocations:
            if not piece[0] <= place < piece[1]:
                continue
            if kind != _ADDRESS:
                raise Foreign(f"relocation {kind}")
            target = name if isinstance(name, int) else layout.names.get(name)
            if target is not None:
                image.inner.append((place, target + addend))
                waiting.append(layout.piece_at(target + addend))
            elif addend == 0 and _address_of(str(name)) is not None:
                image.outer.append((place, str(name)))
            else:
                raise Foreign(f"the symbol {name!r}")
    return image


class _Layout:
    """Objects one after the other, their symbols by name, and what is to be filled in."""

    def __init__(self) -> None:
        self.code = bytearray()
        self.names: dict[str, int] = {}
        self.relocations: list[tuple[int, int, int | str, int]] = []
        self._pieces: list[tuple[int, int]] = []

    def piece_at(self, place: int) -> tuple[int, int]:
        """The function around a place, or the whole section if it holds constants."""
        around = [piece for piece in self._pieces if piece[0] <= place < piece[1]]
        if not around:
            raise Foreign("an address outside of all sections")
        return min(around, key=lambda piece: piece[1] - piece[0])

    def add(self, data: bytes) -> None:
        """Lay out one object."""
        if data[:6] != b"\x7fELF\x02\x01" or data[16:20] != b"\x01\x00\x3e\x00":
            raise Foreign("not an object for x86-64")
        (start,), (count,) = struct.unpack_from("<Q", data, 40), struct.unpack_from("<H", data, 60)
        sections = np.frombuffer(data, _SECTION, count, start)
        bases: dict[int, int] = {}
        for index, section in enumerate(sections):
            if section["type"] == _PROGRAM and section["flags"] & 3 == _LOADED and section["size"]:
                self.code += bytes(-len(self.code) % int(section["align"]))
                bases[index] = len(self.code)
                self.code += _content(data, section)
                self._pieces.append((bases[index], len(self.code)))
        symbols = list(self._symbols(data, sections, bases))
        for section in sections[sections["type"] == _RELOCATIONS]:
            if int(section["info"]) not in bases:
                continue
            base = bases[int(section["info"])]
            for one in np.frombuffer(_content(data, section), _RELOCATION).tolist():
                offset, kind, symbol, addend = one
                self.relocations.append((base + offset, kind, symbols[symbol], addend))

    def _symbols(self, data: bytes, sections: Any, bases: dict[int, int]) -> Iterator[int | str]:
        """The place of each symbol, or its name if it lies elsewhere."""
        table = sections[sections["type"] == _SYMBOLS][0]
        names = _content(data, sections[table["link"]])
        for at, kind, _, section, value, size in np.frombuffer(
            _content(data, table), _SYMBOL
        ).tolist():
            name = names[at : names.index(b"\0", at)].decode()
            if section not in bases:
                yield name
                continue
            place = bases[section] + value
            if name:
                self.names.setdefault(name, place)
            if kind & 15 == _FUNCTION and size:
                self._pieces.append((place, place + size))
            yield place


def _content(data: bytes, section: Any) -> bytes:
    return data[int(section["offset"]) : int(section["offset"]) + int(section["size"])]


def load(image: Image, prototype: Any) -> Any:
    """The function of an image, as the given ctypes prototype; it keeps its memory alive."""
    memory = mmap.mmap(-1, max(len(image.code), 1))
    memory.write(image.code)
    view = (ctypes.c_char * len(memory)).from_buffer(memory)
    base = ctypes.addressof(view)
    for place, target in image.inner:
        struct.pack_into("<Q", memory, place, base + target)
    for place, name in image.outer:
        address = _address_of(name)
        if address is None:
            raise Foreign(f"the symbol {name!r}")
        struct.pack_into("<Q", memory, place, address)
    if _libraries()[0].mprotect(ctypes.c_void_p(base), ctypes.c_size_t(len(memory)), 1 | 4) != 0:
        raise Foreign("memory may not be made executable here")  # read | execute
    function = prototype(base + image.entry)
    function.memory = view
    return function


def free(address: int) -> None:
    """Give back memory that a kernel has asked the C library for."""
    _libraries()[0].free(ctypes.c_void_p(address))


@cache
def _libraries() -> tuple[ctypes.CDLL, ...]:
    """The C library and its mathematics; nothing where they have other names."""
    try:
        return ctypes.CDLL("libc.so.6"), ctypes.CDLL("libm.so.6")
    except OSError:
        return ()


@cache
def _address_of(name: str) -> int | None:
    """The address of a function of the C library."""
    for library in _libraries():
        if hasattr(library, name):
            return ctypes.cast(getattr(library, name), ctypes.c_void_p).value
    return None
