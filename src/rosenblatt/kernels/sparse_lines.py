"""Parsers of line formats: svmlight, Vowpal Wabbit, fastText.

Each parser reads a block of whole lines, ending in a line break, and writes rows into arrays. A
line that is malformed gets a code from :data:`FAULTS` and the offset of the offending byte, and no
row. No parser reads outside the block.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rosenblatt.kernels.crosses import Spaces
from rosenblatt.kernels.decimals import number
from rosenblatt.kernels.jit import inlined, kernel
from rosenblatt.kernels.text import PRIME, SEED, mixed

FAULTS = {
    1: "expected a number",
    2: "expected a feature as 'number:value'",
    3: "a feature number is too large for the table",
    4: "expected one label as '__label__name'",
    5: "expected '|' between the label and the features",
    6: "a number is not finite",
    7: "expected an importance, which is not negative",
}

_NEWLINE, _SPACE, _TAB, _RETURN = 10, 32, 9, 13
_COLON, _HASH, _BAR, _APOSTROPHE, _CARET = 58, 35, 124, 39, 94

_QID = np.frombuffer(b"qid", dtype=np.uint8)


class Parsed(NamedTuple):
    """The rows of a block: labels, CSR arrays, and for each line its row or its fault.

    Of Vowpal Wabbit lines also the namespaces, and where the tag of each row begins and ends.
    """

    labels: np.ndarray
    weights: np.ndarray
    indptr: np.ndarray
    indices: np.ndarray
    values: np.ndarray
    faults: np.ndarray
    places: np.ndarray
    spaces: Spaces | None = None
    tags: np.ndarray | None = None


def parse_svmlight(data: np.ndarray, bits: int) -> Parsed:
    """Read lines ``label number:value number:value ... # comment``; ``qid:n`` is passed over.

    >>> block = np.frombuffer(b"+1 3:0.5 7:2 # a\\n-1 x:1\\n", dtype=np.uint8)
    >>> parsed = parse_svmlight(block, bits=22)
    >>> parsed.labels.tolist(), parsed.indices.tolist(), parsed.values.tolist()
    ([1.0], [3, 7], [0.5, 2.0])
    >>> parsed.faults.tolist(), parsed.places.tolist()
    ([0, 2], [0, 20])
    """
    return _parse(_svmlight, data, bits, int(np.count_nonzero(data == _COLON)))[0]


def parse_vw(data: np.ndarray, bits: int) -> Parsed:
    """Read lines ``label [importance] ['tag]|namespace[:scale] feature[:value] ...``.

    A feature's column is the lowest bits of ``mix`` of FNV-1a over the bytes of
    ``namespace^feature`` (or only ``feature``); see :mod:`rosenblatt.kernels.text`. A label that
    is left out reads as NaN, an importance as 1.

    >>> data = np.frombuffer(b"1 2.0 'id|words not:0.5 good\\n", dtype=np.uint8)
    >>> parsed = parse_vw(data, bits=10)
    >>> parsed.labels.tolist(), parsed.weights.tolist(), parsed.values.tolist()
    ([1.0], [2.0], [0.5, 1.0])
    >>> data[slice(*parsed.tags[0])].tobytes(), parsed.spaces.letters.tobytes()
    (b'id', b'w')
    """
    bars = int(np.count_nonzero(data == _BAR))
    spaces = Spaces(np.empty(bars, np.uint8), np.empty(bars, np.uint64))
    tags = np.empty((int(np.count_nonzero(data == _NEWLINE)), 2), np.uint64)
    parsed, count = _parse(_vw, data, bits, len(data) // 2, *spaces, tags)
    spaces = Spaces(spaces.letters[:count], spaces.starts[:count])
    return parsed._replace(spaces=spaces, tags=tags[: len(parsed.labels)])


def _parse(fill, data: np.ndarray, bits: int, most: int, *more: np.ndarray) -> tuple[Parsed, int]:
    """What a parser writes, `more` arrays aside, and the number of namespaces."""
    lines = int(np.count_nonzero(data == _NEWLINE))
    out = Parsed(
        labels=np.empty(lines),
        weights=np.ones(lines),
        indptr=np.zeros(lines + 1, dtype=np.uint64),
        indices=np.empty(most + 1, dtype=np.uint32),
        values=np.empty(most + 1, dtype=np.float32),
        faults=np.zeros(lines, dtype=np.uint8),
        places=np.zeros(lines, dtype=np.uint64),
    )
    arrays = [array for array in out if array is not None]
    rows, seen, spaces = fill(data, np.uint64(1) << np.uint64(bits), *arrays, *more)
    nnz = int(out.indptr[rows])
    parsed = Parsed(
        out.labels[:rows],
        out.weights[:rows],
        out.indptr[: rows + 1],
        out.indices[:nnz],
        out.values[:nnz],
        out.faults[:seen],
        out.places[:seen],
    )
    return parsed, spaces


@inlined
def _is_blank(c):
    return c in (_SPACE, _TAB, _RETURN)


@kernel
def _svmlight(data, limit, labels, weights, indptr, indices, values, faults, places):
    """See :func:`parse_svmlight`; the number of rows, of lines that are not empty, of spaces."""
    rows = 0
    lines = 0
    nnz = np.uint64(0)
    i = 0
    while i < len(data):
        while _is_blank(data[i]):
            i += 1
        if not _is_end(data[i]):
            fault, i, nnz = _svmlight_line(data, i, limit, rows, nnz, labels, indices, values)
            faults[lines] = fault
            places[lines] = i if fault else 0
            lines += 1
            if fault == 0:
                rows += 1
                indptr[rows] = nnz
            else:
                nnz = indptr[rows]
        while data[i] != _NEWLINE:
            i += 1
        i += 1
    return rows, lines, 0


@inlined
def _is_end(c):
    return c in (_NEWLINE, _HASH)


@kernel
def _svmlight_line(data, i, limit, row, nnz, labels, indices, values):
    """One line: its fault or 0, the offset of its end or fault, the number of entries so far."""
    label, j, good = number(data, i, len(data))
    if not good or not (_is_blank(data[j]) or _is_end(data[j])):
        return 1, i, nnz
    if not np.isfinite(label):
        return 6, i, nnz
    labels[row] = label
    i = j
    while True:
        while _is_blank(data[i]):
            i += 1
        if _is_end(data[i]):
            return 0, i, nnz
        start = i
        column = np.uint64(0)
        while 48 <= data[i] <= 57:
            column = column * np.uint64(10) + np.uint64(data[i] - 48)
            column = column if column < limit else limit
            i += 1
        is_qid = i == start and i + 3 < len(data) and _starts_with(data, i, _QID)
        if is_qid:
            i += 3
        if i == start or data[i] != _COLON:
            return 2, start, nnz
        value, i, good = number(data, i + 1, len(data))
        if not good or not (_is_blank(data[i]) or _is_end(data[i])):
            return 2, start, nnz
        if not np.isfinite(np.float32(value)):
            return 6, start, nnz
        if is_qid:
            continue
        if column >= limit:
            return 3, start, nnz
        indices[nnz] = np.uint32(column)
        values[nnz] = value
        nnz += np.uint64(1)


@kernel
def _vw(
    data, limit, labels, weights, indptr, indices, values, faults, places, letters, starts, tags
):
    """See :func:`parse_vw`; the number of rows, of lines that are not empty, of namespaces."""
    rows = 0
    lines = 0
    spaces = 0
    nnz = np.uint64(0)
    i = 0
    while i < len(data):
        end = i
        bar = -1
        blank = True
        while data[end] != _NEWLINE:
            if data[end] == _BAR and bar < 0:
                bar = end
            blank = blank and _is_blank(data[end])
            end += 1
        if blank:
            i = end + 1
            continue
        fault, place = _vw_head(data, i, bar, rows, labels, weights, tags)
        if fault == 0:
            mask = limit - np.uint64(1)
            before = spaces
            fault, place, nnz, spaces = _vw_features(
                data, bar, end, mask, nnz, indices, values, letters, starts, spaces
            )
            spaces = before if fault else spaces
        faults[lines] = fault
        places[lines] = place
        lines += 1
        if fault == 0:
            rows += 1
            indptr[rows] = nnz
        else:
            nnz = indptr[rows]
        i = end + 1
    return rows, lines, spaces


@kernel
def _vw_head(data, i, bar, row, labels, weights, tags):
    """Parse what precedes the first bar: label, importance, base (not used), tag."""
    labels[row] = np.nan
    weights[row] = 1.0
    tags[row, 0] = tags[row, 1] = 0
    if bar < 0:
        return 5, i
    numbers = 0
    while True:
        while i < bar and _is_blank(data[i]):
            i += 1
        if i == bar:
            return 0, 0
        end = i
        while end < bar and not _is_blank(data[end]):
            end += 1
        value, j, good = number(data, i, end)
        if good and j == end and numbers < 3:
            if not np.isfinite(value):
                return 6, i
            if numbers == 0:
                labels[row] = value
            elif numbers == 1:
                if value < 0:
                    return 7, i
                weights[row] = value
            numbers += 1
        elif data[i] != _APOSTROPHE and end != bar:
            return 1, i
        else:
            tags[row, 0] = i + (data[i] == _APOSTROPHE)
            tags[row, 1] = end
        i = end


@kernel
def _vw_features(data, i, end, mask, nnz, indices, values, letters, starts, spaces):
    """Parse what follows the first bar: namespaces and their features.

    The fault or 0, its place, and the numbers of entries and of namespaces so far.
    """
    space = SEED
    scale = 1.0
    while i < end:
        c = data[i]
        if c == _BAR:
            i += 1
            space = SEED
            scale = 1.0
            has_name = i < end and not (_is_blank(data[i]) or data[i] in (_COLON, _BAR))
            letters[spaces] = data[i] if has_name else _SPACE
            starts[spaces] = nnz
            spaces += 1
            if has_name:
                while i < end and not _is_blank(data[i]) and data[i] != _COLON and data[i] != _BAR:
                    space = (space ^ np.uint64(data[i])) * PRIME
                    i += 1
                space = (space ^ np.uint64(_CARET)) * PRIME
            if i < end and data[i] == _COLON:
                scale, j, good = number(data, i + 1, end)
                if not good or not (j == end or _is_blank(data[j]) or data[j] == _BAR):
                    return 1, i, nnz, spaces
                i = j
            continue
        if _is_blank(c):
            i += 1
            continue
        start = i
        h = space
        while i < end and not _is_blank(data[i]) and data[i] != _COLON and data[i] != _BAR:
            h = (h ^ np.uint64(data[i])) * PRIME
            i += 1
        value = 1.0
        if i < end and data[i] == _COLON:
            value, j, good = number(data, i + 1, end)
            if not good or not (j == end or _is_blank(data[j]) or data[j] == _BAR):
                return 1, start, nnz, spaces
            i = j
        if not np.isfinite(np.float32(value * scale)):
            return 6, start, nnz, spaces
        indices[nnz] = np.uint32(mixed(h) & mask)
        values[nnz] = value * scale
        nnz += np.uint64(1)
    return 0, 0, nnz, spaces


@kernel
def parse_fasttext(data, prefix, labels, offsets, starts, faults):
    """Read lines ``__label__name text``; returns the number of lines that are not empty.

    `prefix` is what labels begin with. The labels are blanked out of `data`, in place, and row i of
    the text is ``data[starts[i]:starts[i+1]]``. Its label is ``labels[offsets[i]:offsets[i+1]]``,
    several of them separated by blanks, and ``faults[i]`` is 0, or the fault of several labels.
    """
    rows = 0
    size = np.uint64(0)
    i = 0
    while i < len(data):
        begin = i
        labels_met = 0
        blank = True
        offsets[rows] = size
        starts[rows] = begin
        while data[i] != _NEWLINE:
            if _is_blank(data[i]):
                i += 1
                continue
            blank = False
            word = i
            while data[i] != _NEWLINE and not _is_blank(data[i]):
                i += 1
            if i - word > len(prefix) and _starts_with(data, word, prefix):
                labels_met += 1
                if labels_met > 1:
                    labels[size] = _SPACE
                    size += np.uint64(1)
                for j in range(word, i):
                    if j >= word + len(prefix):
                        labels[size] = data[j]
                        size += np.uint64(1)
                    data[j] = _SPACE
        i += 1
        if not blank:
            faults[rows] = 4 if labels_met > 1 else 0
            rows += 1
    offsets[rows] = size
    starts[rows] = i
    return rows


@kernel
def _starts_with(data, at, prefix):
    for j in range(len(prefix)):  # noqa: SIM110 - kernels have no generators
        if data[at + j] != prefix[j]:
            return False
    return True
