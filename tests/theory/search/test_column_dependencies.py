from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from operator import mul

import numpy as np
import pytest
from scipy import sparse

from rosenblatt import certify, verify
from rosenblatt.theory.checker.certificate import Certificate, Replacement
from rosenblatt.theory.checker.input_data import check_matrix
from rosenblatt.theory.search.column_dependencies import (
    exact_null_space,
    reduce_columns,
    weak_separator,
)
from rosenblatt.theory.search.problem import BinaryProblem

LAYOUTS = [np.asarray, sparse.csr_array]


def noisy(n, d, seed, density=1.0):
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n, d)) * (generator.random((n, d)) < density)
    y = (X @ generator.normal(size=d) > 0).astype(int)
    return X, np.where(generator.random(n) < 0.1, 1 - y, y), generator


def problem(X, y, padded=True):
    return BinaryProblem(check_matrix(X), np.where(np.asarray(y) == 1, 1.0, -1.0), padded)


def one_hot(n, generator):
    return np.eye(4)[generator.integers(0, 4, n)]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_linearly_dependent_columns_are_removed(layout):
    X, y, generator = noisy(600, 6, 0)
    X = np.hstack([X, one_hot(600, generator), -2 * X[:, [2]], X[:, [1]] * 4])
    found = reduce_columns(problem(layout(X), y))
    assert found is not None
    assert not found.rounded
    assert len(found.vectors) == 3
    assert len(found.columns) == X.shape[1] + 1 - 3
    rows = np.hstack([X, np.ones((600, 1))])
    for b in found.vectors:
        assert b.vector[b.dependent_column] != 0
        assert b.dependent_column < X.shape[1]
        np.testing.assert_allclose(rows @ np.array(b.vector, dtype=float), 0.0, atol=1e-12)


def test_independent_columns_are_kept():
    X, y, _ = noisy(500, 8, 1)
    assert reduce_columns(problem(X, y)) is None


@pytest.mark.parametrize("standardised", [False, True])
def test_the_residual_of_a_rounded_combination_replaces_it_and_vectors_convert_back(standardised):
    X, y, _ = noisy(500, 5, 2)
    X = np.hstack([X, (X[:, [0]] / 3.0 + X[:, [1]] * 0.1)])
    if standardised:
        X = (X - X.mean(axis=0)) / X.std(axis=0)
    before = problem(X, y)
    found = reduce_columns(before)
    assert found is not None
    assert found.rounded == standardised
    (b,) = found.vectors
    dots, factors = before.exact_dots(b.vector, np.arange(500))
    products = [Fraction(x, f) * int(s) for x, f, s in zip(dots, factors, before.y, strict=True)]
    assert any(products)
    (seen,) = found.residuals.values()
    assert seen.exact == (not found.rounded)
    scale = Fraction(2) ** -seen.exponent
    np.testing.assert_array_equal(seen.column, [float(x * scale) for x in products])


@pytest.mark.parametrize("fifth", [0.1, 0.25])
def test_weights_of_replaced_columns_score_rows_as_before(fifth):
    # A rounded sum of the first columns, and a copy.
    X, y, generator = noisy(300, 5, 2)
    X = np.round(X, 2)
    X = np.hstack([X, X[:, :3].sum(axis=1, keepdims=True) * fifth, 4 * X[:, [1]]])
    before = problem(X, y)
    found = reduce_columns(before)
    assert found is not None
    assert not found.rounded
    rows = [[Fraction(x) for x in row] + [Fraction(1)] for row in X.tolist()]
    inner = [[Fraction(x) for x in row] + [Fraction(1)] for row in found.problem.values.tolist()]
    weights = generator.integers(-(2**60), 2**60, len(found.columns)).tolist()
    here = [sum(map(mul, row, weights)) for row in inner]
    there = [sum(map(mul, row, found.in_original_columns(weights))) for row in rows]
    factor = there[0] / here[0]
    assert factor > 0
    assert there == [factor * x for x in here]


def test_rounding_residuals_become_a_well_conditioned_column():
    X, y, _ = noisy(500, 5, 2)
    X = np.hstack([X, (X[:, [0]] / 3.0 + X[:, [1]] * 0.1)])
    found = reduce_columns(problem(X, y))
    assert np.linalg.cond(found.problem.values / found.problem.column_max_abs) < 1e6


def test_null_vectors_are_orthogonal_to_the_rows():
    X, y, _ = noisy(300, 5, 3)
    X[:, 4] = 2 * X[:, 3]
    X[200:, 4] += 1
    p = problem(X, y)
    (b,) = exact_null_space(p, np.arange(200))
    assert not any(p.exact_dots(b.vector, np.arange(200))[0])
    assert any(p.exact_dots(b.vector, np.arange(200, 300))[0])
    assert exact_null_space(p, np.arange(300)) == []
    assert (
        exact_null_space(problem(np.zeros((4, 2)), [0, 1, 0, 1], padded=False), np.arange(4)) == []
    )


