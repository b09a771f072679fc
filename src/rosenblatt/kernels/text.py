"""From the bytes of text to hashed n-grams in CSR form.

The hash, documented here and stable for ever
---------------------------------------------
A *word* is a maximal run of letters, marks and numbers, in lower case, by the tables of
:mod:`rosenblatt.kernels._unicode`. All arithmetic is modulo 2⁶⁴.

- A word is hashed by FNV-1a over its code points: ``h = (h ^ c) · 0x100000001B3`` for each code
  point c, from the *seed* (for unnamed text FNV's own, ``0xCBF29CE484222325``).
- The n-gram of the words hashed to ``h1 ... hn`` is ``g = h1``, then ``g = g·K + hi`` for each
  further word, with ``K = 0x9E3779B97F4A7C15``.
- A character n-gram is n code points in a row of a word with one space before and after it (the
  whole padded word, if it is shorter), hashed by FNV-1a like a word.
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

from typing import NamedTuple

import numpy as np

from rosenblatt.kernels._memory import zeros
from rosenblatt.kernels._unicode import LIMIT, fold_table
from rosenblatt.kernels.jit import inlined, kernel
from rosenblatt.kernels.weighting import WEIGHTINGS, weigh

SEED = np.uint64(0xCBF29CE484222325)
PRIME = np.uint64(0x100000001B3)
GRAM = np.uint64(0x9E3779B97F4A7C15)

_MASK64 = (1 << 64) - 1


class Rows(NamedTuple):
    """CSR rows: row i has ``values[indptr[i]:indptr[i+1]]`` in the columns ``indices[...]``."""

    indptr: np.ndarray
    indices: np.ndarray
    values: np.ndarray


class Ngrams(NamedTuple):
    """Options of hashed n-grams.

    Attributes
    ----------
    low, high
        The lengths of the shortest and of the longest n-grams.
    chars
        Whether these are n-grams of characters within words, rather than of words.
    bits
        There are ``2**bits`` columns.
    weighting
        ``"binary"``: 1; ``"log"``: log(1 + count); ``"raw"``: the count.
    unit
        Whether rows are scaled to length 1.
    """

    low: int = 1
    high: int = 2
    chars: bool = False
    bits: int = 22
    weighting: str = "log"
    unit: bool = True


class _Folded(dict[int, int]):
    """Code points in lower case, a space for those outside words: a table for str.translate."""

    def __missing__(self, code: int) -> int:
        self[code] = int(fold_table()[code]) or 32 if code < LIMIT else 32
        return self[code]


_FOLDED = _Folded()


def words(text: str) -> list[str]:
    """The words of a text, in lower case: the definition of a word.

    >>> words("It's 5 o'clock")
    ['it', 's', '5', 'o', 'clock']
    """
    return text.translate(_FOLDED).split()


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
) -> Rows:
    """The same for the strings of several pairs of offsets and data, one after the other."""
    chunks = [(offsets.astype(np.uint64), data) for offsets, data in chunks if len(offsets) > 1]
    count = sum(len(offsets) - 1 for offsets, _ in chunks)
    longest = max((int(np.diff(offsets).max()) for offsets, _ in chunks), default=0)
    # A row of n bytes has at most (n+1)/2 words; padded, they have at most 2n + 1 characters.
    widest = (2 * longest + 2) if spec.chars else (longest + 1) // 2 + 1
    many = spec.high - spec.low + 1
    size = sum(int(offsets[-1] - offsets[0]) for offsets, _ in chunks)
    most, bound = widest * many, (2 * size + count if spec.chars else (size + count) // 2) * many
    indices = zeros((bound + most + 1,), np.uint32)
    values = zeros((bound + most + 1,), np.float32)
    counts = values.view(np.uint32)  # overwritten by the values
    table = zeros((max(8, 1 << (8 * most - 1).bit_length()),), np.uint32)
    fill = _char_rows if spec.chars else _word_rows
    scratch = np.empty((1 if spec.chars else 2, widest + 2), dtype=np.uint64)
    mask = np.uint64((1 << spec.bits) - 1)
    # Index 0 of the output is unused: an empty slot of the table points to it.
    indptr, row = np.ones(count + 1, dtype=np.uint64), 0
    for offsets, data in chunks:
        fill(
            offsets,
            data,
            fold_table(),
            seed,
            spec.low,
            spec.high,
            mask,
            indptr[row:],
            indices,
            counts,
            table,
            scratch,
        )
        row += len(offsets) - 1
    weigh(indptr, counts, values, WEIGHTINGS.index(spec.weighting), spec.unit, np.empty(64))
    found = slice(1, int(indptr[row]))
    indptr -= np.uint64(1)
    return Rows(indptr, indices[found], values[found])


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
def _merge(count, indices, counts, nnz, table):
    """Merge and count equal columns among ``indices[nnz : nnz + count]``; returns their end.

    The open-addressed table holds indices of `indices`. Those before this row's first count as
    empty slots, so that the table is never cleared; a short row uses a small part of it. The first
    probe nearly always decides, without a branch to mispredict.
    """
    room = np.uint64(8)
    while room < np.uint64(8) * count:
        room <<= np.uint64(1)
    room -= np.uint64(1)
    first = nnz
    for i in range(first, first + count):
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
def _word_rows(offsets, data, fold, seed, low, high, mask, indptr, indices, counts, table, scratch):
    """Hash n-grams of words: the columns of each row to `indices`, their counts to `counts`."""
    hashes, grams = scratch[0], scratch[1]
    nnz = indptr[0]
    for row in range(len(offsets) - 1):
        n = _word_hashes(data, offsets[row], offsets[row + 1], fold, seed, hashes)
        count = _word_columns(n, low, high, mask, hashes, grams, indices, nnz)
        nnz = _merge(count, indices, counts, nnz, table)
        indptr[row + 1] = nnz


@kernel
def _char_rows(offsets, data, fold, seed, low, high, mask, indptr, indices, counts, table, scratch):
    """The same for n-grams of characters."""
    word = scratch[0]
    limit = np.uint32(len(fold))
    nnz = indptr[0]
    for row in range(len(offsets) - 1):
        i = offsets[row]
        end = offsets[row + 1]
        count = np.uint64(0)
        length = 0
        while i <= end:
            letter = np.uint32(0)
            if i < end:
                c = np.uint32(data[i])
                width = 1
                if c >= 128:
                    c, width = _decode(data, i, end)
                i += np.uint64(width)
                letter = fold[c] if c < limit else np.uint32(0)
            else:
                i += np.uint64(1)
            if letter != 0:
                length += 1
                word[length] = letter
            elif length > 0:
                word[0] = 32
                word[length + 1] = 32
                count += _char_grams(word, length + 2, low, high, seed, mask, indices, nnz + count)
                length = 0
        nnz = _merge(count, indices, counts, nnz, table)
        indptr[row + 1] = nnz


@kernel
def _char_grams(word, length, low, high, seed, mask, indices, at):
    """Write the columns of the n-grams of one padded word to ``indices[at:]``; their number."""
    count = np.uint64(0)
    for start in range(length):
        h = seed
        for k in range(min(high, length - start)):
            h = (h ^ word[start + k]) * PRIME
            if k + 1 >= low or (start == 0 and k + 1 == length):
                indices[at + count] = np.uint32(mixed(h) & mask)
                count += np.uint64(1)
    return count
