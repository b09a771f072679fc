"""Rows as lines: other readers find in them what was written."""

from __future__ import annotations

import csv
import io
import json

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rosenblatt.data.writers import header_of, lines_of

# No surrogates, which are not UTF-8, and no zero byte, which Python's csv module does not read.
CELLS = st.text(st.characters(codec="utf-8", exclude_characters="\0\r"), max_size=12)
ROWS = st.lists(st.tuples(CELLS, CELLS, st.integers(-5, 5)), min_size=1, max_size=8)


def table_of(rows, kind="string"):
    first, second, numbers = zip(*rows, strict=True)
    return pa.table({"a": pa.array(first, kind), "b": pa.array(second), "n": numbers})


@given(ROWS, st.sampled_from(["csv", "tsv"]), st.sampled_from(["string", "large_string"]))
def test_pythons_csv_module_reads_the_cells_that_were_written(rows, format, kind):
    text = lines_of(table_of(rows, kind), format).decode()
    mark = "," if format == "csv" else "\t"
    found = list(csv.reader(io.StringIO(text, newline=""), delimiter=mark))
    assert [tuple(row) for row in found] == [(a, b, str(n)) for a, b, n in rows]


@given(ROWS)
def test_json_lines_hold_the_values_that_were_written(rows):
    text = lines_of(table_of(rows), "jsonl").decode()
    found = [json.loads(line) for line in text.split("\n")[:-1]]
    assert found == [{"a": a, "b": b, "n": n} for a, b, n in rows]


@given(ROWS)
def test_plain_text_has_one_line_for_each_row(rows):
    text = lines_of(table_of(rows).select(["n", "a", "b"]), "text").decode()
    lines = text.split("\n")[:-1]
    assert len(lines) == len(rows)
    assert [line.split("\t", 2)[0] for line in lines] == [str(n) for *_, n in rows]
    assert [line.split("\t", 2)[2] for line in lines] == [b.replace("\n", " ") for _, b, _ in rows]


@pytest.mark.parametrize("format", ["csv", "jsonl", "text"])
def test_a_table_without_rows_is_no_line(format):
    assert lines_of(pa.table({"a": pa.array([], pa.string())}), format) == b""


def test_missing_values_are_empty_cells_and_nulls():
    table = pa.table({"a": ["x", None], "x": [float("nan"), None], "l": [[1], None]})
    assert lines_of(table, "csv").splitlines()[1] == b",,null"
    assert json.loads(lines_of(table, "jsonl").splitlines()[0]) == {"a": "x", "x": None, "l": [1]}


def test_names_are_quoted_like_cells():
    assert header_of(['a"b', "c"], "csv") == b'"a""b",c\n'
