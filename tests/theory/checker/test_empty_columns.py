"""Columns without entries are left out of the check, and nothing else."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from rosenblatt import certify, verify
from rosenblatt.theory import Certificate
from rosenblatt.theory.checker.empty_columns import without_empty_columns

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
    assert without_empty_columns(heavier, spread(X))[0].n_columns == len(FILLED) + 1


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
    assert without_empty_columns(c, X) == (c, X)
    full = sparse.csr_array(X + 10.0)
    assert without_empty_columns(c, full) == (c, full)
