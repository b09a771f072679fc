from __future__ import annotations

import numpy as np
import pytest

from rosenblatt.theory.search.float_simplex import likely_basis


def padded(Z, last=1.0):
    return np.hstack([Z, np.full((len(Z), 1), last)])


@pytest.mark.parametrize("seed", range(6))
def test_prices_of_the_last_basis_separate_rows_that_can_be(seed):
    generator = np.random.default_rng(seed)
    w = generator.normal(size=12)
    Z = generator.normal(size=(200, 12))
    Z *= np.sign(Z @ w)[:, None]
    A = padded(Z)
    found = likely_basis(A, np.empty((0, 13)))
    inverse, artificial = inverted(A, found)
    prices = inverse[artificial].sum(axis=0)
    assert (Z @ -prices[:-1] > 0).all()
    assert prices[-1] > 0


@pytest.mark.parametrize("seed", range(6))
def test_rows_that_contradict_each_other_replace_what_is_artificial(seed):
    generator = np.random.default_rng(seed)
    Z = generator.normal(size=(200, 12))
    A = padded(Z)
    held = padded(generator.normal(size=(2, 12)), 0.0)
    found = likely_basis(A, held)
    inverse, artificial = inverted(np.vstack([A, held[0], -held[0], held[1], -held[1]]), found)
    values = inverse[:, -1]
    assert values.min() > -1e-9
    assert np.abs(values[artificial]).sum() < 1e-9


def test_a_held_row_of_zeros_changes_nothing():
    A = padded(np.random.default_rng(0).normal(size=(60, 9)))
    assert likely_basis(A, np.zeros((1, 10))) == likely_basis(A, np.empty((0, 10)))


def inverted(A, found):
    """The inverse of the basis, and which of its rows belong to artificial variables."""
    basis = np.eye(A.shape[1])
    for place, j in enumerate(found):
        if j is not None:
            basis[:, place] = A[j]
    return np.linalg.inv(basis), np.array([j is None for j in found])
