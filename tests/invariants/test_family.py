"""Every member of the family: the engine takes the steps of the reference, whatever the layout."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import sparse

from rosenblatt import reference, rules
from rosenblatt.learners import Spec, make
from rosenblatt.learners.examples import examples_of
from tests.invariants.strategies import data_sets, separable_sets
from tests.members import MEMBERS

SECOND_ORDER = [
    name for name, rule in MEMBERS.items() if rules.rule_of(type(rule)).storage.has_variances
]
LAZY = ("adagrad", "adagrad, log")  # averages take weights as they were last used


def rows_of(X):
    return np.arange(len(X), dtype=np.uint64)


def sets(seed, n=60, d=6, classes=2):
    """Noisy rows, a third of whose entries are zero."""
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n, d)) * (generator.random((n, d)) < 0.7)
    scores = X @ generator.normal(size=(d, classes)) + 0.3 * generator.normal(size=(n, classes))
    return X, scores.argmax(axis=1).astype(np.int32)


def learned(rule, X, y, layout="dense", passes=2, weights=None, **options):
    data = sparse.csr_array(X) if layout != "dense" else X
    examples = examples_of(data, y, np.ones(1) if weights is None else weights)
    if layout == "packed":
        examples = examples_of(data.astype(np.float32), y).packed()
    learner = make(
        Spec(rule=rule, dense=layout == "dense", dtype=examples.dtype, **options),
        int(y.max()) + 1,
        examples.n_features,
    )
    for _ in range(passes):
        learner.walk(examples, rows_of(X), np.array([0.5]))
    return learner, examples


@pytest.mark.parametrize("name", MEMBERS)
@settings(max_examples=12, deadline=None)
@given(
    data=data_sets(max_rows=12),
    padding=st.sampled_from([None, 1.0, 2.0]),
    draws=st.none() | st.integers(0, 99),
)
def test_the_engine_takes_the_steps_of_the_reference(name, data, padding, draws):
    X, y = data
    rule, y, weights = MEMBERS[name], y.astype(np.int32), None
    if draws is not None:
        weights = np.random.default_rng(draws).choice([0.5, 1.0, 2.0, 3.0], len(y))
    learner, _ = learned(rule, X, y, weights=weights, padding=padding or 0.0, averaging=True)
    steps = list(
        reference.family(
            X.tolist(), (2 * y - 1).tolist(), rule, eta=0.5, padding=padding, max_epochs=2,
            order=lambda epoch: range(len(X)), sample_weight=weights,
        )
    )  # fmt: skip
    # A score that is 0 but for rounding is a mistake or not by its sign.
    assume(not any(0.0 < abs(step.score) < 1e-9 for step in steps))
    close = {"rtol": 1e-6, "atol": 1e-9}
    assert np.allclose(learner.weights().weights[0], steps[-1].weights_after, **close)
    assert np.allclose(learner.weights().bias, steps[-1].bias_after, **close)
    if steps[-1].variances_after:
        cells = learner.state().cells[0, :, 1]
        assert np.allclose(cells, steps[-1].variances_after[:-1], **close)
    if len(steps) == 2 * len(X) and name not in LAZY:
        w, b = reference.family_average(steps, weights)
        assert np.allclose(learner.weights(True).weights[0], w, **close)
        assert np.allclose(learner.weights(True).bias, b, **close)


@pytest.mark.parametrize(
    ("name", "multiclass"),
    [
        ("pa1", "joint"),
        ("arow", "ovr"),
        ("arow", "joint"),
        ("adagrad", "ovr"),
        ("ogd, perceptron", "joint"),
    ],
)
def test_sparse_and_packed_rows_give_the_model_of_dense_rows(name, multiclass):
    X, y = sets(1, classes=3)
    X = X.astype(np.float32).astype(np.float64)
    dense, _ = learned(MEMBERS[name], X, y, multiclass=multiclass, averaging=True)
    csr, _ = learned(MEMBERS[name], X, y, "csr", multiclass=multiclass, averaging=True)
    packed, examples = learned(MEMBERS[name], X, y, "packed", multiclass=multiclass, averaging=True)
    for averaged in (False, True):
        weights, bias = dense.weights(averaged)
        assert np.allclose(csr.weights(averaged).weights, weights, rtol=1e-7, atol=1e-9)
        assert np.allclose(csr.weights(averaged).bias, bias, rtol=1e-7, atol=1e-9)
        close = {"rtol": 2e-3, "atol": 2e-4}
        assert np.allclose(packed.weights(averaged).weights, weights[:, examples.columns], **close)


@pytest.mark.parametrize("name", ["pa1", "arow", "scw2", "ogd, l2"])
def test_all_classes_jointly_are_one_problem_of_differences(name):
    X, y = sets(2, classes=4)
    rule, (n, d), k = MEMBERS[name], X.shape, 4
    learner, _ = learned(rule, X, y, multiclass="joint", passes=1)
    Z = np.hstack([X, np.ones((n, 1))])
    W, S = np.zeros((k, d + 1)), np.ones((k, d + 1))
    updates = 0
    for x, label in zip(Z, y, strict=True):
        scores = W @ x
        rival = max((c for c in range(k) if c != label), key=scores.__getitem__)
        sigma = S if name in SECOND_ORDER else np.ones_like(S)
        square = float((sigma[[label, rival]] * x * x).sum())
        answer = rules.rule_of(type(rule)).step(
            rule, scores[label] - scores[rival], square, 1.0, 0.5
        )
        tau, beta = answer if name in SECOND_ORDER else (answer, 0.0)
        if tau:
            updates += 1
            pulls = sigma * x
            W[label] += tau * pulls[label]
            W[rival] -= tau * pulls[rival]
            for c in (label, rival):
                S[c] -= beta * pulls[c] ** 2
        if name == "ogd, l2":
            W[:, :d] *= 1 - 0.5 * rule.l2
    assert np.allclose(learner.weights().weights, W[:, :d], rtol=1e-8, atol=1e-10)
    assert np.allclose(learner.weights().bias, W[:, d], rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("name", SECOND_ORDER)
@settings(max_examples=15, deadline=None)
@given(data=data_sets(max_rows=20), scale=st.sampled_from([1e-3, 1.0, 1e4]))
def test_variances_stay_positive_and_never_grow(name, data, scale):
    X, y = data
    learner, examples = learned(MEMBERS[name], X * scale, y.astype(np.int32), passes=0)
    before = learner.state().cells[..., 1].copy()
    for _ in range(5):
        learner.walk(examples, rows_of(X))
        after = learner.state().cells[..., 1]
        assert np.all(after >= 0)
        assert np.all(after <= before)
        before = after.copy()


def separator(X, y):
    """A comparison vector of margin 1 for the padded rows, and the padded rows times labels."""
    from scipy.optimize import linprog

    Z = np.hstack([X, np.ones((len(X), 1))]) * (2 * y - 1)[:, None]
    found = linprog(np.zeros(Z.shape[1]), A_ub=-Z, b_ub=-np.ones(len(Z)), bounds=(None, None))
    return (found.x, Z) if found.status == 0 else (None, Z)


@settings(max_examples=40, deadline=None)
@given(data=separable_sets(), passes=st.integers(1, 4))
def test_the_bounds_of_passive_aggressive_hold(data, passes):
    X, y = data
    if len(np.unique(y)) < 2:
        return
    u, Z = separator(X, y)
    bound = (Z**2).sum(axis=1).max() * (u @ u)
    signs = (2 * y - 1).tolist()
    pa = reference.family(X.tolist(), signs, MEMBERS["pa"], max_epochs=passes)
    losses = [max(0.0, 1 - s.y * s.score) for s in pa]
    assert math.fsum(loss**2 for loss in losses) <= bound * (1 + 1e-6)
    C = MEMBERS["pa1"].largest
    steps = list(reference.family(X.tolist(), signs, MEMBERS["pa1"], max_epochs=passes))
    mistakes = sum(s.y * s.score <= 0 for s in steps)
    assert mistakes <= max((Z**2).sum(axis=1).max(), 1 / C) * (u @ u) * (1 + 1e-6)
