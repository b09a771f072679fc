"""Columns of any type as strings."""

from __future__ import annotations

import datetime as dt
import decimal
from contextlib import suppress

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rosenblatt import data
from rosenblatt.data.cells import (
    MISSING_WORDS,
    is_utf8,
    label_strings,
    make_strings,
    plain_strings,
    string_buffers,
    trimmed_strings,
)
from rosenblatt.errors import DataError


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
        ([1e16, 2.0, None], ["10000000000000000", "2", None]),
        ([1e16, 2.5, 1e300, None], ["10000000000000000", "2.5", "1e+300", None]),
        ([1e300, float("inf"), -0.0], ["1e+300", "inf", "0"]),
    ):
        assert plain_strings(pa.array(values)).to_pylist() == found
    words = pa.chunked_array([pa.array(["a", "b"]).dictionary_encode()] * 2)
    assert plain_strings(words).to_pylist() == ["a", "b", "a", "b"]


DAY, CLOCK = dt.datetime(2024, 3, 31), dt.time(17, 30)
TYPES = {
    pa.bool_(): True,
    pa.float16(): np.float16(1.5),
    pa.float64(): 1e300,
    pa.uint64(): 1 << 63,
    pa.string_view(): "a",
    pa.large_binary(): b"a",
    pa.binary_view(): b"a",
    pa.binary(2): b"ab",
    pa.date64(): DAY.date(),
    pa.timestamp("s", "UTC"): DAY,
    pa.time32("s"): CLOCK,
    pa.time64("ns"): CLOCK,
    pa.duration("ns"): dt.timedelta(1),
    pa.month_day_nano_interval(): (1, 2, 3),
    pa.decimal32(5, 2): decimal.Decimal("1.50"),
    pa.decimal256(40, 2): decimal.Decimal("1.50"),
    pa.list_(pa.int64()): [1],
    pa.list_view(pa.int64()): [1],
    pa.struct({"a": pa.int64()}): {"a": 1},
    pa.map_(pa.string(), pa.int64()): [("a", 1)],
    pa.dictionary(pa.int8(), pa.int64()): 1,
    pa.null(): None,
}


@pytest.mark.parametrize("kind", TYPES, ids=str)
@pytest.mark.parametrize("role", ["label", "feature", "number", "category", "text", "date"])
def test_cells_of_every_type_are_read_or_refused_in_a_sentence(kind, role):
    odd = pa.array([TYPES[kind]] * 4, kind)
    table = {"x": [0.0, 1.0, 2.0, 3.0], "odd": odd, "label": ["a", "b", "a", "b"]}
    options = {"label": "odd" if role == "label" else "label"}
    if role not in ("label", "feature"):
        options["columns"] = {"odd": role}
    with suppress(DataError):
        assert sum(len(batch) for batch in data.open(pa.table(table), **options)) == 4


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=8) | st.text(max_size=8).map(lambda text: text.encode()))
def test_utf8_is_what_python_takes_for_it(data):
    try:
        data.decode()
    except UnicodeDecodeError:
        assert not is_utf8(data)
    else:
        assert is_utf8(data)


def test_labels_that_are_times_are_spelled_alike_whatever_their_unit(tmp_path):
    """A Parquet file holds milliseconds for seconds."""
    times = np.array(["2024-03-31T17:30:00", "2024-03-31T17:30:01.5"], "datetime64[ns]")
    seconds = pa.array(times).cast(pa.timestamp("s"), safe=False)
    pyarrow.parquet.write_table(pa.table({"label": seconds}), tmp_path / "a.parquet")
    spelled = label_strings(pyarrow.parquet.read_table(tmp_path / "a.parquet")["label"])
    assert spelled.to_pylist() == ["2024-03-31 17:30:00", "2024-03-31 17:30:01"]
    for unit in ("ms", "us", "ns"):
        for zone, end in ((None, ""), ("UTC", "Z"), ("+01:00", "+0100")):
            column = pa.array(times).cast(pa.timestamp(unit)).cast(pa.timestamp(unit, zone))
            texts = label_strings(column).to_pylist()
            assert [text[-len(end) - 2 :] for text in texts] == [f"00{end}", f".5{end}"]
