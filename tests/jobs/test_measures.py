"""Measures against scikit-learn's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import brier_score_loss, roc_auc_score

from rosenblatt.jobs.evaluate import BINS, Reliability, area, curves, mean_area

PAIRS = st.lists(st.tuples(st.integers(-2, 2), st.booleans()), min_size=2, max_size=30)


@given(PAIRS)
def test_the_area_with_ties_is_that_of_scikit_learn(pairs):
    scores, positive = (np.array(side) for side in zip(*pairs, strict=True))
    if 0 < positive.sum() < len(positive):
        wanted = roc_auc_score(positive, scores)
        assert area(curves(scores.astype(float), positive)) == pytest.approx(wanted)
    else:
        assert mean_area(scores.astype(float), positive.astype(int)) is None


@pytest.mark.parametrize("k", [2, 4])
def test_the_brier_score_is_that_of_scikit_learn(k):
    rng = np.random.default_rng(k)
    P, truth = rng.dirichlet(np.ones(k), 500), rng.integers(k, size=500)
    found = Reliability(k)
    for part in np.array_split(np.arange(500), 7):
        found.add(P[part], truth[part])
    squares = ((P - np.eye(k)[truth]) ** 2).sum(axis=1).mean()
    wanted = brier_score_loss(truth, P[:, 1]) if k == 2 else squares
    assert found.brier == pytest.approx(wanted)


def test_the_calibration_error_of_true_probabilities_is_small():
    rng = np.random.default_rng(0)
    P = rng.dirichlet(np.ones(3), 50_000)
    truth = (rng.random(50_000)[:, None] > P.cumsum(axis=1)).sum(axis=1)
    found = Reliability(3)
    found.add(P, truth)
    assert found.error < 0.01
    sure = Reliability(3)
    sure.add(np.eye(3)[P.argmax(axis=1)], truth)
    assert sure.error == pytest.approx(1 - np.mean(P.argmax(axis=1) == truth))
    assert len(sure.bins()) == 1
    assert len(found.bins()) <= BINS
