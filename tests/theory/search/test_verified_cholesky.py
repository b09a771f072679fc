from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import linalg, sparse

from rosenblatt.theory.search import approximate_gordan as balance
from rosenblatt.theory.search import verified_cholesky as definite
from rosenblatt.theory.search.approximate_gordan import balance as find_balance
from rosenblatt.theory.search.descent import descend
from rosenblatt.theory.search.matrices import column_lengths, scale_columns, squared_lengths
from rosenblatt.theory.search.verified_cholesky import factors

seeds = st.integers(0, 2**32 - 1)


def unit_columns(seed, rows, columns, density=0.05):
    generator = np.random.default_rng(seed)
    P = sparse.random_array((rows, columns), density=density, rng=generator, format="csr")
    P = sparse.csr_array(P + sparse.eye_array(rows, columns))
    return scale_columns(P, 1.0 / column_lengths(P))


def halves(seed, rows, columns):
    """Columns of length one, exactly: four entries of a half, up to sign."""
    generator = np.random.default_rng(seed)
    P = np.zeros((rows, columns))
    for j in range(columns):
        P[generator.permutation(rows)[:4], j] = generator.choice([-0.5, 0.5], 4)
    return P


@pytest.fixture
def always_single(monkeypatch):
    monkeypatch.setattr(definite, "_FEWEST", 1)


@settings(max_examples=80, deadline=None)
@given(seeds, st.integers(2, 40), st.booleans())
def test_what_is_proven_is_true(seed, k, is_sparse):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(definite, "_FEWEST", 1)
        generator = np.random.default_rng(seed)
        P = halves(seed, k + generator.integers(0, 8), k) if k > 4 else np.eye(k)
        least = np.linalg.eigvalsh(P.T @ P)[0]
        floor = np.full(k, least + generator.choice([-1e-3, -1e-5, 1e-12, 1e-5]))
        for found in factors(sparse.csr_array(P) if is_sparse else P, floor):
            if found.proves():
                assert floor[0] < least


@settings(max_examples=40, deadline=None)
@given(seeds, st.integers(5, 60), st.booleans())
def test_a_column_that_depends_on_others_is_never_overlooked(seed, k, twin):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(definite, "_FEWEST", 1)
        P = halves(seed, 2 * k + 8, k)
        if twin:
            P[:, -1] = -P[:, 0]
        else:
            # The half of the sum of four columns that share no row, in any order.
            P[:16, :4] = np.kron(np.eye(4), np.full((4, 1), 0.5))
            P[16:, :4] = 0.0
            P[:, 4] = P[:, :4].sum(axis=1) / 2
        assert not any(found.proves() for found in factors(sparse.csr_array(P), np.zeros(k)))


def test_single_precision_comes_first_and_proves_what_is_far_from_singular():
    P = unit_columns(0, 1500, 520)
    found = next(iter(factors(P, np.full(520, 1e-4))))
    assert found.L.dtype == np.float32
    right = np.random.default_rng(1).normal(size=520)
    H = (P.T @ P).toarray()
    np.testing.assert_allclose(H @ found.solve(right), right, atol=0.1)
    assert found.proves()
    assert np.linalg.eigvalsh(H)[0] > 1e-4


def test_single_precision_is_not_trusted_with_what_it_cannot_tell_apart():
    P = unit_columns(0, 1500, 520).tolil()
    P[:, 1] = P[:, [0]] + 1e-3 * P[:, [1]]
    P = sparse.csr_array(P)
    P = scale_columns(P, 1.0 / column_lengths(P))
    least = np.linalg.eigvalsh((P.T @ P).toarray())[0]
    assert 1e-8 < least < 1e-6
    found = [f for f in factors(P, np.full(520, least / 2)) if f.proves()]
    assert [f.L.dtype for f in found] == [np.float64]


@pytest.mark.parametrize("k", [64, 300, 700])
def test_roundings_are_within_their_bound(k, always_single):
    P = unit_columns(k, 2 * k, k)
    taken = definite._SHARE * k * k * 2.0**-24
    found = next(iter(factors(P, np.zeros(k))))
    L = np.tril(found.L).astype(np.float64)
    E = L @ L.T - (P.T @ P).toarray() + taken * np.eye(k)
    size = np.abs(L.T)
    terms = np.arange(k) + np.bincount(P.indices, minlength=k)
    bound = definite._norm(lambda x: size.T @ (size @ x), terms, 2)
    assert np.linalg.norm(E, 2) < bound


@settings(max_examples=30, deadline=None)
@given(seeds, st.integers(1, 30))
def test_the_bound_for_the_norm_holds_for_any_matrix_without_negative_numbers(seed, k):
    generator = np.random.default_rng(seed)
    A = generator.random((k, k)) + np.eye(k)
    terms = generator.integers(0, 1000, k)
    root = np.sqrt(2.0**-24 * (terms + definite._BESIDES))
    true = np.linalg.norm(root[:, None] * (A.T @ A) * root, 2)
    for looks in (1, 2, 3):
        assert true <= definite._norm(lambda x: A.T @ (A @ x), terms, looks) * (1 + 1e-12)


def test_where_single_precision_does_not_prove_doubles_do(monkeypatch):
    generator = np.random.default_rng(3)
    Z = sparse.random_array((4000, 520), density=0.04, rng=generator, format="csr")
    Z.data *= generator.choice([-1.0, 1.0], Z.nnz)
    Z.data /= np.repeat(np.sqrt(squared_lengths(Z)), np.diff(Z.indptr))
    types = []

    def watched(*given):
        for found in factors(*given):
            types.append(found.L.dtype)
            yield found

    monkeypatch.setattr(balance, "factors", watched)
    first = descend(Z, balanced=lambda losses: find_balance(Z, losses))
    assert first.outcome == "balanced"
    assert set(types) == {np.dtype(np.float32)}
    types.clear()
    monkeypatch.setattr(definite, "_norm", lambda *given: np.inf)
    second = descend(Z, balanced=lambda losses: find_balance(Z, losses))
    assert second.outcome == "balanced"
    assert types[-1] == np.float64
    np.testing.assert_allclose(first.losses, second.losses, atol=1e-3)


def test_factors_solve_in_doubles():
    P = np.linalg.qr(np.random.default_rng(0).normal(size=(30, 5)))[0]
    P[:, 1] = (P[:, 0] + P[:, 1]) / np.sqrt(2)
    (found,) = factors(P, np.zeros(5))
    right = np.arange(5.0)
    np.testing.assert_allclose(found.solve(right), linalg.solve(P.T @ P, right), atol=1e-9)
