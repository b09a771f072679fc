"""Rows from outside: what is read, and what is refused."""

import json
from contextlib import suppress

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rosenblatt.data import Column
from rosenblatt.data.columns import column_of
from rosenblatt.data.features import Features
from rosenblatt.serve.rows import (
    RowReader,
    TooManyRows,
    label_of,
    parse_arrow,
    parse_json,
    parse_lines,
)

COLUMNS = (
    Column("age", "number", 40.0, 10.0),
    Column("job", "category"),
    Column("note", "text"),
    column_of("day", "date"),
)
reader = RowReader(Features(columns=COLUMNS, label="label"))
json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
rows = st.fixed_dictionaries({}, optional={c.name: json_values for c in COLUMNS})


@given(st.lists(rows, max_size=6))
def test_a_row_is_refused_or_hashed_to_the_same_features_whatever_is_beside_it(values):
    checked = []
    for value in values:
        try:
            checked.append(reader.row(value))
        except ValueError:
            continue
    if not checked:
        return
    together = reader.hashed(checked)
    for i, row in enumerate(checked):
        again = json.loads(json.dumps(row, ensure_ascii=False).encode())
        alone = reader.hashed([again])
        part = slice(int(together.indptr[i]), int(together.indptr[i + 1]))
        np.testing.assert_array_equal(alone.indices, together.indices[part])
        np.testing.assert_array_equal(alone.values, together.values[part])
        assert np.isfinite(alone.values).all()


def test_cells_are_spelled_as_the_columns_need_them():
    row = reader.row({"age": "50", "job": True, "note": None, "more": [1]})
    assert row == {"age": 50.0, "job": "true", "note": "", "day": ""}


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"age": "old"}, "expected a number"),
        ({"age": 1e300}, "too large"),
        ({"age": 10**400}, "too large"),
        ({"day": "soon"}, "expected a date"),
        ({"note": ["a"]}, "not a list"),
        ({"note": "\ud800"}, "surrogate"),
        ({"other": 1}, "none of the columns"),
        ("text", "object of columns"),
        (None, "object of columns"),
    ],
)
def test_a_bad_row_is_refused_with_what_is_wrong(row, message):
    with pytest.raises(ValueError, match=message):
        reader.row(row)


@pytest.mark.parametrize("value", ["", "  ", None, [], {}, "a\nb", "a\0", "x" * 201])
def test_what_is_no_label_is_refused(value):
    with pytest.raises(ValueError, match="a label is"):
        label_of(value)


@pytest.mark.parametrize(
    "body", [b"", b"{", b"NaN", b"[1e999999, Infinity]", b"\xff", b"[" * 100_000, b"1" * 5000]
)
def test_what_is_not_json_is_refused(body):
    with pytest.raises(ValueError, match="the body"):
        parse_json(body)


def test_labels_that_are_numbers_are_spelled_as_in_files():
    labels = [1.0, 1, 2.5, -3.0, 1e300, False]
    assert [label_of(label) for label in labels] == ["1", "1", "2.5", "-3", "1e+300", "false"]


def test_lines_and_arrow_streams_give_rows_and_are_limited():
    assert parse_lines(b'{"a": 1}\n\n"x"\n', 2) == [{"a": 1}, "x"]
    table = pa.table({"age": [1.5, None], "job": ["a", "b"]})
    assert parse_arrow(stream_of(table), 2) == table.to_pylist()
    for parse, body in ((parse_lines, b"1\n2"), (parse_arrow, stream_of(table))):
        with pytest.raises(TooManyRows):
            parse(body, 1)


def stream_of(table, **options):
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(**options)
    with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def test_an_arrow_stream_that_could_expand_is_refused():
    zeros = pa.table({"age": np.zeros(100_000)})
    for table, options in (
        (zeros, {"compression": "zstd"}),
        (zeros, {"compression": "lz4"}),
        (pa.table({"a": pa.array(["x"]).dictionary_encode()}), {}),
        (pa.table({"a": [[1, 2]]}), {}),
    ):
        with pytest.raises(ValueError, match="not a plain Arrow stream"):
            parse_arrow(stream_of(table, **options), 1 << 30)


@given(st.binary(max_size=60), st.integers(0, 400), st.integers(0, 255))
def test_damaged_arrow_streams_are_refused_or_read(garbage, at, byte):
    body = bytearray(stream_of(pa.table({"age": [1.5, 2.5], "job": ["a", None]})))
    body[at % len(body)] = byte
    for damaged in (bytes(body), garbage, bytes(body[: at % len(body)])):
        with suppress(ValueError):
            assert len(parse_arrow(damaged, 100)) <= 100
