"""Files of rows: headers, long lines, and files in which nothing can be read."""

from __future__ import annotations

import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from rosenblatt import data
from rosenblatt.errors import DataError


def write(folder, name, content):
    (folder / name).write_bytes(content)
    return folder / name


def read(path, **options):
    source = data.open(path, **({"label": "label"} | options))
    batches = list(source)
    indices = np.concatenate([b.rows.indices for b in batches])
    values = np.concatenate([b.rows.values for b in batches])
    labels = [source.classes[c] for b in batches for c in b.labels]
    return source, indices.tolist(), values, labels


@pytest.mark.parametrize(
    "content",
    [b"a,a,label\n1,2,x\n3,4,y\n", b"t,t,label\nsome,words,x\nother,words,y\n"],
)
def test_a_header_that_names_two_columns_alike_is_refused_never_taken_for_data(tmp_path, content):
    path = write(tmp_path, "a.csv", content)
    for label in (3, "label"):
        with pytest.raises(DataError, match="occurs twice in the header; if the first row is data"):
            data.open(path, label=label)
    pyarrow.parquet.write_table(pa.table([[1], [2]], names=["a", "a"]), tmp_path / "a.parquet")
    with pytest.raises(DataError, match="the column name 'a' occurs twice"):
        data.open(tmp_path / "a.parquet", label=1)


def test_blank_lines_below_the_header_are_not_the_end(tmp_path):
    path = write(
        tmp_path, "a.csv", b"\n\nlabel,x\n" + b"\n" * 100 + b"a,1\n" + b"\n" * 100 + b"b,2\n"
    )
    assert read(path, block_bytes=10)[3] == ["a", "b"]
    with pytest.raises(DataError, match="line 207: expected 2 values, found 1"):
        read(write(tmp_path, "b.csv", path.read_bytes() + b"\nc\n"), block_bytes=10)


def test_a_first_row_of_categories_that_occur_twice_is_data(tmp_path):
    path = write(tmp_path, "mushrooms.csv", b"p,x,x\ne,x,s\np,b,s\n")
    assert read(path, label=1)[3] == ["p", "e", "p"]


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.jsonl"])
def test_a_very_long_line_is_read(tmp_path, name):
    mark = b"," if name == "a.csv" else b"\t"
    long = b"word " * 300_000
    rows = [b"pos", b"good"], [b"neg", b"bad"], [b"pos", long]
    content = b"label,text\n".replace(b",", mark) + b"".join(mark.join(r) + b"\n" for r in rows)
    if name == "a.jsonl":
        content = b"".join(b'{"label": "%b", "text": "%b"}\n' % tuple(row) for row in rows)
    _, indices, _, labels = read(write(tmp_path, name, content), text="text")
    assert labels == ["pos", "neg", "pos"]
    assert len(indices) == 1 + 1 + 2
    wide = b",".join(b"c%d" % i for i in range(30_000))
    path = write(tmp_path, "wide.csv", wide + b"\n" + b",".join([b"1"] * 30_000) + b"\n")
    assert len(data.open(path, label=1).features.columns) == 29_999


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.jsonl", b"nothing\n[3]\n\n{\n", "line 1: expected a JSON object"),
        ("a.csv", b"label,x\na\n\nb\nc,1,2\n", "line 2: expected 2 values, found 1"),
    ],
)
def test_where_all_rows_are_bad_their_number_and_the_first_are_named(
    tmp_path, name, content, message
):
    path = write(tmp_path, name, content)
    with pytest.raises(DataError, match=message):
        list(data.open(path, label="label"))
    left_out = f"no row can be read: 3 bad rows left out. The first: .*{message}"
    with pytest.raises(DataError, match=left_out):
        list(data.open(path, label="label", skip_bad_rows=True))


def replaced(path, text):
    other = path.with_suffix(".new")
    other.write_text(text)
    other.replace(path)


CHANGES = {
    "replaced": lambda path: replaced(path, "x,label\nno,number,a\n" * 9),
    "replaced by its like": lambda path: replaced(path, path.read_text()),
    "grown": lambda path: os.truncate(path, path.stat().st_size + 5),
    "shrunk": lambda path: os.truncate(path, 5000),
    "overwritten": lambda path: path.write_text("x,label\n" + "no,number,a\n" * 90_000),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_file_that_changes_while_it_is_read_is_named(tmp_path, change):
    path = tmp_path / "a.csv"
    path.write_text("x,label\n" + "1,a\n2,b\n" * 50_000)
    source = data.open(path, block_bytes=1 << 16)
    batches = iter(source)
    for _ in range(2):
        next(batches)
    change(path)
    with pytest.raises(DataError, match=r"a\.csv: was changed while it was read"):
        list(batches)


def test_a_second_file_that_changes_after_the_first_was_opened_is_named(tmp_path):
    paths = [tmp_path / "a.csv", tmp_path / "b.csv"]
    for path in paths:
        path.write_text("x,label\n1,a\n2,b\n")
    source = data.open(paths)
    paths[1].write_text("x,label\n1,a\n2,c\n")
    with pytest.raises(DataError, match=r"b\.csv: was changed while it was read"):
        list(source)
