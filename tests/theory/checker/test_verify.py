"""What verify accepts; every field altered: tests/invariants/test_certificates.py."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_iris

from rosenblatt import certify, verify
from rosenblatt.theory import Certificate, Combination
from rosenblatt.theory.checker.verify import _without_empty_columns

XOR = np.array([[0, 0], [0, 1], [1, 0], [1, 1]]), np.array([0, 1, 1, 0])


def iris():
    X, y = load_iris(return_X_y=True)
    return X, y


def noisy(n, d, seed=0, noise=0.1):
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n, d))
    y = (X @ generator.normal(size=d) > 0).astype(int)
    return X, np.where(generator.random(n) < noise, 1 - y, y)


def test_an_inexact_certificate_says_so_and_proves_nothing():
    X, y = iris()
    inexact = replace(certify(X[50:], y[50:]), exact=False)
    assert "Not proven" in inexact.report()
    assert "does not claim to be exact" in verify(inexact, X[50:], y[50:]).reason


def test_a_certificate_for_other_data_is_refused():
    X, y = XOR
    certificate = certify(X, y)
    assert "fingerprints differ" in verify(certificate, X + 1, y).reason
    assert "fingerprints differ" in verify(certificate, X, 1 - y).reason
    assert "4 rows" in verify(certificate, X[:3], y[:3]).reason


def test_a_balance_that_was_tampered_with_is_refuted():
    X, y = noisy(1000, 80)
    certificate = certify(X, y)
    balance = certificate.balance
    even = replace(balance, coefficients=(1,) * len(balance.rows))
    heavy = replace(
        balance, coefficients=(balance.coefficients[0] * 1000, *balance.coefficients[1:])
    )
    turned = replace(balance, signs=tuple(-s for s in balance.signs))
    few = Combination(balance.rows[:70], balance.signs[:70], balance.coefficients[:70])
    for wrong in (even, heavy, turned, few):
        assert not verify(replace(certificate, balance=wrong), X, y)
    assert not verify(replace(certificate, verdict="separable"), X, y)
    assert not verify(replace(certificate, verdict="quasi-separable"), X, y)


WIDTH = 50
FILLED = [3, 17, 40]


def spread(X):
    """The same rows in three of fifty columns."""
    wide = np.zeros((len(X), WIDTH))
    wide[:, FILLED] = X
    return sparse.csr_array(wide)


def drawn(separable):
    g = np.random.default_rng(1)
    X = g.integers(-4, 5, (30, 3)).astype(float)
    y = (X @ [1, -2, 1] + 0.5 > 0) if separable else g.integers(0, 2, 30)
    return X, y


@pytest.mark.parametrize("separable", [True, False])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("minimal", [True, False])
def test_the_certificate_is_that_of_the_filled_columns(separable, fit_intercept, minimal):
    X, y = drawn(separable)
    options = {"fit_intercept": fit_intercept, "minimal": minimal}
    narrow = certify(sparse.csr_array(X), y, **options)
    wide = certify(spread(X), y, **options)
    assert narrow.verdict == wide.verdict
    assert wide.n_columns == WIDTH
    if separable:
        assert [wide.weights[j] for j in FILLED] == list(narrow.weights)
        assert sum(w != 0 for w in wide.weights) <= len(FILLED)
        assert wide.augmented.upper == pytest.approx(narrow.augmented.upper, rel=1e-5)
    found = verify(wide, spread(X), y)
    assert found, found.reason
    assert Certificate.from_dict(wide.to_dict()) == wide


def test_a_separator_with_weight_on_an_empty_column_holds_with_a_smaller_margin():
    X, y = drawn(separable=True)
    c = certify(spread(X), y, margin_rtol=None)
    heavier = replace(c, weights=(10**6, *c.weights[1:]))
    assert verify(heavier, spread(X), y)
    assert _without_empty_columns(heavier, spread(X))[0].n_columns == len(FILLED) + 1


def test_a_margin_that_counts_less_than_its_weights_is_refuted():
    X, y = drawn(separable=True)
    c = certify(spread(X), y)
    longer = replace(c.augmented, weights=(10**9, *c.augmented.weights[1:]))
    found = verify(replace(c, augmented=longer), spread(X), y)
    assert not found
    assert found.reason == "a row is closer than the augmented margin"


def test_a_rule_about_an_empty_column_is_refuted():
    X, y = np.array([[0.0, 1.0, 1.0], [1.0, 1.0, 0.0]]), [0, 1]
    c = certify(spread(X), y)
    assert [rule.column for rule in c.columns] == [3, 40]
    assert verify(c, spread(X), y)
    moved = replace(c, columns=(replace(c.columns[0], column=5), *c.columns[1:]))
    found = verify(moved, spread(X), y)
    assert not found
    assert found.reason == "other columns separate the classes alone"


def test_columns_replaced_by_others_keep_their_numbers():
    g = np.random.default_rng(0)
    X = g.normal(size=(300, 70)).round(2)
    X[:, 5] = X[:, 1] + X[:, 2]
    places = np.sort(g.choice(400, 70, replace=False))
    full = np.zeros((300, 400))
    full[:, places] = X
    wide = sparse.csr_array(full)
    y = g.integers(0, 2, 300)
    c = certify(wide, y)
    assert c.balance is not None
    assert {r.column for r in c.replaced} <= set(places.tolist())
    assert verify(c, wide, y)


def test_dense_rows_and_full_tables_are_left_as_they_are():
    X, y = drawn(separable=True)
    c = certify(X, y)
    assert _without_empty_columns(c, X) == (c, X)
    full = sparse.csr_array(X + 10.0)
    assert _without_empty_columns(c, full) == (c, full)
