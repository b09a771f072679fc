"""Arrow files are checked before they are used, and tables in memory are read like files."""

from __future__ import annotations

import subprocess
import sys
from datetime import datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from pyarrow import parquet as pq

from rosenblatt import data, train
from rosenblatt.errors import DataError
from rosenblatt.jobs.evaluate import evaluate

ROWS = [
    {"label": "pos", "text": "a good film, and fun", "stars": 4.5, "where": "web"},
    {"label": "neg", "text": 'bad: the "plot" fails', "stars": 1.0, "where": "press"},
    {"label": "pos", "text": "Très bon ! un vrai chef d'œuvre", "stars": None, "where": "web"},
]


def table():
    return pa.Table.from_pylist(ROWS)


def read(path, **options):
    source = data.open(path, **({"label": "label"} | options))
    batches = list(source)
    indices = np.concatenate([b.rows.indices for b in batches])
    values = np.concatenate([b.rows.values for b in batches])
    labels = [source.classes[c] for b in batches for c in b.labels]
    return source, indices.tolist(), values, labels


@pytest.mark.parametrize("rows", [1000, 20_000])
def test_an_arrow_file_that_is_not_sound_is_refused_near_its_fault(tmp_path, rows):
    texts = [b"a good film"] * 20_000
    texts[17_000] = b"a bad \xff"
    text = pa.array(texts, pa.binary()).view(pa.string())
    whole = pa.table({"label": ["a", "b"] * 10_000, "text": text})
    with pa.ipc.new_file(tmp_path / "a.arrow", whole.schema) as file:
        file.write_table(whole, max_chunksize=rows)
    with pytest.raises(DataError, match=r"the Arrow file cannot be read: .*UTF") as caught:
        list(data.open(tmp_path / "a.arrow", label="label"))
    assert caught.value.line == (17_001 if rows == 1000 else 16_385)
    only = pa.table({"label": whole["label"], "kind": whole["label"], "text": text})
    pyarrow.feather.write_feather(only, tmp_path / "b.arrow", compression="uncompressed")
    assert sum(map(len, data.open(tmp_path / "b.arrow", label="label", columns=["kind"])))


def frames():
    columns = {name: [row[name] for row in ROWS] for name in ROWS[0]}
    yield columns
    yield table()
    yield pytest.importorskip("pandas").DataFrame(columns, index=[5, 5, 7])


def test_tables_in_memory_give_the_rows_of_a_file(tmp_path):
    pyarrow.parquet.write_table(table(), tmp_path / "a.parquet")
    expected = read(tmp_path / "a.parquet")
    for frame in frames():
        source, indices, values, labels = read(frame)
        assert (indices, labels) == (expected[1], expected[3])
        assert np.array_equal(values, expected[2])
        assert source.files == ["<table>"]
        assert source.features == expected[0].features
        assert source.fingerprint() == read(table())[0].fingerprint()
    with pytest.raises(DataError, match="the table has no rows"):
        data.open(table().slice(0, 0), label="label")
    with pytest.raises(DataError, match="line 2, column 'label': the label is missing"):
        read({"label": ["a", None], "x": [1, 2]})


