"""fastText's features: the kernels against the definition in plain Python."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rosenblatt.kernels.fasttext import FastText, merged

WORDS = ["</s>", "good", "gültig", "日本", "__label__inside", "a", "", "x y"]
LABELS = ["__label__yes", "#tag"]
BLOB = np.frombuffer(b"".join(word.encode() + b"\0" for word in WORDS + LABELS), np.uint8)
TOKENS = st.sampled_from([*WORDS, *LABELS, "__label__other", "new", "日", "é", "<>", "goo", "€uro"])
TEXTS = st.one_of(
    st.binary(max_size=40),
    st.lists(st.one_of(TOKENS, st.text(max_size=6)), max_size=12).map(" ".join),
    st.lists(TOKENS, max_size=12).map(lambda tokens: "\t \v".join(tokens).encode()),
)
SPECS = st.builds(
    lambda length, low, high, buckets, kept: FastText(
        len(WORDS),
        buckets,
        length,
        low,
        high,
        BLOB,
        np.packbits(np.arange(buckets) % 3 != 1, bitorder="little") if kept else np.empty(0, "u1"),
    ),
    st.integers(1, 4),
    st.integers(0, 3),
    st.integers(0, 5),
    st.sampled_from([1, 7, 1000, 2_000_003]),
    st.booleans(),
)


def rows_of(spec, texts):
    raw = [text.encode(errors="replace") if isinstance(text, str) else text for text in texts]
    offsets = np.cumsum([0, *map(len, raw)])
    return spec.rows([(offsets, np.frombuffer(b"".join(raw), np.uint8))]), raw


@settings(max_examples=150, deadline=None)
@given(SPECS, st.lists(TEXTS, max_size=4))
def test_the_kernels_compute_the_definition(spec, texts):
    rows, raw = rows_of(spec, texts)
    for i, text in enumerate(raw):
        entries = slice(int(rows.indptr[i]), int(rows.indptr[i + 1]))
        columns = [column for column, _ in spec.grams(text)]
        assert rows.indices[entries].tolist() == columns, text
        count = sum(int(spec.sizes[c]) if c < spec.n_words else 1 for c in columns)
        assert rows.values[entries] == pytest.approx(1 / max(1, count))


def test_a_word_of_the_vocabulary_counts_for_its_subwords():
    spec = FastText(len(WORDS), 1000, 1, 2, 3, BLOB)
    # Of <good>: <g, go, oo, od, d>, <go, goo, ood, od>; of <a>: <a, a>, <a>; </s> has none.
    assert spec.sizes[[0, 1, 5]].tolist() == [1, 10, 4]


def test_line_breaks_and_zeros_are_spaces_and_the_end_mark_ends():
    spec = FastText(len(WORDS), 1000, 2, words=BLOB)
    texts = ["good a", "good\na", "\0good\r\v\f a\t", "good a </s> good good"]
    rows, _ = rows_of(spec, texts)
    each = np.split(rows.indices, rows.indptr[1:-1].astype(int))
    assert all(np.array_equal(part, each[0]) for part in each)


def test_names_are_those_of_the_vocabulary_and_of_n_grams_in_texts():
    spec = FastText(len(WORDS), 1000, 2, words=BLOB)
    columns = dict(spec.grams("good new"))
    sought = np.array([*columns, 3, 999])
    assert spec.names(["", "good new"], sought) == columns | {3: "日本"}


def test_a_merged_row_has_each_column_once():
    spec = FastText(len(WORDS), 1000, 1, words=BLOB)
    rows, _ = rows_of(spec, ["good a good"])
    assert merged(rows).indices.tolist() == [0, 1, 5]
    assert merged(rows).values.tolist() == [0.25, 0.5, 0.25]


@pytest.mark.parametrize(
    "numbers",
    [(9, -1), (-1, 9), (99, 9), (2, 0, 2), (2, 0, 1, 1, 3), (2, 9, 101), (1 << 30, 1 << 30)],
)
def test_numbers_that_make_no_sense_are_refused(numbers):
    with pytest.raises(ValueError, match="make no sense"):
        FastText(*numbers, words=BLOB)
