"""Model files: what is saved is loaded, and nothing else is."""

from __future__ import annotations

import json
import math
import os

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from tests.models.test_estimator_file import altered

from rosenblatt import ModelFormatError, load, save, train
from rosenblatt.data import Features
from rosenblatt.models import model_file, tensorfile
from rosenblatt.models.model_file import (
    CompressedState,
    compressed,
    decompressed,
    rounded,
    scaled,
    unscaled,
)

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


def test_loaded_arrays_have_the_dtypes_that_kernels_were_compiled_for(trained, tmp_path):
    save(trained, tmp_path / "a.model")
    loaded = load(tmp_path / "a.model")
    for name in ("columns", "weights", "bias"):
        assert repr(getattr(loaded, name).dtype) == repr(getattr(trained, name).dtype)


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
        "format": "rosenblatt-model", "version": 8, "package": "0.1.0", "classes": ["a", "b"],
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
        ({}, header(version=99), "version 99, and this release reads version 8"),
        ({}, header(version="1"), "version '1'"),
        ({}, header(classes=["a"]), "two different classes"),
        ({}, header(classes=["a", "a"]), "two different classes"),
        ({}, header(classes=[1, 2]), "strings"),
        ({}, header(classes=["a", "b", "c"]), "weights is not compressed"),
        ({}, header(precision="float8"), "not a precision"),
        ({}, header(threshold=math.nan), "threshold"),
        ({"bias": np.zeros((1, 1))}, header(), "bias is float64"),
        ({}, header(features={"origin": "pickle"}), "feature specification"),
        ({}, header(features=Features().to_json()), "a model of tables has columns"),
        ({}, header(words={"a": [["x", "y"]]}), "could not convert"),
    ],
)
def test_files_that_make_no_sense_are_refused(arrays, about, message, tmp_path):
    tensorfile.write(tmp_path / "a.model", ARRAYS, header())
    assert load(tmp_path / "a.model").classes == ("a", "b")
    tensorfile.write(tmp_path / "a.model", ARRAYS | arrays, about)
    with pytest.raises(ModelFormatError, match=message):
        load(tmp_path / "a.model")


def test_an_altered_file_is_refused_or_is_a_model_that_works(trained):
    arrays, about = model_file._content(trained)
    table, refused, works = {"x": [1, 2], "text": ["word1 and", "word2"]}, 0, 0
    for changed in altered(json.loads(json.dumps(about))):
        try:
            model = model_file.model_from("a.model", arrays, changed)
        except ModelFormatError:
            refused += 1
            continue
        assert len(model.predict(table)) == 2
        assert model.explain({"x": 1, "text": "word1"}).labels or model.multilabel
        assert model.compressed().precision == "int8"
        for epoch in model.history:
            assert type(epoch["updates"]) is int
        model_file.model_from("a.model", *model_file._content(model))
        works += 1
    assert refused > 200
    assert works > 100


def test_a_safetensors_file_of_another_program_is_refused(tmp_path):
    from safetensors.numpy import save_file

    save_file({"w": np.ones(2)}, tmp_path / "other.safetensors")
    with pytest.raises(ModelFormatError, match="is not a rosenblatt file"):
        load(tmp_path / "other.safetensors")


def test_a_file_that_is_not_there_is_said_to_be():
    with pytest.raises(FileNotFoundError, match=r"nothing\.model"):
        load("nothing.model")


@pytest.mark.parametrize("version", [1, 5, 7])
def test_files_of_earlier_formats_are_refused_in_one_sentence(version, tmp_path):
    tensorfile.write(tmp_path / "a.model", ARRAYS, header(version=version))
    message = f"a.model has format version {version}, and this release reads version 8"
    with pytest.raises(ModelFormatError, match=message):
        load(tmp_path / "a.model")


# Arrays of a file

SHAPES = st.tuples(st.integers(0, 60), st.integers(1, 5))
SPARSE = st.sampled_from([0.0, 0.0, 0.0, -0.0, 1.5, -2.25, 1e-30])


