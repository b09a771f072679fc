from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from rosenblatt.theory.checker.input_data import check_matrix
from rosenblatt.theory.search.problem import BinaryProblem

numbers = st.one_of(
    st.just(0.0), st.floats(-1e3, 1e3), st.sampled_from([1e-300, -1e300, 0.1, 2.0**60, 5e-324])
)


def tables(kind):
    elements = numbers if kind == np.float64 else st.integers(-5, 5)
    return hnp.arrays(kind, st.tuples(st.integers(1, 6), st.integers(1, 4)), elements=elements)


@pytest.mark.parametrize("kind", [np.float64, np.int64])
@settings(max_examples=60, deadline=None)
@given(data=st.data(), padded=st.booleans())
def test_exact_signs_are_the_same_for_sparse_and_dense_rows(kind, data, padded):
    X = data.draw(tables(kind))
    y = np.where(np.arange(len(X)) % 2, 1.0, -1.0)
    dense = BinaryProblem(check_matrix(X), y, padded)
    thin = BinaryProblem(check_matrix(sparse.csr_array(X)), y, padded)
    width = X.shape[1] + padded
    weights = data.draw(st.lists(st.integers(-(2**70), 2**70), min_size=width, max_size=width))
    rows = np.arange(len(X))
    expected = np.sign(np.array(dense.exact_dots(weights, rows)[0], dtype=object)).tolist()
    assert np.sign(np.array(thin.exact_dots(weights, rows)[0], dtype=object)).tolist() == expected
    assert thin.exact_signs(weights).tolist() == expected


dyadic = st.one_of(
    st.just(0.0),
    st.integers(-9, 9).map(float),
    st.builds(np.ldexp, st.integers(-(2**53), 2**53).map(float), st.integers(-120, 60)).map(float),
)
long_weights = st.one_of(st.integers(-9, 9), st.integers(-(2**300), 2**300))
sums = st.integers(1, 6).flatmap(
    lambda d: st.tuples(
        st.lists(st.lists(dyadic, min_size=d, max_size=d), min_size=1, max_size=5),
        st.lists(long_weights, min_size=d, max_size=d),
        long_weights,
    )
)


def positive(rows):
    """Problems in which all rows have the sign +1, dense and sparse."""
    X, y = np.array(rows), np.ones(len(rows))
    return [BinaryProblem(values, y, True) for values in (X, sparse.csr_array(X))]


@settings(max_examples=200, deadline=None)
@given(sums)
def test_signs_are_those_of_exact_fractions(drawn):
    rows, w, offset = drawn
    exact = [sum((Fraction(x) * a for x, a in zip(row, w, strict=True)), offset) for row in rows]
    expected = [(total > 0) - (total < 0) for total in exact]
    for problem in positive(rows):
        assert problem.exact_signs([*w, offset]).tolist() == expected


@settings(max_examples=200, deadline=None)
@given(sums, st.integers(-1, 1))
def test_exact_zeros_are_distinguished_from_tiny_scores(drawn, nudge):
    rows, w, _ = drawn
    exact = sum((Fraction(x) * a for x, a in zip(rows[0], w, strict=True)), Fraction(0))
    weights = [*(a * exact.denominator for a in w), -exact.numerator + nudge]
    for problem in positive(rows[:1]):
        assert problem.exact_signs(weights).tolist() == [nudge]


@pytest.mark.parametrize("d", [1, 1000])
def test_long_weights_of_many_columns_do_not_round(d):
    w, total = [2**900 - 1] * d, d * (2**53 - 1) * (2**900 - 1)
    for problem in positive([[2.0**53 - 1] * d, [1.0 - 2.0**53] * d]):
        for offset, expected in ((-total, [0, -1]), (1 - total, [1, -1]), (total - 1, [1, -1])):
            assert problem.exact_signs([*w, offset]).tolist() == expected


@settings(max_examples=60, deadline=None)
@given(X=tables(np.float64), padded=st.booleans(), data=st.data())
def test_blocks_and_scales_are_the_same_for_sparse_and_dense_rows(X, padded, data):
    dense, thin = (
        BinaryProblem(check_matrix(layout(X)), np.ones(len(X)), padded)
        for layout in (np.asarray, sparse.csr_array)
    )
    np.testing.assert_array_equal(thin.column_exponent, dense.column_exponent)
    np.testing.assert_array_equal(thin.column_max_abs, dense.column_max_abs)
    assert (thin.row_exponent is None) == (dense.row_exponent is None)
    rows = np.array(data.draw(st.lists(st.integers(0, len(X) - 1))), dtype=np.intp)
    np.testing.assert_array_equal(thin.block(rows).toarray(), dense.block(rows))
