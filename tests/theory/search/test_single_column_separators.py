from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from rosenblatt.theory.search.problem import BinaryProblem
from rosenblatt.theory.search.single_column_separators import ColumnSeparator, column_separators

matrices = st.tuples(st.integers(2, 9), st.integers(1, 4)).flatmap(
    lambda shape: hnp.arrays(
        np.float64, shape, elements=st.sampled_from([-1.0, 0.0, 0.0, 0.5, 1.0])
    )
)


def found(X, y, padded=True):
    return list(column_separators(BinaryProblem(X, y, padded)))


@settings(max_examples=200, deadline=None)
@given(matrices, st.booleans(), st.integers(0, 2**32 - 1))
def test_sparse_and_dense_rows_have_the_same_single_column_separators(X, padded, seed):
    y = np.random.default_rng(seed).permutation(np.resize([1.0, -1.0], len(X)))
    dense = found(X, y, padded)
    assert found(sparse.csr_array(X), y, padded) == dense
    explicit = sparse.csr_array(np.ones_like(X))
    explicit.data[:] = X.ravel()
    assert found(explicit, y, padded) == dense


@pytest.mark.parametrize("seed", range(4))
def test_the_sample_never_rules_out_a_separating_column(seed):
    generator = np.random.default_rng(seed)
    X = sparse.random_array((5000, 40), density=0.05, rng=generator, format="csr").toarray()
    y = np.where(generator.random(5000) < 0.5, 1.0, -1.0)
    X[y < 0, 3] = 0.0
    X[y > 0, 8] *= -1.0
    X[:, 11] = y * 0.25 + 2.0
    listed = found(sparse.csr_array(X), y)
    assert listed == found(X, y)
    assert {(c.column, c.direction, c.strict) for c in listed} >= {
        (3, 1, False),
        (8, -1, False),
        (11, 1, True),
    }
    assert ColumnSeparator(11, 1, Fraction(2), True) in listed
