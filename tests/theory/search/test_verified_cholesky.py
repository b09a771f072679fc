from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import linalg, sparse

from rosenblatt.theory.search.approximate_gordan import balance, verified_factor
from rosenblatt.theory.search.matrices import squared_row_norms
from rosenblatt.theory.search.squared_hinge import descend

seeds = st.integers(0, 2**32 - 1)
layouts = st.sampled_from([np.asarray, sparse.csr_array])


def halves(seed, rows, columns):
    """Columns of norm exactly one: four entries of ±1/2."""
    generator = np.random.default_rng(seed)
    P = np.zeros((rows, columns))
    for j in range(columns):
        P[generator.permutation(rows)[:4], j] = generator.choice([-0.5, 0.5], 4)
    return P


def test_a_verified_factor_implies_positive_definiteness():
    proven = []

    @settings(max_examples=80, deadline=None)
    @given(seeds, st.integers(2, 40), layouts)
    def check(seed, k, layout):
        generator = np.random.default_rng(seed)
        P = halves(seed, k + generator.integers(0, 8), k) if k > 4 else np.eye(k)
        least = np.linalg.eigvalsh(P.T @ P)[0]
        floor = np.full(k, least + generator.choice([-1e-3, -1e-5, 1e-12, 1e-5]))
        if verified_factor(layout(P), floor) is not None:
            assert floor[0] < least
            proven.append(k)

    check()
    assert len(proven) >= 10


@settings(max_examples=40, deadline=None)
@given(seeds, st.integers(5, 60), st.booleans(), layouts)
def test_a_dependent_column_never_passes_as_positive_definite(seed, k, twin, layout):
    P = halves(seed, 2 * k + 8, k)
    if twin:
        P[:, -1] = -P[:, 0]
    else:
        # Half the sum of four columns that share no row.
        P[:16, :4] = np.kron(np.eye(4), np.full((4, 1), 0.5))
        P[16:, :4] = 0.0
        P[:, 4] = P[:, :4].sum(axis=1) / 2
    assert verified_factor(layout(P), np.zeros(k)) is None


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
def test_factors_solve(layout):
    P = np.linalg.qr(np.random.default_rng(0).normal(size=(30, 5)))[0]
    P[:, 1] = (P[:, 0] + P[:, 1]) / np.sqrt(2)
    found = verified_factor(layout(P), np.zeros(5))
    right = np.arange(5.0)
    np.testing.assert_allclose(found.solve(right), linalg.solve(P.T @ P, right), atol=1e-9)


def test_sparse_rows_of_many_columns_reach_a_balance():
    generator = np.random.default_rng(3)
    Z = sparse.random_array((4000, 520), density=0.04, rng=generator, format="csr")
    Z.data *= generator.choice([-1.0, 1.0], Z.nnz)
    Z.data /= np.repeat(np.sqrt(squared_row_norms(Z)), np.diff(Z.indptr))
    found = descend(Z, balanced=lambda losses: balance(Z, losses))
    assert found.outcome == "balanced"
    assert np.linalg.norm(found.losses @ Z) < 1e-6 * found.losses.sum()
