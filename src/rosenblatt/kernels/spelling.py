"""Which words a hashed column stood for: found again in the text it came from."""

from __future__ import annotations

import numpy as np

from rosenblatt.kernels._unicode import fold_table
from rosenblatt.kernels.jit import kernel
from rosenblatt.kernels.text import GRAM, PRIME, SEED, Ngrams, _decode, _mixed, words

_HINT_BITS = 16  # of a column, by which nearly all that are not wanted are told apart


def spell(
    offsets: np.ndarray,
    data: np.ndarray,
    spec: Ngrams,
    wanted: np.ndarray,
    seed: np.uint64 = SEED,
) -> dict[int, str]:
    """Find an n-gram in the text for each of the `wanted` columns that occurs there.

    A hashed model knows columns; this tells which words they were, the first that fit. In n-grams
    of characters, ``_`` stands for the edge of a word.

    >>> from rosenblatt.kernels.text import column
    >>> data = np.frombuffer(b"not good, not bad", dtype=np.uint8)
    >>> wanted = np.array([column(["not", "bad"], 22)])
    >>> spell(np.array([0, 17]), data, Ngrams(), wanted)
    {1474044: 'not bad'}
    """
    offsets = offsets.astype(np.uint64)
    longest = int(np.diff(offsets).max()) if len(offsets) > 1 else 0
    if spec.chars:
        marks = np.zeros(1 << spec.bits, dtype=np.uint32)
        marks[wanted] = np.arange(1, len(wanted) + 1)
        grams = np.zeros((len(wanted), spec.high), dtype=np.uint32)
        word = np.empty(longest + 2, dtype=np.uint64)
        _find_chars(offsets, data, fold_table(), seed, spec.low, spec.high, marks, grams, word)
        return {
            int(at): "".join(map(chr, gram[gram > 0])).replace(" ", "_")
            for at, gram in zip(wanted, grams, strict=True)
            if gram[0] > 0
        }
    wanted = np.array(sorted(set(wanted.tolist())), dtype=np.uint64)
    hints = np.zeros(1 << min(spec.bits, _HINT_BITS), dtype=np.bool_)
    hints[wanted & np.uint64(len(hints) - 1)] = True
    spans = np.zeros((len(wanted), 2), dtype=np.uint64)
    _find_words(
        offsets, data, fold_table(), seed, spec.low, spec.high, (1 << spec.bits) - 1, wanted,
        hints, spans,
        np.empty(longest + 2, dtype=np.uint64), np.empty((longest + 2, 2), dtype=np.uint64),
    )  # fmt: skip
    found = {}
    for at, (start, end) in zip(wanted, spans, strict=True):
        if end > start:
            text = data[int(start) : int(end)].tobytes().decode(errors="replace")
            found[int(at)] = " ".join(words(text))
    return found


@kernel
def _word_spans(data, start, end, fold, seed, hashes, spans):
    """Like :func:`_word_hashes`, with the first and the last byte of each word."""
    n = 0
    h = seed
    begin = start
    i = start
    while i < end:
        c = np.uint32(data[i])
        width = 1
        if c >= 128:
            c, width = _decode(data, i, end)
        letter = fold[c] if c < len(fold) else np.uint32(0)
        if letter != 0:
            h = (h ^ np.uint64(letter)) * PRIME
        if letter == 0 or i + np.uint64(width) >= end:
            stop = i if letter == 0 else i + np.uint64(width)
            if stop > begin:
                hashes[n] = h
                spans[n, 0], spans[n, 1] = begin, stop
                n += 1
            h = seed
            begin = i + np.uint64(width)
        i += np.uint64(width)
    return n


@kernel
def _find_words(offsets, data, fold, seed, low, high, mask, wanted, hints, found, hashes, spans):
    """Note the first place of each wanted column.

    Few n-grams are wanted: the hints, by the lowest bits of a column, rule out nearly all others.
    """
    low_bits = np.uint64(len(hints) - 1)
    for row in range(len(offsets) - 1):
        n = _word_spans(data, offsets[row], offsets[row + 1], fold, seed, hashes, spans)
        for i in range(n):
            g = np.uint64(0)
            for k in range(min(high, n - i)):
                g = g * GRAM + hashes[i + k]
                column = _mixed(g) & np.uint64(mask)
                if k + 1 < low or not hints[column & low_bits]:
                    continue
                at = np.searchsorted(wanted, column)
                if at < wanted.size and wanted[at] == column and found[at, 1] == 0:
                    found[at, 0] = spans[i, 0]
                    found[at, 1] = spans[i + k, 1]


@kernel
def _find_chars(offsets, data, fold, seed, low, high, marks, found, word):
    """Note the first characters of each marked column, word by word."""
    mask = np.uint64(len(marks) - 1)
    word[0] = 32
    for row in range(len(offsets) - 1):
        i, end = offsets[row], offsets[row + 1]
        length = 0
        while i <= end:
            letter = np.uint32(0)
            width = 1
            if i < end:
                c = np.uint32(data[i])
                if c >= 128:
                    c, width = _decode(data, i, end)
                letter = fold[c] if c < len(fold) else np.uint32(0)
            i += np.uint64(width)
            if letter != 0:
                length += 1
                word[length] = letter
            elif length > 0:
                word[length + 1] = 32
                _note_chars(word[: length + 2], low, high, seed, mask, marks, found)
                length = 0


@kernel
def _note_chars(word, low, high, seed, mask, marks, found):
    """Note the n-grams of one padded word that are marked and not yet found."""
    for start in range(len(word)):
        h = seed
        for k in range(min(high, len(word) - start)):
            h = (h ^ word[start + k]) * PRIME
            if k + 1 >= low or (start == 0 and k + 1 == len(word)):
                mark = marks[_mixed(h) & mask]
                if mark > 0 and found[mark - 1, 0] == 0:
                    for j in range(k + 1):
                        found[mark - 1, j] = word[start + j]
