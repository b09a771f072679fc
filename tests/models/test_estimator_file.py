"""A fitted Perceptron as a file: the same model, able to go on, and nothing that can run."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_digits
from tests.members import weights_of

from rosenblatt import AROW, KernelPerceptron, ModelFormatError, Perceptron, load, save
from rosenblatt.models import estimator_file, tensorfile

X, Y = load_digits(return_X_y=True)


@pytest.mark.parametrize("multiclass", ["ovr", "ovo", "joint"])
@pytest.mark.parametrize("labels", [Y, Y.astype(str), Y > 4])
def test_a_model_comes_back_the_same_and_goes_on_learning(tmp_path, multiclass, labels):
    model = Perceptron.textbook(
        multiclass=multiclass, keep="average", random_state=0, max_iter=3, class_weight=None
    ).fit(X[:1000], labels[:1000])
    save(model, tmp_path / "a.model")
    again = load(tmp_path / "a.model")
    assert np.array_equal(again.predict(X), model.predict(X))
    assert again.get_params() == model.get_params()
    assert again.history_ == model.history_
    assert (again.stop_reason_, again.t_, again.n_iter_) == ("budget", model.t_, 3)
    model.partial_fit(X[1000:], labels[1000:])
    again.partial_fit(X[1000:], labels[1000:])
    assert np.array_equal(weights_of(again), weights_of(model))


def test_names_weights_orders_and_single_precision_are_kept(tmp_path):
    frame = pd.DataFrame(X.astype(np.float32), columns=[f"p{i}" for i in range(64)])
    model = Perceptron.textbook(
        class_weight={0: 2.0}, shuffle=list(range(100)), max_iter=2, tol=None
    )
    save(model.fit(frame, Y), tmp_path / "a.model")
    again = load(tmp_path / "a.model")
    assert weights_of(again).dtype == np.float32
    assert again.feature_names_in_.tolist() == list(frame.columns)
    assert again.class_weight == {0: 2.0}
    assert again.shuffle == list(range(100))


def test_parameters_may_be_numbers_and_arrays_of_numpy(tmp_path):
    given = {"max_iter": np.int64(2), "eta0": np.float32(0.5), "fit_intercept": np.bool_(False)}
    model = Perceptron(**given, random_state=np.int64(3), tol=None)
    save(model.fit(X, Y), tmp_path / "a.model")
    again = load(tmp_path / "a.model")
    assert {name: getattr(again, name) for name in given} == given
    assert again.random_state == 3
    assert np.array_equal(weights_of(again.partial_fit(X, Y)), weights_of(model.partial_fit(X, Y)))


def test_what_cannot_be_saved_is_said(tmp_path):
    with pytest.raises(ValueError, match="not fitted"):
        save(Perceptron.textbook(), tmp_path / "a.model")
    model = Perceptron.textbook(learning_rate=lambda t: 1 / t).fit(X, Y)
    with pytest.raises(ValueError, match="hold no code"):
        save(model, tmp_path / "a.model")
    with pytest.raises(TypeError, match="only models"):
        save({"a": 1}, tmp_path / "a.model")
    assert not (tmp_path / "a.model").exists()


@pytest.mark.parametrize("kind", [Perceptron, KernelPerceptron])
@given(st.integers(0, 10**6), st.integers(1, 255))
def test_a_damaged_file_is_refused_or_reads_as_a_model(tmp_path_factory, kind, place, flip):
    path = tmp_path_factory.getbasetemp() / "damaged.model"
    save(kind(max_iter=1).fit(X[:50, :5], Y[:50] > 4), path)
    content = bytearray(path.read_bytes())
    content[place % len(content)] ^= flip
    path.write_bytes(content)
    try:
        model = load(path)
    except ModelFormatError:
        return
    assert model.predict(X[:3, : model.n_features_in_]).shape == (3,)


@pytest.mark.parametrize(
    ("arrays", "about"),
    [
        ({}, {"classes": [0, 2**70]}),
        ({"coef": np.full((1, 5), np.nan)}, {}),
        ({"intercept": np.zeros(3)}, {}),
        ({"state.bias": np.zeros(1, np.int64)}, {}),
        ({"state.weights": np.full((1, 5), np.inf)}, {}),
        ({"state.clock": np.zeros(2)}, {}),
    ],
)
def test_files_that_make_no_sense_are_refused_by_name(tmp_path, arrays, about):
    path = tmp_path / "a.model"
    save(Perceptron.textbook(max_iter=1, tol=None).fit(X[:50, :5], Y[:50] > 4), path)
    sound, said = tensorfile.read(path)
    said |= {"label_kind": "i"} if about else {}
    tensorfile.write(path, sound | arrays, said | about)
    with pytest.raises(ModelFormatError, match=r"a\.model is damaged"):
        load(path)


def test_a_file_with_one_bit_flipped_is_never_another_model(tmp_path):
    path = tmp_path / "a.model"
    model = Perceptron.textbook(max_iter=1, tol=None).fit(X[:50], Y[:50])
    save(model, path)
    content, generator, refused = path.read_bytes(), np.random.default_rng(0), 0
    for place in generator.integers(0, len(content), 200):
        damaged = bytearray(content)
        damaged[place] ^= 1 << int(generator.integers(0, 8))
        path.write_bytes(damaged)
        try:
            assert np.array_equal(weights_of(load(path)), weights_of(model))
        except ModelFormatError:
            refused += 1
    assert refused > 180


@pytest.mark.parametrize(
    ("about", "message"),
    [
        ({"version": 7}, "format version 7"),
        ({"estimator": "KMeans"}, "'KMeans' is not an estimator"),
        ({"classes": [0.5, 1.5]}, "not of the type"),
        ({"feature_names": ["a"]}, "not as many feature names"),
        ({"multiclass": "all"}, "multiclass is 'all'"),
        ({"mean_square": {"value": 1.0, "size": 2}}, "size"),
        ({"version": 3}, "format version 3; this release reads 4: fit it again"),
        ({"classes": []}, "not of the type"),
        ({"classes": [1] * 10}, "not in order"),
        ({"n_iter": -1}, "n_iter is -1"),
        ({"history": [{"epoch": 1, "updates": None}]}, "updates is None"),
    ],
)
def test_what_a_file_says_of_its_model_is_checked(tmp_path, about, message):
    path = tmp_path / "a.model"
    save(Perceptron(max_iter=1, tol=None).fit(X[:50, :5], Y[:50]), path)
    arrays, said = tensorfile.read(path)
    tensorfile.write(path, arrays, said | about)
    with pytest.raises(ModelFormatError, match=message):
        load(path)


def test_variances_of_a_file_fit_its_weights(tmp_path):
    path = tmp_path / "a.model"
    save(AROW(max_iter=1, tol=None).fit(X[:50, :5], Y[:50] > 4), path)
    arrays, said = tensorfile.read(path)
    assert load(path).variances_.shape == (1, 5)
    tensorfile.write(path, arrays | {"state.cells": np.ones((1, 4, 2))}, said)
    with pytest.raises(ModelFormatError, match=r"cells is \(1, 4, 2\), for 5 features"):
        load(path)


def altered(plain):
    """JSON data with one entry left out or another value, for each entry in turn."""
    for key, value in list(plain.items() if isinstance(plain, dict) else enumerate(plain[:2])):
        others = [None, -1, 1.5, "x", {}, [1], 2**70]
        if isinstance(value, dict | list):
            others += altered(value)
        for other in others:
            changed = plain.copy()
            changed[key] = other
            yield changed
        shorter = plain.copy()
        del shorter[key]
        yield shorter


@pytest.mark.parametrize(
    ("model", "y"),
    [
        (Perceptron(max_iter=2, tol=None, early_stopping=True, random_state=0), Y[:60] % 3),
        (AROW(max_iter=2, tol=None), Y[:60] > 4),
        (KernelPerceptron(max_iter=2, early_stopping=True, random_state=0), Y[:60] % 3),
    ],
    ids=lambda value: type(value).__name__,
)
def test_an_altered_file_is_refused_or_is_a_model_that_works(model, y):
    arrays, about = estimator_file.to_file(model.fit(X[:60, :5], y))
    refused = works = 0
    for changed in altered(json.loads(json.dumps(about))):
        try:
            with tensorfile.reporting_damage("a.model"):
                loaded = estimator_file.from_file(arrays, changed)
        except ModelFormatError:
            refused += 1
            continue
        assert loaded.predict(X[:60, :5]).shape == (60,)
        assert len(loaded.history_["updates"]) == len(changed["history"])
        if hasattr(loaded, "partial_fit"):
            loaded.partial_fit(X[:60, :5], y)
        estimator_file.from_file(*estimator_file.to_file(loaded))
        works += 1
    assert refused > 200
    assert works > 50
