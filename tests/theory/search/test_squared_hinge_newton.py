from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog

from rosenblatt import certify, verify
from rosenblatt.theory.search.squared_hinge_newton import penalised_newton
from tests.theory.rows import unit_rows


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
