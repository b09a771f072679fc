from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog

from rosenblatt import certify, verify
from rosenblatt.theory.search.approximate_gordan import balance
from rosenblatt.theory.search.squared_hinge import descend, penalised_newton
from tests.theory.rows import unit_rows


@pytest.mark.parametrize("seed", range(5))
def test_fewer_rows_than_columns_are_separated(seed):
    Z = unit_rows(seed, 40, 60)
    for rows in (Z, sparse.csr_array(Z)):
        found = descend(rows)
        assert found.outcome == "separated"
        assert (Z @ found.w > 0).all()


@pytest.mark.parametrize("seed", range(5))
def test_many_rows_in_few_columns_reach_a_balance(seed):
    Z = unit_rows(seed, 200, 10)
    found = descend(Z, balanced=lambda losses: balance(Z, losses))
    assert found.outcome == "balanced"
    assert found.losses.min() >= 0


def test_rows_that_touch_stay_unsure():
    Z = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]])
    assert descend(Z, balanced=lambda losses: balance(Z, losses)).outcome == "unsure"


def test_a_good_start_is_kept():
    Z = unit_rows(0, 40, 60)
    first = descend(Z)
    again = descend(Z, first.w)
    assert again.outcome == "separated"
    np.testing.assert_allclose(again.w, first.w, rtol=0.5, atol=0.5)


def test_the_callback_can_stop_the_descent():
    def stop():
        raise TimeoutError

    with pytest.raises(TimeoutError):
        descend(unit_rows(0, 40, 10), callback=stop)


@pytest.mark.parametrize("seed", range(5))
def test_few_rows_in_many_columns_are_separated(seed):
    Z = unit_rows(seed, 40, 60)
    for rows in (Z, sparse.csr_array(Z)):
        found = penalised_newton(rows)
        assert found.outcome == "separated"
        assert (Z @ found.w > 0).all()


@pytest.mark.parametrize("seed", range(5))
def test_a_contradiction_has_one_row_more_than_columns(seed):
    Z = unit_rows(seed, 200, 40)
    for rows in (Z, sparse.csr_array(Z)):
        found = penalised_newton(rows)
        assert found.outcome == "contradicted"
        assert np.count_nonzero(found.losses) == 41
        assert found.losses.min() >= 0
        assert np.linalg.norm(found.losses @ Z) < 1e-6


@pytest.mark.parametrize("n", [70, 78, 84, 90, 120])
@pytest.mark.parametrize("decimals", [0, 1, 15])
def test_verdicts_in_many_columns_agree_with_a_linear_program(n, decimals):
    generator = np.random.default_rng(n)
    X = np.round(generator.normal(size=(n, 40)), decimals)
    y = np.arange(n) % 2
    Z = np.hstack([X, np.ones((n, 1))]) * (2 * y - 1)[:, None]
    solved = linprog(np.zeros(41), A_ub=-Z, b_ub=-np.ones(n), bounds=(None, None))
    certificate = certify(X, y)
    assert certificate.separable == (solved.status == 0)
    assert verify(certificate, X, y)


def sparse_rows(n, d, seed):
    """Rows of five entries on average and separable labels but for one."""
    generator = np.random.default_rng(seed)
    X = sparse.random_array((n, d), density=5 / d, rng=generator, format="csr")
    scores = X @ generator.normal(size=d)
    y = np.where(scores > np.median(scores), 1, 0)
    y[7] = 1 - y[7]
    return X, y


@pytest.mark.parametrize(("n", "d", "seed"), [(5000, 150, 2), (12_000, 150, 1), (8000, 200, 0)])
def test_one_wrong_label_among_sparse_rows_is_proven_to_contradict(n, d, seed):
    X, y = sparse_rows(n, d, seed)
    certificate = certify(X, y, margin_rtol=None)
    assert certificate.verdict == "inseparable"
    assert verify(certificate, X, y)
