"""The estimators of the family: everything the perceptron's can do, with another rule."""

import inspect

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits
from tests.members import weights_of

import rosenblatt
from rosenblatt import AROW, OnlineGradient, PassiveAggressive, learn_online
from rosenblatt.estimators.family import FamilyClassifier

ESTIMATORS = {
    "AROW": AROW(),
    "SCW-I": rosenblatt.SCW(),
    "SCW-II": rosenblatt.SCW(variant="II"),
    "NHERD": rosenblatt.NormalHerd(),
    "PA": PassiveAggressive(variant=""),
    "PA-I": PassiveAggressive(C=0.1),
    "PA-II": PassiveAggressive(C=0.1, variant="II"),
    "OGD": OnlineGradient(penalty="l2", alpha=1e-3),
    "AdaGrad": OnlineGradient(method="adagrad", penalty="l1"),
    "FTRL": OnlineGradient(method="ftrl", penalty="elasticnet"),
}


def rows(seed=0, n=90, d=5, classes=2):
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n, d)) * (generator.random((n, d)) < 0.8)
    scores = X @ generator.normal(size=(d, classes)) + 0.2 * generator.normal(size=(n, classes))
    return X, np.array(["a", "b", "c", "d"])[scores.argmax(axis=1)]


def states_equal(one, other):
    one, other = one.state_, other.state_
    names = ("weights", "bias", "sums", "bias_sums", "clock", "cells", "book")
    return all(np.array_equal(getattr(one, n), getattr(other, n)) for n in names)


@pytest.mark.parametrize("keep", ["last", "average"])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_partial_fit_on_any_split_gives_the_same_model_bit_for_bit(name, keep):
    X, y = rows(1, classes=3)
    weight = np.random.default_rng(0).choice([0.0, 0.5, 1.0, 2.0], len(y))
    whole = clone(ESTIMATORS[name]).set_params(keep=keep).partial_fit(X, y, sample_weight=weight)
    parts = clone(ESTIMATORS[name]).set_params(keep=keep)
    for start, end in ((0, 1), (1, 2), (2, 7), (7, 60), (60, 90)):
        parts.partial_fit(X[start:end], y[start:end], sample_weight=weight[start:end])
        weights_of(parts)
    assert states_equal(whole, parts)
    assert np.array_equal(weights_of(whole), weights_of(parts))


@pytest.mark.parametrize("name", ["AROW", "PA-I", "OGD", "FTRL"])
@pytest.mark.parametrize("multiclass", ["ovr", "ovo", "joint"])
def test_a_saved_model_goes_on_as_the_one_that_was_saved(name, multiclass, tmp_path):
    X, y = rows(2, classes=3)
    model = clone(ESTIMATORS[name]).set_params(multiclass=multiclass, keep="average")
    model.set_params(random_state=0, max_iter=3, tol=None).fit(X, y)
    rosenblatt.save(model, tmp_path / "a.model")
    again = rosenblatt.load(tmp_path / "a.model")
    assert again.get_params() == model.get_params()
    assert np.array_equal(again.decision_function(X), model.decision_function(X))
    assert states_equal(again.partial_fit(X[::-1], y[::-1]), model.partial_fit(X[::-1], y[::-1]))


@pytest.mark.parametrize("name", ["AROW", "PA-I", "OGD"])
def test_fit_on_packed_rows_is_fit_on_dense_rows_and_can_go_on(name):
    X, y = rows(3, classes=3)
    X = X.astype(np.float32)
    options = {"max_iter": 2, "tol": None, "shuffle": False, "scale": None}
    model, other = (clone(ESTIMATORS[name]).set_params(**options) for _ in range(2))
    model.fit(sparse.csr_array(X), y), other.fit(X, y)
    assert np.allclose(weights_of(model), weights_of(other), rtol=1e-3, atol=1e-4)
    model.partial_fit(sparse.csr_array(X), y), other.partial_fit(X, y)
    assert np.allclose(weights_of(model), weights_of(other), rtol=1e-3, atol=1e-4)
    assert np.allclose(model.state_.cells, other.state_.cells, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("name", ["AROW", "PA-I", "AdaGrad"])
def test_learning_one_by_one_is_partial_fit(name):
    X, y = rows(4, classes=3)
    whole = clone(ESTIMATORS[name]).partial_fit(X, y)
    model = clone(ESTIMATORS[name])
    run = learn_online(model, zip(X, y, strict=True))
    assert states_equal(model, whole)
    assert run.mistakes == learn_online(clone(ESTIMATORS[name]), X, y).mistakes


def test_threads_change_nothing():
    X, y = rows(5, classes=4)
    one, two = (AROW(n_jobs=n, random_state=0, max_iter=3, tol=None).fit(X, y) for n in (1, 2))
    assert states_equal(one, two)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_member_learns_what_can_be_learned(name):
    X, y = rows(6, n=300)
    model = clone(ESTIMATORS[name]).set_params(keep="average", max_iter=5, tol=None)
    assert model.set_params(random_state=0).fit(X, y).score(X, y) > 0.85


def test_class_weights_move_the_boundary():
    X, y = rows(7)
    even = AROW(random_state=0, max_iter=1, tol=None).fit(X, y)
    tilted = AROW(random_state=0, max_iter=1, tol=None, class_weight={"b": 50.0}).fit(X, y)
    assert (tilted.predict(X) == "b").sum() > (even.predict(X) == "b").sum()


def test_wrong_settings_are_refused_with_a_way_out():
    X, y = rows(8, classes=3)
    with pytest.raises(ValueError, match="'adagrad' or 'ftrl'"):
        OnlineGradient(penalty="l1").fit(X, y)
    with pytest.raises(ValueError, match="penalty='l1' or None"):
        OnlineGradient(method="adagrad", penalty="l2").fit(X, y)
    with pytest.raises(ValueError, match="use partial_fit to continue"):
        OnlineGradient(method="ftrl", warm_start=True).fit(X, y)
    with pytest.raises(ValueError, match="'C' parameter"):
        PassiveAggressive(C=-1).fit(X, y)
    with pytest.raises(TypeError, match="unexpected keyword argument"):
        AROW(rate=1.0)
    with pytest.raises(AttributeError, match="keeps no variances"):
        PassiveAggressive().fit(X, y).variances_  # noqa: B018


def test_every_estimator_names_its_own_parameters_first():
    for model in ESTIMATORS.values():
        assert isinstance(model, FamilyClassifier)
        first, *_ = inspect.signature(type(model)).parameters
        assert first not in inspect.signature(rosenblatt.Perceptron).parameters
        assert set(model._parameter_constraints) >= set(model.get_params())


@pytest.mark.parametrize("name", ESTIMATORS)
def test_ten_classes_may_come_up_one_after_the_other(name):
    X, y = load_digits(return_X_y=True)
    model = clone(ESTIMATORS[name])
    for at in range(0, 90, 30):
        model.partial_fit(X[at : at + 30], y[at : at + 30])
    whole = clone(ESTIMATORS[name]).partial_fit(X[:90], y[:90])
    assert np.array_equal(weights_of(model), weights_of(whole))
    assert len(model.state_.cells) == len(model.state_.weights)
