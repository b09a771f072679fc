"""Goals of training: figures as scikit-learn and SciPy compute them, and what they change."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr
from sklearn.metrics import f1_score, precision_recall_curve

from rosenblatt import train
from rosenblatt.errors import OptionError
from rosenblatt.jobs.goals import Goal, HeldRows

NAMES = ["a", "b", "c"]


def drawn(seed, problems):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(80, problems)).round(1)
    return scores, rng.integers(0, max(2, problems), 80), np.ones(80)


@given(st.integers(0, 10**6))
def test_the_f1_is_that_of_scikit_learn(seed):
    scores, truth, ones = drawn(seed, 3)
    rows = HeldRows(scores, truth, ones, NAMES)
    each = f1_score(truth, scores.argmax(axis=1), average=None, labels=[0, 1, 2], zero_division=0)
    assert 1 - Goal.parse("macro-f1").error(rows) == pytest.approx(each.mean())
    assert 1 - Goal.parse("f1:b").error(rows) == pytest.approx(each[1])


@given(st.integers(0, 10**6))
def test_the_f1_of_several_labels_is_that_of_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    scores, truth = rng.normal(size=(60, 3)), rng.random((60, 3)) < 0.4
    rows = HeldRows(scores, truth, np.ones(60), NAMES)
    expected = f1_score(truth, scores > 0, average="macro", zero_division=0)
    assert 1 - Goal.parse("macro-f1").error(rows) == pytest.approx(expected)


@given(st.integers(0, 10**6), st.sampled_from([0.5, 0.7]))
def test_the_recall_at_a_precision_is_that_of_scikit_learn(seed, least):
    scores, truth, ones = drawn(seed, 1)
    if truth.sum() in (0, len(truth)):
        return
    precision, recall, _ = precision_recall_curve(truth, scores[:, 0])
    expected = recall[:-1][precision[:-1] >= least].max(initial=0.0)
    rows = HeldRows(scores, truth, ones, ["no", "yes"])
    assert 1 - Goal.parse(f"recall@precision={least}").error(rows) == pytest.approx(expected)


@given(st.integers(0, 10**6), st.integers(2, 5))
def test_the_rank_correlation_of_copies_is_that_of_their_rows(seed, copies):
    rng = np.random.default_rng(seed)
    ranks, scores = rng.integers(0, copies + 1, 50), rng.normal(size=50).round(1)
    truth = (ranks[:, None] > np.arange(copies)).astype(int).ravel()
    each = (scores[:, None] - np.arange(copies)).reshape(-1, 1)
    rows = HeldRows(each, truth, np.ones(len(each)), ["0", "1"], copies)
    expected = max(0.0, spearmanr(scores, ranks).statistic)
    assert 1 - Goal.parse("spearman").error(rows) == pytest.approx(expected)


def rare(n=4000):
    """A class of one row in thirty, whose words others have as well."""
    rng = np.random.default_rng(3)
    labels = np.where(rng.random(n) < 1 / 30, "rare", np.where(rng.random(n) < 0.5, "x", "y"))
    words = [
        f"{label if rng.random() < 0.35 else 'xy'[rng.integers(2)]}{rng.integers(40)} w{i % 50}"
        for i, label in enumerate(labels)
    ]
    return {"text": words, "label": labels.tolist()}


def test_the_goal_decides_the_epochs():
    options = {"text": "text", "analyzer": "word", "max_epochs": 8, "patience": 8}
    plain = train(rare(), **options)
    model = train(rare(), tune_for="macro-f1", **options)
    errors = [epoch["validation_error"] for epoch in model.history]
    assert errors != [epoch["validation_error"] for epoch in plain.history]
    assert min(errors) > min(epoch["validation_error"] for epoch in plain.history)
    assert model.parameters["tune_for"] == "macro-f1"


def test_the_goal_decides_what_tuning_chooses():
    model = train(rare(1500), text="text", tune=3, tune_for="f1:rare", max_epochs=3)
    trials = model.parameters["tuning"]
    assert min(trial["error"] for trial in trials) > 0.1  # of accuracy it would be 0.05


def test_ranks_decide_for_ordered_classes():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(900, 3))
    frame = {"a": x[:, 0], "b": x[:, 1], "label": np.digitize(x @ [1, 2, 0.5], [-1, 0, 1]).tolist()}
    model = train(frame, ordered=True, tune_for="spearman", max_epochs=6)
    assert 0 < min(epoch["validation_error"] for epoch in model.history) < 0.2


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"tune_for": "f1"}, "is not a goal"),
        ({"tune_for": "recall@precision=2"}, "is not a goal"),
        ({"tune_for": "macro-f1:a"}, "is not a goal"),
        ({"tune_for": "accuracy"}, "is not a goal"),
        ({"tune_for": "f1:none"}, "'none' is not a class: rare, x, y"),
        ({"tune_for": "spearman"}, "for ordered classes"),
        ({"tune_for": "macro-f1", "epochs": 2}, "tune_for needs held-out rows"),
        ({"tune_for": "macro-f1", "workers": 2}, "tune_for and workers exclude"),
    ],
)
def test_goals_that_make_no_sense_are_refused(options, says):
    with pytest.raises(OptionError, match=says):
        train(rare(300), text="text", **options)
