"""JSON lines of a known shape: where their values stand, and what the strings among them say.

A line is one object of strings, numbers, ``true``, ``false`` and ``null`` (RFC 8259). Lines of any
other shape, nested or broken, are not for these kernels: they only say so.
"""

from __future__ import annotations

import numpy as np

from rosenblatt.compiled.jit import inlined, kernel
from rosenblatt.kernels.cells import copy, copy_until, twice_as_long

# What a value is, as `find_values` tells it; 0 where there is none.
STRING, ESCAPED, NUMBER, BOOLEAN, NULL = 1, 2, 3, 4, 5

_NEWLINE, _QUOTE, _BACKSLASH, _COMMA, _COLON, _OPEN, _CLOSE = 10, 34, 92, 44, 58, 123, 125
_BLANKS = (32, 9, 13)
_MINUS, _PLUS, _POINT, _NOUGHT, _NINE, _E = 45, 43, 46, 48, 57, ord("e")
_T, _R, _U, _F, _A, _L, _S, _N, _B = (ord(letter) for letter in "trufalsnb")
_SLASH, _LOWER = 47, 32
_SHORT = ((_N, 10), (_T, 9), (_R, 13), (_B, 8), (_F, 12))
_LEAST = 32

# No place in a block is behind an object: so this one says that there is no reading on.
_NOWHERE = np.uint64(0)
_0, _1, _2, _4, _6, _64 = (np.uint64(n) for n in (0, 1, 2, 4, 6, 64))


