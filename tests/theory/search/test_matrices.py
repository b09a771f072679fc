"""Functions of sparse matrices agree with those of the same matrices stored densely."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from rosenblatt.theory.search import matrices

seeds = st.integers(0, 2**32 - 1)


def twins(seed, wide_indices=False):
    """A matrix of quarters, dense and sparse, some of its rows and columns empty."""
    generator = np.random.default_rng(seed)
    n, d = generator.integers(1, 12, 2)
    dense = generator.integers(-8, 9, (n, d)) / 4.0 * (generator.random((n, d)) < 0.4)
    dense[generator.integers(n)] = 0.0
    thin = sparse.csr_array(dense)
    if wide_indices:
        thin.indices, thin.indptr = thin.indices.astype(np.int64), thin.indptr.astype(np.int64)
    return dense, thin


def numbers(seed, size):
    return np.random.default_rng(seed).integers(-8, 9, size) / 8.0


@settings(deadline=None)
@given(seeds, st.booleans())
def test_gram_matrices_are_the_same(seed, wide):
    dense, thin = twins(seed, wide)
    np.testing.assert_array_equal(matrices.gram(thin), dense.T @ dense)
    np.testing.assert_array_equal(matrices.gram(thin.T), dense @ dense.T)
    np.testing.assert_array_equal(matrices.gram(dense), dense.T @ dense)


@pytest.mark.parametrize("density", [0.01, 0.3])
def test_gram_matrices_of_many_sparse_rows_are_those_of_dense_ones(density):
    generator = np.random.default_rng(0)
    dense = generator.integers(-4, 5, (3000, 60)) * (generator.random((3000, 60)) < density)
    thin = sparse.csr_array(dense.astype(float))
    np.testing.assert_array_equal(matrices.gram(thin), dense.T @ dense)


@settings(deadline=None)
@given(seeds, st.booleans())
def test_norms_and_scaling_are_the_same(seed, wide):
    dense, thin = twins(seed, wide)
    n, d = dense.shape
    for of in (matrices.squared_row_norms, matrices.column_norms, matrices.column_max_abs):
        np.testing.assert_array_equal(of(thin), of(dense))
    for scale, size in ((matrices.scale_rows, n), (matrices.scale_columns, d)):
        factors = numbers(seed, size)
        changed = scale(thin.copy(), factors)
        np.testing.assert_array_equal(changed.toarray(), scale(dense.copy(), factors))
        in_place = thin.copy()
        assert scale(in_place, factors) is in_place


@settings(deadline=None)
@given(seeds, st.booleans())
def test_a_column_is_appended_and_indices_keep_their_type(seed, wide):
    dense, thin = twins(seed, wide)
    column = numbers(seed, len(dense))
    found = matrices.append_column(thin, column)
    expected = matrices.append_column(dense, column)
    np.testing.assert_array_equal(found.toarray(), expected)
    np.testing.assert_array_equal(expected[:, :-1], dense)
    np.testing.assert_array_equal(expected[:, -1], column)
    assert found.indices.dtype == found.indptr.dtype == thin.indices.dtype
    assert found.has_canonical_format
    found.check_format(full_check=True)
    assert not np.shares_memory(found.data, thin.data)


@settings(deadline=None)
@given(seeds)
def test_equilibration_is_the_same(seed):
    dense, thin = twins(seed)
    signs = np.where(numbers(seed, len(dense)) < 0, -1.0, 1.0)
    found = matrices.equilibrate(thin.copy(), signs)
    expected = matrices.equilibrate(dense.copy(), signs)
    np.testing.assert_allclose(found[0].toarray(), expected[0], rtol=1e-15)
    for one, other in zip(found[1:], expected[1:], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-15)
