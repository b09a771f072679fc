"""CSV is read by Arrow where all is well, and means the same as to Python's csv module."""

from __future__ import annotations

import csv
import gzip
import io
import os

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rosenblatt import data
from rosenblatt.data.bytes import Block
from rosenblatt.data.cells import to_numbers
from rosenblatt.data.formats import FORMATS
from rosenblatt.data.text_tables import (
    Dialect,
    _csv_by_arrow,
    _csv_by_rows,
    _line_of,
    _rows,
    detect_dialect,
    parse_csv,
)
from rosenblatt.errors import DataError

PIECES = st.sampled_from(["a", ",", "\n", "\r\n", '"', '"a"', '"b""c"', '"\n"', '",",', "é" * 70])
FUZZ = int(os.environ.get("ROSENBLATT_FUZZ", "150"))
NUMBERS = [
    "1",
    " 2.5",
    "-3e2 ",
    "+4",
    "",
    "?",
    " ?",
    " NA",
    "nan",
    "inf",
    "0x1A",
    "1_000",
    "1,5",
    "x",
]
CELLS = st.one_of(st.sampled_from(NUMBERS), st.text('0123456789.-+eE ?"\n\t', max_size=8))


def as_csv(rows):
    out = io.StringIO()
    csv.writer(out, lineterminator="\n", quoting=csv.QUOTE_ALL).writerows(rows)
    return out.getvalue().encode()


@settings(max_examples=FUZZ, deadline=None)
@given(st.lists(CELLS, min_size=1, max_size=6))
@example(["\t7\t", "8"])
def test_numbers_read_at_once_are_those_read_as_strings(cells):
    block = Block.of(as_csv([(cell, "t") for cell in cells]), "a.csv")
    dialect = Dialect(",", True, ("x", "t"), False)
    fast = parse_csv(block, dialect, ["x", "t"], False, numbers=["x"]).table
    slow = _csv_by_rows(block, dialect, ["x", "t"], False).table
    (numbers, bad), (expected, expected_bad) = to_numbers(fast["x"]), to_numbers(slow["x"])
    assert np.array_equal(numbers, expected, equal_nan=True)
    assert bad.tolist() == expected_bad.tolist()
    assert fast["t"].cast(pa.string()).to_pylist() == ["t"] * len(cells)


def test_numbers_come_as_numbers_and_text_as_strings():
    block = Block.of(b"1,a\n ?,b\n", "a.csv")
    table = parse_csv(block, Dialect(",", True, ("x", "t"), False), ["x", "t"], False, ["x"]).table
    assert table.schema == pa.schema({"x": pa.float64(), "t": pa.string()})
    assert table["x"].to_pylist() == [1.0, None]


ROWS = st.lists(st.tuples(st.sampled_from("ab"), st.text('xy "\n,', max_size=12)), min_size=1)
TEXTS = st.text('ab,"\n\r;é ', max_size=60) | st.lists(PIECES).map("".join)
WELL = st.lists(st.tuples(*[st.text('ab ,;"\n\ré', max_size=8)] * 2), min_size=1, max_size=5)


def test_arrow_reads_the_rows_that_the_csv_module_reads():
    """So that the second look names the right lines, and finds a fault wherever Arrow does."""
    agreed = 0

    @settings(max_examples=2 * FUZZ, deadline=None)
    @given(TEXTS | WELL.map(lambda rows: as_csv(rows).decode()), st.booleans(), st.integers(2, 3))
    def check(text, quote, width):
        nonlocal agreed
        dialect = Dialect(",", quote, tuple("abc"[:width]), False)
        block = Block.of((text + "\n").encode(), "a.csv")
        rows = [row for _, row in _rows(block, dialect)]
        table = _csv_by_arrow(block, dialect, dict.fromkeys(dialect.names, pa.string()))
        if table is None:
            assert not rows or any(len(row) != width for row in rows) or '"' in text
        else:
            assert [list(row.values()) for row in table.to_pylist()] == rows
            agreed += bool(rows)

    check()
    assert agreed >= FUZZ // 10


