"""Model files: what is saved is loaded, and nothing else is."""

from __future__ import annotations

import math
import os

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rosenblatt import ModelFormatError, load, save, train
from rosenblatt.data import Features
from rosenblatt.models import tensorfile
from rosenblatt.models.arrays import compressed

FUZZ = int(os.environ.get("ROSENBLATT_FUZZ", "150"))


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "a.csv"
    lines = [f"{'abc'[i % 3]},{i % 7},word{i % 3} and {i % 5} more" for i in range(60)]
    path.write_text("label,x,text\n" + "\n".join(lines) + "\n")
    return train(path, columns={"text": "text"}, epochs=2)


@pytest.fixture(scope="module")
def good(trained, tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "good.model"
    save(trained, path)
    return path.read_bytes()


def test_a_model_is_the_same_after_saving_and_loading(trained, tmp_path):
    save(trained, tmp_path / "a.model")
    loaded = load(tmp_path / "a.model")
    for name in ("classes", "features", "parameters", "history", "fingerprint", "words", "package"):
        assert getattr(loaded, name) == getattr(trained, name), name
    for name in ("columns", "weights", "bias"):
        assert np.array_equal(getattr(loaded, name), getattr(trained, name)), name
    assert loaded.state.keys() == trained.state.keys()
    table = {"x": [1, 2], "text": ["word1 and", "word2"]}
    assert np.array_equal(loaded.decision_function(table), trained.decision_function(table))


def test_a_sparsified_model_is_smaller_and_says_the_same(trained, tmp_path):
    save(trained, tmp_path / "a.model")
    save(trained.sparsified(), tmp_path / "b.model")
    assert (tmp_path / "b.model").stat().st_size < (tmp_path / "a.model").stat().st_size
    table = {"x": [1, 2, 3], "text": ["word1 and", "word2", ""]}
    small = load(tmp_path / "b.model")
    assert np.array_equal(small.decision_function(table), trained.decision_function(table))


@settings(
    max_examples=FUZZ, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.data())
def test_a_damaged_file_is_refused_or_reads_as_a_sound_model(good, tmp_path, data):
    kind = data.draw(st.sampled_from(["cut", "flip", "insert", "noise"]))
    at = data.draw(st.integers(0, len(good) - 1))
    if kind == "cut":
        damaged = good[:at]
    elif kind == "flip":
        damaged = good[:at] + bytes([good[at] ^ data.draw(st.integers(1, 255))]) + good[at + 1 :]
    elif kind == "insert":
        damaged = good[:at] + data.draw(st.binary(min_size=1, max_size=9)) + good[at:]
    else:
        damaged = data.draw(st.binary(max_size=200))
    path = tmp_path / "damaged.model"
    path.write_bytes(damaged)
    try:
        model = load(path)
    except ModelFormatError:
        assert kind in ("cut", "flip", "insert", "noise")
    else:
        assert kind == "flip", "only the numbers themselves may differ"
        assert model.weights.shape == (len(model.columns), 3)
        assert np.isfinite(model.weights).all()


def header(**changes):
    about = {
        "format": "rosenblatt-model", "version": 5, "package": "0.1.0", "classes": ["a", "b"],
        "n_features": 2, "precision": "float32", "calibration": None, "threshold": 0.0,
        "features": Features(origin="svmlight").to_json(), "parameters": {}, "history": [],
        "fingerprint": {}, "words": {},
    }  # fmt: skip
    return about | changes


ARRAYS = {
    "columns": compressed(np.array([1, 2], np.uint32)),
    "weights": compressed(np.ones((2, 1), np.float32)),
    "bias": compressed(np.zeros(1)),
}


@pytest.mark.parametrize(
    ("arrays", "about", "message"),
    [
        ({}, header(format="other"), "not a model"),
        ({}, header(version=99), "version 99, and this release reads version 5"),
        ({}, header(version="1"), "version '1'"),
        ({}, header(classes=["a"]), "two different classes"),
        ({}, header(classes=["a", "a"]), "two different classes"),
        ({}, header(classes=[1, 2]), "strings"),
        ({}, header(classes=["a", "b", "c"]), "weights is not compressed"),
        ({}, header(precision="float8"), "not a precision"),
        ({}, header(threshold=math.nan), "threshold"),
        ({"bias": np.zeros((1, 1))}, header(), "bias is float64"),
        ({}, header(features={"origin": "pickle"}), "feature specification"),
        ({}, header(words={"a": [["x", "y"]]}), "could not convert"),
    ],
)
def test_files_that_make_no_sense_are_refused(arrays, about, message, tmp_path):
    tensorfile.write(tmp_path / "a.model", ARRAYS, header())
    assert load(tmp_path / "a.model").classes == ("a", "b")
    tensorfile.write(tmp_path / "a.model", ARRAYS | arrays, about)
    with pytest.raises(ModelFormatError, match=message):
        load(tmp_path / "a.model")


def test_a_safetensors_file_of_another_program_is_refused(tmp_path):
    from safetensors.numpy import save_file

    save_file({"w": np.ones(2)}, tmp_path / "other.safetensors")
    with pytest.raises(ModelFormatError, match="is not a rosenblatt file"):
        load(tmp_path / "other.safetensors")


def test_a_file_that_is_not_there_is_said_to_be():
    with pytest.raises(FileNotFoundError, match=r"nothing\.model"):
        load("nothing.model")


@pytest.mark.parametrize("version", [1, 2, 3, 4])
def test_files_of_earlier_formats_are_refused_in_one_sentence(version, tmp_path):
    tensorfile.write(tmp_path / "a.model", ARRAYS, header(version=version))
    message = f"a.model has format version {version}, and this release reads version 5: train"
    with pytest.raises(ModelFormatError, match=message):
        load(tmp_path / "a.model")
