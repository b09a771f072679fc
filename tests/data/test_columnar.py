"""Files of one table may have other columns, another order of them, and other formats."""

from __future__ import annotations

import json
import re

import pyarrow as pa
import pyarrow.parquet
import pytest

from rosenblatt import data
from rosenblatt.data.bytes import LONGEST_ROW
from rosenblatt.errors import DataError


def write(folder, name, columns):
    """A file of the columns, by the ending of its name."""
    path = folder / name
    rows = [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]
    if name.endswith("parquet"):
        pyarrow.parquet.write_table(pa.table(columns), path)
    elif name.endswith("arrow"):
        with pa.ipc.new_file(path, pa.table(columns).schema) as out:
            out.write_table(pa.table(columns))
    elif name.endswith("jsonl"):
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        cells = [",".join(map(str, row.values())) for row in rows]
        path.write_text("\n".join([",".join(columns), *cells]) + "\n")
    return str(path)


FIRST = {"age": [39, 50, 17], "job": ["tech", "sales", "tech"], "label": ["a", "b", "a"]}
LATER = {"label": ["b", "a"], "new": ["u", "v"], "job": ["tech", "none"], "age": [20, 30]}


def rows_of(source):
    """Per batch the features and labels."""
    return [
        (b.rows.indices.tolist(), b.rows.values.tolist(), [source.classes[c] for c in b.labels])
        for b in source
    ]


@pytest.mark.parametrize("first", ["csv", "parquet", "arrow", "jsonl"])
@pytest.mark.parametrize("later", ["csv", "parquet", "arrow", "jsonl"])
def test_columns_of_later_files_are_matched_by_name_in_any_format(tmp_path, first, later):
    paths = [write(tmp_path, f"a.{first}", FIRST), write(tmp_path, f"b.{later}", LATER)]
    source = data.open(paths)
    plain = [
        write(tmp_path, "c.csv", FIRST),
        write(tmp_path, "d.csv", {n: LATER[n] for n in FIRST}),
    ]
    reference = data.open(plain, features=source.features)
    assert rows_of(source) == rows_of(reference)
    for kept in (None, ["age"]):  # also where the rows are copied to the output
        source.kept_columns = kept
        assert sum(map(len, source)) == 5


@pytest.mark.parametrize("format", ["csv", "parquet", "arrow"])
def test_a_file_that_lacks_a_column_is_named(tmp_path, format):
    lacking = {name: LATER[name] for name in ("label", "new", "job")}
    paths = [write(tmp_path, f"a.{format}", FIRST), write(tmp_path, f"b.{format}", lacking)]
    message = rf"b\.{format}: there is no column 'age'; the columns are "
    with pytest.raises(DataError, match=message):
        list(data.open(paths))


def test_files_without_headers_have_equally_many_columns(tmp_path):
    (tmp_path / "a.csv").write_text("1,2,a\n3,4,b\n")
    (tmp_path / "b.csv").write_text("1,2,3,a\n3,4,5,b\n")
    with pytest.raises(DataError, match=r"b\.csv, line 1: the columns are 1, 2, 3, 4, not as in"):
        list(data.open([tmp_path / "a.csv", tmp_path / "b.csv"], label="3"))


@pytest.mark.parametrize("indent", [None, 2])
def test_an_array_of_json_objects_is_a_table(tmp_path, indent):
    rows = [dict(zip(FIRST, cells, strict=True)) for cells in zip(*FIRST.values(), strict=True)]
    (tmp_path / "a.json").write_text(json.dumps(rows, indent=indent))
    (tmp_path / "a").write_text(json.dumps(rows, indent=indent))
    lines = data.open(write(tmp_path, "b.jsonl", FIRST))
    for name in ("a.json", "a"):
        assert rows_of(data.open(tmp_path / name)) == rows_of(lines)


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        ('[{"a": 1}, {"a": 2}', r"object 3: the array does not end"),
        ('[{"a": 1}, {"a": tru}]', "object 2: Expecting value"),
        ('[{"a": 1}, 2]', "object 2: expected {, found '2'"),
        ('[{"a": 1}] x', "object 2: expected nothing, found 'x'"),
        ('[{"a": 1} {"a": 2}]', "object 2: expected , or ], found '{'"),
        ('[{"a": ' + "[" * 10_000 + "]" * 10_000 + "}]", "object 1: maximum recursion"),
        (b'[{"a": 1}, {"a": "\xff"}]', "object 1: 'utf-8' codec"),
    ],
)
def test_what_is_no_array_of_objects_is_said_with_the_number_of_the_object(
    tmp_path, content, fault
):
    path = tmp_path / "a.json"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    message = re.escape("a.json: expected an array of JSON objects: ") + fault
    with pytest.raises(DataError, match=message):
        list(data.open(path, label="a", text="a"))


@pytest.mark.parametrize("indent", [None, 1])
def test_an_array_of_more_than_the_longest_row_is_read_in_blocks(tmp_path, indent):
    rows = [{"a": f"{i:04} {'word ' * 50}", "label": "xy"[i % 2]} for i in range(50_000)]
    path = tmp_path / "a.json"
    path.write_text(json.dumps(rows, indent=indent))
    assert path.stat().st_size > LONGEST_ROW
    sizes = [len(batch) for batch in data.open(path)]
    assert sum(sizes) == len(rows)
    assert max(sizes) < len(rows) / 2
