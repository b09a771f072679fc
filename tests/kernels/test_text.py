"""The hashed n-grams: equal to their definition in plain Python, and the same for ever."""

from __future__ import annotations

import math
import unicodedata
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rosenblatt.kernels import _unicode
from rosenblatt.kernels._unicode import LIMIT, fold_table
from rosenblatt.kernels.text import (
    ANALYZERS,
    CHAR,
    PIECE,
    SEED,
    TOKEN,
    WEIGHTINGS,
    WORD,
    Ngrams,
    column,
    hash_chunks,
    hash_ngrams,
    named_seed,
    words,
)

GOLDEN_WORDS = [
    1641970, 1522711, 956647, 2663668, 1600553, 1634954, 2617025,
    868755, 2173514, 1281756, 3683040, 3470687, 1861821,
]  # fmt: skip
GOLDEN_CHARS = [755458, 324961, 609172, 351273, 552834, 808865, 578080, 528128]
GOLDEN_PIECES = [543852, 4052986, 4059928, 3036505, 1445364, 3119919, 383150, 1835306]
GOLDEN_SEED = 15918384755582976508

TEXTS = st.lists(st.text(st.characters(codec="utf-8"), max_size=60), max_size=6)


def buffers(texts, padding=b"\xffjunk"):
    """Texts as Arrow lays them, behind some bytes that belong to nobody."""
    encoded = [text if isinstance(text, bytes) else text.encode() for text in texts]
    offsets = np.cumsum([len(padding), *(len(text) for text in encoded)])
    return offsets, np.frombuffer(padding + b"".join(encoded) + padding, dtype=np.uint8)


def counted(text, block, bits):
    """The columns of one block of one text and their counts, by the definition."""
    seed = int(SEED)
    if block.kind >= PIECE:
        seed, kind = (seed, WORD) if block.kind == CHAR else (~SEED, PIECE)
        grams = []
        for word in words(text, kind):
            padded = f" {word} "
            for start in range(len(padded)):
                for n in range(block.low, min(block.high, len(padded) - start) + 1):
                    grams.append([padded[start : start + n]])
            grams = [gram for gram in grams if gram != [" "]]
            if len(padded) < block.low:
                grams.append([padded])
    else:
        split = words(text, block.kind)
        grams = [
            split[i : i + n]
            for n in range(block.low, block.high + 1)
            for i in range(len(split) - n + 1)
        ]
    return Counter(column(gram, bits, int(seed)) for gram in grams)


def expected_row(text, spec):
    """The columns and values of one text, block after block, by the definition."""
    weigh = {"binary": lambda c: 1.0, "log": lambda c: math.log(1 + c), "raw": float}
    row, counts = [], []
    for block in spec.blocks:
        new = counted(text, block, spec.bits)
        for before in counts:  # a column that an earlier block has counts there
            for at in before.keys() & new.keys():
                before[at] += new.pop(at)
        counts.append(new)
    for block, of_block in zip(spec.blocks, counts, strict=True):
        values = {at: weigh[spec.weighting](n) for at, n in of_block.items()}
        length = math.sqrt(block.share)
        norm = math.sqrt(sum(v * v for v in values.values())) / length if spec.unit else 1.0
        row.append({at: value / norm for at, value in values.items()})
    return row


@settings(max_examples=200, deadline=None)
@given(
    TEXTS,
    st.tuples(st.integers(1, 3), st.integers(0, 2)),
    st.sampled_from(list(ANALYZERS)),
    st.sampled_from([3, 10, 22]),
    st.sampled_from(WEIGHTINGS),
    st.booleans(),
)
def test_the_kernel_equals_the_definition(texts, orders, analyzer, bits, weighting, unit):
    spec = Ngrams(orders[0], sum(orders), analyzer, bits, weighting, unit)
    rows = hash_ngrams(*buffers(texts), spec)
    assert len(rows.indptr) == len(texts) + 1
    for text, start, end in zip(texts, rows.indptr[:-1], rows.indptr[1:], strict=True):
        first = int(start)
        for expected in expected_row(text, spec):
            part = slice(first, first := first + len(expected))
            found = dict(zip(rows.indices[part].tolist(), rows.values[part], strict=True))
            assert found.keys() == expected.keys()
            assert [found[at] for at in expected] == pytest.approx(list(expected.values()), 1e-6)
        assert first == end, "a column occurs twice in a block"


