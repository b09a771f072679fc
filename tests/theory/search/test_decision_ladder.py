from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from rosenblatt import certify, verify
from rosenblatt.theory.checker.certificate import Combination
from rosenblatt.theory.search import decision_ladder
from rosenblatt.theory.search.decision import Decision
from rosenblatt.theory.search.decision_ladder import _extend_to_all_rows, decide
from rosenblatt.theory.search.limits import Clock, TooSlowError
from rosenblatt.theory.search.problem import BinaryProblem
from rosenblatt.theory.search.single_column_separators import column_separators


def noisy(n, d, seed):
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n, d))
    y = np.where(X @ generator.normal(size=d) > 0, 1.0, -1.0)
    y[generator.random(n) < 0.1] *= -1
    return X, y, generator


def with_weak_column(X, y, generator, threshold=0.0):
    """X with a weakly separating column: the threshold, or more for some rows of class +1."""
    beyond = (y > 0) & (generator.random(len(y)) < 0.3)
    return np.hstack([X, (threshold + beyond * generator.random(len(y)))[:, None]]), beyond


def test_a_separator_of_the_rows_on_the_threshold_extends_to_all_rows():
    X, y, generator = noisy(200, 3, 1)
    X, beyond = with_weak_column(X, y, generator)
    y[~beyond] = np.where(X[~beyond, 0] > 1e-9, 1.0, -1.0)
    problem = BinaryProblem(X, y, True)
    u = Decision("separable", (10**9, 0, 0, 0, -1))
    found = _extend_to_all_rows(problem, [0, 0, 0, 1, 0], np.flatnonzero(~beyond), u)
    assert found.verdict == "separable"
    assert (problem.exact_signs(found.weights) > 0).all()


def test_a_contradiction_on_the_threshold_is_quasi_separable_with_original_row_indices():
    X, y, generator = noisy(200, 3, 2)
    X, beyond = with_weak_column(X, y, generator)
    problem, rows = BinaryProblem(X, y, True), np.flatnonzero(~beyond)
    inner = Decision("undecided", contradiction=Combination((0, 5), (-1, 1), (1, 1)))
    found = _extend_to_all_rows(problem, [0, 0, 0, 1, 0], rows, inner)
    assert found.verdict == "quasi-separable"
    assert found.contradiction.rows == tuple(rows[[0, 5]].tolist())
    undecided = _extend_to_all_rows(problem, [0, 0, 0, 1, 0], rows, Decision("undecided"))
    assert undecided.verdict == "undecided"


# Positive and negative rows: both thresholds together contain rows of one class, or no row.
ONE_CLASS = [[0, 0], [0, 1]], [[0, -1], [-1, 0]]
NO_ROW = [[1, 0], [0, 1]], [[0, -1], [-1, 0]]


@pytest.mark.parametrize(("positive", "negative"), [ONE_CLASS, NO_ROW])
def test_rows_of_one_class_or_none_on_the_thresholds_are_separated_at_once(positive, negative):
    X = np.array([*positive, *negative], dtype=float)
    problem = BinaryProblem(X, np.array([1.0, 1.0, -1.0, -1.0]), True)
    columns = list(column_separators(problem))
    with patch.object(decision_ladder, "_decide_exactly", side_effect=TooSlowError):
        found = decision_ladder._decide_by_thresholds(problem, Clock(None), columns, None)
    assert found.verdict == "separable"
    assert (problem.exact_signs(found.weights) > 0).all()


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("threshold", [0.0, 0.1])
def test_many_columns_one_of_them_weak_are_decided_by_a_balance_of_the_others(layout, threshold):
    X, y, generator = noisy(3000, 70, 3)
    X, _ = with_weak_column(X, y, generator, threshold)
    # A rounded total would need exact methods if its column were not replaced.
    X = np.hstack([X, X[:, :3].sum(axis=1, keepdims=True) * 0.1])
    certificate = certify(layout(X), y, margin_rtol=None, time_limit=30)
    assert certificate.verdict == "quasi-separable"
    assert verify(certificate, layout(X), y)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.booleans(), st.sampled_from([True, False, None]))
def test_rotating_columns_does_not_change_the_verdict(seed, padded, minimal):
    # Mixing two columns hides that one of them separates weakly, but keeps the verdict.
    generator = np.random.default_rng(seed)
    n, d = int(generator.integers(4, 20)), int(generator.integers(2, 5))
    X = generator.integers(-2, 3, (n, d))
    y = generator.choice([-1.0, 1.0], n)
    y[0], y[1] = 1.0, -1.0
    X[:, 0] = np.where(y > 0, abs(X[:, 0]), -abs(X[:, 0]))
    turned = X.copy()
    turned[:, 0], turned[:, 1] = X[:, 0] + 5 * X[:, 1], X[:, 1] - 5 * X[:, 0]
    found, other = (
        decide(BinaryProblem(values, y, padded), Clock(None), minimal) for values in (X, turned)
    )
    assert found.verdict == other.verdict
    for values, decision in ((X, found), (turned, other)):
        problem = BinaryProblem(values, y, padded)
        if decision.weights is not None:
            signs = problem.exact_signs(decision.weights)
            assert (signs > 0).all() if decision.verdict == "separable" else (signs >= 0).all()


def test_rows_of_zeros_through_the_origin_are_decided():
    X = np.array([[1.0, 0.0], [0.0, 0.0], [-1.0, 0.0], [0.0, 0.0]])
    certificate = certify(X, [1, 1, 0, 0], fit_intercept=False, minimal=False)
    assert certificate.verdict == "quasi-separable"
    assert verify(certificate, X, [1, 1, 0, 0])
