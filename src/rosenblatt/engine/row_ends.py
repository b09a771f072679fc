"""Where the rows of separated values end: a line break between double quotes ends none.

As in RFC 4180 a quote opens a value only at its start, and a doubled one is part of the value.
Where no delimiter is given (0), quotes mean nothing.
"""

from __future__ import annotations

import sys

import numpy as np

from rosenblatt.engine._jit import inlined, kernel

_NEWLINE, _QUOTE, _RETURN = 10, 34, 13

# For eight bytes at once, where the first byte of a word is its lowest.
_LITTLE = sys.byteorder == "little"
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_SEVENS = np.uint64(0x7F7F7F7F7F7F7F7F)
_PATTERN = np.uint64(_QUOTE * 0x0101010101010101)
_PLACES = np.uint64(0x0001020304050607)


@kernel
def count_newlines(data):
    """How many line breaks there are, between quotes or not."""
    n = 0
    for c in data:
        n += c == _NEWLINE
    return n


@kernel
def last_row_end(data, delimiter):
    """The place after the last line break that is not between quotes; 0 if there is none."""
    n = len(data)
    words = data[: n >> 3 << 3 if _LITTLE else 0].view(np.uint64)
    inside, outer, end = False, 0, 0
    i = _next_quote(data, words, 0) if delimiter != 0 else n
    while i < n:
        if not inside:
            if i == 0 or data[i - 1] in (delimiter, _NEWLINE, _RETURN):
                end = max(end, _after_newline(data, outer, i))
                inside = True
        elif i + 1 < n and data[i + 1] == _QUOTE:
            i += 1
        else:
            inside, outer = False, i + 1
        i = _next_quote(data, words, i + 1)
    return end if inside else max(end, _after_newline(data, outer, n))


@kernel
def _next_quote(data, words, i):
    """The place of the next quote from i on, or the length: eight bytes are looked at in one."""
    w = i >> 3
    if w < len(words):
        hits = _quotes(words[w]) & (_ALL << np.uint64((i & 7) << 3))
        while hits == 0:
            w += 1
            if w == len(words):
                break
            hits = _quotes(words[w])
        else:
            # The lowest set bit is bit 8·k + 7; the product brings byte k of _PLACES to the top.
            lowest = (hits & (~hits + np.uint64(1))) >> np.uint64(7)
            return (w << 3) + np.int64((lowest * _PLACES) >> np.uint64(56))
        i = w << 3
    while i < len(data) and data[i] != _QUOTE:
        i += 1
    return i


@inlined
def _quotes(word):
    """The top bit of each byte that is a quote (A. Mycroft's test for zero bytes, exact)."""
    x = word ^ _PATTERN
    return ~(((x & _SEVENS) + _SEVENS) | x | _SEVENS)


@kernel
def _after_newline(data, start, stop):
    """The place after the last line break in a range, or 0."""
    for i in range(stop - 1, start - 1, -1):
        if data[i] == _NEWLINE:
            return i + 1
    return 0


@inlined
def _quoted(inside, fresh, closed, c, delimiter):
    """Whether the next byte is between quotes, at the start of a value, after a closing quote."""
    if c == _QUOTE and delimiter != 0:
        if inside:
            return False, False, True
        if fresh or closed:
            return True, False, False
    if inside:
        return True, False, False
    return False, c in (delimiter, _NEWLINE, _RETURN), False


@kernel
def row_starts(data, delimiter):
    """Where each row begins; empty lines are no rows, and a lone carriage return ends one, too."""
    starts = np.empty(len(data), dtype=np.uint64)
    n = 0
    inside, fresh, closed = False, True, False
    new_row = True
    for i in range(len(data)):
        c = data[i]
        inside, fresh, closed = _quoted(inside, fresh, closed, c, delimiter)
        if c in (_NEWLINE, _RETURN) and not inside:
            new_row = True
        elif new_row:
            starts[n] = i
            n += 1
            new_row = False
    return starts[:n]
