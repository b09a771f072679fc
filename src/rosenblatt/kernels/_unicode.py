"""Which code points belong to words, and their lower case: Unicode 14.0, frozen.

The standard library's tables change with the version of Python. Hashed models must not, so
``unicode_14.txt`` holds the tables of one version: letters, marks and numbers (categories L, M and
N) as ranges of hexadecimal code points, and after an empty line the lower case of single code
points as ``first-last/step+offset``. Python 3.11, which has that version, wrote it::

    python -m rosenblatt.kernels._unicode > src/rosenblatt/kernels/unicode_14.txt
"""

from __future__ import annotations

import textwrap
import unicodedata
from functools import cache
from pathlib import Path

import numpy as np

# No word character that matters lies above: what follows are private use and variation selectors.
LIMIT = 0x32400
MARK = np.uint32(1 << 31)  # the bit of a mark in `letter_tables`
# Neither word nor mark: controls, spaces, invisible signs, surrogates, private use, fillers.
_GAPS = (
    (0x00, 0x20), (0x7F, 0xA0), (0xAD, 0xAD), (0x1680, 0x1680), (0x2000, 0x200F), (0x2028, 0x202F),
    (0x205F, 0x206F), (0x3000, 0x3000), (0xD800, 0xF8FF), (0xFEFF, 0xFEFF), (0xFFF0, 0xFFFF),
)  # fmt: skip


@cache
def fold_table() -> np.ndarray:
    """The lower case of each code point that belongs to a word, and 0 for all others.

    >>> table = fold_table()
    >>> [chr(table[ord(letter)]) for letter in "RÉΣЖ7"], int(table[ord("!")])
    (['r', 'é', 'σ', 'ж', '7'], 0)
    """
    words, lower = Path(__file__).with_name("unicode_14.txt").read_text("ascii").split("\n\n")
    table = np.zeros(LIMIT, dtype=np.uint32)
    for span in words.split():
        first, _, last = span.partition("-")
        start, stop = int(first, 16), int(last or first, 16) + 1
        table[start:stop] = np.arange(start, stop, dtype=np.uint32)
    for entry in lower.split():
        span, _, rule = entry.partition("/")
        start, stop = (int(code, 16) for code in span.split("-"))
        step, offset = int(rule[0]), int(rule[1:])
        table[start : stop + 1 : step] += np.int32(offset).astype(np.uint32)
    table.setflags(write=False)
    return table


@cache
def letter_tables() -> np.ndarray:
    """Four tables: for words :func:`fold_table`, for tokens with marks; for marks; for pieces.

    A code point that is neither in a word nor a gap is a mark, and has the bit `MARK`; in pieces
    all but gaps are themselves.

    >>> [[hex(code) for code in table[[69, 33, 32]].tolist()] for table in letter_tables()[:2]]
    [['0x65', '0x0', '0x0'], ['0x65', '0x80000021', '0x0']]
    >>> [[hex(code) for code in table[[69, 33, 32]].tolist()] for table in letter_tables()[2:]]
    [['0x0', '0x80000021', '0x0'], ['0x45', '0x21', '0x0']]
    """
    words = fold_table()
    marks = np.where(words == 0, np.arange(LIMIT, dtype=np.uint32) | MARK, np.uint32(0))
    for first, last in _GAPS:
        marks[first : last + 1] = 0
    pieces = np.where(words + marks > 0, np.arange(LIMIT, dtype=np.uint32), np.uint32(0))
    tables = np.stack([words, words + marks, marks, pieces])
    tables.setflags(write=False)
    return tables


def written() -> str:
    """The tables of this Python, as ``unicode_14.txt`` holds them."""
    words = [c for c in range(LIMIT) if unicodedata.category(chr(c))[0] in "LMN"]
    spans = [f"{a:x}-{b:x}" if a < b else f"{a:x}" for a, b, _ in _runs(words, (1,))]
    offsets: dict[int, list[int]] = {}
    for c in words:
        offsets.setdefault(ord(chr(c).lower()[0]) - c, []).append(c)
    lower = [
        f"{a:x}-{b:x}/{step}{offset:+d}"
        for offset, codes in sorted(offsets.items())
        if offset != 0
        for a, b, step in _runs(codes, (1, 2))
    ]
    return "\n\n".join(
        textwrap.fill(" ".join(part), 100, break_on_hyphens=False) for part in (spans, lower)
    )


def _runs(codes: list[int], steps: tuple[int, ...]) -> list[tuple[int, int, int]]:
    """Rising numbers as runs (first, last, step), each as long as it can be."""
    runs: list[tuple[int, int, int]] = []
    for code in codes:
        first, last, step = runs[-1] if runs else (code, -1, 1)
        if (first == last and code - last in steps) or (first < last and code - last == step):
            runs[-1] = first, code, code - last
        else:
            runs.append((code, code, 1))
    return runs


if __name__ == "__main__":
    if unicodedata.unidata_version != "14.0.0":
        raise SystemExit(f"This Python knows Unicode {unicodedata.unidata_version}, not 14.0.0.")
    print(written())
