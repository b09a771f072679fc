from __future__ import annotations

import numpy as np
import pytest

from rosenblatt.theory.margin.min_norm_point import by_least_squares, by_newton, shortest


def rows(seed, n, d):
    generator = np.random.default_rng(seed)
    Z = generator.normal(size=(n, d))
    Z *= np.where(Z @ np.ones(d) < 0, -1.0, 1.0)[:, None]
    return Z / np.linalg.norm(Z, axis=1).max()


def length(Z, weights):
    return float(np.linalg.norm(weights @ Z) / weights.sum())


@pytest.mark.parametrize("seed", range(4))
def test_both_methods_find_the_same_point(seed):
    Z = rows(seed, 300, 12)
    losses, w, gap = by_newton(Z, False, 1e-9)
    assert gap < 1e-6
    assert losses.min() >= 0
    assert length(Z, losses) == pytest.approx(length(Z, by_least_squares(Z, False)), rel=1e-6)
    assert (Z @ w).min() / np.linalg.norm(w) == pytest.approx(length(Z, losses), rel=1e-6)


@pytest.mark.parametrize("n", [40, 400])
def test_a_free_offset_does_not_count_as_length(n):
    generator = np.random.default_rng(n)
    X = generator.normal(size=(n, 3)) + 50.0
    y = np.where(X @ np.ones(3) > 150.0, 1.0, -1.0)
    X = (X - X.mean(axis=0)) * 0.01
    Z = np.hstack([X, np.ones((n, 1))]) * y[:, None]
    weights, _ = shortest(Z, True, 1e-8)
    assert weights[y > 0].sum() == pytest.approx(weights[y < 0].sum(), rel=1e-3)


def test_rows_around_the_origin_have_nothing_to_be_long():
    Z = np.vstack([np.eye(3), -np.eye(3)] * 30)
    weights, _ = shortest(Z, False, 1e-6)
    assert length(Z, weights) < 1e-6
