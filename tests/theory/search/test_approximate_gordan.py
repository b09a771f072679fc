from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse
from scipy.optimize import linprog

from rosenblatt import certify, verify
from rosenblatt.theory.search.approximate_gordan import balance, integer_weights, round_weights
from rosenblatt.theory.search.squared_hinge import descend
from tests.theory.rows import unit_rows

matrices = st.tuples(st.integers(2, 12), st.integers(1, 4)).flatmap(
    lambda shape: hnp.arrays(np.int64, shape, elements=st.integers(-4, 4))
)


def weakly_separable(Z):
    """Whether some nonzero v has Zv >= 0, by two linear programs per coordinate."""
    for j in range(Z.shape[1]):
        for sign in (1.0, -1.0):
            bounds = [(-1.0, 1.0)] * Z.shape[1]
            bounds[j] = (sign, sign)
            found = linprog(np.zeros(Z.shape[1]), A_ub=-Z, b_ub=np.zeros(len(Z)), bounds=bounds)
            if found.status == 0:
                return True
    return False


def test_a_balance_has_no_weak_separator():
    balances = []

    @settings(max_examples=60, deadline=None)
    @given(matrices, st.booleans(), st.integers(0, 2**32 - 1))
    def check(Z, mirrored, seed):
        generator = np.random.default_rng(seed)
        if mirrored:
            Z = np.vstack([4 * Z, generator.integers(-2, 3, Z.shape) - 4 * Z])
        weights = generator.integers(4, 9, len(Z)).astype(float)
        if balance(Z.astype(float), weights) is not None:
            assert not weakly_separable(Z)
            balances.append(len(Z))

    check()
    assert len(balances) >= 6


@settings(max_examples=60, deadline=None)
@given(matrices, st.integers(0, 2**32 - 1))
def test_weakly_separable_rows_are_never_a_balance(Z, seed):
    generator = np.random.default_rng(seed)
    v = generator.integers(-3, 4, Z.shape[1])
    v[0] = v[0] or 1
    Z = Z * np.where(Z @ v < 0, -1, 1)[:, None]
    assert balance(Z.astype(float), generator.integers(1, 9, len(Z)).astype(float)) is None


def test_the_projection_of_a_balance_is_an_exact_contradiction():
    Z = np.random.default_rng(0).normal(size=(60, 5))
    Z = np.vstack([Z, -Z + 0.01 * np.random.default_rng(1).normal(size=Z.shape)])
    assert balance(Z, np.ones(120)) is not None
    exact = 1.0 - Z @ np.linalg.solve(Z.T @ Z, Z.sum(axis=0))
    assert exact.min() > 0
    np.testing.assert_allclose(exact @ Z, 0.0, atol=1e-12)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_weights_with_a_large_residual_are_corrected_to_a_balance(kind, seed):
    generator = np.random.default_rng(seed)
    Z = unit_rows(seed, 400, 20)
    contradiction = descend(Z, balanced=lambda losses: balance(Z, losses)).losses
    weights = contradiction * generator.uniform(0.9, 1.1, 400)
    scale = np.exp(generator.normal(size=400))
    found = balance(kind(Z), weights, scale)
    assert np.linalg.norm(weights @ Z) > 1e-3 * np.linalg.norm(weights)
    assert np.linalg.norm((found / scale) @ Z) < 1e-6 * np.linalg.norm(weights)
    np.testing.assert_array_equal(found > 0, weights > 0)
    np.testing.assert_array_equal(found, round_weights(found))


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_columns_used_only_by_rows_of_small_weight_are_not_lost(kind):
    heavy, light = unit_rows(0, 1400, 3), unit_rows(1, 200, 2)
    Z = np.zeros((3200, 5))
    Z[:2800, :3] = np.vstack([heavy, -heavy])
    Z[2800:, 3:] = np.vstack([light, -light])
    weights = np.where(np.arange(3200) < 2800, 1.0, 0.01)
    assert balance(kind(Z), weights) is not None


def test_the_checker_accepts_balances_that_pass_narrowly():
    generator = np.random.default_rng(0)
    for size in 10.0 ** np.arange(-7.0, -1.0):
        X = generator.normal(size=(300, 12))
        X[:, 11] = X[:, 10] + size * X[:, 11]
        y = generator.integers(0, 2, 300)
        certificate = certify(X, y, minimal=False, margin_rtol=None)
        assert certificate.verdict == "inseparable"
        assert verify(certificate, X, y)


@pytest.mark.parametrize("size", [1e-60, 1.0, 1e60])
def test_the_norms_of_rows_and_their_layout_do_not_matter(size):
    Z = np.vstack([np.eye(3), -np.eye(3)]) * size
    assert balance(Z, np.ones(6)) is not None
    assert balance(sparse.csr_array(Z), np.ones(6)) is not None
    assert balance(Z[:5], np.ones(5)) is None


def test_rounded_weights_have_24_bits_and_no_negligible_entries():
    weights = np.array([1.0, 1 / 3, 1e-9, 0.0])
    found = round_weights(weights)
    assert found[2] == found[3] == 0.0
    assert abs(found[1] - 1 / 3) < 2.0**-25
    numbers = integer_weights(found)
    assert numbers[0] % 2**24 == 0
    assert numbers[1].bit_length() <= 24