@given(SHAPES.flatmap(lambda shape: hnp.arrays(np.float32, shape, elements=SPARSE)))
def test_what_is_compressed_is_decompressed_bit_for_bit(array):
    restored = decompressed("a", compressed(array), np.float32, array.shape)
    assert restored.tobytes() == array.tobytes()


def test_a_strided_array_is_compressed_in_the_order_of_its_items():
    array = np.arange(12.0).reshape(3, 4).T[::2]
    assert np.array_equal(decompressed("a", compressed(array), np.float64, (2, 3)), array)


@pytest.mark.parametrize("size", [0, 1, 100, 10_000_000])
def test_bytes_of_an_array_of_zeros_are_not_too_few(size):
    zeros = np.zeros(size, np.float32)
    coded = compressed(zeros)
    assert len(coded) <= 30 + zeros.nbytes // 1024
    assert np.array_equal(decompressed("a", coded, np.float32, (size,)), zeros)


@pytest.mark.parametrize(
    ("coded", "message"),
    [
        (compressed(np.ones(9)), "is not compressed float64"),
        (compressed(np.ones(11)), "is not compressed float64"),
        (compressed(np.ones(10))[:-1], "is not compressed float64"),
        (np.frombuffer(b"no frame of zstd", np.uint8), "is not compressed float64"),
        (np.ones(10), "not uint8"),
        (np.zeros((3, 3), np.uint8), "not uint8"),
        (compressed(np.full(10, np.nan)), "not finite"),
    ],
)
def test_bytes_that_are_not_the_array_are_refused(coded, message):
    assert np.array_equal(
        decompressed("a", compressed(np.ones(10)), np.float64, (10,)), np.ones(10)
    )
    with pytest.raises(ValueError, match=message):
        decompressed("a", coded, np.float64, (10,))


def test_nothing_is_allocated_for_a_size_that_cannot_be():
    with pytest.raises(ValueError, match="cannot be in so small a file"):
        decompressed("a", compressed(np.ones(10)), np.float64, (1 << 60, 1 << 60))


FINITE = st.floats(-(2.0**90), 2.0**90, width=32)


@given(
    SHAPES.flatmap(lambda shape: hnp.arrays(np.float32, shape, elements=FINITE)),
    st.sampled_from(["float16", "int8"]),
)
def test_rounding_is_near_and_rounding_again_changes_nothing(weights, precision):
    once = rounded(weights, precision)
    largest = np.abs(weights).max(axis=0, initial=0.0)
    error = np.abs(once.astype(float) - weights)
    root = np.sqrt(np.abs(weights.astype(float)) * largest)
    allowed = root / 120 + largest / 60_000 if precision == "int8" else largest * 1e-3
    assert np.all(error <= allowed * 1.01 + 1e-37)
    assert np.array_equal(rounded(once, precision), once)


def test_weights_of_a_problem_without_any_are_zero():
    weights = np.array([[0.0, 1.0], [0.0, 2.0]], np.float32)
    assert np.array_equal(unscaled(*scaled(weights, "float16")), weights)


@pytest.fixture(scope="module")
def content():
    table = {"label": list("abc") * 40, "text": [f"w{i % 3} x{i} y{i}" for i in range(120)]}
    return model_file._content(train(table, text="text", epochs=2))


SOUND = {"columns": np.array([3, 5], np.uint32), "bias": np.zeros(3)}
BAD = {
    "columns that repeat": ({"columns": [5, 0]}, np.uint32, "columns do not fit"),
    "columns that wrap around": ({"columns": [5, 2**32 - 5, 5]}, np.uint32, "columns"),
    "columns beyond the table": ({"columns": [5, 2**30]}, np.uint32, "columns do not fit"),
    "columns of another type": ({"columns": [5, 6]}, np.uint64, "columns is not compressed"),
    "a bias too few": ({"bias": [0, 0]}, np.float64, "bias is not compressed"),
    "a bias that is not finite": ({"bias": [0, 0, np.inf]}, np.float64, "not finite"),
    "weights that are not finite": ({"weights": [[np.nan] * 3] * 2}, np.float32, "not finite"),
    "weights of another type": ({"weights": [[1] * 3] * 2}, np.int8, "weights is not compressed"),
    "a state of nothing": ({"state.evil": [1]}, np.float32, "evil"),
}


