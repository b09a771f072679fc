"""Rows as lines: other readers find in them what was written."""

from __future__ import annotations

import csv
import io
import json

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rosenblatt import data, train
from rosenblatt.data.writers import header_of, lines_of
from rosenblatt.errors import DataError
from rosenblatt.jobs.predict import write_predictions

# No surrogates, which are not UTF-8, and no zero byte, which is refused.
CELLS = st.text(
    st.sampled_from("\"\t\r\n,'\\") | st.characters(codec="utf-8", exclude_characters="\0"),
    max_size=12,
)
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


@pytest.mark.parametrize("name", ["a.csv", "a.tsv"])
@given(rows=ROWS, plain=st.integers(0, 80))
def test_the_reader_finds_the_cells_that_were_written(tmp_path_factory, name, rows, plain):
    """Even if only a row that the reader does not look at first has a cell that needs quotes."""
    rows = [("p", "q", 1)] * plain + rows
    path = tmp_path_factory.mktemp("written") / name
    path.write_bytes(header_of(["a", "b", "n"], name[2:]) + lines_of(table_of(rows), name[2:]))
    source = data.open(path, label="n", columns={"a": "text", "b": "text"}, header=True)
    source.kept_columns = None
    cells = [tuple(row.values()) for batch in source for row in batch.table.to_pylist()]
    assert cells == [(a, b, str(n)) for a, b, n in rows]


@pytest.mark.parametrize("format", ["csv", "tsv"])
def test_a_zero_byte_is_refused_where_it_could_not_be_read_back(format):
    with pytest.raises(DataError, match="zero byte, which CSV and TSV files cannot; write JSON"):
        lines_of(table_of([("a", "b\0c", 1)]), format)
    if format == "tsv":
        with pytest.raises(DataError, match=r"TSV cannot hold the column name 'a\\tb'; write CSV"):
            header_of(["a\tb"], format)


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


@pytest.mark.parametrize(
    ("out", "read"),
    [("a.parquet", pyarrow.parquet.read_table), ("a.arrow", pyarrow.feather.read_table)],
)
def test_predictions_keep_the_types_of_the_first_rows(tmp_path, out, read):
    rows = [{"label": "ab"[i % 2], "x": i, "t": f"some text {i}", "z": None} for i in range(200)]
    rows.append({"label": "a", "x": "7", "t": "u", "z": "at last"})
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    model = train(path, label="label", text="t", epochs=1)
    source = data.open(path, features=model.features, classes=model.classes, block_bytes=4096)
    assert write_predictions(model, source, tmp_path / out) == 201
    table = read(tmp_path / out)
    assert table["z"].to_pylist()[-1] == "at last"
    assert table["x"].type == "int64"
