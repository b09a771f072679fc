"""Shards of files, here and in stores: all rows, each once, whatever is written in them."""

from __future__ import annotations

import csv
import gzip
import io
import itertools
import json
import tracemalloc
from unittest import mock

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rosenblatt import data, train
from rosenblatt.cluster.manifest import (
    expand_all,
    identity,
    make_manifest,
    open_file,
    quote_states,
    store_errors,
)
from rosenblatt.cluster.shards import detect_reading, hashed_rows
from rosenblatt.data.bytes import ByteSource
from rosenblatt.errors import DataError

pytestmark = pytest.mark.filterwarnings("ignore:the .* shards have:UserWarning")
TABLE = {
    "label": ["a", "b", "c"] * 40,
    "x": list(range(120)),
    "text": [f"some words {i}, and more" for i in range(120)],
}


def write(folder, format):
    """The table in a format; the path."""
    path = folder / f"a.{format}"
    rows = [dict(zip(TABLE, row, strict=True)) for row in zip(*TABLE.values(), strict=True)]
    if format in ("csv", "tsv"):
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(TABLE), delimiter="\t" if format == "tsv" else ",")
            writer.writeheader()
            writer.writerows(rows)
    elif format == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif format == "svmlight":
        path.write_text("".join(f"{i % 3} {i % 7}:1 {9 + i % 5}:0.5\n" for i in range(120)))
    elif format == "ft":
        path.write_text("".join(f"__label__{r['label']} {r['text']}\n" for r in rows))
    elif format == "vw":
        path.write_text("".join(f"{1 - 2 * (i % 2)} |f a{i % 5} b{i % 3}\n" for i in range(120)))
    elif format == "parquet":
        pyarrow.parquet.write_table(pa.table(TABLE), path, row_group_size=25)
    else:
        with pa.ipc.new_file(path, pa.table(TABLE).schema) as file:
            file.write_table(pa.table(TABLE))
    return path


def rows_of(batches, classes):
    """Labels by name, and the entries of all rows."""
    labels, entries = [], []
    for batch in batches:
        labels += [classes[code] for code in batch.labels]
        ends = batch.rows.indptr.astype(int)
        entries += [
            (batch.rows.indices[a:b].tolist(), batch.rows.values[a:b].tolist())
            for a, b in itertools.pairwise(ends)
        ]
    return labels, entries


def read_in_shards(paths, shards, **options):
    manifest = make_manifest(paths, shards=shards)
    reading = detect_reading(manifest, **options)
    labels, entries = [], []
    for shard in manifest.shards:
        source = reading.open(shard)
        batches = list(source)
        found = rows_of(batches, source.classes)
        labels += found[0]
        entries += found[1]
    return manifest, labels, entries


@pytest.mark.parametrize(
    ("format", "shards"),
    [("csv", 6), ("tsv", 6), ("jsonl", 6), ("svmlight", 6), ("ft", 6), ("vw", 6), ("parquet", 5),
     ("arrow", 1)],
)  # fmt: skip
def test_shards_hold_the_rows_of_the_file_in_order(format, shards, tmp_path):
    path = write(tmp_path, format)
    source = data.open(path)
    expected = rows_of(list(source), source.classes)
    manifest, *found = read_in_shards(path, 6)
    assert len(manifest) == shards
    assert tuple(found) == expected


def test_a_compressed_file_is_one_shard_and_small_files_share_one(tmp_path):
    content = write(tmp_path, "csv").read_bytes()
    for i in range(3):
        with gzip.open(tmp_path / f"part{i}.csv.gz", "wb") as file:
            file.write(content)
    manifest, labels, _ = read_in_shards(str(tmp_path / "part*.csv.gz"), 3)
    assert [len(shard) for shard in manifest.shards] == [1, 1, 1]
    assert labels == TABLE["label"] * 3
    manifest, labels, _ = read_in_shards(str(tmp_path / "part*.csv.gz"), 2)
    assert sum(len(shard) for shard in manifest.shards) == 3
    assert len(manifest) == 3  # two would be more than the half of all
    manifest, _, _ = read_in_shards(str(tmp_path / "part*.csv.gz"), 1)
    assert [len(shard) for shard in manifest.shards] == [3]