@pytest.mark.parametrize("fault", BAD)
def test_an_array_that_cannot_be_is_refused(content, fault, tmp_path):
    _, about = content
    about = about | {"n_features": 2}
    sound = {name: compressed(array) for name, array in SOUND.items()}
    sound["weights"] = compressed(np.ones((2, 3), np.float32))
    tensorfile.write(tmp_path / "a.model", sound, about)
    assert load(tmp_path / "a.model").columns.tolist() == [3, 8]
    arrays, kind, message = BAD[fault]
    changed = {name: compressed(np.array(array, kind)) for name, array in arrays.items()}
    tensorfile.write(tmp_path / "a.model", sound | changed, about)
    with pytest.raises(ModelFormatError, match=message):
        load(tmp_path / "a.model")


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"weights": compressed(np.zeros((2, 1), np.int32))}, "not compressed int8"),
        ({"scale": compressed(np.full(1, np.inf, np.float32))}, "not finite"),
        ({"scale": compressed(np.full(2, 1, np.float32))}, "scale is not compressed"),
    ],
)
def test_a_rounded_model_that_lies_is_refused(changed, message, tmp_path):
    table = {"label": ["a", "b"] * 9, "x": [1.0, 2.0] * 9}
    _, about = model_file._content(train(table, epochs=1))
    sound = {
        "columns": compressed(np.array([3, 5], np.uint32)),
        "bias": compressed(np.zeros(1)),
        "weights": compressed(np.ones((2, 1), np.int8)),
        "scale": compressed(np.ones(1, np.float32)),
    }
    about = about | {"precision": "int8", "n_features": 2}
    tensorfile.write(tmp_path / "a.model", sound, about)
    assert load(tmp_path / "a.model").weights.ravel() == pytest.approx([1 / 127**2] * 2)
    tensorfile.write(tmp_path / "a.model", sound | changed, about)
    with pytest.raises(ModelFormatError, match=message):
        load(tmp_path / "a.model")


def test_a_damaged_state_is_refused_when_training_asks_for_it(content, tmp_path):
    arrays, about = content
    endless = compressed(np.full(arrays["state.clock"].shape, np.inf)[:1])
    tensorfile.write(tmp_path / "a.model", arrays | {"state.clock": endless}, about)
    model = load(tmp_path / "a.model")
    assert model.predict(["w1"]).shape == (1,)
    with pytest.raises(ModelFormatError, match=r"the state of the model is damaged: state\.clock"):
        model.state["clock"]


def test_the_state_is_a_mapping_of_what_the_file_holds(content):
    arrays, about = content
    state = CompressedState(arrays, about["n_features"], 3)
    assert set(state) == {"W", "U", "bias", "clock", "scale", "rest"}
    assert state["W"].shape == (about["n_features"], 3)


@pytest.mark.parametrize("name", ["columns", "weights", "state.W"])
def test_a_small_file_cannot_ask_for_much_memory(content, name, tmp_path):
    arrays, about = content
    few = {"columns": 3_000, "weights": 100_000, "state.W": 100_000}[name]
    labels = [str(i) for i in range(100_000 if name != "columns" else 3)]
    about = about | {"n_features": few * 1000, "classes": labels}
    tensorfile.write(tmp_path / "a.model", {name: arrays[name]} | arrays, about)
    with pytest.raises(ModelFormatError, match="cannot be in so small a file"):
        load(tmp_path / "a.model")


@pytest.mark.parametrize("count", [-1, 1.5, True, None, "2"])
def test_a_number_of_features_that_is_none_is_refused(content, count, tmp_path):
    arrays, about = content
    tensorfile.write(tmp_path / "a.model", arrays, about | {"n_features": count})
    with pytest.raises(ModelFormatError, match="not a number of features"):
        load(tmp_path / "a.model")