@kernel
def find_values(data, names, ends):
    """Where the values of some names stand in each line, if all lines have the known shape.

    Parameters
    ----------
    data : uint8 array
        Lines, the last one with its line break, of UTF-8; fewer than 2^32 bytes.
    names, ends : uint8 and uint64 array
        The names, one after the other, and where each of them ends.

    Returns
    -------
    values : uint32 array of shape (rows, names, 3)
        Where the value begins, where it ends, and what it is. Strings are without their quotes.
    is_known : bool
        Whether all lines could be read; else the values are none.
    """
    size, width = np.uint64(len(data)), len(ends)
    values = np.zeros((len(data) // 256 + 16, width, 3), dtype=np.uint32)
    rows, i = 0, _0
    if size == _0 or data[size - _1] != _NEWLINE:
        return values[:0], False
    while True:
        while i < size and (data[i] in _BLANKS or data[i] == _NEWLINE):
            i += _1
        if i == size:
            return values[:rows], True
        if rows == len(values):
            values = twice_as_long(values)
        i = _object(data, i, names, ends, values[rows])
        if i == _NOWHERE:
            return values[:0], False
        rows += 1


@kernel
def _object(data, i, names, ends, row):
    """Note the values of the object that begins at a byte, and go to the end of its line.

    No step passes the last line break: it is part of no value, and every step looks what it passes.
    """
    if data[i] != _OPEN:
        return _NOWHERE
    guess = 0
    i = _after_blanks(data, i + _1)
    more = data[i] != _CLOSE
    while more:
        if data[i] != _QUOTE:
            return _NOWHERE
        start = i + _1
        i = start
        while data[i] != _QUOTE:
            if data[i] < _LEAST or data[i] == _BACKSLASH:
                return _NOWHERE
            i += _1
        name = _named(data, start, i, names, ends, guess)
        i = _after_blanks(data, i + _1)
        if data[i] != _COLON:
            return _NOWHERE
        start = _after_blanks(data, i + _1)
        i, kind = _value(data, start)
        if i == _NOWHERE:
            return _NOWHERE
        if name >= 0:
            if row[name, 2] != 0:
                return _NOWHERE
            quote = np.uint64(kind in (STRING, ESCAPED))
            row[name, 0], row[name, 1], row[name, 2] = start + quote, i - quote, kind
            guess = name + 1
        i = _after_blanks(data, i)
        more = data[i] == _COMMA
        if more:
            i = _after_blanks(data, i + _1)
    if data[i] != _CLOSE:
        return _NOWHERE
    i = _after_blanks(data, i + _1)
    return i + _1 if data[i] == _NEWLINE else _NOWHERE


@inlined
def _after_blanks(data, i):
    while data[i] in _BLANKS:
        i += _1
    return i


@kernel
def _named(data, start, stop, names, ends, guess):
    """Which name stands between two bytes, the guessed one being tried first; -1 if none."""
    width = len(ends)
    for step in range(width):
        name = (guess + step) % width
        first = _0 if name == 0 else ends[name - 1]
        length = ends[name] - first
        if length != stop - start:
            continue
        same = True
        for j in range(length):
            same &= data[start + np.uint64(j)] == names[first + np.uint64(j)]
        if same:
            return name
    return -1


@kernel
def _value(data, i):
    """Where the value that begins at a byte ends, and what it is."""
    c = data[i]
    if c == _QUOTE:
        return _string(data, i + _1)
    if c == _MINUS or _NOUGHT <= c <= _NINE:
        return _number(data, i), NUMBER
    if c == _T and data[i + _1] == _R and data[i + _2] == _U and data[i + _2 + _1] == _E:
        return i + _4, BOOLEAN
    if c == _N and data[i + _1] == _U and data[i + _2] == _L and data[i + _2 + _1] == _L:
        return i + _4, NULL
    if c == _F and data[i + _1] == _A and data[i + _2] == _L and data[i + _2 + _1] == _S:
        return (i + _4 + _1 if data[i + _4] == _E else _NOWHERE), BOOLEAN
    return _NOWHERE, 0


@inlined
def _string(data, i):
    """The place after the quote that closes a string; control characters must not be in it."""
    size = np.uint64(len(data))
    kind = STRING
    while True:
        while i + _64 <= size and _is_plain(data, i):
            i += _64
        while data[i] >= _LEAST and data[i] != _QUOTE and data[i] != _BACKSLASH:
            i += _1
        if data[i] == _QUOTE:
            return i + _1, kind
        if data[i] != _BACKSLASH:
            return _NOWHERE, kind
        kind = ESCAPED
        code, i = _character(data, i)
        if code < 0:
            return _NOWHERE, kind


@inlined
def _is_plain(data, i):
    """Whether 64 bytes are neither quotes nor backslashes nor control characters."""
    apart, least = np.uint8(255), np.uint8(255)
    for j in range(64):
        c = data[i + np.uint64(j)]
        quote, backslash = np.uint8(c ^ np.uint8(_QUOTE)), np.uint8(c ^ np.uint8(_BACKSLASH))
        apart = min(apart, min(quote, backslash))
        least = min(least, c)
    return apart != 0 and least >= _LEAST


@inlined
def _number(data, i):
    """The place after a number; what follows is looked at by whoever asked."""
    i += np.uint64(data[i] == _MINUS)
    first = data[i]
    after = _after_digits(data, i)
    if after == i or (first == _NOUGHT and after != i + _1):
        return _NOWHERE
    i = after
    if data[i] == _POINT:
        after = _after_digits(data, i + _1)
        if after == i + _1:
            return _NOWHERE
        i = after
    if data[i] | _LOWER == _E:
        i += _1
        i += np.uint64(data[i] == _MINUS or data[i] == _PLUS)
        after = _after_digits(data, i)
        if after == i:
            return _NOWHERE
        i = after
    return i


@inlined
def _after_digits(data, i):
    while _NOUGHT <= data[i] <= _NINE:
        i += _1
    return i


@kernel
def gather_values(data, values, name, wanted, offsets, out, valid):
    """Write the values of one name one after the other; how many there are, or -1.

    Parameters
    ----------
    data, values : arrays
        What `find_values` was given, and what it gave.
    name : int
        Which one.
    wanted : {STRING, NUMBER, BOOLEAN}
        What they must be. Any other gives -1.
    offsets : int32 array
        Where each value begins, and the last one ends, is written here.
    out : uint8 array
        The values are written here: room for all of them as they stand, without quotes.
    valid : bool array
        Whether there is a value is written here.
    """
    o, count = _0, 0
    offsets[0] = 0
    for row in range(len(values)):
        kind = values[row, name, 2]
        i, end = np.uint64(values[row, name, 0]), np.uint64(values[row, name, 1])
        valid[row] = kind != 0 and kind != NULL
        if valid[row]:
            count += 1
            if kind != wanted and (wanted != STRING or kind != ESCAPED):
                return -1
            escaped = kind == ESCAPED
            o = _unescape(data, i, end, out, o) if escaped else copy(data, i, end, out, o)
        offsets[row + 1] = o
    return count


@inlined
def _unescape(data, i, end, out, o):
    """Write what a string with escapes says; the place after it."""
    while i < end:
        i, o = copy_until(data, i, end, _BACKSLASH, out, o)
        if i < end:
            code, i = _character(data, i)
            o = _encode(code, out, o)
    return o


@inlined
def _character(data, i):
    r"""What an escape stands for, -1 if for nothing, and the place after it.

    A character beyond the first 2^16 is written as two of \uXXXX.
    """
    c = data[i + _1]
    if c != _U:
        return _short_escape(c), i + _2
    code = _hex(data, i)
    i += _6
    if 0xDC00 <= code < 0xE000:
        code = -1
    elif 0xD800 <= code < 0xDC00:
        low = _hex(data, i)
        i += _6
        code = (code - 0xD800 << 10) + (low - 0xDC00) + 0x10000 if 0xDC00 <= low < 0xE000 else -1
    return code, i


@inlined
def _short_escape(c):
    """What a letter after a backslash stands for; -1 if for nothing."""
    if c in (_QUOTE, _BACKSLASH, _SLASH):
        return np.int64(c)
    for letter, code in _SHORT:
        if c == letter:
            return code
    return -1


@inlined
def _hex(data, i):
    r"""The four digits of \uXXXX, or -1."""
    if data[i] != _BACKSLASH or data[i + _1] != _U:
        return -1
    code = 0
    for j in range(2, 6):
        c = np.int64(data[i + np.uint64(j)])
        letter = c | _LOWER
        if _NOUGHT <= c <= _NINE:
            digit = c - _NOUGHT
        elif _A <= letter <= _F:
            digit = letter - _A + 10
        else:
            return -1
        code = code << 4 | digit
    return code


@inlined
def _encode(code, out, o):
    """Write a character in UTF-8; the place after it."""
    if code < 0x80:
        out[o] = code
        return o + _1
    length = 2 if code < 0x800 else 3 if code < 0x10000 else 4
    for j in range(length - 1, 0, -1):
        out[o + np.uint64(j)] = 0x80 | code & 0x3F
        code >>= 6
    out[o] = (0xF00 >> length) & 0xFF | code
    return o + np.uint64(length)
