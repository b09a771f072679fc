"""Columns are spelled with words that hash to them."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from rosenblatt.kernels.spelling import spell
from rosenblatt.kernels.text import Ngrams, column, hash_ngrams

TEXTS = st.lists(st.text(st.characters(codec="utf-8"), max_size=60), max_size=6)


def buffers(texts):
    encoded = [text.encode() for text in texts]
    offsets = np.cumsum([0, *(len(text) for text in encoded)])
    return offsets, np.frombuffer(b"".join(encoded) + b"\0", dtype=np.uint8)


@settings(max_examples=60, deadline=None)
@given(TEXTS, st.integers(1, 3))
def test_spelling_a_column_gives_words_that_hash_to_it(texts, high):
    spec = Ngrams(1, high, bits=22)
    rows = hash_ngrams(*buffers(texts), spec)
    wanted = np.unique(rows.indices)
    found = spell(*buffers(texts), spec, wanted)
    assert sorted(found) == wanted.tolist()
    assert all(column(gram.split(" "), 22) == at for at, gram in found.items())


@settings(max_examples=60, deadline=None)
@given(TEXTS, st.integers(1, 3), st.integers(0, 3))
def test_spelling_a_column_of_characters_gives_characters_that_hash_to_it(texts, low, more):
    spec = Ngrams(low, low + more, analyzer="char", bits=22)
    wanted = np.unique(hash_ngrams(*buffers(texts), spec).indices)
    found = spell(*buffers(texts), spec, wanted)
    assert sorted(found) == wanted.tolist()
    assert all(column([gram.replace("_", " ")], 22) == at for at, gram in found.items())


def test_pieces_are_named_as_they_stand_or_by_their_word():
    spec, texts = Ngrams(analyzer="pieces"), ["Don't SHOUT (please) :-)"]
    wanted = np.unique(hash_ngrams(*buffers(texts), spec).indices)
    names = set(spell(*buffers(texts), spec, wanted).values())
    assert {"don", "shout", "SHO", "_SHOUT"[:5], '":-)_"', "n't_", '") :"'} <= names
    whole = set(spell(*buffers(texts), spec, wanted, whole=True).values())
    assert {"don't", "shout", "please", '":-)"'} <= whole
    assert not any(name != name.lower() for name in whole)
