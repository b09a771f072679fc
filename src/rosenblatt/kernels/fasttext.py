"""The words, subwords and word n-grams of fastText, from the bytes of text to CSR rows.

The features of fastText, as Bojanowski et al. (2017) and its file format define them
---------------------------------------------------------------------------------------
- *Tokens* are separated by the bytes 0, 9 to 13 and 32. After the last one comes ``</s>``, and one
  within the text ends it. Tokens that are labels, or begin with ``__label__``, are left out.
- A token is hashed by FNV-1a in 32 bits over its bytes as **signed** numbers. (Words of the
  vocabulary are recognised by 64 bits of such a hash.)
- A token of the vocabulary is its own feature, and has its subwords besides. Others have subwords
  alone: the n-grams of `low` to `high` code points of ``<token>``, but for ``<`` and ``>``.
- The n-gram of tokens hashed to ``h1 ... hn``, signed as well, is ``h1``, then ``g·116049371 + hi``
  modulo 2⁶⁴.
- Subwords and n-grams are features by their hash modulo `bucket`, after the words. In a pruned
  model only some buckets are features.

A row is the mean of its features, each as often as it occurs. Here a word of the vocabulary and its
subwords are one feature, which counts as many times as there are of them.

:meth:`FastText.grams` is this definition in plain Python; the kernels compute the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from rosenblatt.kernels._memory import zeros
from rosenblatt.kernels.jit import kernel, prefetch
from rosenblatt.kernels.text import PRIME, SEED, Rows

MOST_LENGTH = 100  # of n-grams
_SEED, _PRIME, _LOW = np.uint64(2166136261), np.uint64(16777619), np.uint64(0xFFFFFFFF)
_GRAM = np.uint64(116049371)
_END, _PREFIX = b"</s>", b"__label__"
_END_HASH, _WIDE_END = np.uint64(0xD79C9359), np.uint64(0x7BD4011AD427EA99)
_GAPS = bytes([0, *range(9, 14), 32])
_SLOTS_AHEAD = 8  # tokens between the prefetch of a slot of the vocabulary and its use
_WORDS = 1 << 16  # of the vocabulary whose subwords are listed at a time
_MASK32, _MASK64 = (1 << 32) - 1, (1 << 64) - 1
_CODES = np.arange(256).astype(np.int8).astype(np.int64).astype(np.uint64) & _LOW
_CODES[list(_GAPS)] |= np.uint64(1) << np.uint64(32)


class Tables(NamedTuple):
    """A vocabulary for the kernels."""

    words: np.ndarray  # the bytes of all words and labels, a zero after each
    starts: np.ndarray  # where each begins, and the end
    slots: np.ndarray  # open-addressed by hash: (n, 2), a wide hash and one more than the word
    sizes: np.ndarray  # how many features each word counts for
    kept: np.ndarray  # a bit per bucket; empty if all are features
    prefix: np.ndarray  # of labels
    codes: np.ndarray  # of bytes: as signed numbers in the lower half, whether it is a gap above
    numbers: np.ndarray  # words, buckets, low, high, length of word n-grams, number of </s>


@dataclass(frozen=True, eq=False)
class FastText:
    """How fastText makes features of text.

    Attributes
    ----------
    n_words : int
        The words of the vocabulary; what follows them are labels.
    buckets : int
        The number of hashed features.
    length : int
        The number of words of the longest n-grams.
    low, high : int
        The lengths of subwords; none if `high` is 0.
    words : uint8 array
        The words and then the labels in UTF-8, each followed by a zero.
    kept : uint8 array
        One bit per bucket, the lowest first: whether it is a feature. Empty if all are.

    Examples
    --------
    >>> words = np.frombuffer(b"</s>\\0good\\0__label__yes\\0", np.uint8)
    >>> spec = FastText(n_words=2, buckets=1000, length=2, words=words)
    >>> rows = spec.rows([(np.array([0, 8]), np.frombuffer(b"good new", np.uint8))])
    >>> rows.indices.tolist(), rows.values.tolist()
    ([1, 0, 3, 598], [0.25, 0.25, 0.25, 0.25])
    >>> list(spec.grams("good new"))
    [(1, 'good'), (0, '</s>'), (3, 'good new'), (598, 'new </s>')]
    """

    n_words: int
    buckets: int
    length: int = 1
    low: int = 0
    high: int = 0
    words: np.ndarray = field(default_factory=lambda: np.empty(0, np.uint8))
    kept: np.ndarray = field(default_factory=lambda: np.empty(0, np.uint8))

    def __post_init__(self) -> None:
        numbers = (self.n_words, self.buckets, self.length, self.low, self.high)
        hashes = self.length > 1 or self.high > 0
        sound = (
            all(type(number) is int and number >= 0 for number in numbers)
            and max(numbers[2:]) <= MOST_LENGTH
            and (self.buckets > 0 or not hashes)
            and self.n_words + self.buckets < 1 << 31
            and self.kept.size in (0, -(-self.buckets // 8))
            and (not self.words.size or self.words[-1] == 0)
        )
        if not sound or self.n_words > np.count_nonzero(self.words == 0):
            raise ValueError(f"the numbers of a fastText model {numbers} make no sense")

    @property
    def bits(self) -> int:
        """All columns are below two to the power of this."""
        return max(1, (self.n_words + self.buckets - 1).bit_length())

    @property
    def _lengths(self) -> int:
        """The number of lengths of subwords."""
        return max(0, self.high - max(1, self.low) + 1)

    @property
    def sizes(self) -> np.ndarray:
        """For how many features each word counts: itself and its subwords."""
        return self._tables.sizes

    def to_json(self) -> dict[str, int]:
        """The numbers, and the sizes of the arrays, as plain data."""
        names = ("n_words", "buckets", "length", "low", "high")
        sizes = {"words": self.words.size, "kept": self.kept.size}
        return {name: getattr(self, name) for name in names} | sizes

    def spelled(self) -> list[str]:
        """All words and labels."""
        return [word.decode(errors="replace") for word in self.words.tobytes().split(b"\0")[:-1]]

    @cached_property
    def _tables(self) -> Tables:
        ends = np.flatnonzero(self.words == 0).astype(np.uint64) + np.uint64(1)
        starts = np.concatenate([np.zeros(1, np.uint64), ends])
        n = len(ends)
        slots = zeros((1 << max(3, (3 * n // 2).bit_length()), 2), np.uint64)
        sizes = np.ones(n, np.uint32)
        numbers = (self.n_words, self.buckets, self.low, self.high, self.length, -1)
        tables = Tables(
            np.ascontiguousarray(self.words),
            starts,
            slots,
            sizes,
            self.kept,
            np.frombuffer(_PREFIX, np.uint8),
            _CODES,
            np.array(numbers, np.int64),
        )
        _index(tables)
        for first, rows in self.subwords(tables):
            sizes[first : first + len(rows.indptr) - 1] += np.diff(rows.indptr).astype(np.uint32)
        return tables

    def subwords(self, tables: Tables | None = None) -> Iterator[tuple[int, Rows]]:
        """The subwords of the words of the vocabulary, as rows of ones.

        Some words at a time, with the number of the first.
        """
        tables = self._tables if tables is None else tables
        for first in range(0, self.n_words if self.high else 0, _WORDS):
            starts = tables.starts[first : min(first + _WORDS, self.n_words) + 1]
            room = (int(starts[-1] - starts[0]) + len(starts)) * self._lengths
            indptr = np.zeros(len(starts), np.uint64)
            indices = zeros((max(1, room),), np.uint32)
            scratch = np.empty(int(np.diff(starts).max()) + 2, np.uint8)
            _vocabulary_rows(tables, starts, scratch, indptr, indices)
            count = int(indptr[-1])
            yield first, Rows(indptr, indices[:count], np.ones(count, np.float32))

    def rows(self, chunks: list[tuple[np.ndarray, np.ndarray]]) -> Rows:
        """The rows of strings, which are given as for :func:`.text.hash_chunks`.

        Columns that occur several times in a row are not merged.
        """
        chunks = [(offsets.astype(np.uint64), data) for offsets, data in chunks if len(offsets) > 1]
        count = sum(len(offsets) - 1 for offsets, _ in chunks)
        longest = max((int(np.diff(offsets).max()) for offsets, _ in chunks), default=0)
        size = sum(int(offsets[-1] - offsets[0]) for offsets, _ in chunks)
        # Of n bytes there are at most (n+1)/2 tokens and the end; in <> they have 2n + 1 bytes.
        tokens = (size + count) // 2 + count
        subwords = (2 * size + count) * self._lengths
        indices = zeros((subwords + tokens * max(1, self.length) + 1,), np.uint32)
        values = zeros(indices.shape, np.float32)
        scratch = np.empty((3, (longest + 1) // 2 + 2), np.uint64)
        padded = np.empty(longest + 2, np.uint8)
        indptr, row = np.zeros(count + 1, np.uint64), 0
        for offsets, data in chunks:
            _rows(offsets, data, self._tables, scratch, padded, indptr[row:], indices, values)
            row += len(offsets) - 1
        end = int(indptr[-1])
        return Rows(indptr, indices[:end], values[:end])

    def grams(self, text: str | bytes) -> Iterator[tuple[int, str]]:
        """The columns and names of the features of a text: the definition.

        A word of the vocabulary stands for its subwords too, and is given once.
        """
        raw = text.encode() if isinstance(text, str) else text
        tokens = raw.translate(bytes.maketrans(_GAPS, b" " * len(_GAPS))).split(b" ")
        tokens = [token for token in tokens if token]
        tokens = [*tokens[: tokens.index(_END) if _END in tokens else None], _END]
        hashed = []
        for token in tokens:
            number = self._numbers.get(token, -1)
            if number >= self.n_words or (number < 0 and token.startswith(_PREFIX)):
                continue
            hashed.append((fnv32(token), token.decode(errors="replace")))
            if number >= 0:
                yield number, hashed[-1][1]
            elif token != _END:
                yield from self._subwords_of(token)
        for i, (start, name) in enumerate(hashed):
            joined, names = _signed(start), name
            for each, word in hashed[i + 1 : i + self.length]:
                joined, names = (joined * int(_GRAM) + _signed(each)) & _MASK64, f"{names} {word}"
                yield from self._bucket(joined, names)

    @cached_property
    def _numbers(self) -> dict[bytes, int]:
        return {word: i for i, word in enumerate(self.words.tobytes().split(b"\0")[:-1])}

    def _subwords_of(self, token: bytes) -> Iterator[tuple[int, str]]:
        padded = b"<" + token + b">"
        starts = [i for i, byte in enumerate(padded) if byte & 0xC0 != 0x80] + [len(padded)]
        for a in range(len(starts) - 1):
            for n in range(max(1, self.low), min(self.high, len(starts) - 1 - a) + 1):
                if n > 1 or 0 < starts[a] < len(padded) - 1:
                    gram = padded[starts[a] : starts[a + n]]
                    yield from self._bucket(fnv32(gram), gram.decode(errors="replace"))

    def _bucket(self, hashed: int, name: str) -> Iterator[tuple[int, str]]:
        bucket = hashed % self.buckets
        if not self.kept.size or self.kept[bucket >> 3] >> (bucket & 7) & 1:
            yield self.n_words + bucket, name

    def names(self, texts: Iterable[str | bytes | None], sought: np.ndarray) -> dict[int, str]:
        """Names of columns: words of the vocabulary, and n-grams that occur in the texts."""
        missing, words = set(sought.tolist()), self.spelled()
        named = {at: words[at] for at in missing if at < self.n_words}
        missing -= named.keys()
        for text in texts:
            if not missing:
                break
            named |= {at: name for at, name in self.grams(text or "") if at in missing}
            missing -= named.keys()
        return named


def fnv32(token: bytes) -> int:
    """The hash of a token: FNV-1a over signed bytes.

    >>> fnv32(b"good"), fnv32("gültig".encode())
    (4200608216, 3491149261)
    """
    h = int(_SEED)
    for byte in token:
        h = ((h ^ (byte - 256 * (byte > 127))) * int(_PRIME)) & _MASK32
    return h


def _signed(h: int) -> int:
    """A hash as a signed number, modulo 2⁶⁴."""
    return (h - (1 << 32) * (h >> 31)) & _MASK64


def merged(rows: Rows) -> Rows:
    """One row with each column once.

    >>> ones = np.ones(3, np.float32)
    >>> merged(Rows(np.array([0, 3], np.uint64), np.array([7, 2, 7], np.uint32), ones)).values
    array([1., 2.], dtype=float32)
    """
    columns, places = np.unique(rows.indices, return_inverse=True)
    values = np.bincount(places, rows.values, len(columns)).astype(np.float32)
    return Rows(np.array([0, len(columns)], np.uint64), columns, values)


@kernel
def _step(h, code):
    """The hash after one more byte, which is signed."""
    return ((h ^ (code & _LOW)) * _PRIME) & _LOW


@kernel
def _slot_of(slots, h, wide):
    """The slot of a token in the vocabulary; an empty one if it is not there."""
    mask, one = np.uint64(len(slots) - 1), np.uint64(1)
    slot = h & mask
    while slots[slot, 1] != 0 and slots[slot, 0] != wide:
        slot = (slot + one) & mask
    return slot


@kernel
def _index(tables):
    """Fill the slots of a vocabulary; of equal words the last counts."""
    words, starts, slots, codes = tables.words, tables.starts, tables.slots, tables.codes
    one = np.uint64(1)
    for word in range(np.uint64(len(starts) - 1)):
        h, wide = _SEED, SEED
        for i in range(starts[word], starts[word + one] - one):
            h = _step(h, codes[words[i]])
            wide = (wide ^ codes[words[i]]) * PRIME
        slot = _slot_of(slots, h, wide)
        slots[slot, 0], slots[slot, 1] = wide, word + one
        if wide == _WIDE_END:
            tables.numbers[5] = np.int64(word)


@kernel
def _bucket_of(tables, hashed):
    """The column of a hash, and whether it is a feature."""
    bucket = hashed % np.uint64(tables.numbers[1])
    column = np.uint32(bucket + np.uint64(tables.numbers[0]))
    if tables.kept.size == 0:
        return column, np.uint64(1)
    bits = np.uint64(tables.kept[bucket >> np.uint64(3)])
    return column, (bits >> (bucket & np.uint64(7))) & np.uint64(1)


@kernel
def _subwords(tables, data, start, end, padded, indices, at):
    """Write the columns of the subwords of a token to ``indices[at:]``; their end."""
    low, high, codes = tables.numbers[2], tables.numbers[3], tables.codes
    size = np.int64(end - start) + 2
    padded[0], padded[size - 1] = 60, 62  # < and >
    for i in range(size - 2):
        padded[i + 1] = data[start + np.uint64(i)]
    for i in range(size):
        if padded[i] & 0xC0 == 0x80:
            continue
        h = _SEED
        j = i
        for n in range(1, high + 1):
            if j >= size:
                break
            h = _step(h, codes[padded[j]])
            j += 1
            while j < size and padded[j] & 0xC0 == 0x80:
                h = _step(h, codes[padded[j]])
                j += 1
            if n >= low and (n > 1 or (i > 0 and j < size)):
                column, is_feature = _bucket_of(tables, h)
                indices[at] = column
                at += is_feature
    return at


@kernel
def _vocabulary_rows(tables, starts, padded, indptr, indices):
    """The subwords of words of the vocabulary; ``</s>`` has none."""
    end_word, at = tables.numbers[5], np.uint64(0)
    for i in range(len(starts) - 1):
        is_end = end_word >= 0 and starts[i] == tables.starts[end_word]
        if not is_end:
            last = starts[i + 1] - np.uint64(1)
            at = _subwords(tables, tables.words, starts[i], last, padded, indices, at)
        indptr[i + 1] = at


@kernel
def _tokens(data, start, end, codes, tokens):
    """Write two hashes and the first byte of each token of a string; their number.

    All are written at every byte and kept at the end of a token, so that there is no branch to
    mispredict.
    """
    hashes, wides, firsts = tokens[0], tokens[1], tokens[2]
    n = inside = np.uint64(0)
    one, first, h, wide = np.uint64(1), start, _SEED, SEED
    for i in range(start, end):
        code = codes[data[i]]
        is_gap = code >> np.uint64(32)
        hashes[n], wides[n], firsts[n] = h, wide, first
        n += inside & is_gap
        h = _SEED if is_gap else _step(h, code)
        wide = SEED if is_gap else (wide ^ code) * PRIME
        first = i + one if is_gap else first
        inside = one - is_gap
    hashes[n], wides[n], firsts[n] = h, wide, first
    return n + inside


@kernel
def _is_label(data, start, end, prefix):
    """Whether a token begins as labels do."""
    same = np.uint64(0)
    while start + same < end and same < prefix.size and data[start + same] == prefix[same]:
        same += np.uint64(1)
    return same == prefix.size


@kernel
def _rows(offsets, data, tables, tokens, padded, indptr, indices, values):
    """The features of each string: their columns, and one over their number."""
    hashes, wides, firsts = tokens[0], tokens[1], tokens[2]
    slots, sizes, codes = tables.slots, tables.sizes, tables.codes
    n_words, high = np.uint64(tables.numbers[0]), tables.numbers[3]
    length, end_word = tables.numbers[4], tables.numbers[5]
    mask, one = np.uint64(len(slots) - 1), np.uint64(1)
    ahead, two = np.uint64(_SLOTS_AHEAD), np.uint64(2)
    at = indptr[0]
    for row in range(len(offsets) - 1):
        last = offsets[row + 1]
        n = _tokens(data, offsets[row], last, codes, tokens)
        count = hashed = np.uint64(0)
        for t in range(n):
            if t + ahead < n:
                prefetch(slots, (hashes[t + ahead] & mask) * two)
            h, wide = hashes[t], wides[t]
            if wide == _WIDE_END:
                break
            word = slots[_slot_of(slots, h, wide), 1]
            if word > n_words:
                continue
            if word > 0:
                indices[at] = np.uint32(word - one)
                count += np.uint64(sizes[word - one]) if high > 0 else one
                at += one
            else:
                start = firsts[t]
                if _is_label(data, start, last, tables.prefix):
                    continue
                if high > 0:
                    end, before = start, at
                    while end < last and codes[data[end]] >> np.uint64(32) == 0:
                        end += one
                    at = _subwords(tables, data, start, end, padded, indices, at)
                    count += at - before
            hashes[hashed] = np.uint64(np.int64(np.int32(h)))
            hashed += one
        if end_word >= 0:
            indices[at] = np.uint32(end_word)
            count += one
            at += one
        hashes[hashed] = np.uint64(np.int64(np.int32(_END_HASH)))
        hashed += one
        for i in range(hashed if length > 1 else np.uint64(0)):
            joined = hashes[i]
            for j in range(i + one, min(i + np.uint64(length), hashed)):
                joined = joined * _GRAM + hashes[j]
                column, is_feature = _bucket_of(tables, joined)
                indices[at] = column
                count += is_feature
                at += is_feature
        share = np.float32(1.0 / np.float64(count)) if count > 0 else np.float32(0.0)
        for k in range(indptr[row], at):
            values[k] = share
        indptr[row + 1] = at
