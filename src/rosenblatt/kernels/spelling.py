"""The words of hashed columns, found again in the text they came from."""

from __future__ import annotations

import numpy as np

from rosenblatt.kernels.text import (
    CHAR,
    GRAM,
    MARKS,
    PIECE,
    SEED,
    TOKEN,
    WORD,
    Block,
    Ngrams,
    fnv,
    hash_chunks,
    mixed,
    words,
)

_HINT_BITS = 16  # low bits of a column, which rule out nearly all columns that are not wanted


def spell(
    offsets: np.ndarray,
    data: np.ndarray,
    spec: Ngrams,
    wanted: np.ndarray,
    seed: np.uint64 = SEED,
    whole: bool = False,
    pieces: bool = True,
) -> dict[int, str]:
    """The first n-gram of the text for each of the `wanted` columns that occurs there.

    In n-grams of characters, ``_`` stands for the edge of a word; with `whole`, they are named by
    the word that they are from. Without `pieces`, only the first block of a row is looked at. Marks
    alone are in quotes.

    >>> from rosenblatt.kernels.text import column
    >>> data = np.frombuffer(b"not good, not bad", dtype=np.uint8)
    >>> wanted = np.array([column(["not", "bad"], 22)])
    >>> spell(np.array([0, 17]), data, Ngrams(), wanted)
    {1474044: 'not bad'}
    """
    spelled: dict[int, str] = {}
    for block in (
        spec.blocks if pieces else spec.blocks[:1]
    ):  # the words first: a word says more than a piece of it
        missing = wanted[~np.isin(wanted, list(spelled))]
        spelled |= _spell(offsets, data, spec, block, missing, seed, whole)
    return spelled


def _spell(
    offsets: np.ndarray,
    data: np.ndarray,
    spec: Ngrams,
    block: Block,
    wanted: np.ndarray,
    seed: np.uint64,
    whole: bool,
) -> dict[int, str]:
    """The same for the n-grams of one block."""
    rows = hash_chunks([(offsets, data)], spec, seed, [block])
    hints = np.zeros(1 << min(spec.bits, _HINT_BITS), bool)
    hints[wanted & (len(hints) - 1)] = True
    entries = np.flatnonzero(hints[rows.indices & np.uint32(len(hints) - 1)])
    wanted = np.sort(wanted)
    columns = rows.indices[entries]
    places = np.minimum(np.searchsorted(wanted, columns), len(wanted) - 1)
    is_wanted = wanted[places] == columns if len(wanted) else np.zeros(0, bool)
    firsts = np.full(len(wanted), -1)
    firsts[places[is_wanted][::-1]] = entries[is_wanted][::-1]  # the first of equals comes last
    entries = np.sort(firsts[firsts >= 0])
    numbers = np.searchsorted(rows.indptr.astype(np.int64), entries, side="right") - 1
    spelled, last = dict[int, str](), -1
    hashes = _Hashes(int(~seed if block.kind == PIECE else seed))
    kind = WORD if block.kind == CHAR else block.kind
    for row, column in zip(numbers.tolist(), rows.indices[entries].tolist(), strict=True):
        if row != last:
            text = data[int(offsets[row]) : int(offsets[row + 1])].tobytes()
            said = words(text.decode(errors="replace"), kind)
            grams, last = _Grams(said, block, spec.bits, hashes, whole), row
        spelled[column] = grams.spelled(column)
    return spelled


class _Hashes(dict[str, int]):
    """FNV-1a of words, cached."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def __missing__(self, text: str) -> int:
        self[text] = fnv(text, self._seed)
        return self[text]


class _Grams:
    """The n-grams of a text, given by its words, and their columns."""

    def __init__(
        self, said: list[str], block: Block, bits: int, hashes: _Hashes, whole: bool
    ) -> None:
        names = said
        if block.kind >= PIECE:
            pieces = [_character_grams(f" {word} ", block) for word in said]
            bare = [_bare(word) for word in said]
            names = [word for word, of_word in zip(bare, pieces, strict=True) for _ in of_word]
            said = [piece for of_word in pieces for piece in of_word]
            names = names if whole else [piece.replace(" ", "_") for piece in said]
            block = block._replace(low=1, high=1)
        single = np.array([hashes[word] for word in said], np.uint64)
        mask, joined = np.uint64((1 << bits) - 1), np.zeros_like(single)
        self.may_be_marks = block.kind in (TOKEN, MARKS, PIECE)
        self.names, self.columns = names, dict[int, np.ndarray]()
        for n in range(1, min(block.high, len(said)) + 1):
            joined = joined[: len(said) - n + 1] * GRAM + single[n - 1 :]
            if n >= block.low:
                self.columns[n] = mixed(joined) & mask

    def spelled(self, column: int) -> str:
        """The first n-gram that hashes to a column."""
        for n, columns in self.columns.items():
            for start in np.flatnonzero(columns == column)[:1].tolist():
                gram = " ".join(self.names[start : start + n])
                are_marks = self.may_be_marks and not any(map(str.isalnum, gram))
                return f'"{gram}"' if are_marks else gram
        raise KeyError(column)


def _bare(piece: str) -> str:
    """A piece of text without the marks around it, in lower case; marks alone as they are.

    >>> _bare("(Don't!)"), _bare(":-)")
    ("don't", ':-)')
    """
    places = [place for place, letter in enumerate(piece) if letter.isalnum()]
    return piece[places[0] : places[-1] + 1].lower() if places else piece


def _character_grams(padded: str, block: Block) -> list[str]:
    """The n-grams of characters of a padded word but a space; the word itself if it is shorter."""
    low = min(block.low, len(padded))
    return [
        padded[start:end]
        for start in range(len(padded) - low + 1)
        for end in range(start + low, min(start + block.high, len(padded)) + 1)
        if padded[start:end] != " "
    ]
