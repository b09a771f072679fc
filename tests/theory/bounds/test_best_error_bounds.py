from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from rosenblatt import certify, error_bracket


def fewest_errors(X, y):
    """By leaving out every set of rows, smallest first."""
    n = len(X)
    for k in range(n):
        for out in combinations(range(n), k):
            rest = [i for i in range(n) if i not in out]
            if len(set(y[rest].tolist())) < 2 or certify(X[rest], y[rest]).separable:
                return k
    return n


def check(bracket, X, y):
    """Both witnesses, with nothing but arithmetic on small whole numbers."""
    seen = [i for s in bracket.sets for i in s.rows]
    assert len(seen) == len(set(seen))
    assert bracket.lower == len(bracket.sets)
    signs = np.where(np.asarray(y) == max(y), 1, -1)
    Z = [[int(s) * int(v) for v in (*row, 1)] for row, s in zip(X, signs, strict=True)]
    for found in bracket.sets:
        pairs = list(zip(found.rows, found.coefficients, strict=True))
        assert all(sum(c * Z[i][j] for i, c in pairs) == 0 for j in range(len(Z[0])))
    plane = (*bracket.weights, bracket.bias)
    scores = [sum(a * b for a, b in zip(z, plane, strict=True)) for z in Z]
    assert tuple(i for i, s in enumerate(scores) if s <= 0) == bracket.mistaken
    assert len(bracket.mistaken) == bracket.upper


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6))
def test_the_bracket_holds_the_true_number(seed):
    generator = np.random.default_rng(seed)
    X = generator.integers(-3, 4, size=(8, 2))
    y = generator.integers(0, 2, 8)
    y[:2] = 0, 1
    bracket = error_bracket(X, y)
    check(bracket, X, y)
    assert bracket.lower <= fewest_errors(X, y) <= bracket.upper


def test_separable_rows_cost_nothing():
    bracket = error_bracket([[0.0], [1.0]], [0, 1])
    assert (bracket.lower, bracket.upper) == (0, 0)
    assert str(bracket) == "The best hyperplane gets exactly 0 rows wrong."
    one = error_bracket([[0.0], [1.0], [2.0]], [0, 1, 0])
    assert str(one) == "The best hyperplane gets exactly 1 row wrong."


def test_a_few_flipped_labels_in_the_plane_are_bracketed_tightly():
    generator = np.random.default_rng(0)
    X = generator.integers(-50, 51, size=(200, 2))
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    flipped = np.argsort(-np.abs(X.sum(axis=1)))[:3]
    y[flipped] = 1 - y[flipped]
    bracket = error_bracket(X, y)
    check(bracket, X, y)
    assert bracket.lower == bracket.upper == 3


def test_sparse_rows_are_bracketed_too():
    X, y = sparse.csr_array([[0, 0], [0, 1], [1, 0], [1, 1]]), [0, 1, 1, 0]
    bracket = error_bracket(X, y)
    assert (bracket.lower, bracket.upper) == (1, 1)


def test_without_time_the_bracket_is_wide_but_true():
    generator = np.random.default_rng(1)
    X, y = generator.integers(-5, 6, size=(300, 4)), generator.integers(0, 2, 300)
    bracket = error_bracket(X, y, time_limit=0.0)
    check(bracket, X, y)
    assert bracket.lower == 0
    assert bracket.upper <= 300
    assert "between" in str(bracket)


def test_two_classes_are_needed():
    with pytest.raises(ValueError, match="two classes"):
        error_bracket([[0.0], [1.0]], [1, 1])
