"""Where the rows of separated values end: a line break between double quotes ends none.

As in RFC 4180 a quote opens a value only at its start, and a doubled one is part of the value.
Where no delimiter is given (0), quotes mean nothing.
"""

from __future__ import annotations

import sys

import numpy as np

from rosenblatt.compiled.jit import inlined, kernel

_NEWLINE, _QUOTE, _RETURN = 10, 34, 13

# For 64 bytes at once, a stripe of eight words, where the first byte of a word is its lowest.
_LITTLE = sys.byteorder == "little"
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_SEVENS = np.uint64(0x7F7F7F7F7F7F7F7F)
_ONES = np.uint64(0x0101010101010101)
_GATHER = np.uint64(0x0102040810204080)
_ZERO, _ONE = np.uint64(0), np.uint64(1)

# Row ends are sought in so many last bytes, and if there is none, in so many times more.
_TAIL, _MORE = 1 << 13, 16


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
    if delimiter == 0:
        return _after_newline(data)
    tail = _TAIL if _LITTLE else n
    while True:
        start = max(0, n - tail) >> 6 << 6
        inside, closed = _between_quotes(data[:start], delimiter)
        end = _row_end_from(data, start, inside, closed, delimiter)
        if end > 0 or start == 0:
            return end
        tail *= _MORE


@kernel
def _after_newline(data):
    """The place after the last line break, or 0."""
    for i in range(len(data) - 1, -1, -1):
        if data[i] == _NEWLINE:
            return i + 1
    return 0


@kernel
def _between_quotes(data, delimiter):
    """Whether whole stripes end between quotes, and whether they end in a closing quote.

    A byte is between quotes if an odd number of quotes stands before it. The second of a doubled
    quote opens again what the first has closed; any other that opens where no value begins is a
    stray one, and does not count.
    """
    stripes = data.view(np.uint64).reshape(-1, 8)
    singly = data.reshape(-1, 64)
    inside, before = _ZERO, _ZERO
    for s in range(len(stripes)):
        if not _has_quote(singly, s):
            before = _ZERO
            continue
        quotes = _ZERO
        for w in range(8):
            quotes |= _gathered(_equal(stripes[s, w], _QUOTE)) << np.uint64(w << 3)
        within = _odd(quotes) ^ inside
        opening = quotes & within & ~(quotes << _ONE | before)
        if opening != _ZERO:
            fresh = _value_starts(data, stripes, s, delimiter)
            stray = opening & ~fresh
            while stray != _ZERO:
                first = stray & (~stray + _ONE)
                quotes ^= first
                within ^= ~(first - _ONE)
                stray = quotes & within & ~(quotes << _ONE | before | fresh)
        inside = _ALL if within >> np.uint64(63) else _ZERO
        before = quotes >> np.uint64(63)
    return inside != _ZERO, inside == _ZERO and before != _ZERO


@inlined
def _has_quote(stripes, s):
    """Whether a stripe has a quote, by the least of all differences: one instruction finds it."""
    least = np.uint8(255)
    for j in range(64):
        least = min(least, np.uint8(stripes[s, j] ^ np.uint8(_QUOTE)))
    return least == 0


@inlined
def _value_starts(data, stripes, s, delimiter):
    """One bit for each byte of a stripe, set where a value or a row ends before it."""
    first = s == 0 or data[(s << 6) - 1] in (delimiter, _NEWLINE, _RETURN)
    bits = _ZERO
    for w in range(8):
        word = stripes[s, w]
        stops = _equal(word, _NEWLINE) | _equal(word, _RETURN) | _equal(word, delimiter)
        bits |= _gathered(stops) << np.uint64(w << 3)
    return bits << _ONE | np.uint64(first)


@inlined
def _gathered(tops):
    """The top bits of eight bytes as one byte."""
    return ((tops >> np.uint64(7)) * _GATHER) >> np.uint64(56)


@inlined
def _equal(word, byte):
    """The top bit of each byte that is `byte` (A. Mycroft's test for zero bytes, exact)."""
    x = word ^ (_ONES * np.uint64(byte))
    return ~(((x & _SEVENS) + _SEVENS) | x | _SEVENS)


@inlined
def _odd(bits):
    """Each bit becomes whether the number of set bits up to it is odd."""
    for shift in (1, 2, 4, 8, 16, 32):
        bits ^= bits << np.uint64(shift)
    return bits


@kernel
def _row_end_from(data, start, inside, closed, delimiter):
    """The place after the last line break from a byte on that is not between quotes, or 0."""
    end = 0
    fresh = start == 0 or data[start - 1] in (delimiter, _NEWLINE, _RETURN)
    for i in range(start, len(data)):
        inside, fresh, closed = _quoted(inside, fresh, closed, data[i], delimiter)
        if data[i] == _NEWLINE and not inside:
            end = i + 1
    return end


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
