"""N-grams and crosses of Vowpal Wabbit features against the definition in plain Python."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rosenblatt.kernels.crosses import Products, with_products
from rosenblatt.kernels.sparse_lines import parse_vw
from rosenblatt.kernels.text import Rows

VALUES = st.sampled_from([1.0, 2.0, -0.5])
LINES = st.lists(
    st.lists(st.tuples(st.sampled_from("ab "), st.lists(VALUES, max_size=4)), max_size=4),
    min_size=1,
    max_size=4,
)


def line_of(spaces):
    """A line whose features all have names of their own."""
    text = "1 "
    for i, (letter, values) in enumerate(spaces):
        text += f"|{letter.strip()} " + "".join(f"f{i}_{j}:{v} " for j, v in enumerate(values))
    return text if spaces else "1 |"


def products_of(spaces, longest, crosses):
    """The values of the products of a row, in order."""
    values = [value for _, features in spaces for value in features]
    for _, features in spaces:
        for i in range(len(features)):
            for n in range(2, longest + 1):
                if i + n <= len(features):
                    values.append(np.prod(features[i : i + n]))
    for a, b in crosses:
        met = set()
        for s, (left, features) in enumerate(spaces):
            for t, (right, others) in enumerate(spaces):
                if a not in (left, ":") or b not in (right, ":") or (t, s) in met - {(s, s)}:
                    continue
                met.add((s, t))
                for i, x in enumerate(features):
                    for j, y in enumerate(others):
                        if s != t or j > i or (j == i and x != 1):
                            values.append(x * y)
    return values


@settings(max_examples=100, deadline=None)
@given(
    LINES, st.integers(1, 3), st.lists(st.sampled_from(["ab", "ba", "aa", "a:", "::"]), max_size=2)
)
def test_products_are_those_of_the_definition(rows, longest, crosses):
    text = "".join(line_of(spaces) + "\n" for spaces in rows).encode()
    parsed = parse_vw(np.frombuffer(text, np.uint8), 20)
    plain = Rows(parsed.indptr, parsed.indices, parsed.values)
    out = with_products(plain, parsed.spaces, Products(longest, tuple(crosses)), 20)
    for row, spaces in enumerate(rows):
        entries = slice(*out.indptr[row : row + 2].astype(int))
        expected = products_of(spaces, longest, crosses)
        assert out.values[entries] == pytest.approx(expected)
    assert len(out.values) == int(out.indptr[-1])


def test_a_product_has_one_column_wherever_it_occurs():
    text = b"1 |a x y |b u\n1 |b u |a w x y\n1 x| |a\n"
    parsed = parse_vw(np.frombuffer(text, np.uint8), 20)
    rows = Rows(parsed.indptr, parsed.indices, parsed.values)
    out = with_products(rows, parsed.spaces, Products(2, ("ab",)), 20)
    first, second = (set(out.indices[slice(*out.indptr[i : i + 2].astype(int))]) for i in (0, 1))
    assert len(first) == 6
    assert first < second
    assert out.indptr[2] == out.indptr[3]
