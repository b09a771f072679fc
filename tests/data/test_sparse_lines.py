"""Blocks of sparse lines: what they mean, and which lines their faults are on."""

from __future__ import annotations

import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rosenblatt.data.bytes import Block
from rosenblatt.data.sparse_lines import read_fasttext, read_sparse, vw_names
from rosenblatt.errors import DataError
from rosenblatt.kernels.crosses import Products

EXAMPLES = int(os.environ.get("ROSENBLATT_FUZZ", "150"))
PIECES = st.sampled_from([b"__label__", b" __label__a ", b"__label__\xff", b"\n", b" ", b"_"])


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.lists(st.binary(max_size=20) | PIECES, max_size=20).map(b"".join))
def test_any_bytes_are_fasttext_lines_of_the_same_meaning(noise):
    filled = [line for line in noise.split(b"\n") if line.strip(b" \t\r")]
    chunk = read_fasttext(Block.of(noise + b"\n", "a.ft"), skip=True)
    kept = []
    for line in filled:
        words = line.replace(b"\t", b" ").replace(b"\r", b" ").split(b" ")
        labels = [w for w in words if len(w) > 9 and w.startswith(b"__label__")]
        if len(labels) < 2:
            rest = [w for w in words if w and w not in labels]
            kept.append(((labels or [b"__label__"])[0][9:], rest))
    assert chunk.bad == len(filled) - len(kept)
    assert chunk.table["label"].to_pylist() == [label for label, _ in kept]
    for text, (_, rest) in zip(chunk.table["text"].to_pylist(), kept, strict=True):
        bare = text.replace(b"\t", b" ").replace(b"\r", b" ").replace(b"\n", b" ")
        assert [w for w in bare.split(b" ") if w] == rest


def test_the_line_of_a_row_counts_blank_lines_comments_and_bad_ones():
    lines = b"# head\n1 1:1\n\n-1 x\n \t\n1 2:1 # more\n"
    read = read_sparse(Block.of(lines, "a.svm", line=11), "svmlight", 10, skip=True)
    assert (read.bad, [read.line_of(row) for row in range(2)]) == (1, [12, 16])
    read = read_sparse(Block.of(b"# is bad here\n1 | a\n", "a.vw"), "vw", 10, skip=True)
    assert (read.bad, read.line_of(0)) == (1, 2)


def test_a_long_word_is_cut_in_the_message():
    with pytest.raises(DataError, match="line 1, column 3: expected a feature") as caught:
        read_sparse(Block.of(b"1 " + b"x" * 900 + b"\n", "a.svm"), "svmlight", 10, skip=False)
    assert len(str(caught.value)) < 160


def test_products_of_vw_features_are_named_as_they_were_parsed():
    data = b"1 't|a x:2 y |b u v:3\n# bad\n-1 |b u |a y z:0.5\n"
    for products in (
        Products(),
        Products(3),
        Products(1, ("ab",)),
        Products(2, ("ba", "aa", "::")),
    ):
        rows = read_sparse(Block.of(data, "a.vw"), "vw", 22, True, products).rows
        names = vw_names(data, rows.indices, 22, products)
        assert len(set(names.values())) == len(set(rows.indices.tolist())) == len(names)
    assert {"a^x a^y", "a^x * a^x", "b^u * a^y", "b^v * b^v", "a^z * a^z"} <= set(names.values())
    assert "a^y * a^y" not in names.values()
    assert vw_names(data, rows.indices[:1], 22, products) == {int(rows.indices[0]): "a^x"}