def test_a_row_longer_than_what_arrow_reads_at_a_time_is_no_fault():
    block = Block.of(b"a," + b"w" * (1 << 20) + b"\nb,v\n", "a.csv")
    dialect = Dialect(",", True, ("x", "t"), False)
    table = _csv_by_arrow(block, dialect, {"x": pa.string(), "t": pa.string()})
    assert table["x"].to_pylist() == ["a", "b"]


def test_lines_of_rows_count_blank_lines_and_line_breaks_within_values():
    block = Block.of(b'a,"1\n2"\n\nb,3\r\n\r\nc,4\n', "a.csv", line=11)
    dialect = Dialect(",", True, ("x", "t"), False)
    assert [_line_of(block, dialect, row) for row in range(3)] == [11, 14, 16]


@pytest.mark.parametrize(
    ("head", "header"),
    [
        (b"a,b\n1,2\n", True),
        (b"\n\na,b\n1,2\n", True),
        (b"1,b\n2,c\n", False),
        (b"39, Private, <=50K\n", False),
        (b'"a, b";c\n1;2\n', True),
        (b"p,x,x\ne,x,s\np,b,s\n", False),
        (b"p,x,x\n1,2,3\n", True),
        (b"p,x,x\n", True),
        (b"spam,win\nham,hi\nspam,now\n", False),
        (b"2019,label\n1,x\n", True),
    ],
)
def test_a_header_is_a_first_row_without_numbers(head, header):
    dialect = detect_dialect(head, FORMATS["csv"].delimiters, "a.csv")
    assert dialect.header == header
    assert head[: dialect.start].strip() == (head.split(b"\n1")[0].strip() if header else b"")


@pytest.mark.parametrize(
    ("head", "header", "is_certain"),
    [
        (b"spam,win now\nham,see you\n", True, False),
        (b"spam,win now\nham,see you\nspam,now\n", False, False),
        (b"kind,text\nham,see you\n", True, True),
        (b"kind,text\nkind,text\n", True, True),
        (b"a,b\n1,x\n", True, True),
        (b"1,b\n1,x\n", False, True),
    ],
)
def test_a_first_row_that_may_be_data_is_not_taken_silently(
    tmp_path, capsys, monkeypatch, head, header, is_certain
):
    monkeypatch.delenv("ROSENBLATT_QUIET", raising=False)
    (tmp_path / "a.csv").write_bytes(head)
    label = "kind" if b"kind" in head else 1
    rows = sum(len(batch) for batch in data.open(tmp_path / "a.csv", label=label))
    assert rows == head.count(b"\n") - header
    said = capsys.readouterr().err
    what = "the header; if that is wrong, say --no-header" if header else "data"
    assert (f"a.csv: the first row was taken for {what}" in said) is not is_certain


def test_a_line_of_any_length_is_read(tmp_path):
    """Finding 6: 131,072 characters are the csv module's own limit for a value."""
    rows = "pos,good\nneg,bad\n" * 20 + "pos," + "word " * 60_000 + "\n"
    (tmp_path / "a.csv").write_text("label,text\n" + rows)
    assert sum(len(batch) for batch in data.open(tmp_path / "a.csv")) == 41


def test_names_that_occur_twice_are_refused_and_never_data(tmp_path):
    (tmp_path / "a.csv").write_text("a,a,label\n1,2,x\n3,4,y\n5,6,x\n7,8,y\n")
    with pytest.raises(DataError, match="name 'a' occurs twice in the header"):
        data.open(tmp_path / "a.csv", label=3)


