"""Blocks of svmlight, Vowpal Wabbit, fastText and plain text lines, parsed by kernels."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from rosenblatt.data.arrow_tables import Chunk, drop_faults
from rosenblatt.data.bytes import Block
from rosenblatt.errors import DataError, shown
from rosenblatt.kernels.crosses import ANY, NO_PRODUCTS, Products, with_products
from rosenblatt.kernels.packing import MOST_BITS
from rosenblatt.kernels.sparse_lines import FAULTS, parse_fasttext, parse_svmlight, parse_vw
from rosenblatt.kernels.text import Rows

LABEL_PREFIX = b"__label__"
_LABELS = re.compile(rb"(?<!\S)__label__\S+[ \t]*")
COSTS = re.compile(rb"\d+(:[-+.\deE]+)+")  # a label of Vowpal Wabbit with costs


class Lines(NamedTuple):
    """Sparse rows of a file; codes are indices into the `names` of labels, -1 for no label.

    The tags of Vowpal Wabbit lines are read only when they are asked for.
    """

    rows: Rows
    names: list[str]
    codes: np.ndarray
    weights: np.ndarray | None
    path: str
    line_of: Callable[[int], int]
    bad: int
    size: int = 0
    tags: Callable[[], list[str]] | None = None


def read_sparse(
    block: Block, format: str, bits: int, skip: bool, products: Products = NO_PRODUCTS
) -> Lines:
    """Parse a block of svmlight or Vowpal Wabbit lines, the latter with products of features."""
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

    def tags() -> list[str]:
        data = block.data
        return [data[a:b].decode(errors="replace") for a, b in np.array(parsed.tags).tolist()]

    rows = Rows(parsed.indptr, parsed.indices, parsed.values)
    if parsed.spaces is not None:
        rows = with_products(rows, parsed.spaces, products, bits)
    good = np.flatnonzero(parsed.faults == 0)
    values, codes = np.unique(parsed.labels, return_inverse=True)
    codes[np.isnan(parsed.labels)] = -1
    names = [plain_number(value) for value in values if not np.isnan(value)]
    return Lines(rows, names, codes, parsed.weights, block.path, line_of, len(wrong), 0, tags)


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


def vw_names(
    data: Any, sought: np.ndarray, bits: int, products: Products = NO_PRODUCTS
) -> dict[int, str]:
    """The names of features in Vowpal Wabbit lines, by hashed column, of those that are sought.

    >>> data = b"1 2.0 'id|words:2 not:0.5 good\\n-1 | bad\\n"
    >>> columns = read_sparse(Block.of(data, "a.vw"), "vw", 10, False).rows.indices
    >>> list(vw_names(data, columns, 10).values())
    ['words^not', 'words^good', 'bad']
    """
    block = Block.of(data, "")
    rows = read_sparse(block, "vw", bits, True, products).rows
    is_sought = np.zeros(1 << bits, dtype=bool)
    is_sought[sought] = True
    entries = np.flatnonzero(is_sought[rows.indices])
    at = entries[np.unique(rows.indices[entries], return_index=True)[1]]
    at.sort()
    lines, names = np.searchsorted(rows.indptr, at.astype(np.uint64), side="right") - 1, {}
    good = np.flatnonzero(parse_vw(block.array, bits).faults == 0)
    filled = [line for _, line in block.filled_lines()] if len(at) else []
    for row in dict.fromkeys(lines.tolist()):
        spelled = _spelled(filled[good[row]], products)
        first = int(rows.indptr[row])
        for place in at[lines == row].tolist():
            names[int(rows.indices[place])] = spelled[place - first].decode(errors="replace")
    return names


def is_cross(pair: Any) -> bool:
    """Whether this is a pair of first letters of namespaces; a colon stands for any.

    >>> [is_cross(pair) for pair in ("ab", "a:", "abc", "a|", "é")]
    [True, True, False, False, False]
    """
    return isinstance(pair, str) and len(pair) == 2 and pair.isascii() and "|" not in pair


def _spelled(line: bytes, products: Products) -> list[bytes]:
    """The names of the features of a line, in the order in which they are parsed."""
    spaces: list[tuple[int, float, list[bytes]]] = []  # letter, scale and features of each
    for part in line.split(b"|")[1:]:
        words = part.split()
        head, _, scale = words.pop(0).partition(b":") if part[:1].strip() else (b"", b"", b"")
        lead = head + b"^" if head else b""
        spaces.append((part[0] if head else ord(" "), float(scale or 1), [lead + w for w in words]))
    named = [[word.partition(b":")[0] for word in words] for _, _, words in spaces]
    names = [name for features in named for name in features]
    for features in named if products.longest > 1 else []:
        for i in range(len(features)):
            for n in range(2, min(products.longest, len(features) - i) + 1):
                names.append(b" ".join(features[i : i + n]))
    for a, b in map(str.encode, products.crosses):
        for s, (left, times, words) in enumerate(spaces):
            for t, (right, _, _) in enumerate(spaces):
                is_again = t < s and {right, ANY} & {a} and {left, ANY} & {b}
                if not ({left, ANY} & {a} and {right, ANY} & {b}) or is_again:
                    continue
                for i, word in enumerate(words):
                    value = np.float32(word.partition(b":")[2] or 1) * np.float32(times)
                    begin = i + (value == 1) if s == t else 0
                    names += [named[s][i] + b" * " + other for other in named[t][begin:]]
    return names


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


def lines_table(data: Any) -> pa.Table:
    """Whole lines, unparsed, in one cell of the column ``lines``.

    Not by ``pa.array``, whose first call imports pandas.
    """
    return pa.table({"lines": _binary(np.array([0, len(data)]), data)})


def _binary(offsets: np.ndarray, data: np.ndarray) -> pa.Array:
    return pa.LargeBinaryArray.from_buffers(
        pa.large_binary(),
        len(offsets) - 1,
        [None, pa.py_buffer(offsets.astype(np.int64)), pa.py_buffer(data)],
    )
