from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from rosenblatt.theory.search.exact_sign_products import signs

numbers = st.one_of(
    st.just(0.0),
    st.integers(-9, 9).map(float),
    st.builds(np.ldexp, st.integers(-(2**53), 2**53).map(float), st.integers(-120, 60)).map(float),
)
weights = st.one_of(st.integers(-9, 9), st.integers(-(2**300), 2**300))
problems = st.integers(1, 6).flatmap(
    lambda d: st.tuples(
        st.lists(st.lists(numbers, min_size=d, max_size=d), min_size=1, max_size=5),
        st.lists(weights, min_size=d, max_size=d),
        weights,
    )
)


def truth(rows, w, offset):
    sums = [sum((Fraction(x) * a for x, a in zip(row, w, strict=True)), offset) for row in rows]
    return [(total > 0) - (total < 0) for total in sums]


@settings(max_examples=300, deadline=None)
@given(problems)
def test_signs_are_those_of_exact_fractions(problem):
    rows, w, offset = problem
    for values in (np.array(rows), sparse.csr_array(np.array(rows))):
        found = signs(values, w, offset)
        assert found is not None
        assert found.tolist() == truth(rows, w, offset)


@settings(max_examples=200, deadline=None)
@given(problems, st.integers(-1, 1))
def test_sums_that_cancel_to_the_last_bit_are_told_from_those_that_do_not(problem, nudge):
    rows, w, _ = problem
    exact = sum((Fraction(x) * a for x, a in zip(rows[0], w, strict=True)), Fraction(0))
    whole = [a * exact.denominator for a in w]
    offset = -exact.numerator + nudge
    assert signs(np.array(rows[:1]), whole, offset).tolist() == [nudge]


@pytest.mark.parametrize("d", [1, 1000, 5000])
def test_sums_of_the_largest_limbs_do_not_round(d):
    values = np.full((2, d), 2.0**53 - 1)
    values[1] = -values[1]
    w = [2**900 - 1] * d
    total = d * (2**53 - 1) * (2**900 - 1)
    assert signs(values, w, -total).tolist() == [0, -1]
    assert signs(values, w, 1 - total).tolist() == [1, -1]
    assert signs(values, w, total - 1).tolist() == [1, -1]


def test_values_that_differ_too_much_in_size_are_left_to_others():
    assert signs(np.array([[1e-300, 1e300]]), [1, -1]) is None