cells = st.text(alphabet='ab,"\n \t', max_size=6)


@given(
    st.lists(st.tuples(st.sampled_from(["p", "q"]), cells, cells), min_size=2, max_size=30),
    st.integers(1, 12),
)
def test_no_cut_falls_into_a_quoted_value(tmp_path_factory, rows, shards):
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n", quoting=csv.QUOTE_ALL)
    writer.writerows([("label", "one", "two"), ("p", "a b c d", "e f g h"), *rows])
    path = tmp_path_factory.mktemp("cells") / "a.csv"
    path.write_text(written.getvalue())
    columns = {"one": "category", "two": "category"}
    _, labels, entries = read_in_shards(path, shards, columns=columns)
    assert labels == ["p", *(row[0] for row in rows)]
    source = data.open(path, columns=columns)
    assert (labels, entries) == rows_of(list(source), source.classes)


@given(st.text(alphabet='ab,"\n', max_size=40), st.integers(1, 9))
def test_quotes_are_followed_over_pieces_of_any_size(tmp_path_factory, text, size):
    path = tmp_path_factory.getbasetemp() / "pieces.csv"
    path.write_text(text)
    whole = quote_states(str(path), 0, len(text), ",")
    with mock.patch("rosenblatt.cluster.manifest._PIECE", size):
        assert quote_states(str(path), 0, len(text), ",") == whole


def test_a_part_is_read_in_bounded_memory(tmp_path):
    path = tmp_path / "a.csv"
    with path.open("wb") as file:
        for _ in range(64):
            file.write(b'label,"a, b"\n' * 80_660)  # 1 MB
    tracemalloc.start()
    try:
        assert quote_states(str(path), 0, path.stat().st_size, ",") == (False, False)
        assert tracemalloc.get_traced_memory()[1] < 32 << 20
    finally:
        tracemalloc.stop()


def test_the_manifest_depends_on_the_files_alone(tmp_path):
    path = write(tmp_path, "csv")
    calls = []

    def spread(work, arguments):
        calls.append(work.__name__)
        return [work(*some) for some in reversed(arguments)][::-1]

    assert make_manifest(path, shards=5, spread=spread) == make_manifest(path, shards=5)
    assert "quote_states" in calls


def test_columns_of_parquet_files_may_stand_in_any_order_and_be_more(tmp_path):
    table = pa.table({"label": ["a", "b"], "x": [1, 2]})
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet")
    pyarrow.parquet.write_table(table.select(["x", "label"]), tmp_path / "b.parquet")
    assert len(make_manifest(str(tmp_path / "*.parquet")).files) == 2
    pyarrow.parquet.write_table(table.append_column("z", table["x"]), tmp_path / "b.parquet")
    manifest = make_manifest(str(tmp_path / "*.parquet"), shards=2)
    reading = detect_reading(manifest)
    assert [len(hashed_rows(s, reading, str(tmp_path))) for s in manifest.shards] == [2, 2]
    pyarrow.parquet.write_table(table.rename_columns(["label", "z"]), tmp_path / "b.parquet")
    _, second = make_manifest(str(tmp_path / "*.parquet"), shards=2).shards
    with pytest.raises(DataError, match=r"b\.parquet: there is no column 'x'"):
        hashed_rows(second, reading, str(tmp_path))


def test_what_is_not_a_parquet_file_is_named(tmp_path):
    (tmp_path / "a.parquet").write_bytes(b"PAR1 but no more")
    with pytest.raises(DataError, match=r"a\.parquet: cannot be opened"):
        make_manifest(tmp_path / "a.parquet")


