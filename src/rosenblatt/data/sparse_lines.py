"""Blocks of svmlight, Vowpal Wabbit, fastText and plain text lines, parsed by kernels."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from itertools import islice
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from rosenblatt.data.arrow_tables import Chunk, drop_faults
from rosenblatt.data.bytes import Block
from rosenblatt.errors import DataError, shown
from rosenblatt.kernels.packing import MOST_BITS
from rosenblatt.kernels.sparse_lines import FAULTS, parse_fasttext, parse_svmlight, parse_vw
from rosenblatt.kernels.text import Rows

LABEL_PREFIX = b"__label__"
_LABELS = re.compile(rb"(?<!\S)__label__\S+[ \t]*")
COSTS = re.compile(rb"\d+(:[-+.\deE]+)+")  # a label of Vowpal Wabbit with costs


class Lines(NamedTuple):
    """Sparse rows of a file; codes are indices into the `names` of labels, -1 for no label."""

    rows: Rows
    names: list[str]
    codes: np.ndarray
    weights: np.ndarray | None
    path: str
    line_of: Callable[[int], int]
    bad: int
    size: int = 0


def read_sparse(block: Block, format: str, bits: int, skip: bool) -> Lines:
    """Parse a block of svmlight or Vowpal Wabbit lines."""
    parse = parse_svmlight if format == "svmlight" else parse_vw
    parsed = parse(block.array, bits)
    wrong = np.flatnonzero(parsed.faults)
    if len(wrong) and not skip:
        place = int(parsed.places[wrong[0]])
        raise _fault(block, int(parsed.faults[wrong[0]]), place, bits)

    def line_of(row: int) -> int:
        lines = block.filled_lines()
        if format == "svmlight":
            lines = ((number, line) for number, line in lines if not line.lstrip().startswith(b"#"))
        return next(islice(lines, int(good[row]), None))[0]

    rows = Rows(parsed.indptr, parsed.indices, parsed.values)
    good = np.flatnonzero(parsed.faults == 0)
    values, codes = np.unique(parsed.labels, return_inverse=True)
    codes[np.isnan(parsed.labels)] = -1
    names = [plain_number(value) for value in values if not np.isnan(value)]
    return Lines(rows, names, codes, parsed.weights, block.path, line_of, len(wrong))


def with_labels(lines: Lines) -> Lines:
    """The rows that have a label."""
    chosen = np.flatnonzero(lines.codes >= 0)
    if len(chosen) == len(lines.codes):
        return lines
    indptr, indices, values = lines.rows
    lengths = np.diff(indptr)
    entries = np.repeat(lines.codes >= 0, lengths.astype(np.int64))
    ends = np.concatenate([np.zeros(1, np.uint64), np.cumsum(lengths[chosen], dtype=np.uint64)])
    return lines._replace(
        rows=Rows(ends, indices[entries], values[entries]),
        codes=lines.codes[chosen],
        weights=None if lines.weights is None else lines.weights[chosen],
        line_of=lambda row: lines.line_of(int(chosen[row])),
    )


def plain_number(value: float) -> str:
    """A label of svmlight lines as text."""
    return str(int(value)) if float(value).is_integer() else repr(float(value))


def _fault(block: Block, code: int, place: int, bits: int) -> DataError:
    start = block.data.rfind(b"\n", 0, place) + 1
    word = block.array[place : place + 1000].tobytes().split(b"\n")[0].split(b" ")[0]
    message = f"{FAULTS[code]}, found {shown(word, 40)}"
    if code == 1 and COSTS.fullmatch(word):
        message += "; labels with costs (contextual bandits, --csoaa) cannot be learned from"
    if code == 3:
        needed = int(word.split(b":")[0]).bit_length()
        if needed > MOST_BITS:
            message += f", above 2^{MOST_BITS}: number the features in use from 1"
        else:
            message += f" (2^{bits} columns; more with --bits {needed} (bits={needed}) and up)"
    return DataError(message, path=block.path, line=block.line_at(place), column=place - start + 1)


def vw_names(lines: Iterable[bytes]) -> list[bytes]:
    """The distinct features of Vowpal Wabbit lines, by the names that are hashed.

    >>> vw_names([b"1 2.0 'id|words:2 not:0.5 good", b"-1 | bad"])
    [b'words^not', b'words^good', b'bad']
    """
    names: dict[bytes, None] = {}
    for line in lines:
        for part in line.split(b"|")[1:]:
            has_space = part[:1].strip() != b""
            words = [word.partition(b":")[0] for word in part.split()]
            space = words.pop(0) if has_space else b""
            lead = space + b"^" if space else b""
            names |= dict.fromkeys(lead + word for word in words)
    return list(names)


def read_fasttext(
    block: Block, skip: bool, several: bool = False, label_prefix: bytes = LABEL_PREFIX
) -> Chunk:
    """Parse a block of fastText lines to a table with the columns ``label`` and ``text``.

    Labels are the words that begin with the prefix, anywhere in the line. With `several`, a line
    may have several; the cell holds them separated by blanks.
    """
    data = block.array.copy()
    lines = block.line_at(len(data)) - block.line
    names = np.empty(len(data), dtype=np.uint8)
    offsets = np.empty(lines + 1, dtype=np.uint64)
    starts = np.empty(lines + 1, dtype=np.uint64)
    faults = np.zeros(lines, dtype=np.uint8)
    prefix = np.frombuffer(label_prefix, dtype=np.uint8)
    rows = parse_fasttext(data, prefix, names, offsets, starts, faults)
    columns = {
        "label": _binary(offsets[: rows + 1], names),
        "text": _binary(starts[: rows + 1], data),
    }
    chunk = Chunk(pa.table(columns), block.path, block.filled_line)
    wrong = [] if several else np.flatnonzero(faults[:rows]).tolist()
    message = f"{FAULTS[4]}, found several, unlike earlier lines; if lines may have several "
    message += "labels, say --label-separator ' ' (label_separator=' '), without workers"
    return drop_faults([(row, None, message) for row in wrong], chunk, skip)


def read_text(block: Block, name: str) -> Chunk:
    """Parse a block of plain text to a table of one column, a row per line.

    Labels of fastText lines are not part of the text.
    """
    data = block.array
    if LABEL_PREFIX in (text := data.tobytes()):
        data = np.frombuffer(_LABELS.sub(b"", text), dtype=np.uint8)
    ends = np.flatnonzero(data == ord("\n")) + 1
    offsets = np.concatenate([np.zeros(1, np.int64), ends])
    table = pa.table({name: _binary(offsets, data)})
    return Chunk(table, block.path, lambda row: block.line + row)


def _binary(offsets: np.ndarray, data: np.ndarray) -> pa.Array:
    return pa.LargeBinaryArray.from_buffers(
        pa.large_binary(),
        len(offsets) - 1,
        [None, pa.py_buffer(offsets.astype(np.int64)), pa.py_buffer(data)],
    )