def test_two_null_vectors_may_separate_weakly_only_together():
    generator = np.random.default_rng(4)
    y = np.array([1, 0] * 100)
    a, b = generator.integers(-3, 4, (2, 200))
    a[a == 0] = 1
    a[:20] = b[:20] = 0
    # Only u = v = 1 makes a·u + b·v a weak separator.
    b = np.where(y == 1, np.maximum(b, -a), np.minimum(b, -a))
    X = np.column_stack([np.arange(200) < 20, a, b]).astype(int)
    p = problem(X, y, padded=False)
    vectors = exact_null_space(p, np.arange(20))
    v = weak_separator(p, vectors)
    assert v is not None
    assert v[1] == v[2] > 0


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("scaled", [False, True])
def test_one_hot_columns_are_certified_by_a_balance_of_the_others(layout, scaled):
    X, y, generator = noisy(3000, 70, 5, 0.2)
    H = one_hot(3000, generator)
    X = np.hstack([X, (H - H.mean(axis=0)) / H.std(axis=0) if scaled else H])
    certificate = certify(layout(X), y, margin_rtol=None, time_limit=30)
    assert certificate.verdict == "inseparable"
    assert certificate.balance is not None
    assert len(certificate.replaced) == 1
    assert verify(certificate, layout(X), y)
    assert Certificate.from_dict(certificate.to_dict()) == certificate


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_rounded_total_column_is_decided_in_time(layout):
    X, y, _ = noisy(3000, 70, 6, 0.3)
    X = np.hstack([X, X[:, :3].sum(axis=1, keepdims=True) * 0.1])
    certificate = certify(layout(X), y, margin_rtol=None, time_limit=30)
    assert certificate.verdict == "inseparable"
    assert verify(certificate, layout(X), y)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_weak_separator_in_many_columns_comes_with_a_balance(layout):
    X, y, generator = noisy(3000, 70, 7, 0.3)
    rare = (y == 1) & (generator.random(3000) < 0.02)
    X = np.hstack([X, X[:, [4]] + rare[:, None]])
    certificate = certify(layout(X), y, margin_rtol=None, time_limit=30)
    assert certificate.verdict == "quasi-separable"
    assert certificate.balance is not None
    assert certificate.weights is not None
    assert {abs(w) for w in certificate.weights} == {0, 1}
    assert verify(certificate, layout(X), y)
    assert "rows contradict each other" in certificate.report()


def test_tampered_replacements_are_rejected():
    X, y, generator = noisy(2000, 66, 8, 0.3)
    X = np.hstack([X, X[:, [3]], one_hot(2000, generator)])
    certificate = certify(X, y, margin_rtol=None)
    first, second = certificate.replaced
    assert verify(certificate, X, y)
    others = Replacement(first.column, first.columns, tuple(w + 1 for w in first.weights))
    pairs = zip(first.columns, first.weights, strict=True)
    gone = tuple(0 if j == first.column else w for j, w in pairs)
    outside = Replacement(first.column, (*first.columns, 999), (*first.weights, 1))
    for wrong in (
        (others, second),
        (second,),
        (),
        (Replacement(first.column, first.columns, gone), second),
        (outside, second),
        (Replacement(first.column, first.columns * 2, first.weights * 2), second),
    ):
        assert not verify(replace(certificate, replaced=wrong), X, y)
    # A column that is a copy only in the rows of the balance has no null vector of all rows.
    odd = X.copy()
    odd[next(i for i in range(2000) if i not in certificate.balance.rows), 3] += 1.0
    other = certify(odd, y, margin_rtol=None)
    forged = replace(certificate, fingerprint=other.fingerprint, radius=other.radius)
    assert not verify(forged, odd, y)
    assert not verify(replace(certificate, balance=None), X, y)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_copied_columns_are_verified_in_doubles(layout, monkeypatch):
    X, y, _ = noisy(400, 6, 9)
    X = np.hstack([X, -4 * X[:, [1]], X[:, [2]] / 8])
    p = problem(layout(X), y)
    monkeypatch.setattr(BinaryProblem, "exact_dots", None)
    found = reduce_columns(p)
    assert found is not None
    assert not found.rounded
    assert len(found.vectors) == 2
    # A column that differs in one bit of one row is not a copy.
    X[7, 7] = np.nextafter(X[7, 7], 1.0)
    monkeypatch.undo()
    (seen,) = reduce_columns(problem(layout(X), y)).residuals.values()
    assert seen.exact
    assert np.flatnonzero(seen.column).tolist() == [7]