def test_files_of_a_store_are_found_by_pattern_and_read_from_there(tmp_path):
    import fsspec

    content = write(tmp_path, "csv").read_bytes()
    store = fsspec.filesystem("memory")
    for name in ("b", "a"):
        store.pipe(f"/bucket/{name}.csv", content)
    paths = expand_all("memory://bucket/*.csv")
    assert paths == ["memory://bucket/a.csv", "memory://bucket/b.csv"]
    _, labels, _ = read_in_shards(paths, 5)
    assert labels == TABLE["label"] * 2
    with pytest.raises(DataError, match="there is no such file"):
        expand_all("memory://bucket/*.parquet")
    with pytest.raises(DataError, match="there is no such file"):
        make_manifest("memory://bucket/c.csv")
    with pytest.raises(DataError, match="cannot be opened: Protocol not known: nowhere"):
        make_manifest("nowhere://bucket/c.csv")


def test_lines_in_errors_are_those_of_the_file(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("label,x\n" + "a,1\n" * 50 + "b,what\n" * 99)
    manifest = make_manifest(path, shards=2)
    reading = detect_reading(manifest, columns={"x": "number"})
    with pytest.raises(DataError, match="line 52, column 'x': expected a number, found 'what'"):
        [hashed_rows(shard, reading, str(tmp_path / "rows")) for shard in manifest.shards]
    path.write_text("label,x\n" + "a,1\n" * 50 + "b,what\n" + "a,2\n" * 50)
    shards = [hashed_rows(s, reading, str(tmp_path / "rows")) for s in make_manifest(path).shards]
    strays = [stray for rows in shards for stray in rows.counts[3]]
    assert list(map(tuple, strays)) == [(str(path), 52, "x", "'what'")]


def test_blank_lines_and_a_missing_last_line_break_do_no_harm(tmp_path):
    path = tmp_path / "a.svm"
    path.write_text("1 1:1\n\n\n-1 2:1\n" * 20 + "1 3:1")
    _, labels, entries = read_in_shards(path, 7)
    assert len(labels) == 41
    assert entries[-1] == ([3], [1.0])
    assert np.unique(labels).tolist() == ["-1", "1"]


def test_missing_credentials_are_one_sentence():
    with (
        pytest.raises(DataError, match=r"^s3://b/a\.csv: cannot be opened: AWS Error .*; are the"),
        store_errors("s3://b/a.csv"),
    ):
        raise OSError("AWS Error\n ACCESS_DENIED during HeadObject: " + "x" * 20)


def test_keys_that_a_store_does_not_know_are_asked_about():
    with pytest.raises(DataError, match="are the credentials"), store_errors("s3://b/a.csv"):
        raise OSError("AWS Error INVALID_ACCESS_KEY_ID during ListObjectsV2 operation")


def test_the_model_of_files_in_a_store_is_that_of_files_here(reviews, threads):
    pytest.importorskip("fsspec")
    uri = f"local://{reviews.parent}/*.csv"  # a scheme of fsspec that Arrow does not know
    options = {"label": "sentiment", "epochs": 3, "workers": threads, "shards": 4}
    model = train(uri, **options)
    assert np.array_equal(model.weights, train(reviews, **options).weights)


def test_a_store_without_workers_is_one_sentence():
    with pytest.raises(DataError, match="are read by workers: add --workers"):
        train("s3://bucket/part-*.csv")


def test_long_errors_of_a_store_are_cut():
    with pytest.raises(DataError) as caught, store_errors("s3://b/a.csv"):
        raise RuntimeError("word " * 200)
    assert len(str(caught.value)) < 200


def test_a_file_that_shrinks_while_it_is_read_is_an_error(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(b"0123456789")
    part = ByteSource(str(path), open_file(str(path)), part=(2, 10))
    path.write_bytes(b"0123")
    with pytest.raises(DataError, match=r"a\.csv: was changed while it was read: \d bytes"):
        part.head(100)


def test_files_of_a_file_uri_are_those_of_the_path(tmp_path):
    path = tmp_path / "with blank.csv"
    path.write_bytes(b"label,x\n")
    assert expand_all(path.as_uri()) == [str(path)]
    assert identity(str(path))["size"] == 8


def test_folders_are_not_files(tmp_path):
    with pytest.raises(DataError, match="is a folder; name the files in it"):
        expand_all(str(tmp_path))
