"""The words of hashed columns, found again in the text they came from."""

from __future__ import annotations

import numpy as np

from rosenblatt.kernels.text import GRAM, SEED, Ngrams, fnv, hash_ngrams, mixed, words

_HINT_BITS = 16  # low bits of a column, which rule out nearly all columns that are not wanted


def spell(
    offsets: np.ndarray,
    data: np.ndarray,
    spec: Ngrams,
    wanted: np.ndarray,
    seed: np.uint64 = SEED,
) -> dict[int, str]:
    """The first n-gram of the text for each of the `wanted` columns that occurs there.

    In n-grams of characters, ``_`` stands for the edge of a word.

    >>> from rosenblatt.kernels.text import column
    >>> data = np.frombuffer(b"not good, not bad", dtype=np.uint8)
    >>> wanted = np.array([column(["not", "bad"], 22)])
    >>> spell(np.array([0, 17]), data, Ngrams(), wanted)
    {1474044: 'not bad'}
    """
    rows = hash_ngrams(offsets, data, spec, seed)
    hints = np.zeros(1 << min(spec.bits, _HINT_BITS), bool)
    hints[wanted & (len(hints) - 1)] = True
    entries = np.flatnonzero(hints[rows.indices & np.uint32(len(hints) - 1)])
    numbers = np.searchsorted(rows.indptr.astype(np.int64), entries, side="right") - 1
    missing, spelled, last = set(wanted.tolist()), dict[int, str](), -1
    hashes = _Hashes(int(seed))
    for row, column in zip(numbers.tolist(), rows.indices[entries].tolist(), strict=True):
        if column in missing:
            if row != last:
                text = data[int(offsets[row]) : int(offsets[row + 1])].tobytes()
                grams, last = _Grams(words(text.decode(errors="replace")), spec, hashes), row
            spelled[column] = grams.spelled(column)
            missing.remove(column)
    return {at: gram.replace(" ", "_") for at, gram in spelled.items()} if spec.chars else spelled


class _Hashes(dict[str, int]):
    """FNV-1a of words, cached."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def __missing__(self, text: str) -> int:
        self[text] = fnv(text, self._seed)
        return self[text]


class _Grams:
    """The n-grams of a text, given by its words, and their columns."""

    def __init__(self, said: list[str], spec: Ngrams, hashes: _Hashes) -> None:
        if spec.chars:
            said = [gram for word in said for gram in _character_grams(f" {word} ", spec)]
            spec = spec._replace(low=1, high=1)
        single = np.array([hashes[word] for word in said], np.uint64)
        mask, joined = np.uint64((1 << spec.bits) - 1), np.zeros_like(single)
        self.said, self.columns = said, dict[int, np.ndarray]()
        for n in range(1, min(spec.high, len(said)) + 1):
            joined = joined[: len(said) - n + 1] * GRAM + single[n - 1 :]
            if n >= spec.low:
                self.columns[n] = mixed(joined) & mask

    def spelled(self, column: int) -> str:
        """The first n-gram that hashes to a column."""
        for n, columns in self.columns.items():
            for start in np.flatnonzero(columns == column)[:1].tolist():
                return " ".join(self.said[start : start + n])
        raise KeyError(column)


def _character_grams(padded: str, spec: Ngrams) -> list[str]:
    """The n-grams of characters of a padded word; the word itself if it is shorter."""
    low = min(spec.low, len(padded))
    return [
        padded[start:end]
        for start in range(len(padded) - low + 1)
        for end in range(start + low, min(start + spec.high, len(padded)) + 1)
    ]
