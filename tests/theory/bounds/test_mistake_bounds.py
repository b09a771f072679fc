from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from sklearn.datasets import load_iris

from rosenblatt import reference
from rosenblatt.theory import (
    best_padding,
    dataset_margin,
    general_bound,
    margin_gap,
    max_margin,
    mistake_bound,
    nonseparable_bounds,
    novikoff_bound,
    padding_bound,
    radius,
)


def separated(seed, n=20, d=3):
    generator = np.random.default_rng(seed)
    X = generator.integers(-9, 10, size=(n, d)).astype(float)
    w = generator.normal(size=d)
    s = X @ w + generator.normal()
    y = np.where(s > np.median(s), 1, -1)
    keep = np.abs(s - np.median(s)) > 0.5
    return X[keep], y[keep]


def run(X, y, **options):
    steps = list(reference.online(X.tolist(), y.tolist(), max_epochs=10_000, **options))
    assert not any(s.mistake for s in steps[-len(X) :])
    return steps


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 10**6),
    st.sampled_from([0.0, 0.5, 3.0]),
    st.sampled_from([0.25, 1.0, 2.0]),
    st.booleans(),
)
def test_no_run_makes_more_mistakes_than_the_bound(seed, threshold, eta, started):
    X, y = separated(seed)
    generator = np.random.default_rng(seed + 1)
    start = generator.normal(size=3) * 5 if started else np.zeros(3)
    bias = float(generator.normal()) if started else 0.0
    steps = run(X, y, weights=start.tolist(), bias=bias, threshold=threshold, eta=eta)
    updates = sum(s.mistake for s in steps)
    bound = mistake_bound(X, y, start=start, start_bias=bias, threshold=threshold, eta=eta)
    assert updates <= bound
    if not started and threshold > 0:  # W. Krauth, M. Mezard (1987)
        w, b = np.array(steps[-1].weights_after), steps[-1].bias_after
        least = max_margin(X, y).lower * threshold / (2.0 * threshold + eta * radius(X) ** 2)
        assert dataset_margin(X, y, w, b, kind="augmented") >= least * (1 - 1e-9)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([0.5, 1.0, 2.0]))
def test_every_run_from_zero_encloses_the_largest_margin(seed, eta):
    X, y = separated(seed)
    steps = run(X, y, eta=eta)
    w, b = steps[-1].weights_after, steps[-1].bias_after
    low, high = margin_gap(X, y, w, b, updates=sum(s.mistake for s in steps), eta=eta)
    best = max_margin(X, y)
    assert low <= best.upper
    assert best.lower <= high * (1 + 1e-12)


@settings(max_examples=40, deadline=None)
@given(
    st.floats(0.5, 9),
    st.floats(0.01, 2),
    st.floats(0, 5),
    st.floats(0.1, 4),
    st.lists(st.floats(-9, 9), min_size=2, max_size=2),
)
def test_the_closed_form_is_the_minimum_over_alpha(R, margin, threshold, eta, start):
    u = np.array([0.6, 0.8])
    w0 = np.array(start)

    def value(log_gap):
        alpha = (threshold + eta * R**2 / 2) / margin + math.exp(log_gap)
        return float(np.sum((w0 - alpha * u) ** 2)) / (
            2 * eta * (alpha * margin - threshold) - (eta * R) ** 2
        )

    found = min(
        minimize_scalar(value, bounds=(a, a + 5), method="bounded").fun for a in range(-20, 20, 5)
    )
    closed = general_bound(R, u, margin, start=w0, threshold=threshold, eta=eta)
    assert closed <= found * (1 + 1e-6) + 1e-6


def test_special_cases_of_the_one_formula():
    assert general_bound(3.0, [2.0, 0.0], 1.0) == pytest.approx(novikoff_bound(3.0, 0.5))
    with_threshold = general_bound(3.0, [1.0, 0.0], 0.5, threshold=2.0, eta=4.0)
    assert with_threshold == pytest.approx((9 + 1) / 0.25)
    assert general_bound(3.0, [1.0, 0.0], 0.5, start=[1e9, 0.0]) == 0.0


def test_iris_is_learned_in_four_mistakes_of_410():
    X, y = load_iris(return_X_y=True)
    X, y = X[:100, 2:], 2 * y[:100] - 1
    steps = run(X, y)
    assert sum(s.mistake for s in steps) == 4
    assert math.floor(mistake_bound(X, y)) == 410


def test_a_separator_may_be_given_and_a_bad_one_bounds_nothing():
    X, y = [[0.0], [4.0]], [0, 1]
    best = mistake_bound(X, y)
    assert mistake_bound(X, y, weights=[1.0], bias=-2.0) == pytest.approx(best, rel=1e-6)
    assert mistake_bound(X, y, weights=[1.0], bias=-1.0) > best
    assert mistake_bound(X, y, weights=[-1.0], bias=2.0) == math.inf


def test_the_best_padding_beats_its_neighbours():
    c = best_padding(4.0, 0.5)
    best = padding_bound(4.0, 1.0, 0.5, c)
    assert best < padding_bound(4.0, 1.0, 0.5, c * 1.1)
    assert best < padding_bound(4.0, 1.0, 0.5, c * 0.9)
    assert best == pytest.approx((4.0 + 0.5) ** 2)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([0.1, 0.5, 2.0]))
def test_one_pass_over_any_rows_obeys_the_nonseparable_bounds(seed, rho):
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(40, 3))
    y = np.where(X @ [1.0, -1.0, 0.5] + generator.normal(size=40) > 0, 1, -1)
    if len(set(y.tolist())) < 2:
        return
    steps = list(reference.online(X.tolist(), y.tolist(), max_epochs=1))
    updated = [s.row for s in steps if s.mistake]
    w, b = steps[-1].weights_after, steps[-1].bias_after
    bounds = nonseparable_bounds(
        X, y, [1.0, -1.0, 0.5], 0.0, rho=rho, updated=updated,
        final_norm=float(np.linalg.norm([*w, b])),
    )  # fmt: skip
    for bound in bounds:
        assert len(updated) <= bound * (1 + 1e-12)
    loose = nonseparable_bounds(X, y, [1.0, -1.0, 0.5], 0.0, rho=rho)
    assert loose.l2 >= bounds.l2
    assert loose.after is None


def test_the_joint_perceptron_obeys_its_bound():
    generator = np.random.default_rng(5)
    W = generator.normal(size=(3, 4))
    X = generator.normal(size=(60, 3))
    X = np.hstack([X, np.ones((60, 1))])
    scores = X @ W.T
    order = np.sort(scores, axis=1)
    keep = order[:, -1] - order[:, -2] > 0.4
    X, y, scores = X[keep], scores[keep].argmax(axis=1), scores[keep]
    gap = (order[keep][:, -1] - order[keep][:, -2]).min() / np.linalg.norm(W)
    steps = list(reference.joint(X.tolist(), y.tolist(), 3, padding=None))
    R = radius(X, None)
    assert sum(s.mistake for s in steps) <= 2.0 * novikoff_bound(R, gap)  # Crammer, Singer (2003)


def test_nonsense_is_refused():
    for call in (
        lambda: novikoff_bound(1.0, 0.0),
        lambda: general_bound(1.0, [1.0], -1.0),
        lambda: general_bound(1.0, [1.0], 1.0, threshold=-1.0),
        lambda: nonseparable_bounds([[1.0], [2.0]], [0, 1], [1.0], rho=0.0),
    ):
        with pytest.raises(ValueError, match="must"):
            call()
    assert margin_gap([[0.0], [1.0]], [0, 1], [0.0], updates=0) == (-math.inf, math.inf)
