"""Arrays come back from a file as they were, and a file that lies is refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from rosenblatt import ModelFormatError, load, train
from rosenblatt.models import model_file, tensorfile
from rosenblatt.models.arrays import (
    CompressedState,
    compressed,
    decompressed,
    rounded,
    scaled,
    unscaled,
)

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
    assert len(state) == len({"W", "U", "bias", "clock", "scale"} & set(state)) == 5
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
