"""Files are told apart by samples of all of them, and formats by names or first lines."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from itertools import chain

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from rosenblatt import data
from rosenblatt.cluster.manifest import make_manifest
from rosenblatt.cluster.shards import detect_reading
from rosenblatt.data.bytes import fingerprint
from rosenblatt.data.formats import FORMATS, detect_format, refuse_unused_options
from rosenblatt.errors import OptionError


@pytest.mark.parametrize("size", [1, 1 << 16, 3_000_000, 4 << 20])
@pytest.mark.parametrize("share", [0.0, 0.37, 1.0])
def test_an_edit_of_a_small_file_is_noticed_wherever_it_is(tmp_path, size, share):
    path = tmp_path / "a.csv"
    path.write_bytes(b"x" * size)
    before = fingerprint(str(path))
    with path.open("r+b") as file:
        file.seek(min(size - 1, int(share * size)))
        file.write(b"y")
    after = fingerprint(str(path))
    assert after["size"] == before["size"]
    assert after["sample"] != before["sample"]


def test_an_edit_at_the_end_or_all_over_a_large_file_is_noticed(tmp_path):
    path = tmp_path / "a.csv"
    content = np.zeros(20 << 20, dtype=np.uint8)
    path.write_bytes(content.tobytes())
    prints = {fingerprint(str(path))["sample"]}
    for places in (slice(-1, None), slice(0, None, 1 << 15), slice(12 << 20, 13 << 20)):
        changed = content.copy()
        changed[places] = 1
        path.write_bytes(changed.tobytes())
        prints.add(fingerprint(str(path))["sample"])
    assert len(prints) == 4


@pytest.mark.parametrize(
    ("path", "head", "format"),
    [
        ("a.csv.gz", b"", "csv"),
        ("a.txt", b"1 3:0.5 7:1\n-1 2:1\n", "svmlight"),
        ("a.txt", b"__label__a so good\n", "fasttext"),
        ("a.txt", b"no label, here\n__label__a so good\n__label__b so, dull\n", "fasttext"),
        ("a.txt", b"so good __label__a\nso, dull __label__b\nodd\n", "fasttext"),
        ("a.txt", b"label,text\n__label__a,so good\n", "csv"),
        ("a.txt", b"label\ttext\n__label__a\tso good\n", "tsv"),
        ("a.txt", b"1 | so good\n", "vw"),
        ("a.txt", b'{"a": 1}\n', "jsonl"),
        ("a.txt", b"PAR1...", "parquet"),
        ("a.txt", b"ARROW1..", "arrow"),
        ("a.txt", b"a\tb\n", "tsv"),
        ("a.txt", b"a,b\n", "csv"),
    ],
)
def test_a_format_is_told_by_the_name_or_by_the_first_lines(path, head, format):
    assert detect_format(path, lambda size: head[:size]) == format


def columnar(write):
    sink = pa.BufferOutputStream()
    write(pa.table({"label": ["a", "b"] * 40, "text": ["so good", "so dull"] * 40}), sink)
    return sink.getvalue().to_pybytes()


def arrow(table, sink):
    with pa.ipc.new_file(sink, table.schema) as file:
        file.write_table(table, max_chunksize=16)


# A file of 80 rows in each format.
FILES = {
    "csv": b"label,text\n" + b"a,so good\nb,so dull\n" * 40,
    "tsv": b"label\ttext\n" + b"a\tso good\nb\tso dull\n" * 40,
    "jsonl": b'{"label": "a", "text": "so good"}\n{"label": "b", "text": "so dull"}\n' * 40,
    "parquet": columnar(lambda table, sink: parquet.write_table(table, sink, row_group_size=16)),
    "arrow": columnar(arrow),
    "fasttext": b"__label__a so good\n__label__b so dull\n" * 40,
    "svmlight": b"1 1:1 2:1\n-1 1:1 3:1\n" * 40,
    "vw": b"1 | so good\n-1 | so dull\n" * 40,
    "psv": b"label|text\n" + b"a|so good\nb|so dull\n" * 40,
}
TEXT = {"columns": {"text": "text"}}


@pytest.fixture(params=sorted(FILES))
def kind(request, monkeypatch):
    """Each format, and one that is not of the package: a record is all that it takes."""
    record = replace(FORMATS["csv"], name="psv", suffixes=(".psv",), delimiters=("|",))
    monkeypatch.setitem(FORMATS, "psv", record)
    assert set(FILES) | {"text", "table"} == set(FORMATS)
    return FORMATS[request.param]


def rows(source):
    batches = list(source)
    indices = np.concatenate([batch.rows.indices for batch in batches])
    codes = np.concatenate([batch.labels for batch in batches])
    return indices.tolist(), [source.classes[code] for code in codes]


def test_a_file_is_read_alike_by_its_name_by_its_format_and_in_shards(tmp_path, kind):
    content, features = FILES[kind.name], {} if kind.has_features else TEXT
    for suffix in kind.suffixes:
        (tmp_path / f"a{suffix}").write_bytes(content)
        named = data.open(tmp_path / f"a{suffix}", **features)
        assert named.format == kind.name
    (tmp_path / "b").write_bytes(content)
    told = data.open(tmp_path / "b", format=kind.name, **features)
    expected = rows(told)
    assert len(expected[1]) == 80
    assert rows(named) == expected
    if kind.fits or kind.starts:
        assert data.open(tmp_path / "b", **features).format == kind.name
    manifest = make_manifest(tmp_path / "b", format=kind.name, shards=3)
    reading = detect_reading(manifest, **features)
    parts = [rows(reading.open(shard)) for shard in manifest.shards]
    assert len(parts) > 1 or kind.name == "arrow"
    for whole, shares in zip(expected, zip(*parts, strict=True), strict=True):
        assert list(chain.from_iterable(shares)) == whole


@pytest.mark.parametrize("option", ["label", "text", "ngrams", "header", "bits"])
def test_an_option_is_refused_where_it_has_no_effect(kind, option):
    is_unused = option in kind.without_effect()
    with pytest.raises(OptionError, match="has no effect") if is_unused else nullcontext():
        refuse_unused_options(kind.name, {option: "x"})
