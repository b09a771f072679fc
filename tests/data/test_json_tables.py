"""JSON lines: Arrow and the second look give the same columns, and faults are named."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rosenblatt import data
from rosenblatt.data.bytes import Block
from rosenblatt.data.text_tables import _json_by_arrow, _json_by_rows, parse_json
from rosenblatt.errors import DataError

SCHEMA = pa.schema({"s": pa.string(), "i": pa.int64(), "f": pa.float64(), "b": pa.bool_()})
ROWS = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            "s": st.none() | st.text(max_size=100),
            "i": st.none() | st.integers(-(2**63), 2**63 - 1),
            "f": st.none() | st.floats(allow_nan=False, allow_infinity=False),
            "b": st.none() | st.booleans(),
            "more": st.text(max_size=5) | st.floats(allow_nan=False, allow_infinity=False),
        },
    ),
    min_size=1,
    max_size=20,
)


@settings(max_examples=100, deadline=None)
@given(ROWS, st.booleans())
def test_the_second_look_reads_the_same_columns_as_arrow(rows, ascii_only):
    lines = "".join(json.dumps(row, ensure_ascii=ascii_only) + "\n" for row in rows)
    block = Block.of(lines.encode("utf-8", errors="replace"), "a.jsonl")
    table = _json_by_arrow(block, SCHEMA)
    assert table is not None
    slow = _json_by_rows(block, SCHEMA, skip=False).table
    assert table.combine_chunks().equals(slow.combine_chunks())


@pytest.mark.parametrize(
    "line", ['{"i": 1.5}', '{"i": "1"}', '{"i": 99999999999999999999}', '{"b": 1}', '{"s": 1}']
)
def test_a_value_of_another_type_needs_a_second_look(line):
    assert _json_by_arrow(Block.of((line + "\n").encode(), "a.jsonl"), SCHEMA) is None


def test_two_objects_on_a_line_and_one_on_two_are_faults():
    for lines in (b'{"i": 1} {"i": 2}\n\n', b'{"i":\n1}\n'):
        with pytest.raises(DataError, match="line 1: expected a JSON object"):
            parse_json(Block.of(lines, "a.jsonl"), SCHEMA, skip=False)


def test_a_bad_line_leaves_the_other_rows_their_types():
    lines = b'{"i": 1, "b": true, "s": "x"}\n  \n{"i": 2\n{"b": 3}\n{"i": 4}\n{"s": "\xff"}\n'
    chunk = parse_json(Block.of(lines, "a.jsonl", line=11), SCHEMA, skip=True)
    assert chunk.table.schema.equals(SCHEMA)
    assert chunk.table.select(["i", "b"]).to_pylist() == [{"i": 1, "b": True}, {"i": 4, "b": None}]
    assert ([chunk.line_of(row) for row in range(2)], chunk.bad) == ([11, 15], 3)


def test_a_number_written_as_a_string_makes_strings_of_its_column_only():
    block = Block.of(b'{"i": 1, "f": 2}\n{"i": "3", "f": 4}\n', "a.jsonl")
    table = parse_json(block, SCHEMA, skip=False).table
    assert table["i"].to_pylist() == ["1", "3"]
    assert table["f"].to_pylist() == [2.0, 4.0]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b'{"x": "a b c \xff", "label": "a"}', "line 2002: expected a JSON object: 'utf-8'"),
        (b'{"x": "a", "label": "a"} 7', "line 2002: expected a JSON object: Extra data"),
        (b'{"x": "\\ud800", "label": "a"}', "line 2002: expected a JSON object: 'utf-8'"),
        (b'{"x": "a", "yes": 7, "label": "a"}', "line 2002, column 'yes': expected bool, as in"),
        (b'{"x": "a"}', "line 2002, column 'label': the label is missing"),
    ],
)
@pytest.mark.parametrize("skip", [True, False])
def test_a_fault_is_named_or_skipped_far_into_the_file(tmp_path, line, message, skip):
    row = b'{"label": "a", "x": "one two three %d", "yes": true}\n\n'
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"".join(row % i for i in range(1000)) + b" \t\n" + line + b"\n" + row % 7)
    source = data.open(path, label="label", skip_bad_rows=skip, block_bytes=1 << 14)
    if skip:
        assert sum(map(len, source)) == 1001
        assert source.bad == 1
    else:
        with pytest.raises(DataError, match=message):
            list(source)


@pytest.mark.parametrize("schema", [None, SCHEMA])
@pytest.mark.parametrize("line", ["null", "nullbel", " null", "null null"])
def test_a_line_null_is_no_object(line, schema):
    """A block that begins with it crashes Arrow's reader, and elsewhere it would pass for a row."""
    for text in (f'{line}\n{{"s": "a"}}\n', f'{{"s": "a"}}\n{line}\n', f"{line}\n"):
        block = Block.of(text.encode(), "a.jsonl")
        with pytest.raises(DataError, match="expected a JSON object"):
            parse_json(block, schema, False)
        chunk = parse_json(block, schema, True)
        assert chunk.table.num_rows == text.count("{")


@pytest.mark.parametrize("schema", [None, SCHEMA])
@pytest.mark.parametrize("opened", ["[", '{"s": '])
def test_deeply_nested_values_do_not_crash_arrow(schema, opened):
    """Arrow's reader calls itself for each level, until the stack is full."""
    closed = "]" if opened == "[" else "}"
    for depth in (100, 600, *range(955, 1000, 5), 20_000, 500_000):
        nested = opened * depth + "1" + closed * depth
        text = f'{{"s": "a", "x": {nested}}}\n{{"s": "b", "x": 1}}\n'
        chunk = parse_json(Block.of(text.encode(), "a.jsonl"), schema, True)
        assert chunk.table["s"].to_pylist()[-1] == "b"


def test_brackets_in_text_are_text():
    text = "[" * 5000
    lines = json.dumps({"s": text}) + "\n" + json.dumps({"s": "{" * 400}) + "\n"
    chunk = parse_json(Block.of(lines.encode(), "a.jsonl"), None, False)
    assert chunk.table["s"].to_pylist() == [text, "{" * 400]
