from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom, binomtest

from rosenblatt.theory import (
    empirical_risk,
    holdout_interval,
    risk_report,
    vc_bound,
)


class Threshold:
    """A classifier that compares the first column with zero."""

    def __init__(self, columns=1, **attributes):
        self.n_features_in_ = columns
        self.classes_ = np.array([0, 1])
        for name, value in attributes.items():
            setattr(self, name, value)

    def predict(self, X):
        return (np.asarray(X)[:, 0] > 0).astype(int)


def data(n, flip=0, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, 1))
    y = (X[:, 0] > 0).astype(int)
    y[:flip] = 1 - y[:flip]
    return X, y


def test_any_loss_matrix_is_averaged():
    y, guess = ["a", "b", "c", "c"], ["a", "c", "c", "b"]
    assert empirical_risk(y, guess) == 0.5
    loss = [[0, 1, 2], [3, 0, 4], [5, 6, 0]]
    # Predicting c for b costs 6, predicting b for c costs 4.
    assert empirical_risk(y, guess, loss=loss) == (6 + 4) / 4
    assert empirical_risk(["b"], ["a"], loss=[[0, 7], [1, 0]], classes=["a", "b"]) == 7


def test_nonsense_labels_and_losses_are_refused():
    with pytest.raises(ValueError, match="do not match"):
        empirical_risk([0, 1], [0])
    with pytest.raises(ValueError, match="no rows"):
        empirical_risk([], [])
    with pytest.raises(ValueError, match="2 by 2"):
        empirical_risk([0, 1], [0, 1], loss=[[0]])


def test_the_vc_bound_is_the_formula_of_the_notes():
    n, h, eta = 1000, 11, 0.1
    term = math.sqrt((h * (math.log(2 * n / h) + 1) - math.log(eta / 4)) / n)
    assert vc_bound(0.2, n, h, confidence=0.9) == pytest.approx(0.2 + term)
    assert vc_bound(0.0, 10, 20) == math.inf
    assert vc_bound(0.0, 10**6, 3) < vc_bound(0.0, 10**4, 3) < vc_bound(0.0, 10**4, 30)


@pytest.mark.parametrize(("errors", "n"), [(0, 10), (3, 50), (10, 10), (1, 1)])
def test_the_holdout_interval_is_the_exact_binomial_one(errors, n):
    low, high = holdout_interval(errors, n, 0.9)
    exact = binomtest(errors, n).proportion_ci(0.9, method="exact")
    assert (low, high) == pytest.approx((exact.low, exact.high))


def test_the_holdout_interval_covers_the_truth_as_often_as_it_says():
    n, p = 40, 0.13
    intervals = [holdout_interval(k, n) for k in range(n + 1)]
    covered = sum(binom.pmf(k, n, p) for k, (low, high) in enumerate(intervals) if low <= p <= high)
    assert covered >= 0.95


def test_a_report_puts_training_beside_validation_and_says_which_to_believe():
    X, y = data(200)
    X_val, y_val = data(100, flip=10, seed=1)
    report = risk_report(Threshold(), X, y, X_val, y_val)
    assert report["training"].value == 0.0
    assert report["validation"].value == pytest.approx(0.1)
    assert "Believe this one" in report["validation"].remark
    assert "Too low" in report["training"].remark
    assert "VC bound" in str(report)
    with pytest.raises(KeyError):
        report["leave one out"]


def test_too_few_validation_rows_are_not_to_be_believed():
    X, y = data(200)
    found = risk_report(Threshold(), X, y, *data(4, flip=1, seed=1))["validation"]
    assert found.vacuous
    assert "Too few to tell it from guessing: 4 rows" in found.remark


def test_a_bound_worse_than_guessing_is_called_vacuous():
    few, many = data(30), data(20_000)
    assert risk_report(Threshold(), *few, *few)["VC bound"].vacuous
    assert not risk_report(Threshold(), *many, *few)["VC bound"].vacuous
    shown = str(risk_report(Threshold(), *few, *few))
    assert "VACUOUS: not below" in shown
    assert "most frequent class" in shown


def test_three_classes_have_no_vc_bound_of_two():
    X, y = data(60)
    y = np.arange(60) % 3
    names = [e.name for e in risk_report(Threshold(), X, y, X, y).estimates]
    assert names == ["training", "validation"]


@pytest.mark.parametrize("confidence", [0.0, 1.0, 2.0])
def test_a_confidence_must_be_a_probability(confidence):
    with pytest.raises(ValueError, match="confidence"):
        vc_bound(0.1, 10, 2, confidence)
    with pytest.raises(ValueError, match="confidence"):
        holdout_interval(1, 10, confidence)


def test_impossible_counts_are_refused():
    with pytest.raises(ValueError, match="between 0 and n"):
        holdout_interval(11, 10)
    with pytest.raises(ValueError, match="positive"):
        vc_bound(0.1, 0, 2)
