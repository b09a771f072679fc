"""Calibration: against scikit-learn's, on scores whose probabilities are known, and damaged."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.calibration import _sigmoid_calibration
from sklearn.isotonic import IsotonicRegression

from rosenblatt.models.calibration import Calibration


def drawn(n=4000, scale=1.7, offset=-0.4, seed=0):
    """Scores, and labels with the probabilities that a logistic function gives them."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=n)
    p = 1 / (1 + np.exp(-(scale * scores + offset)))
    return scores, (rng.random(n) < p).astype(int), p


def test_the_sigmoid_is_that_of_scikit_learn():
    scores, codes, _ = drawn()
    found = Calibration.fit(scores, codes, 2)
    a, b = _sigmoid_calibration(scores, codes)
    assert (found.scale, found.offset) == pytest.approx((-a, -b), rel=1e-3)


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_known_probabilities_of_two_classes_are_found(method):
    scores, codes, _ = drawn(20_000)
    new, _, wanted = drawn(1000, seed=1)
    found = Calibration.fit(scores, codes, 2, method).probabilities(new)
    assert np.abs(found[:, 1] - wanted).mean() < 0.02
    assert found.sum(axis=1) == pytest.approx(1.0)


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
@pytest.mark.parametrize("power", [1.0, 1.8])
def test_known_probabilities_of_five_classes_are_found(method, power):
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(8000, 5))
    Z = 2.0 * np.sign(scores) * np.abs(scores) ** power
    P = np.exp(Z) / np.exp(Z).sum(axis=1, keepdims=True)
    codes = np.array([rng.choice(5, p=p) for p in P])
    found = Calibration.fit(scores, codes, 5, method)
    assert np.abs(found.probabilities(scores) - P).mean() < 0.01
    assert found.power == pytest.approx(power, rel=0.1)


def test_isotonic_steps_are_those_of_scikit_learn_moved_towards_the_sigmoid():
    scores, codes, _ = drawn(500)
    found = Calibration.fit(scores, codes, 2, "isotonic").probabilities(scores)[:, 1]
    smooth = Calibration.fit(scores, codes, 2).probabilities(scores)[:, 1]
    steps = IsotonicRegression(y_min=0, y_max=1).fit_transform(scores, codes)
    for height in np.unique(steps):
        step = np.isclose(steps, height, rtol=0, atol=1e-9)
        moved = (steps[step].sum() + 5 * smooth[step].mean()) / (step.sum() + 5)
        assert found[step].min() >= moved - 1e-9  # equal, unless a lower step is higher
    assert np.abs(found - steps)[np.abs(scores) < 1].mean() < 0.05


@pytest.mark.parametrize("k", [2, 4])
def test_no_isotonic_probability_is_certain(k):
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(200, k))
    codes = (scores + rng.normal(size=scores.shape)).argmax(axis=1)
    scores = scores[:, 1] - scores[:, 0] if k == 2 else scores
    P = Calibration.fit(scores, codes, k, "isotonic").probabilities(10 * scores)
    assert 1e-5 < P.min() < P.max() < 0.9999


@given(st.integers(3, 6), st.sampled_from(["sigmoid", "isotonic"]), st.integers(0, 10))
def test_the_class_of_the_largest_score_has_the_largest_probability(k, method, seed):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(60, k))
    codes = np.where(rng.random(60) < 0.7, scores.argmax(axis=1), rng.integers(k, size=60))
    P = Calibration.fit(scores, codes, k, method).probabilities(scores)
    best = scores.argmax(axis=1)
    assert np.all(P[np.arange(60), best] >= P.max(axis=1) - 1e-12)


def test_weights_are_copies():
    scores, codes, _ = drawn(200)
    weights = np.arange(200) % 3
    twice = Calibration.fit(np.repeat(scores, weights), np.repeat(codes, weights), 2)
    weighted = Calibration.fit(scores, codes, 2, weights=weights)
    assert (weighted.scale, weighted.offset) == pytest.approx((twice.scale, twice.offset), rel=1e-6)


def test_separated_classes_give_finite_slopes():
    scores = np.linspace(-2, 2, 40)
    found = Calibration.fit(scores, (scores > 0).astype(int), 2)
    assert 0 < found.scale < 100
    many = Calibration.fit(np.eye(3)[np.arange(60) % 3] * 3 - 1, np.arange(60) % 3, 3)
    assert np.isfinite(many.probabilities(np.eye(3))).all()


def test_scores_that_contradict_the_labels_say_nothing():
    scores, codes, _ = drawn(500)
    assert Calibration.fit(scores, 1 - codes, 2).scale == 0.0


def test_too_few_rows_or_one_class_give_no_calibration():
    assert Calibration.fit(np.ones(5), np.array([0, 1, 0, 1, 0]), 2) is None
    assert Calibration.fit(np.ones(50), np.zeros(50, int), 2) is None


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_it_survives_json(method):
    scores, codes, _ = drawn(300)
    found = Calibration.fit(scores, codes, 2, method)
    assert Calibration.from_json(json.loads(json.dumps(found.to_json()))) == found


@pytest.mark.parametrize(
    "change",
    [
        {"method": "magic"}, {"n_classes": 1}, {"n_classes": True}, {"rows": -1}, {"scale": "1"},
        {"scale": float("nan")}, {"scale": -1.0}, {"power": 0.0}, {"power": 1e9}, {"extra": 1},
        {"knots": [[0.0, 1.0], [0.0]]}, {"knots": [[1.0, 0.0], [0.0, 1.0]]},
        {"knots": [[0.0, 1.0], [1.0, 0.0]]}, {"knots": [[0.0, 1.0], [0.0, 2.0]]},
        {"knots": [[], []]}, {"knots": 3}, {"offset": None},
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(change):
    scores, codes, _ = drawn(300)
    plain = Calibration.fit(scores, codes, 2, "isotonic").to_json() | change
    with pytest.raises(ValueError, match="calibration"):
        Calibration.from_json(plain)
