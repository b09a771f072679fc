"""Model files: what is saved is loaded, and nothing else is."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rosenblatt import ModelFormatError, load, save, train
from rosenblatt.data import Features
from rosenblatt.models import tensorfile

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
        "format": "rosenblatt-model", "version": 1, "package": "0.1.0", "classes": ["a", "b"],
        "features": Features(origin="svmlight").to_json(), "parameters": {}, "history": [],
        "fingerprint": {}, "words": {},
    }  # fmt: skip
    return about | changes


ARRAYS = {
    "columns": np.array([1, 2], np.uint32),
    "weights": np.ones((2, 1), np.float32),
    "bias": np.zeros(1),
}


@pytest.mark.parametrize(
    ("arrays", "about", "message"),
    [
        ({}, header(format="other"), "not a model"),
        ({}, header(version=99), "version 99; this release reads up to 4"),
        ({}, header(version="1"), "version '1'"),
        ({}, header(classes=["a"]), "two different classes"),
        ({}, header(classes=["a", "a"]), "two different classes"),
        ({}, header(classes=[1, 2]), "strings"),
        ({}, header(classes=["a", "b", "c"]), "weights is float32"),
        ({"columns": np.array([1, 1], np.uint32)}, header(), "columns do not fit"),
        ({"columns": np.array([1, 2**30], np.uint32)}, header(), "columns do not fit"),
        ({"weights": np.full((2, 1), np.nan, np.float32)}, header(), "not finite"),
        ({"bias": np.zeros((1, 1))}, header(), "bias is float64"),
        ({"state.evil": np.zeros(1)}, header(), "evil"),
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


def test_version_1_stays_readable(tmp_path):
    """A file as version 1 writes it, byte by byte, not by the writer of the day."""
    about = json.dumps(header())
    entries = {
        "__metadata__": {"rosenblatt": about},
        "bias": {"dtype": "F64", "shape": [1], "data_offsets": [0, 8]},
        "columns": {"dtype": "U32", "shape": [2], "data_offsets": [8, 16]},
        "weights": {"dtype": "F32", "shape": [2, 1], "data_offsets": [16, 24]},
    }
    head = json.dumps(entries).encode()
    head += b" " * (-len(head) % 8)
    body = ARRAYS["bias"].tobytes() + ARRAYS["columns"].tobytes() + ARRAYS["weights"].tobytes()
    (tmp_path / "v1.model").write_bytes(len(head).to_bytes(8, "little") + head + body)
    assert load(tmp_path / "v1.model").columns.tolist() == [1, 2]


def test_the_state_of_version_1_was_one_of_scaled_rows(tmp_path):
    state = {
        "state.W": np.array([[3.0], [4.0]], np.float32),
        "state.U": np.array([[6.0], [8.0]]),
        "state.bias": np.zeros((3, 1)),
        "state.clock": np.ones(1),
        "state.scale": np.array([0.5, 2.0], np.float32),
    }
    loaded = []
    for version in (1, 2):
        tensorfile.write(tmp_path / "a.model", ARRAYS | state, header(version=version))
        loaded.append(load(tmp_path / "a.model").state)
    assert loaded[0]["W"].tolist() == [[1.5], [8.0]]
    assert loaded[0]["U"].tolist() == [[3.0], [16.0]]
    assert loaded[1]["W"].tolist() == [[3.0], [4.0]]
    assert loaded[0].keys() == loaded[1].keys()


def test_histories_up_to_version_2_get_the_names_of_today(tmp_path):
    epoch = {"epoch": 1, "updates": 7, "mistakes": 5, "online_error": 0.25}
    tensorfile.write(tmp_path / "a.model", ARRAYS, header(version=2, history=[epoch]))
    renamed = {"epoch": 1, "updates": 7, "updated_rows": 5, "progressive_error": 0.25}
    assert load(tmp_path / "a.model").history == [renamed]
    now = renamed | {"mistakes": 3}
    tensorfile.write(tmp_path / "a.model", ARRAYS, header(version=3, history=[now]))
    assert load(tmp_path / "a.model").history == [now]
