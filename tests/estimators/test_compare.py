"""Comparisons of rules, and rules by name."""

import re

import numpy as np
import pytest
from scipy import sparse

from rosenblatt import AROW, compare, learn_online
from rosenblatt.estimators.family import estimator_of
from rosenblatt.rules.registry import rules


def rows(n=80, classes=2):
    generator = np.random.default_rng(0)
    X = generator.normal(size=(n, 4))
    return X, (X @ generator.normal(size=(4, classes))).argmax(axis=1)


def test_errors_are_those_of_learning_online_in_the_same_order():
    X, y = rows()
    found = compare(X, y, {"arow": AROW(r=0.5)}, orders=2, seed=3)
    order = np.random.default_rng([3, 1]).permutation(len(y))
    run = learn_online(AROW(r=0.5), X[order], y[order], classes=[0, 1])
    assert found.errors[0, 1] == run.mistakes / len(y)
    assert found.curves[0, 1, -1] == found.errors[0, 1]
    assert found.updates[0, 1] == run.model.n_updates_


def test_the_whole_family_is_compared_unless_told_otherwise():
    X, y = rows(40)
    found = compare(X, y, orders=1, fit_intercept=False)
    assert found.names == list(rules())
    assert np.all(found.errors < 0.5)
    assert set(found.ranking) == set(rules())
    text = repr(found).splitlines()
    assert len(text) == 1 + len(rules())
    assert text[0].split() == ["rule", "error", "updates", "seconds"]
    assert found._repr_html_().count("<tr>") == 1 + len(rules())


def test_sparse_rows_and_several_classes_are_compared_alike():
    X, y = rows(60, classes=3)
    options = {"orders": 2, "multiclass": "joint", "scale": None}
    dense = compare(X, y, ["pa1", "arow"], **options)
    other = compare(sparse.csr_array(X), y, ["pa1", "arow"], **options)
    assert np.array_equal(dense.errors, other.errors)


def test_rules_are_spelled_with_their_parameters():
    assert estimator_of("ftrl:penalty=none,alpha=0.5").get_params()["penalty"] is None
    assert estimator_of("arow", fit_intercept=False).fit_intercept is False
    for wrong, said in (
        ("arrow", "there is no rule 'arrow'"),
        ("arow:C=1", "has the parameters r"),
        ("arow:r", "not 'r'"),
        ("arow:r=-1", "'r' parameter"),
    ):
        with pytest.raises(ValueError, match=said):
            estimator_of(wrong)


def test_what_cannot_be_compared_is_refused():
    X, y = rows()
    with pytest.raises(ValueError, match=r"write \['arow'\]"):
        compare(X, y, "arow")
    with pytest.raises(ValueError, match="at least one rule"):
        compare(X, y, [])
    with pytest.raises(ValueError, match="80 rows and 79 labels"):
        compare(X, y[:-1], ["arow"])
    with pytest.raises(ValueError, match="orders"):
        compare(X, y, ["arow"], orders=0)


def test_a_terminal_shows_the_best_rule_in_bold_and_bars(monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    X, y = [[2.0, 1], [-1, 1]] * 9, [1, 0] * 9
    comparison = compare(X, y, ["perceptron", "pa"], orders=2)
    assert str(comparison) == repr(comparison)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    head, best, _ = str(comparison).split("\n")
    assert head.startswith("\x1b[1mrule")
    assert best.startswith(f"\x1b[1;32m{comparison.ranking[0]}")
    assert "█" in str(comparison)
    assert re.sub(r"\x1b\[[\d;]*m| *█", "", str(comparison)).split() == repr(comparison).split()
    monkeypatch.setenv("NO_COLOR", "1")
    assert str(comparison) == repr(comparison)
