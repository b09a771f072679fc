"""Ordered classes: the mistake bound, the order, and other classifiers on rated data."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr
from sklearn.datasets import load_diabetes, make_friedman1
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from rosenblatt import AROW, Ordinal, Perceptron
from rosenblatt.reference import prank


def separable(seed, rows, classes):
    """Whole numbers that a direction puts in order."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-9, 10, (rows, 4)).astype(float)
    s = X @ rng.integers(1, 6, 4)
    return X, np.searchsorted(np.quantile(s, np.linspace(0, 1, classes + 1)[1:-1]) + 0.25, s)


def separator_of(seed, X, y, classes):
    """The direction of the data and thresholds halfway in between, unless a class is missing."""
    rng = np.random.default_rng(seed)
    rng.integers(-9, 10, X.shape)
    direction = rng.integers(1, 6, 4).astype(float)
    if len(np.unique(y)) < classes:
        return None
    s = X @ direction
    return direction, np.array([(s[y <= j].max() + s[y > j].min()) / 2 for j in range(classes - 1)])


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(10, 60), st.integers(2, 6))
def test_the_corrections_are_within_the_mistake_bound(seed, rows, classes):
    X, y = separable(seed, rows, classes)
    model = Ordinal(Perceptron.textbook(max_iter=50)).fit(X, y)
    made, sides = model.two_class_rows(X, y)
    known = separator_of(seed, X, y, classes)
    if known is None:
        return
    direction, cuts = known
    separator = np.append(direction, cuts / model.unit_)
    margins = (2 * sides - 1) * (made @ separator) / np.linalg.norm(separator)
    assert margins.min() > 0
    bound = (np.linalg.norm(made, axis=1).max() / margins.min()) ** 2
    assert sum(epoch.updates for epoch in model.estimator_.history_) <= bound


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(5, 40), st.integers(2, 6))
def test_the_errors_of_prank_are_within_its_bound(seed, rows, classes):
    X, y = separable(seed, rows, classes)
    separator = separator_of(seed, X, y, classes)
    if separator is None:
        return
    direction, cuts = separator
    signs = np.where(y[:, None] > np.arange(classes - 1), 1, -1)
    length = np.sqrt(direction @ direction + cuts @ cuts)
    margin = (signs * ((X @ direction)[:, None] - cuts)).min() / length
    assert margin > 0
    bound = ((classes - 1) * (X**2).sum(axis=1).max() + 1) / margin**2
    steps = list(prank(X.astype(int).tolist(), y.tolist(), classes, max_epochs=30))
    assert sum(step.loss for step in steps) <= bound
    assert all(step.thresholds_after == tuple(sorted(step.thresholds_after)) for step in steps)
    assert all(abs(step.prediction - step.y) <= step.loss for step in steps)


def test_what_can_be_put_in_order_is():
    X, y = np.array([0.0, 1, 4, 5, 8, 9, 12, 13])[:, None], np.repeat(range(4), 2)
    model = Ordinal(Perceptron.textbook(max_iter=1000)).fit(X, y)
    assert model.estimator_.converged_
    assert model.score(X, y) == 1.0
    assert (np.diff(model.thresholds_) >= 0).all()


def test_the_order_is_that_of_the_caller():
    X = np.arange(12.0)[:, None]
    y = np.repeat(["low", "medium", "high"], 4)
    model = Ordinal(order=["low", "medium", "high"]).fit(X, y)
    assert model.predict([[-3.0], [5.5], [20.0]]).tolist() == ["low", "medium", "high"]
    with pytest.raises(ValueError, match="'top' is not among"):
        model.partial_fit(X, np.repeat("top", 12))
    with pytest.raises(ValueError, match="must differ"):
        Ordinal(order=["low", "low"]).fit(X, y)


def test_sparse_and_scaled_rows_are_predicted_alike():
    X, y = separable(5, 60, 3)
    dense = Ordinal(random_state=0).fit(X, y)
    sparse = Ordinal(random_state=0).fit(sp.csr_array(X), y)
    assert np.array_equal(sparse.predict(sp.csr_array(X)), dense.predict(X))
    assert np.array_equal(
        Ordinal(random_state=0).fit(1024 * X, y).predict(1024 * X), dense.predict(X)
    )


def test_rows_in_parts_are_learned_as_one_after_the_other():
    X, y = separable(6, 80, 4)
    whole, parts = Ordinal(AROW()), Ordinal(AROW())
    for model, cuts in ((whole, [0, 80]), (parts, [0, 30, 80])):
        model.partial_fit(X[:0:-1], y[:0:-1], classes=[0, 1, 2, 3])  # the unit is of these rows
        for start, stop in pairwise(cuts):
            model.partial_fit(X[start:stop], y[start:stop])
    assert np.array_equal(parts.coef_, whole.coef_)
    assert np.array_equal(parts.thresholds_, whole.thresholds_)


@pytest.mark.parametrize("name", ["diabetes", "friedman"])
def test_ranks_are_as_good_as_those_of_one_against_the_rest(name):
    X, t = (
        load_diabetes(return_X_y=True)
        if name == "diabetes"
        else make_friedman1(1500, 20, noise=1.0, random_state=0)
    )
    y = np.searchsorted(np.quantile(t, [0.2, 0.4, 0.6, 0.8]), t)
    X = StandardScaler().fit_transform(X)
    rng = np.random.default_rng(0)
    held = rng.random(len(y)) < 0.3
    ours = Ordinal().fit(X[~held], y[~held])
    other = LogisticRegression(max_iter=500).fit(X[~held], y[~held])
    rank = spearmanr(ours.scores(X[held]), y[held]).statistic
    assert rank > spearmanr(other.predict(X[held]), y[held]).statistic - 0.02


def test_rows_whose_squares_overflow_are_refused_with_a_sentence():
    X = np.array([[1e200], [2e200], [3e200]])
    for rows in (X, sp.csr_array(X)):
        with pytest.raises(ValueError, match="squared lengths of the rows overflow"):
            Ordinal().fit(rows, [0, 1, 2])
