from __future__ import annotations

import numpy as np
import pytest

from rosenblatt.theory.margin.max_margin import enclose
from rosenblatt.theory.margin.min_norm_point import (
    min_norm_by_newton,
    min_norm_by_nnls,
    min_norm_point,
)
from rosenblatt.theory.search.limits import Clock, OutOfTimeError
from rosenblatt.theory.search.problem import BinaryProblem


class Steps(Clock):
    """A clock that allows a number of steps, whatever time they take."""

    def __init__(self, steps):
        super().__init__(None)
        self.steps = steps

    def require(self, seconds):
        self.steps -= 1
        if self.steps < 0:
            raise OutOfTimeError

    @property
    def expired(self):
        return self.steps <= 0


def rows(seed, n, d):
    generator = np.random.default_rng(seed)
    Z = generator.normal(size=(n, d))
    Z *= np.where(Z @ np.ones(d) < 0, -1.0, 1.0)[:, None]
    return Z / np.linalg.norm(Z, axis=1).max()


def hull_norm(Z, weights):
    return float(np.linalg.norm(weights @ Z) / weights.sum())


@pytest.mark.parametrize("seed", range(4))
def test_both_methods_find_the_same_point(seed):
    Z = rows(seed, 300, 12)
    losses, w, gap = min_norm_by_newton(Z, False, 1e-9)
    assert gap < 1e-6
    assert losses.min() >= 0
    assert hull_norm(Z, losses) == pytest.approx(hull_norm(Z, min_norm_by_nnls(Z, False)), rel=1e-6)
    assert (Z @ w).min() / np.linalg.norm(w) == pytest.approx(hull_norm(Z, losses), rel=1e-6)


@pytest.mark.parametrize("n", [40, 400])
def test_a_free_offset_is_not_part_of_the_norm(n):
    generator = np.random.default_rng(n)
    X = generator.normal(size=(n, 3)) + 50.0
    y = np.where(X @ np.ones(3) > 150.0, 1.0, -1.0)
    X = (X - X.mean(axis=0)) * 0.01
    Z = np.hstack([X, np.ones((n, 1))]) * y[:, None]
    weights, _ = min_norm_point(Z, True, 1e-8)
    assert weights[y > 0].sum() == pytest.approx(weights[y < 0].sum(), rel=1e-3)


def test_rows_around_the_origin_have_a_point_of_norm_zero():
    Z = np.vstack([np.eye(3), -np.eye(3)] * 30)
    weights, _ = min_norm_point(Z, False, 1e-6)
    assert hull_norm(Z, weights) < 1e-6


def test_a_clock_stops_newtons_method_between_two_steps():
    Z, gaps = rows(0, 300, 12), []
    for steps in (15, 25, 60):
        losses, w, gap = min_norm_by_newton(Z, False, 1e-9, Steps(steps))
        assert (Z @ w).min() / np.linalg.norm(w) <= hull_norm(Z, losses)
        gaps.append(gap)
    assert gaps[0] > gaps[1] > gaps[2]
    with pytest.raises(OutOfTimeError):
        min_norm_point(Z, False, 1e-9, Steps(0))


@pytest.mark.parametrize("kind", ["augmented", "geometric"])
@pytest.mark.parametrize("steps", [0, 1, 7])
def test_an_interval_is_sound_wherever_the_clock_stops(kind, steps):
    X = rows(1, 300, 12)
    y = np.where(np.arange(300) % 2, 1.0, -1.0)
    problem = BinaryProblem(X * y[:, None], y, True)
    start = [1] * 12 + [0]
    hurried, whole = (enclose(problem, kind, start, 1e-6, c) for c in (Steps(steps), Clock(None)))
    assert 0 < hurried.lower <= whole.upper
    assert whole.lower <= hurried.upper
