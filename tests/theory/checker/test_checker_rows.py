"""The integers of the checker are those of the data, for every type and layout of numbers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from rosenblatt.theory.checker.checker_rows import RefutedError, SignedRows
from rosenblatt.theory.checker.input_data import check_matrix

NUMBERS = {
    "bytes": (np.uint8, st.integers(0, 255)),
    "integers": (np.int64, st.integers(-(2**63), 2**63 - 1)),
    "unsigned": (np.uint64, st.integers(0, 2**64 - 1)),
    "whole doubles": (np.float64, st.integers(-(2**60), 2**60).map(float)),
    "doubles": (np.float64, st.floats(allow_nan=False, allow_infinity=False)),
    "short doubles": (np.float64, st.integers(-8, 8).map(lambda k: k / 4)),
    "fractions": (object, st.fractions(max_denominator=50)),
    # NumPy makes doubles of a list of integers of which one is in [2^63, 2^64).
    "fine fractions": (
        object,
        st.builds(Fraction, st.integers(-(2**70), 2**70), st.integers(2**62, 2**65)),
    ),
}
integers = st.integers(-9, 9) | st.integers(-(10**30), 10**30)


@st.composite
def cases(draw):
    dtype, values = NUMBERS[draw(st.sampled_from(sorted(NUMBERS)))]
    n, d = draw(st.integers(1, 5)), draw(st.integers(1, 4))
    rows = st.lists(st.lists(st.just(0) | values, min_size=d, max_size=d), min_size=n)
    X = np.array(draw(rows)[:n], dtype=dtype)
    layout = sparse.csr_array if dtype is not object and draw(st.booleans()) else np.asarray
    sides = np.array(draw(st.lists(st.sampled_from([-1, 0, 1]), min_size=n, max_size=n)))
    weights = draw(st.lists(integers, min_size=d, max_size=d))
    padded = draw(st.booleans())
    return X, layout(X), sides, padded, weights, draw(integers) if padded else 0


def exact(X, padded):
    return [[*(Fraction(*x.as_integer_ratio()) for x in row.tolist()), *[1] * padded] for row in X]


@settings(max_examples=300, deadline=None)
@given(cases())
def test_scores_and_squares_are_those_of_fractions(case):
    X, values, sides, padded, weights, bias = case
    data = SignedRows(check_matrix(values), sides, padded)
    rows = [(row, int(side)) for row, side in zip(exact(X, padded), sides, strict=True) if side]
    full = [*weights, *[bias] * padded]
    dots = [side * sum(map(Fraction.__mul__, map(Fraction, row), map(Fraction, full)))
            for row, side in rows]  # fmt: skip
    assert [Fraction(score, scale) for score, scale in data.scores(weights, bias)] == dots
    assert list(data.squares()) == [sum(x * x for x in row) for row, _ in rows]


@settings(max_examples=200, deadline=None)
@given(cases(), st.data())
def test_combinations_and_matrices_are_those_of_fractions(case, draw):
    X, values, sides, padded, _, _ = case
    data = SignedRows(check_matrix(values), sides, padded)
    chosen = draw.draw(st.lists(st.integers(0, len(X) - 1), min_size=1, max_size=6))
    coefficients = draw.draw(st.lists(integers, min_size=len(chosen), max_size=len(chosen)))
    whole = exact(X, padded)
    signed = [[int(sides[i]) * x for x in whole[i]] for i in chosen]
    scaled = [[c * x for x in row] for c, row in zip(coefficients, signed, strict=True)]
    total, denominator = data.combination(chosen, coefficients)
    sums = [sum(column) for column in zip(*scaled, strict=True)]
    assert [Fraction(x, denominator) for x in total.tolist()] == sums
    together = data.signed(chosen, coefficients).tolist()
    assert [[Fraction(x, denominator) for x in row] for row in together] == scaled
    for row, integers_of_row in zip(signed, data.signed(chosen).tolist(), strict=True):
        factor = next((Fraction(a) / b for a, b in zip(integers_of_row, row, strict=True) if b), 1)
        assert factor > 0
        assert [factor * x for x in row] == integers_of_row
        assert all(type(x) is int for x in integers_of_row)


def test_a_hyperplane_of_another_width_is_refuted():
    data = SignedRows(np.array([[1, 2]]), np.array([1]), False)
    with pytest.raises(RefutedError, match="another number of columns"):
        list(data.scores([1], 0))
    with pytest.raises(RefutedError, match="an offset where none is allowed"):
        list(data.scores([1, 1], 3))
