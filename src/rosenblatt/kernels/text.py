"""From the bytes of text to hashed n-grams in CSR form.

The hash, documented here and stable for ever
---------------------------------------------
A *word* is a maximal run of letters, marks and numbers, in lower case, by the tables of
:mod:`rosenblatt.kernels._unicode`. All arithmetic is modulo 2⁶⁴.

- A word is hashed by FNV-1a over its code points: ``h = (h ^ c) · 0x100000001B3`` for each code
  point c, from the *seed* (for unnamed text FNV's own, ``0xCBF29CE484222325``).
- The n-gram of the words hashed to ``h1 ... hn`` is ``g = h1``, then ``g = g·K + hi`` for each
  further word, with ``K = 0x9E3779B97F4A7C15``.
- Every other code point but spaces and controls is a *mark*. Among *tokens*, a run of one mark is a
  word too: ``!``, ``!!``, and ``!!!`` for three and more.
- A character n-gram is n code points in a row of a word, not of marks, with one space before and
  after it (the whole padded word, if it is shorter), hashed by FNV-1a like a word. Those of
  *pieces* are of all code points between spaces and controls, marks and capital letters as well;
  they are hashed from the complement of the seed, so that none is taken for a word.
- Its *column* is the lowest bits of ``mix(g)``, the 64-bit finaliser of MurmurHash3.

:func:`words` and :func:`column` are this definition in plain Python; the kernels compute the same.

Examples
--------
>>> words("Crème brûlée: 2 × BETTER")
['crème', 'brûlée', '2', 'better']
>>> column(["not", "good"], bits=22)
1281756
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

import numpy as np

from rosenblatt.kernels._memory import zeros
from rosenblatt.kernels._unicode import LIMIT, MARK, letter_tables
from rosenblatt.kernels.jit import inlined, kernel
from rosenblatt.kernels.weighting import WEIGHTINGS, weigh

SEED = np.uint64(0xCBF29CE484222325)
PRIME = np.uint64(0x100000001B3)
GRAM = np.uint64(0x9E3779B97F4A7C15)

# Kinds of n-grams: of words; of words and marks; of marks; of the characters of a piece of text
# between spaces, and of the letters of a word. The first four have a table of letters each.
WORD, TOKEN, MARKS, PIECE, CHAR = range(5)
ORDERS = {MARKS: (1, 2), PIECE: (1, 5)}  # the lengths of n-grams that are not chosen
# The blocks of a row by what is hashed: their kinds, and their shares of its squared length.
ANALYZERS = {
    "word": ((WORD, 1.0),),
    "char": ((CHAR, 1.0),),
    "marks": ((WORD, 0.9), (MARKS, 0.1)),
    "pieces": ((TOKEN, 0.4), (PIECE, 0.6)),
}
LONGEST_RUN = 3  # of a mark that is told apart

_MASK64 = (1 << 64) - 1


class Rows(NamedTuple):
    """CSR rows: row i has ``values[indptr[i]:indptr[i+1]]`` in the columns ``indices[...]``."""

    indptr: np.ndarray
    indices: np.ndarray
    values: np.ndarray


class Block(NamedTuple):
    """N-grams of one kind, and their share of the squared length of a row."""

    kind: int
    low: int
    high: int
    share: float


class Ngrams(NamedTuple):
    """Options of hashed n-grams.

    Attributes
    ----------
    low, high
        The lengths of the shortest and of the longest n-grams.
    analyzer
        Of what: ``"word"``; ``"char"``, characters within words; ``"marks"``, words, and in a block
        of their own the marks alone; ``"pieces"``, tokens, which are words and marks, and in a
        block of their own 1 to 5 characters between spaces, case and all. If rows are scaled,
        blocks share their length. A column that both blocks have is an entry of the first.
    bits
        There are ``2**bits`` columns.
    weighting
        ``"binary"``: 1; ``"log"``: log(1 + count); ``"raw"``: the count.
    unit
        Whether rows are scaled to length 1.
    """

    low: int = 1
    high: int = 2
    analyzer: str = "word"
    bits: int = 22
    weighting: str = "log"
    unit: bool = True

    @property
    def blocks(self) -> list[Block]:
        """The blocks of a row."""
        return [
            Block(kind, *ORDERS.get(kind, (self.low, self.high)), share)
            for kind, share in ANALYZERS[self.analyzer]
        ]


class _Folded(dict[int, int | str]):
    """Code points in lower case, a space for those outside words: a table for str.translate.

    A mark stands between two null characters, which no word has.
    """

    def __init__(self, kind: int) -> None:
        self._letters = letter_tables()[kind]

    def __missing__(self, code: int) -> int | str:
        letter = int(self._letters[code]) if code < LIMIT else 0
        self[code] = letter or 32 if letter < MARK else f"\0{chr(code)}\0"
        return self[code]


_folded = cache(_Folded)
_RUN = re.compile(f"((\0[^\0]\0)\\2{{,{LONGEST_RUN - 1}}})\\2*")


def words(text: str, kind: int = WORD) -> list[str]:
    """The words of a text, in lower case, or its tokens, marks or pieces: the definition of these.

    >>> words("It's 5 o'clock"), words("What?! No....", TOKEN), words("What?! No....", MARKS)
    (['it', 's', '5', 'o', 'clock'], ['what', '?', '!', 'no', '...'], ['?', '!', '...'])
    >>> words("What?! No....", PIECE)
    ['What?!', 'No....']
    """
    folded = text.translate(_folded(kind))
    if kind in (TOKEN, MARKS):
        folded = _RUN.sub(lambda run: f" {run[1]} ", folded).replace("\0", "")
    return folded.split()


def named_seed(name: str) -> np.uint64:
    """The seed for the words of a named column of a table."""
    return np.uint64(fnv(f"{name}=", int(SEED)))


def column(gram: list[str], bits: int, seed: int = int(SEED)) -> int:
    """The column of an n-gram of words (or of one string of characters): the definition.

    >>> column(["good"], bits=10), column(["good"], bits=22) % 1024
    (244, 244)
    """
    hashed = 0
    for word in gram:
        hashed = (hashed * int(GRAM) + fnv(word, seed)) & _MASK64
    return mix(hashed) & ((1 << bits) - 1)


def fnv(text: str, seed: int) -> int:
    """FNV-1a over the code points of a text."""
    for c in text:
        seed = ((seed ^ ord(c)) * int(PRIME)) & _MASK64
    return seed


def mix(h: int) -> int:
    """The 64-bit finaliser of MurmurHash3."""
    h = ((h ^ (h >> 33)) * 0xFF51AFD7ED558CCD) & _MASK64
    h = ((h ^ (h >> 33)) * 0xC4CEB9FE1A85EC53) & _MASK64
    return h ^ (h >> 33)


def hash_ngrams(
    offsets: np.ndarray, data: np.ndarray, spec: Ngrams, seed: np.uint64 = SEED
) -> Rows:
    """Hash the n-grams of strings in UTF-8, in the layout of Arrow; invalid bytes separate words.

    String i is ``data[offsets[i]:offsets[i+1]]``. Hashing starts with `seed`, see
    :func:`named_seed`.

    >>> data = np.frombuffer(b"not good, not bad", dtype=np.uint8)
    >>> rows = hash_ngrams(np.array([0, 17]), data, Ngrams(weighting="raw", unit=False))
    >>> len(rows.indices), rows.values.tolist()
    (6, [2.0, 1.0, 1.0, 1.0, 1.0, 1.0])
    """
    return hash_chunks([(offsets, data)], spec, seed)


def hash_chunks(
    chunks: list[tuple[np.ndarray, np.ndarray]],
    spec: Ngrams,
    seed: np.uint64 = SEED,
    blocks: list[Block] | None = None,
) -> Rows:
    """The same for the strings of several pairs of offsets and data, one after the other.

    With `blocks`, the rows have these blocks only.
    """
    blocks = spec.blocks if blocks is None else blocks
    chunks = [(offsets.astype(np.uint64), data) for offsets, data in chunks if len(offsets) > 1]
    count = sum(len(offsets) - 1 for offsets, _ in chunks)
    longest = max((int(np.diff(offsets).max()) for offsets, _ in chunks), default=0)
    size = sum(int(offsets[-1] - offsets[0]) for offsets, _ in chunks)
    most = [_most_grams(block, longest, 1) for block in blocks]
    bound = sum(most) + sum(_most_grams(block, size, count) for block in blocks)
    indices, values = zeros((bound + 1,), np.uint32), zeros((bound + 1,), np.float32)
    counts = values.view(np.uint32)  # overwritten by the values
    slots = min(1 << spec.bits, 1 << (8 * sum(most) - 1).bit_length())
    table = zeros((max(8, slots),), np.uint32)
    scratch = np.empty((2, 2 * longest + 4), dtype=np.uint64)
    orders = np.array([block[:3] for block in blocks], np.int64)
    mask = np.uint64((1 << spec.bits) - 1)
    # Index 0 of the output is unused: an empty slot of the table points to it.
    ends, row = np.ones(len(blocks) * count + 1, dtype=np.uint64), 0
    for offsets, data in chunks:
        _rows(
            offsets,
            data,
            letter_tables(),
            seed,
            orders,
            mask,
            ends[row:],
            indices,
            counts,
            table,
            scratch,
        )
        row += len(blocks) * (len(offsets) - 1)
    lengths = np.sqrt([block.share for block in blocks]) * spec.unit
    weigh(ends, counts, values, WEIGHTINGS.index(spec.weighting), lengths, np.empty(64))
    entries = slice(1, int(ends[row]))
    return Rows(ends[:: len(blocks)] - np.uint64(1), indices[entries], values[entries])


def _most_grams(block: Block, size: int, rows: int) -> int:
    """The most n-grams that rows of this size, in bytes, can have before they are merged.

    A row of n bytes has at most (n+1)/2 words, or n tokens; padded, words have at most 2n + 1
    characters.
    """
    padded = 2 * size + rows
    words = {WORD: (size + rows) // 2, CHAR: padded, PIECE: padded}.get(block.kind, size)
    return (words + 1) * (block.high - block.low + 1)


def hash_values(
    offsets: np.ndarray, data: np.ndarray, bits: int, seed: np.uint64 = SEED
) -> np.ndarray:
    """The column of each string as a whole, a category, case and all.

    >>> data = np.frombuffer(b"tech", dtype=np.uint8)
    >>> hash_values(np.array([0, 4]), data, 22, named_seed("job")).tolist()
    [1062021]
    >>> column(["job=tech"], 22)
    1062021
    """
    columns = np.empty(len(offsets) - 1, dtype=np.uint32)
    _hash_values(offsets.astype(np.uint64), data, seed, np.uint64((1 << bits) - 1), columns)
    return columns


@inlined
def mixed(h):
    """:func:`mix` of a uint64, or of an array of them."""
    h = (h ^ (h >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
    h = (h ^ (h >> np.uint64(33))) * np.uint64(0xC4CEB9FE1A85EC53)
    return h ^ (h >> np.uint64(33))


@kernel
def _decode(data, i, end):
    """The code point at i of a string that ends at `end`, and its length; 0 for bad bytes."""
    c = np.uint32(data[i])
    if c < 0xC2 or c > 0xF4:
        return np.uint32(0), 1
    extra = 1 if c < 0xE0 else (2 if c < 0xF0 else 3)
    if i + extra >= end:
        return np.uint32(0), 1
    code = c & np.uint32(0x3F >> extra)
    for k in range(1, extra + 1):
        b = np.uint32(data[i + k])
        if b & np.uint32(0xC0) != np.uint32(0x80):
            return np.uint32(0), 1
        code = (code << np.uint32(6)) | (b & np.uint32(0x3F))
    if (extra == 2 and code < 0x800) or (extra == 3 and code < 0x10000):
        return np.uint32(0), 1
    return code, extra + 1


@kernel
def _hash_values(offsets, data, seed, mask, columns):
    for row in range(len(columns)):
        h = seed
        i = offsets[row]
        while i < offsets[row + 1]:
            c = np.uint32(data[i])
            width = 1
            if c >= 128:
                c, width = _decode(data, i, offsets[row + 1])
            h = (h ^ np.uint64(c)) * PRIME
            i += np.uint64(width)
        columns[row] = np.uint32(mixed(h) & mask)


@kernel
def _word_hashes(data, start, end, fold, seed, hashes):
    """Hash the words of one string; returns their number.

    The hash is written at every character and kept at the end of a word, so that there is no branch
    to mispredict.
    """
    n = np.uint64(0)
    h = seed
    inside = np.uint64(0)
    limit = np.uint32(len(fold))
    i = start
    while i < end:
        c = np.uint32(data[i])
        if c < 128:
            i += np.uint64(1)
        else:
            c, width = _decode(data, i, end)
            i += np.uint64(width)
            if c >= limit:
                c = np.uint32(0)
        letter = fold[c]
        is_word = np.uint64(letter != 0)
        hashes[n] = h
        n += inside & (np.uint64(1) - is_word)
        h = (h ^ np.uint64(letter)) * PRIME if is_word else seed
        inside = is_word
    hashes[n] = h
    return n + inside


@kernel
def _token_hashes(data, start, end, letters, seed, hashes):
    """The same with marks: a run of one mark is a word, and at most three of it are hashed."""
    n = np.uint64(0)
    h = seed
    limit = np.uint32(len(letters))
    before, run = np.uint32(0), 0  # what a character has to be, to belong to the word before it
    i = start
    while i < end:
        c = np.uint32(data[i])
        if c < 128:
            i += np.uint64(1)
        else:
            c, width = _decode(data, i, end)
            i += np.uint64(width)
            if c >= limit:
                c = np.uint32(0)
        letter = letters[c]
        kind = letter if letter >= MARK else np.uint32(letter != 0)
        is_new = kind != before
        hashes[n] = h
        n += np.uint64(is_new and before != 0)
        h = seed if is_new else h
        run = 0 if is_new or letter < MARK else run + 1
        h = (h ^ np.uint64(letter & ~MARK)) * PRIME if run < LONGEST_RUN else h
        before = kind
    hashes[n] = h
    return n + np.uint64(before != 0)


@kernel
def _merge(begin, end, indices, counts, first, nnz, table, room):
    """Merge and count equal columns among ``indices[begin:end]``, from `nnz` on; returns their end.

    Columns that the row has already, from `first` on, count there. The open-addressed table holds
    indices of `indices`. Those before this row's first count as empty slots, so that the table is
    never cleared; a short row uses a small part of it, `room`, and no row more than a slot for each
    column. The first probe nearly always decides, without a branch to mispredict.
    """
    for i in range(begin, end):
        column = indices[i]
        slot = np.uint64(column) & room
        place = np.uint64(table[slot])
        while place >= first and indices[place] != column:
            slot = (slot + np.uint64(1)) & room
            place = np.uint64(table[slot])
        is_new = place < first
        place = nnz if is_new else place
        indices[place] = column
        counts[place] = (np.uint32(0) if is_new else counts[place]) + np.uint32(1)
        table[slot] = np.uint32(place)
        nnz += np.uint64(is_new)
    return nnz


@kernel
def _word_columns(n, low, high, mask, hashes, grams, indices, at):
    """Write the columns of the n-grams of n hashed words to ``indices[at:]``; their number."""
    count = np.uint64(0)
    for k in range(1, high + 1):
        many = n + np.uint64(1) - np.uint64(k) if n >= np.uint64(k) else np.uint64(0)
        for i in range(many):
            grams[i] = hashes[i] if k == 1 else grams[i] * GRAM + hashes[i + np.uint64(k - 1)]
        if k >= low:
            for i in range(many):
                indices[at + count + i] = np.uint32(mixed(grams[i]) & mask)
            count += many
    return count


@kernel
def _rows(offsets, data, letters, seed, blocks, mask, ends, indices, counts, table, scratch):
    """Hash the n-grams of each block of each row, given by its kind and the lengths of n-grams.

    Their columns go to `indices`, their counts to `counts`, and the end of a block to `ends`.
    """
    nnz, at = ends[0], 0
    for row in range(len(offsets) - 1):
        start, end, first = offsets[row], offsets[row + 1], nnz
        last = first  # of the columns before they are merged
        for b in range(len(blocks)):
            kind, low, high = blocks[b, 0], blocks[b, 1], blocks[b, 2]
            if kind >= PIECE:
                fold = letters[PIECE] if kind == PIECE else letters[WORD]
                own = ~seed if kind == PIECE else seed
                last += _char_columns(
                    data, start, end, fold, low, high, own, mask, scratch[0], indices, last
                )
            else:
                if kind == WORD:
                    n = _word_hashes(data, start, end, letters[0], seed, scratch[0])
                else:
                    n = _token_hashes(data, start, end, letters[kind], seed, scratch[0])
                last += _word_columns(n, low, high, mask, scratch[0], scratch[1], indices, last)
            ends[at + b + 1] = last
        room = np.uint64(8)
        while room < np.uint64(8) * (last - first) and room <= mask:
            room <<= np.uint64(1)
        room -= np.uint64(1)
        begin = first
        for _ in range(len(blocks)):
            at += 1
            last = ends[at]
            nnz = _merge(begin, last, indices, counts, first, nnz, table, room)
            ends[at], begin = nnz, last


@kernel
def _char_columns(data, start, end, letters, low, high, seed, mask, word, indices, at):
    """Write the columns of the n-grams of characters of one string; their number."""
    limit = np.uint32(len(letters))
    i, count, length = start, np.uint64(0), 0
    while i <= end:
        letter = np.uint32(0)
        if i < end:
            c = np.uint32(data[i])
            width = 1
            if c >= 128:
                c, width = _decode(data, i, end)
            i += np.uint64(width)
            letter = letters[c] if c < limit else np.uint32(0)
        else:
            i += np.uint64(1)
        if letter != 0:
            length += 1
            word[length] = letter
        elif length > 0:
            word[0] = 32
            word[length + 1] = 32
            count += _char_grams(word, length + 2, low, high, seed, mask, indices, at + count)
            length = 0
    return count


@kernel
def _char_grams(word, length, low, high, seed, mask, indices, at):
    """Write the columns of the n-grams of one padded word to ``indices[at:]``; their number.

    A space alone, which every word has, is none of them.
    """
    count = np.uint64(0)
    for start in range(length):
        h, least = seed, max(low, 2) if start == 0 or start + 1 == length else low
        for k in range(min(high, length - start)):
            h = (h ^ word[start + k]) * PRIME
            if k + 1 >= least or (start == 0 and k + 1 == length):
                indices[at + count] = np.uint32(mixed(h) & mask)
                count += np.uint64(1)
    return count
