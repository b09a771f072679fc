"""The words of hashed columns, found again in the text they came from."""

from __future__ import annotations

import numpy as np

from rosenblatt.kernels.text import GRAM, SEED, Ngrams, fnv, hash_ngrams, mix, words

_HINT_BITS = 16  # low bits of a column, which rule out nearly all columns that are not wanted
_MASK64 = (1 << 64) - 1


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
    missing, found, last = set(wanted.tolist()), dict[int, str](), -1
    speller = _Speller(spec, int(seed))
    for row, column in zip(numbers.tolist(), rows.indices[entries].tolist(), strict=True):
        if column in missing:
            if row != last:
                text = data[int(offsets[row]) : int(offsets[row + 1])].tobytes()
                grams, last = speller.columns(text.decode(errors="replace")), row
            found[column] = grams[column]
            missing.remove(column)
    return found


class _Speller:
    """The n-grams of texts by their columns, in Python; hashes of words are cached."""

    def __init__(self, spec: Ngrams, seed: int) -> None:
        self.spec, self.seed, self.mask = spec, seed, (1 << spec.bits) - 1
        self._hashes: dict[str, int] = {}

    def columns(self, text: str) -> dict[int, str]:
        """The first n-gram of each column that a text has."""
        found: dict[int, str] = {}
        said = words(text)
        if self.spec.chars:
            for word in dict.fromkeys(said):
                self._add_characters(f" {word} ", found)
            return found
        for word in said:
            if word not in self._hashes:
                self._hashes[word] = fnv(word, self.seed)
        hashes = [self._hashes[word] for word in said]
        for start in range(len(said)):
            hashed = 0
            for end in range(start + 1, min(start + self.spec.high, len(said)) + 1):
                hashed = (hashed * int(GRAM) + hashes[end - 1]) & _MASK64
                if end - start >= self.spec.low:
                    found.setdefault(mix(hashed) & self.mask, " ".join(said[start:end]))
        return found

    def _add_characters(self, padded: str, found: dict[int, str]) -> None:
        """Add the n-grams of characters of a padded word; of a short one itself."""
        low = min(self.spec.low, len(padded))
        for start in range(len(padded) - low + 1):
            for end in range(start + low, min(start + self.spec.high, len(padded)) + 1):
                gram = padded[start:end]
                at = mix(fnv(gram, self.seed)) & self.mask
                found.setdefault(at, gram.replace(" ", "_"))
