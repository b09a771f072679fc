"""Arrays come back from a file as they were, and a file that lies is refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from rosenblatt import ModelFormatError, load, train
from rosenblatt.models import model_file, tensorfile
from rosenblatt.models.packed import (
    pack,
    pack_columns,
    pack_weights,
    rounded,
    size_of,
    unpack,
    unpack_columns,
    unpack_weights,
)

SHAPES = st.tuples(st.integers(0, 60), st.integers(1, 5))
SPARSE = st.sampled_from([0.0, 0.0, 0.0, -0.0, 1.5, -2.25, 1e-30])


@given(SHAPES.flatmap(lambda shape: hnp.arrays(np.float32, shape, elements=SPARSE)), st.booleans())
def test_what_is_packed_is_unpacked_bit_for_bit(array, has_base):
    base = np.roll(array, 1) if has_base and array.size else None
    packed = pack("a", array, base)
    assert size_of(packed) <= array.nbytes
    back = unpack(packed, "a", np.float32, array.shape, None if base is None else base.copy())
    assert back.tobytes() == array.tobytes()


@pytest.mark.parametrize("share", [0.0, 0.001, 0.2, 1.0])
def test_the_smallest_form_is_taken(share):
    generator = np.random.default_rng(0)
    array = np.where(generator.random((4000, 3)) < share, 1.0, 0.0).astype(np.float32)
    array *= generator.random(array.shape).astype(np.float32)
    packed = pack("a", array)
    forms = {0.0: "a.places", 0.001: "a.places", 0.2: "a.mask", 1.0: "a"}
    assert forms[share] in packed
    assert np.array_equal(unpack(packed, "a", np.float32, array.shape), array)


def test_few_different_values_become_codes():
    array = np.random.default_rng(0).choice(np.array([0.5, 1.5], np.float32), 3000)
    packed = pack("a", array)
    assert set(packed) == {"a.codes", "a.table"}
    assert np.array_equal(unpack(packed, "a", np.float32, array.shape), array)


@given(st.sets(st.integers(0, 2**20 - 1)), st.integers(20, 31), st.booleans())
def test_columns_come_back(columns, bits, is_sorted):
    given_ = np.array(sorted(columns), np.uint32)
    if not is_sorted:
        given_ = given_[::-1].copy()
    packed = pack_columns(given_, bits)
    assert np.array_equal(unpack_columns(packed, bits), given_)


def test_many_columns_become_bits():
    columns = np.flatnonzero(np.random.default_rng(0).random(1 << 16) < 0.5).astype(np.uint32)
    packed = pack_columns(columns, 16)
    assert set(packed) == {"columns.bits"}
    assert np.array_equal(unpack_columns(packed, 16), columns)


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


@pytest.fixture(scope="module")
def content():
    table = {"label": list("abc") * 40, "text": [f"w{i % 3} x{i} y{i}" for i in range(120)]}
    return model_file._content(train(table, text="text", epochs=2))


BAD = {
    "mask of another length": lambda a, n: {f"{n}.mask": np.zeros(1, np.uint8)},
    "mask of other values": lambda a, n: {f"{n}.mask": np.zeros_like(a[f"{n}.mask"])},
    "values that are not finite": lambda a, n: {f"{n}.values": a[f"{n}.values"] * np.nan},
    "values of another type": lambda a, n: {f"{n}.values": a[f"{n}.values"].astype(np.int32)},
}


@pytest.mark.parametrize("fault", BAD)
def test_a_packed_array_that_cannot_be_is_refused(content, fault, tmp_path):
    arrays, about = content
    name = next(key.removesuffix(".mask") for key in arrays if key.endswith(".mask"))
    tensorfile.write(tmp_path / "a.model", arrays | BAD[fault](arrays, name), about)
    with pytest.raises(ModelFormatError, match="is damaged"):
        load(tmp_path / "a.model")


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"columns.gaps": np.array([3, 200], np.uint8)}, "end within a number"),
        ({"columns.gaps": np.array([255] * 5 + [1], np.uint8)}, "too large"),
        ({"columns.gaps": np.array([255, 255, 255, 127], np.uint8)}, "do not fit"),
        ({"columns.bits": np.zeros(3, np.uint8)}, "columns.bits"),
        ({"weights.scaled": np.zeros((2, 1), np.int32)}, "not float16 or int8"),
        ({"weights.scale": np.full(1, np.inf, np.float32)}, "not finite"),
        ({"weights.scaled.places": np.array([1, 0], np.uint32)}, "ascending"),
        ({"weights.scaled.places": np.array([0, 2], np.uint32)}, "ascending"),
    ],
)
def test_a_small_model_that_lies_is_refused(changed, message, tmp_path):
    table = {"label": ["a", "b"] * 9, "x": [1.0, 2.0] * 9}
    _, about = model_file._content(train(table, epochs=1))
    about = about | {"precision": "int8"}
    sound = {
        "columns.gaps": np.array([3, 5], np.uint8),
        "bias": np.zeros(1),
        "weights.scale": np.ones(1, np.float32),
    }
    dense = {"weights.scaled": np.ones((2, 1), np.int8)}
    sparse = {
        "weights.scaled.places": np.array([0, 1], np.uint32),
        "weights.scaled.values": np.ones(2, np.int8),
    }
    for form in (dense, sparse):
        tensorfile.write(tmp_path / "a.model", sound | form, about)
        assert load(tmp_path / "a.model").weights.ravel() == pytest.approx([1 / 127**2] * 2)
    form = sparse if any("places" in name for name in changed) else dense
    tensorfile.write(tmp_path / "a.model", sound | form | changed, about)
    with pytest.raises(ModelFormatError, match=message):
        load(tmp_path / "a.model")


def test_a_small_file_cannot_ask_for_much_memory(tmp_path):
    _, about = model_file._content(train({"label": ["a", "b"] * 9, "x": [1.0, 2.0] * 9}, epochs=1))
    about = about | {"classes": [str(i) for i in range(100_000)]}
    n = 100_000
    arrays = {
        "columns.gaps": np.zeros(n, np.uint8),
        "bias": np.zeros(100_000),
        "weights.places": np.zeros(0, np.uint32),
        "weights.values": np.zeros(0, np.float32),
    }
    tensorfile.write(tmp_path / "a.model", arrays, about)
    with pytest.raises(ModelFormatError, match="cannot be in so small a file"):
        load(tmp_path / "a.model")


def test_weights_of_a_problem_without_any_are_zero():
    weights = np.array([[0.0, 1.0], [0.0, 2.0]], np.float32)
    assert np.array_equal(unpack_weights(pack_weights(weights, "float16"), (2, 2)), weights)
