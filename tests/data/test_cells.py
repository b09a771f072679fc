"""Columns of any type as strings."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from rosenblatt.data.cells import (
    MISSING_WORDS,
    is_utf8,
    make_strings,
    plain_strings,
    string_buffers,
    trimmed_strings,
)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.none() | st.sampled_from(MISSING_WORDS) | st.text("ab é?", max_size=6)))
def test_strings_are_trimmed_and_missing_words_are_nulls(values):
    trimmed = [None if v is None or v.strip() in MISSING_WORDS else v.strip() for v in values]
    assert trimmed_strings(pa.array(values, pa.string())).to_pylist() == trimmed
    filled = [value or "" for value in values]
    assert make_strings(filled).to_pylist() == filled
    offsets, data = string_buffers(pa.array(values, pa.string()))
    assert np.diff(offsets).tolist() == [len(value.encode()) for value in filled]
    assert data[offsets[0] : offsets[-1]].tobytes() == "".join(filled).encode()


def test_values_of_other_types_are_written_plainly():
    for values, found in (
        ([1.0, 2.0], ["1", "2"]),
        ([1.0, 2.5], ["1", "2.5"]),
        ([True, None], ["true", None]),
        ([3, 4], ["3", "4"]),
    ):
        assert plain_strings(pa.array(values)).to_pylist() == found
    words = pa.chunked_array([pa.array(["a", "b"]).dictionary_encode()] * 2)
    assert plain_strings(words).to_pylist() == ["a", "b", "a", "b"]


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=8) | st.text(max_size=8).map(lambda text: text.encode()))
def test_utf8_is_what_python_takes_for_it(data):
    try:
        data.decode()
    except UnicodeDecodeError:
        assert not is_utf8(data)
    else:
        assert is_utf8(data)
