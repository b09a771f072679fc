"""The units of columns do not matter: to any estimator, in fit and in a stream."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_wine

from rosenblatt import (
    KernelPerceptron,
    OneByOne,
    Perceptron,
    estimators,
    learn_online,
    load,
    reference,
    save,
)
from rosenblatt.estimators._linear import LinearClassifier
from rosenblatt.rules.registry import estimators as names_of_rules
from tests.members import offsets_of, weights_of

CLASSES = {
    name: getattr(estimators, name)
    for name in names_of_rules()
    if issubclass(getattr(estimators, name), LinearClassifier)
}
MODELS = {name: kind(random_state=0, max_iter=5, tol=None) for name, kind in CLASSES.items()} | {
    "late average": Perceptron(random_state=0, max_iter=5, tol=None, keep="late_average"),
    "batch": Perceptron(random_state=0, max_iter=5, tol=None, update="batch"),
    "origin": Perceptron(random_state=0, max_iter=5, tol=None, fit_intercept=False),
    "adagrad": CLASSES["OnlineGradient"](method="adagrad", random_state=0, max_iter=5, tol=None),
}
CANCER, WINE = load_breast_cancer(return_X_y=True), load_wine(return_X_y=True)
EXPONENTS = st.lists(st.integers(-30, 30), min_size=30, max_size=30)


@pytest.mark.parametrize("name", MODELS)
@settings(max_examples=4)
@given(exponents=EXPONENTS, several=st.booleans(), single=st.booleans())
def test_columns_times_powers_of_two_change_no_prediction(name, exponents, several, single):
    X, y = WINE if several else CANCER
    X = X[::3].astype(np.float32 if single else np.float64)
    factors = (2.0 ** np.array(exponents[: X.shape[1]])).astype(X.dtype)
    model, other = clone(MODELS[name]), clone(MODELS[name])
    model.fit(X, y[::3])
    other.fit(X * factors, y[::3])
    assert np.array_equal(model.decision_function(X), other.decision_function(X * factors))
    assert np.array_equal(weights_of(model), weights_of(other) * factors)
    assert model.stop_reason_ == other.stop_reason_
    assert model.n_updates_ == other.n_updates_


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf"])
@settings(max_examples=3)
@given(exponents=EXPONENTS, several=st.booleans())
def test_kernel_perceptrons_scale_their_columns_too(tmp_path_factory, kernel, exponents, several):
    X, y = WINE if several else CANCER
    X, y, factors = X[::3], y[::3], 2.0 ** np.array(exponents[: X.shape[1]])
    model, other = (KernelPerceptron(kernel=kernel, random_state=0) for _ in range(2))
    model.fit(X, y, X_val=X, y_val=y)
    other.fit(X * factors, y, X_val=X * factors, y_val=y)
    scores = model.decision_function(X)
    assert np.array_equal(scores, other.decision_function(X * factors))
    assert model.history_["validation_error"][-1] == pytest.approx(1 - model.score(X, y))
    file = tmp_path_factory.mktemp("kernel") / "kernel.model"
    save(other, file)
    assert np.array_equal(scores, load(file).decision_function(X * factors))
    pieces = [KernelPerceptron(kernel=kernel).partial_fit(R, y) for R in (X, X * factors)]
    pieces[0].partial_fit(X[:9], y[:9])
    pieces[1].partial_fit(X[:9] * factors, y[:9])
    ours, theirs = pieces[0].decision_function(X), pieces[1].decision_function(X * factors)
    assert np.array_equal(ours, theirs)


@pytest.mark.parametrize("name", [name for name in MODELS if name != "batch"])
@settings(max_examples=3)
@given(exponents=EXPONENTS, cut=st.integers(1, 100))
def test_a_stream_times_powers_of_two_gives_the_same_predictions(name, exponents, cut):
    X, y = CANCER[0][:200], CANCER[1][:200]
    factors = 2.0 ** np.array(exponents)
    model, other = clone(MODELS[name]), clone(MODELS[name])
    model.partial_fit(X, y, classes=[0, 1])
    for part in (slice(None, cut), slice(cut, None)):
        other.partial_fit(X[part] * factors, y[part], classes=[0, 1])
    scores = model.decision_function(X)
    assert np.array_equal(scores, other.decision_function(X * factors))
    batch = learn_online(clone(MODELS[name]), X, y, classes=[0, 1])
    pairs = learn_online(clone(MODELS[name]), zip(X * factors, y, strict=True), classes=[0, 1])
    assert np.array_equal(batch.predictions, pairs.predictions)
    assert np.array_equal(scores, pairs.model.decision_function(X * factors))


@pytest.mark.parametrize("name", ["Perceptron", "AROW", "OnlineGradient", "adagrad"])
def test_one_by_one_scales_as_partial_fit_does(name, tmp_path):
    (X, y), model = WINE, clone(MODELS[name])
    order = np.random.default_rng(0).permutation(len(y))
    whole = clone(MODELS[name]).partial_fit(X[order], y[order])
    with OneByOne(model) as learner:
        for row in order[:100]:
            learner.learn(X[row], y[row])
    save(model, tmp_path / "half.model")
    model = load(tmp_path / "half.model")
    with OneByOne(model) as learner:
        for row in order[100:]:
            learner.learn(X[row], y[row])
    assert np.array_equal(weights_of(model), weights_of(whole))
    assert np.array_equal(offsets_of(model), offsets_of(whole))


def test_the_engine_takes_the_steps_of_the_reference_on_scaled_rows():
    X, y = np.rint(CANCER[0][:150] * 8), CANCER[1][:150]
    options = {"threshold": 2.0, "intercept_scaling": 1.0, "shuffle": False}
    model = Perceptron(**options, keep="last", max_iter=4, tol=None).fit(X, y)
    rows, signs = model.scale_.rows(X).tolist(), np.where(y == 1, 1, -1).tolist()
    steps = list(reference.online(rows, signs, threshold=2.0, max_epochs=4))
    assert model.state_.weights[0].tolist() == list(steps[-1].weights_after)
    assert model.state_.bias[0] == steps[-1].bias_after
    assert model.n_updates_ == sum(step.mistake for step in steps)


@pytest.mark.parametrize("name", MODELS)
def test_without_a_scale_and_in_the_textbook_nothing_is_done(name):
    X, y = CANCER
    bare = clone(MODELS[name]).set_params(scale=None).fit(X, y)
    assert bare.scale_ is None
    assert np.array_equal(bare.state_.weights.shape, weights_of(bare).shape)
    assert Perceptron.textbook().fit(X, y).scale_ is None
    assert Perceptron(feature_rates="idf").fit(X, y).scale_ is None


def test_a_warm_start_continues_from_the_weights_for_the_columns_as_given():
    X, y = CANCER
    model = Perceptron(random_state=0, max_iter=3, tol=None, warm_start=True, keep="last")
    coef = weights_of(model.fit(X, y)).copy()
    model.set_params(max_iter=1)
    moved = np.abs(weights_of(model.fit(X, y)) - coef) * X.std(axis=0)
    assert moved.max() < 20


def test_a_separating_run_says_so_and_its_certificate_holds_for_the_rows_as_given():
    X, y = WINE
    X, y = X[:130], y[:130]
    model = Perceptron(random_state=0, keep="last", max_iter=5000, tol=None).fit(X, y)
    assert model.stop_reason_ == "separated"
    assert model.score(X, y) == 1.0
    certificate = model.certificate(X, y)
    assert certificate.verdict == "separable"
    assert all(bound.holds for bound in certificate.bounds)


def test_raw_and_standardised_columns_err_alike():
    X, y = WINE
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    for kind in CLASSES.values():
        raw, standard = (kind(random_state=0, max_iter=20).fit(R[::2], y[::2]) for R in (X, Z))
        assert abs(raw.score(X[1::2], y[1::2]) - standard.score(Z[1::2], y[1::2])) < 0.05