def test_a_table_of_very_many_columns_is_read_in_few_chunks(tmp_path):
    n = 20_000
    names = ",".join(f"c{j}" for j in range(n))
    row = ",".join("7" for _ in range(n))
    text = f"{names},label\n" + "".join(f"{row},{'xy'[i % 2]}\n" for i in range(40))
    (tmp_path / "wide.csv").write_text(text)
    source = data.open(tmp_path / "wide.csv")
    assert [len(batch) for batch in source] == [40]
    assert source.first_table()["c0"].num_chunks == 1
    again = data.open(tmp_path / "wide.csv", features=source.features)
    assert sum(len(batch) for batch in again) == 40


def test_quotes_of_an_unquoted_tsv_are_plain_characters():
    plain = detect_dialect(b'x\t"so" he said\ny\t5" long\n', "\t", "a.tsv")
    quoted = detect_dialect(b'"x"\t"say ""so"""\r\ny\tz\r\n', "\t", "a.tsv")
    assert (plain.quote, quoted.quote) == (False, True)


@settings(max_examples=FUZZ // 3, deadline=None)
@given(ROWS, st.integers(8, 60), st.sampled_from(["csv", "csv.gz"]))
def test_blocks_of_any_size_hold_the_rows_that_python_reads(tmp_path_factory, rows, size, suffix):
    content = as_csv([("label", "text"), *rows])
    path = tmp_path_factory.mktemp("blocks") / f"a.{suffix}"
    path.write_bytes(gzip.compress(content) if suffix.endswith("gz") else content)
    source = data.open(path, columns={"text": "text"}, header=True, block_bytes=size)
    source.kept_columns = None
    found = [tuple(row.values()) for batch in source for row in batch.table.to_pylist()]
    assert found == rows


def test_the_line_of_a_fault_counts_line_breaks_within_values(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(b"label,x\n" + b'a,"1\n "\nb,2\n' * 3000 + b"a,1,2\n")
    with pytest.raises(DataError, match="line 9002: expected 2 values, found 3"):
        list(data.open(path, label="label", block_bytes=1 << 11))


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("name", ["a.tsv", "a.csv", "a.csv.gz", "a.jsonl", "a.ft"])
def test_a_fault_is_named_by_its_line_also_when_the_file_is_gone_by_then(tmp_path, name, mark):
    row, fault = {
        "jsonl": (b'{"label": "a", "x": 1}\n\n', b'{"label": "a", "x": \n'),
        "ft": (b"__label__a one\n\n", b"__label__a __label__b two\n"),
    }.get(name[2:], (b"a,1\n\n".replace(b",", b"\t" if name == "a.tsv" else b","), b"\xff\n"))
    content = mark + row * 30_000 + fault
    path = tmp_path / name
    path.write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    batches = iter(data.open(path, label=1, block_bytes=1 << 12))
    next(batches)
    path.unlink()
    with pytest.raises(DataError) as caught:
        list(batches)
    assert (caught.value.path, caught.value.line) == (str(path), 60_001)


def test_a_truncated_file_names_the_line_it_reaches(tmp_path):
    rows = b"".join(b"a,%d\nb,%d\n" % (i * i, i) for i in range(20_000))
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(b"label,x\n" + rows)[:-1000])
    source = data.open(path, label="label", block_bytes=1 << 14)
    with pytest.raises(DataError, match="cannot be read to the end") as caught:
        list(source)
    assert 30_000 < caught.value.line < 40_000
    assert caught.value.path == str(path)


def test_the_first_fault_is_named_even_if_the_file_is_truncated_later(tmp_path):
    rows = b"".join(b"a,%d\nb,%d\n" % (i * i, i) for i in range(20_000))
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(b"label,x\n" + rows[:50_000] + b"\nc\n" + rows)[:-1000])
    with pytest.raises(DataError, match="expected 2 values, found 1"):
        list(data.open(path, label="label", block_bytes=1 << 14))


def test_a_row_longer_than_a_block_is_read_whole(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(b'label,x\na,"' + b"w\n" * 5000 + b'"\nb,v\n')
    source = data.open(path, columns={"x": "text"}, block_bytes=64)
    assert sum(len(batch) for batch in source) == 2
