from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from rosenblatt.theory.checker.certificate import Combination
from rosenblatt.theory.checker.checker_rows import RefutedError, SignedRows
from rosenblatt.theory.checker.verify_balance import check_balance


def accepted(X, coefficients, sides):
    X = np.asarray(X)
    rows = tuple(range(len(X)))
    found = Combination(rows, tuple(int(s) for s in sides), tuple(coefficients))
    try:
        check_balance(found, (), SignedRows(X, np.asarray(sides), False), everyone=True)
    except RefutedError:
        return False
    return True


def positive_definite(rows):
    """Whether B'B - rr' is positive definite, by Gauss in fractions."""
    k = len(rows[0])
    r = [sum(b[j] for b in rows) for j in range(k)]
    M = [
        [Fraction(sum(b[i] * b[j] for b in rows)) - r[i] * r[j] for j in range(k)] for i in range(k)
    ]
    for i in range(k):
        if M[i][i] <= 0:
            return False
        for p in range(i + 1, k):
            factor = M[p][i] / M[i][i]
            M[p] = [x - factor * y for x, y in zip(M[p], M[i], strict=True)]
    return True


cases = st.tuples(st.integers(2, 9), st.integers(1, 3)).flatmap(
    lambda shape: st.tuples(
        hnp.arrays(np.int64, shape, elements=st.integers(-5, 5)),
        st.lists(st.integers(1, 7), min_size=shape[0], max_size=shape[0]),
        st.lists(st.sampled_from([-1, 1]), min_size=shape[0], max_size=shape[0]),
    )
)


def test_what_is_accepted_is_positive_definite_in_fractions():
    balances = []

    @settings(max_examples=150, deadline=None)
    @given(cases)
    def check(case):
        X, coefficients, sides = case
        X = X[:, (X != 0).any(axis=0)]
        if X.shape[1] and accepted(X, coefficients, sides):
            signed = zip(X, coefficients, sides, strict=True)
            assert positive_definite([[c * s * int(x) for x in row] for row, c, s in signed])
            balances.append(len(X))

    check()
    assert len(balances) >= 3


@pytest.mark.parametrize("scale", [1e-280, 1.0, 1e280])
def test_corners_around_the_origin_are_accepted_at_any_scale(scale):
    X = np.array([[1.0, 0.1], [-0.5, 0.9], [-0.5, -1.0]]) * scale
    assert accepted(X, [1, 1, 1], [1, 1, 1])
    assert not accepted(X, [1, 1, 30], [1, 1, 1])
    assert not accepted(X, [1, 1, 1], [1, 1, -1])
    assert not accepted(X[:2], [1, 1], [1, 1])


def test_rows_that_just_touch_are_refused():
    X = np.array([[1, 0], [-1, 0], [0, 1], [0, 1]])
    assert not accepted(X, [1, 1, 1, 1], [1, 1, 1, 1])
    assert accepted(X, [1, 1, 1, 1], [1, 1, 1, -1])


def test_a_column_that_the_balance_does_not_touch_must_be_zero_everywhere():
    X = np.array([[1, 0], [-1, 0], [1, 0], [2, 7]])
    sides = np.array([1, 1, 1, 1])
    found = Combination((0, 1, 2), (1, 1, 1), (1, 2, 1))
    with pytest.raises(RefutedError, match="no row in the balance"):
        check_balance(found, (), SignedRows(X, sides, False), everyone=True)
    check_balance(found, (), SignedRows(X[:3], sides[:3], False), everyone=True)
