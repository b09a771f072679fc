from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from rosenblatt import certify, verify
from rosenblatt.theory.search.approximate_gordan import balance
from rosenblatt.theory.search.descent import descend
from rosenblatt.theory.search.squared_hinge_newton import reweighted_newton


def sparse_rows(n, d, seed, flip=True):
    """Rows of five entries on average and separable labels, one of them flipped if `flip`."""
    generator = np.random.default_rng(seed)
    X = sparse.random_array((n, d), density=5 / d, rng=generator, format="csr")
    scores = X @ generator.normal(size=d)
    y = np.where(scores > np.median(scores), 1, 0)
    if flip:
        y[7] = 1 - y[7]
    return X, y


def signed(X, y):
    Z = sparse.hstack([X, np.ones((X.shape[0], 1))], format="csr")
    Z = sparse.diags_array(np.where(y == 1, 1.0, -1.0) / sparse.linalg.norm(Z, axis=1)) @ Z
    return sparse.csr_array(Z)


def test_reweighting_misclassified_rows_finds_a_balance_after_an_unsure_descent():
    Z = signed(*sparse_rows(12_000, 150, 1))
    unsure = descend(Z, balanced=lambda losses: balance(Z, losses))
    assert unsure.outcome == "unsure"
    found = reweighted_newton(Z, unsure.w, lambda duals: balance(Z, duals))
    assert found.outcome == "balanced"
    assert np.count_nonzero(found.losses) > np.count_nonzero(unsure.losses)


def test_separable_rows_are_separated():
    Z = signed(*sparse_rows(3000, 100, 0, flip=False))
    found = reweighted_newton(Z, np.zeros(101), lambda duals: None)
    assert found.outcome == "separated"
    assert (Z @ found.w > 0).all()


def test_newton_steps_without_progress_end():
    both = np.array([[1.0, 0.0], [-1.0, 0.0]])
    assert reweighted_newton(both, np.zeros(2), lambda duals: None).outcome == "unsure"


def test_columns_of_small_numbers_are_balanced_too():
    Z = np.random.default_rng(0).normal(size=(600, 8))
    Z[:, 7] *= 1e-7
    found = reweighted_newton(Z, np.zeros(8), lambda duals: None)
    assert found.outcome == "unsure"
    assert np.abs(found.losses @ Z / np.abs(Z).max(axis=0)).max() < 1e-6 * found.losses.sum()


@pytest.mark.parametrize(("n", "d", "seed"), [(5000, 150, 2), (12_000, 150, 1), (8000, 200, 0)])
def test_one_wrong_label_among_sparse_rows_is_proven_to_contradict(n, d, seed):
    X, y = sparse_rows(n, d, seed)
    certificate = certify(X, y, margin_rtol=None)
    assert certificate.verdict == "inseparable"
    assert certificate.balance is not None
    assert verify(certificate, X, y)
