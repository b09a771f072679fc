"""Separated values of the plain shape: where their cells stand, and what those in quotes say.

All rows have the same number of cells, and a cell that opens with a double quote ends where it is
closed (RFC 4180). Rows of any other shape are not for these kernels: they only say so.
"""

from __future__ import annotations

import numpy as np

from rosenblatt.compiled.jit import inlined, kernel

# What a cell is, as `find_cells` tells it: as it stands, or with quotes that are doubled.
PLAIN, DOUBLED = 1, 2

_NEWLINE, _QUOTE, _RETURN = 10, 34, 13
_NOWHERE = np.uint64(0)
_1, _2, _64 = np.uint64(1), np.uint64(2), np.uint64(64)


@kernel
def find_cells(data, delimiter, has_quotes, width):
    """Where the cells of each row stand, if all rows have the plain shape.

    Parameters
    ----------
    data : uint8 array
        Rows, the last one with its line break; fewer than 2^32 bytes.
    delimiter : int
        What stands between two cells.
    has_quotes : bool
        Whether quotes mean something.
    width : int
        How many cells a row has, two at least.

    Returns
    -------
    cells : uint32 array of shape (rows, width, 3)
        Where the cell begins, where it ends, without its quotes, and what it is.
    is_known : bool
        Whether all rows could be read; else the cells are none.
    """
    size = np.uint64(len(data))
    cells = np.zeros((len(data) // 256 + 16, width, 3), dtype=np.uint32)
    rows, i = 0, _NOWHERE
    if len(data) == 0 or data[size - _1] != _NEWLINE or width < 2:
        return cells[:0], False
    while i < size:
        if data[i] == _NEWLINE:
            i += _1
            continue
        if rows == len(cells):
            cells = twice_as_long(cells)
        i = _row(data, i, delimiter, has_quotes, cells[rows])
        if i == _NOWHERE:
            return cells[:0], False
        rows += 1
    return cells[:rows], True


@kernel
def twice_as_long(cells):
    """Places of cells, with room for twice as many rows."""
    rows, width, parts = cells.shape
    more = np.zeros((2 * rows, width, parts), dtype=np.uint32)
    for row in range(rows):
        for cell in range(width):
            for part in range(parts):
                more[row, cell, part] = cells[row, cell, part]
    return more


@kernel
def _row(data, i, delimiter, has_quotes, row):
    """Note the cells of the row that begins at a byte; the place after it, or nowhere."""
    last = len(row) - 1
    for cell in range(len(row)):
        start, kind = i, PLAIN
        if has_quotes and data[i] == _QUOTE:
            start += _1
            i, kind = _closing_quote(data, start)
            row[cell, 1] = i
            i += _1
            if kind == 0 or i >= len(data):
                return _NOWHERE
        else:
            i = _cell_end(data, i, delimiter)
            row[cell, 1] = i
        row[cell, 0], row[cell, 2] = start, kind
        if cell < last:
            if data[i] != delimiter:
                return _NOWHERE
            i += _1
    if data[i] == _RETURN:
        i += _1
    return i + _1 if data[i] == _NEWLINE else _NOWHERE


@inlined
def _closing_quote(data, i):
    """Where a quoted cell is closed, and what it is: 0 if it stays open."""
    size, kind = np.uint64(len(data)), PLAIN
    while True:
        while i + _64 <= size and not _has(data, i, _QUOTE):
            i += _64
        while i < size and data[i] != _QUOTE:
            i += _1
        if i == size:
            return i, 0
        if i + _1 == size or data[i + _1] != _QUOTE:
            return i, kind
        kind = DOUBLED
        i += _2


@inlined
def _has(data, i, byte):
    """Whether a byte is among 64, by the least of all differences: one instruction finds it."""
    least = np.uint8(255)
    for j in range(64):
        least = min(least, np.uint8(data[i + np.uint64(j)] ^ np.uint8(byte)))
    return least == 0


@inlined
def _cell_end(data, i, delimiter):
    """Where a cell without quotes ends; the last line break of all ends the last one."""
    size = np.uint64(len(data))
    while i + _64 <= size and _is_inside(data, i, np.uint8(delimiter)):
        i += _64
    while data[i] != delimiter and data[i] != _NEWLINE and data[i] != _RETURN:
        i += _1
    return i


@inlined
def _is_inside(data, i, delimiter):
    """Whether nothing that ends a cell is among 64 bytes."""
    least = np.uint8(255)
    for j in range(64):
        c = data[i + np.uint64(j)]
        breaks = min(np.uint8(c ^ np.uint8(_NEWLINE)), np.uint8(c ^ np.uint8(_RETURN)))
        least = min(least, min(breaks, np.uint8(c ^ delimiter)))
    return least != 0


@kernel
def gather_cells(data, cells, column, offsets, out):
    """Write the cells of a column one after the other, doubled quotes as one; their size.

    Parameters
    ----------
    data, cells : arrays
        What `find_cells` was given, and what it gave.
    column : int
        Which one.
    offsets : int32 array
        Where each cell begins, and the last one ends, is written here.
    out : uint8 array
        The cells are written here: room for all of them as they stand, without quotes.
    """
    o = np.uint64(0)
    offsets[0] = 0
    for row in range(len(cells)):
        i, end = np.uint64(cells[row, column, 0]), np.uint64(cells[row, column, 1])
        if cells[row, column, 2] == DOUBLED:
            o = _undouble(data, i, end, out, o)
        else:
            o = copy(data, i, end, out, o)
        offsets[row + 1] = o
    return o


@inlined
def _undouble(data, i, end, out, o):
    """Write a cell in which every quote is doubled; the place after it."""
    while i < end:
        i, o = copy_until(data, i, end, _QUOTE, out, o)
        if i < end:
            out[o] = _QUOTE
            i += _2
            o += _1
    return o


@inlined
def copy(data, i, end, out, o):
    """Write what stands there as it is; the place after it."""
    for j in range(end - i):
        out[o + np.uint64(j)] = data[i + np.uint64(j)]
    return o + (end - i)


@kernel
def copy_until(data, i, end, byte, out, o):
    """Write what stands before a certain byte, or the end; the places reached in both."""
    while i + _64 <= end and not _has(data, i, byte):
        for j in range(64):
            out[o + np.uint64(j)] = data[i + np.uint64(j)]
        i += _64
        o += _64
    while i < end and data[i] != byte:
        out[o] = data[i]
        i += _1
        o += _1
    return i, o