def test_a_run_of_a_mark_is_a_word():
    assert words("Well... 5€!!!!! \u2764\ufe0f\U0001f600 a_b\t\u00a0\u200bc", TOKEN) == [
        "well", "...", "5", "€", "!!!", "❤", "\ufe0f", "😀", "a", "_", "b", "c",
    ]  # fmt: skip


def test_the_columns_are_the_same_for_ever():
    """Golden numbers, written down on the day the hash was fixed. They never change."""
    text = "Crème BRÛLÉE, not good; naïve 東京 \U00020000x"
    rows = hash_ngrams(*buffers([text]), Ngrams(weighting="raw", unit=False))
    assert rows.indices.tolist() == GOLDEN_WORDS
    rows = hash_ngrams(*buffers([text]), Ngrams(3, 4, "char", 20, "raw", False))
    assert rows.indices[:8].tolist() == GOLDEN_CHARS
    rows = hash_ngrams(*buffers([text]), Ngrams(analyzer="pieces"))
    assert rows.indices[18:26].tolist() == GOLDEN_PIECES
    assert int(named_seed("title")) == GOLDEN_SEED
    assert int(SEED) == 0xCBF29CE484222325


@settings(max_examples=200, deadline=None)
@given(st.lists(st.binary(max_size=40), max_size=5))
def test_bytes_that_are_not_utf8_separate_words_and_read_nothing_else(texts):
    rows = hash_ngrams(*buffers(texts), Ngrams(1, 1, "word", 22, "raw", False))
    for text, start, end in zip(texts, rows.indptr[:-1], rows.indptr[1:], strict=True):
        decoded = text.decode(errors="replace")
        assert Counter(column([word], 22) for word in words(decoded)) == dict(
            zip(rows.indices[start:end].tolist(), rows.values[start:end].tolist(), strict=True)
        )


def test_the_fold_table_agrees_with_unicode_where_unicode_has_not_changed():
    table = fold_table()
    for code in range(0x3000):
        letter = chr(code)
        if unicodedata.category(letter) == "Cn" or letter == "İ":
            continue
        is_word = unicodedata.category(letter)[0] in "LMN"
        if table[code] == 0 and is_word:
            assert unicodedata.unidata_version > "14", hex(code)
        elif is_word:
            assert chr(table[code]) == letter.lower(), hex(code)
        else:
            assert table[code] == 0, hex(code)
    assert len(table) == LIMIT


@pytest.mark.skipif(unicodedata.unidata_version != "14.0.0", reason="another version of Unicode")
def test_the_fold_table_is_what_its_script_writes():
    file = Path(_unicode.__file__).with_name("unicode_14.txt")
    assert file.read_text() == _unicode.written() + "\n"


def test_no_rows_and_empty_rows_are_fine():
    assert hash_ngrams(np.zeros(1, np.int32), np.empty(0, np.uint8), Ngrams()).indptr.tolist() == [
        0
    ]
    rows = hash_ngrams(*buffers(["", "!?", ""]), Ngrams())
    assert rows.indptr.tolist() == [0, 0, 0, 0]


@settings(max_examples=40, deadline=None)
@given(st.lists(TEXTS, max_size=4), st.sampled_from(list(ANALYZERS)))
def test_chunks_are_hashed_as_if_they_were_one(several, analyzer):
    spec = Ngrams(2, 3, analyzer)
    found = hash_chunks([buffers(texts) for texts in several], spec)
    whole = hash_ngrams(*buffers([text for texts in several for text in texts]), spec)
    for one, other in zip(found, whole, strict=True):
        assert np.array_equal(one, other)