@pytest.mark.parametrize("name", ["a.arrow", "stream.arrow", "a.parquet"])
def test_a_file_cut_short_while_it_is_read_is_an_error_and_not_a_signal(tmp_path, name):
    """A memory map would end the process with SIGBUS; the reading is in a process of its own."""
    n = 400_000
    table = pa.table({"x": np.random.default_rng(0).random(n), "label": ["a", "b"] * (n // 2)})
    path = tmp_path / name
    if name == "a.parquet":
        pyarrow.parquet.write_table(table, path, row_group_size=50_000)
    else:
        make = pa.ipc.new_file if name == "a.arrow" else pa.ipc.new_stream
        with make(str(path), table.schema) as writer:
            writer.write_table(table, max_chunksize=50_000)
    code = f"""
import os
from rosenblatt import data
batches = iter(data.open({str(path)!r}))
next(batches)
os.truncate({str(path)!r}, 4096)
try:
    print(sum(len(batch) for batch in batches))
except ValueError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "was changed while it was read" in done.stdout


def test_strings_in_parquet_that_are_not_utf8_are_refused(tmp_path):
    """Parquet's reader does not look at the bytes of a string."""
    binary = pa.array([b"ok fine text", b"caf\xe9 more text"] * 5)
    text = pa.StringArray.from_buffers(len(binary), *binary.buffers()[1:])
    path = tmp_path / "rows.parquet"
    pyarrow.parquet.write_table(pa.table({"label": ["a", "b"] * 5, "text": text}), path)
    with pytest.raises(DataError, match=r"Parquet file cannot be read.*UTF8"):
        list(data.open(path, skip_bad_rows=True))


@pytest.mark.parametrize("kind", ["arrow", "parquet"])
def test_a_column_name_that_is_not_utf8_is_refused(tmp_path, kind):
    path = tmp_path / f"rows.{kind}"
    columns = pa.table({"label": ["a", "b"], "naaame": [1.0, 2.0]})
    if kind == "arrow":
        pyarrow.feather.write_feather(columns, path, compression="uncompressed")
    else:
        pyarrow.parquet.write_table(columns, path)
    path.write_bytes(path.read_bytes().replace(b"naaame", b"n\xe2aame"))
    with pytest.raises(DataError, match="cannot be read"):
        list(data.open(path, label="label"))


DAYS = [datetime(2024, 1, 1), datetime(2025, 1, 1)]
LABELS = [
    *((kind, [1, 2]) for kind in map(pa.type_for_alias, ("i1", "i2", "i4", "i8"))),
    *((kind, [1, 2]) for kind in map(pa.type_for_alias, ("u1", "u2", "u4", "u8"))),
    (pa.float16(), [np.float16(1), np.float16(2.5)]),
    (pa.float32(), [1.0, 1e30]),
    (pa.float64(), [1e300, float("inf")]),
    (pa.decimal128(10, 2), [Decimal("1.50"), Decimal("2.50")]),
    (pa.decimal256(50, 2), [Decimal("1.50"), Decimal("2.50")]),
    (pa.bool_(), [True, False]),
    *((kind, ["x", "y"]) for kind in (pa.string(), pa.large_string(), pa.string_view())),
    *((kind, [b"x", b"y"]) for kind in (pa.binary(), pa.large_binary(), pa.binary(1))),
    (pa.dictionary(pa.int8(), pa.string()), ["x", "y"]),
    (pa.dictionary(pa.int32(), pa.int64()), [1, 2]),
    *((kind, DAYS) for kind in (pa.date32(), pa.date64())),
    *((pa.timestamp(unit), DAYS) for unit in ("ms", "us", "ns")),
    (pa.timestamp("us", "Europe/Berlin"), DAYS),
    *((kind, [1, 2]) for kind in (pa.time32("ms"), pa.time64("us"), pa.duration("s"))),
]
REFUSED = [
    *((make(pa.int64()), [[1], [2]]) for make in (pa.list_, pa.large_list, pa.list_view)),
    (pa.list_(pa.int64(), 1), [[1], [2]]),
    (pa.struct({"a": pa.int64()}), [{"a": 1}, {"a": 2}]),
    (pa.map_(pa.string(), pa.int64()), [[("a", 1)], [("a", 2)]]),
    (pa.null(), [None, None]),
    (pa.binary(), [b"\xff", b"y"]),
]


@pytest.fixture(params=["parquet", "arrow"])
def labelled(request, tmp_path):
    """A function that writes rows with two labels of a type; returns the path and the table."""

    def write(kind, values):
        x = [i % 2 + i / 100 for i in range(40)]
        table = pa.table({"label": pa.array(values * 20, kind), "x": x})
        path = tmp_path / f"a.{request.param}"
        if request.param == "parquet":
            pq.write_table(table, path)
        else:
            with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as out:
                out.write(table)
        return path, table

    return write


@pytest.mark.parametrize(("kind", "values"), LABELS, ids=lambda value: str(value)[:30])
def test_labels_of_every_type_are_read_alike_in_training_and_after_it(labelled, kind, values):
    path, table = labelled(kind, values)
    model = train(path, epochs=2)
    assert len(model.classes) == 2
    assert model.score(table, table["label"]) == 1
    source = data.open(path, features=model.features, classes=model.classes)
    assert evaluate(model, source).accuracy == 1


@pytest.mark.parametrize(("kind", "values"), REFUSED, ids=lambda value: str(value)[:30])
def test_labels_that_are_no_values_are_refused_in_a_sentence(labelled, kind, values):
    with pytest.raises(DataError, match=r"expected (strings, numbers or dates|UTF-8)|is missing"):
        train(labelled(kind, values)[0], epochs=2)
