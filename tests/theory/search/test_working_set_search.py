from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from rosenblatt.theory.search.limits import Clock
from rosenblatt.theory.search.problem import BinaryProblem
from rosenblatt.theory.search.working_set_search import descent_proposal, nnls_contradiction


def problem(seed, n, d, noise, layout=np.asarray):
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n, d))
    y = np.where(X @ generator.normal(size=d) > 0, 1.0, -1.0)
    y[generator.random(n) < noise] *= -1
    return BinaryProblem(layout(X), y, True)


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
def test_a_proposed_separator_gives_every_row_a_positive_score(layout):
    found = descent_proposal(problem(0, 5000, 5, 0.0, layout), Clock(None))
    assert found.separates
    assert not found.balanced
    assert (problem(0, 5000, 5, 0.0).scores(found.v) > 0).all()


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
def test_inseparable_rows_are_found_in_a_working_set(layout):
    noisy = problem(1, 20_000, 5, 0.1, layout)
    found = descent_proposal(noisy, Clock(None))
    assert found.balanced
    assert not found.separates
    assert len(found.rows) < 10_000
    assert (found.weights > 0).all()


def test_an_nnls_contradiction_sums_to_zero_and_has_one_row_more_than_weights():
    noisy = problem(2, 3000, 8, 0.1)
    found = nnls_contradiction(noisy, descent_proposal(noisy, Clock(None)))
    assert found is not None
    assert len(found.rows) == noisy.width + 1
    total = found.weights @ noisy.block(found.rows)
    np.testing.assert_allclose(total, 0.0, atol=1e-9 * found.weights.sum())


def test_rows_of_extreme_size_are_left_to_the_exact_methods():
    X = np.array([[1e-300, 1e300], [1e300, 1e-300], [1.0, 1.0], [2.0, 3.0]])
    found = descent_proposal(BinaryProblem(X, np.array([1.0, -1.0, 1.0, -1.0]), True), Clock(None))
    assert not found.balanced
