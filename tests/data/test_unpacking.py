"""Small files that claim to be large are refused or read in small pieces, whatever they claim."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from rosenblatt import data
from rosenblatt.data import read_arrays, unpacking
from rosenblatt.data.columnar import BATCH_ROWS, read_columnar
from rosenblatt.data.formats import FORMATS
from rosenblatt.errors import DataError

N = 9000
LABELS = np.arange(N) % 2
REPEATED = pa.DictionaryArray.from_arrays(np.zeros(N, np.int32), pa.array(["ab " * (1 << 16)]))
VIEWS = np.tile(np.array([1 << 17, 0x61616161, 0, 0], np.int32), N)


def columnar(path, format):
    return read_columnar(str(path), FORMATS[format], None, BATCH_ROWS)


def text_bytes(table):
    return sum(unpacking._text_sizes(cells).sum() for cells in table["text"].chunks)


@pytest.mark.parametrize("dictionary", [True, False])
def test_a_text_in_every_row_of_a_parquet_file_is_read_in_small_batches(tmp_path, dictionary):
    path = tmp_path / "bomb.parquet"
    table = pa.table({"text": REPEATED, "label": LABELS})
    pa.parquet.write_table(table, path, compression="zstd", store_schema=dictionary)
    assert path.stat().st_size < 5000
    rows = 0
    before = pa.default_memory_pool().bytes_allocated()
    for chunk in columnar(path, "parquet"):
        assert text_bytes(chunk.table) <= unpacking.BATCH_BYTES
        assert pa.default_memory_pool().bytes_allocated() - before < 300e6
        assert chunk.line_of(0) == rows + 1
        rows += chunk.table.num_rows
        if rows > 2000:
            return


def test_texts_that_share_their_beginning_are_read_in_small_batches(tmp_path):
    path = tmp_path / "bomb.parquet"
    texts = pa.array(["a" * (1 << 18)] * 1000)
    pa.parquet.write_table(
        pa.table({"text": texts}),
        path,
        compression="zstd",
        use_dictionary=False,
        column_encoding={"text": "DELTA_BYTE_ARRAY"},
    )
    sizes = [text_bytes(chunk.table) for chunk in columnar(path, "parquet")]
    assert sum(sizes) == 1000 << 18
    assert max(sizes) <= unpacking.BATCH_BYTES


@pytest.mark.parametrize("kind", ["dictionary", "view"])
def test_a_text_in_every_row_of_an_arrow_file_is_read_in_small_batches(tmp_path, kind):
    path = tmp_path / "bomb.arrow"
    buffers = [None, pa.py_buffer(VIEWS), pa.py_buffer(b"a" * (1 << 17))]
    views = pa.Array.from_buffers(pa.string_view(), N, buffers)
    table = pa.table({"text": REPEATED if kind == "dictionary" else views, "label": LABELS})
    with pa.ipc.new_file(path, table.schema) as out:
        out.write_table(table)
    chunks = list(columnar(path, "arrow"))
    assert max(map(text_bytes, (chunk.table for chunk in chunks))) <= unpacking.BATCH_BYTES
    assert sum(chunk.table.num_rows for chunk in chunks) == N


def test_pages_that_unpack_to_a_hundred_times_their_size_are_refused(tmp_path):
    path = tmp_path / "bomb.parquet"
    table = pa.table({"x": np.zeros(1 << 24), "label": np.zeros(1 << 24, np.int8)})
    options = {"use_dictionary": False, "data_page_size": 1 << 30, "max_rows_per_page": 1 << 30}
    pa.parquet.write_table(table, path, compression="zstd", row_group_size=1 << 24, **options)
    with pytest.raises(
        DataError, match=r"the Parquet file cannot be read: [0-9,]+ bytes of it unpack to"
    ):
        data.open(path)
    # The same rows in ordinary pages are no danger.
    pa.parquet.write_table(table[: 1 << 17], path, compression="zstd", use_dictionary=False)
    assert data.open(path).features.columns[0].kind == "number"


def test_lists_of_millions_of_values_in_a_row_are_refused(tmp_path):
    path = tmp_path / "bomb.parquet"
    values = pa.array(np.zeros(1 << 24, np.int8))
    lists = pa.ListArray.from_arrays(pa.array([0, 1 << 24], pa.int32()), values)
    pa.parquet.write_table(pa.table({"l": lists, "x": [1], "label": ["a"]}), path)
    with pytest.raises(DataError, match="unpack to 134 MB at once"):
        data.open(path)


@pytest.mark.parametrize("container", [pa.ipc.new_file, pa.ipc.new_stream])
def test_arrow_batches_that_unpack_to_a_hundred_times_their_size_are_refused(tmp_path, container):
    path = tmp_path / "bomb.arrow"
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    for rows in (1 << 24, 1 << 16):
        table = pa.table({"x": np.zeros(rows), "label": np.zeros(rows, np.int8)})
        with container(path, table.schema, options=options) as out:
            out.write_table(table)
        if rows > 1 << 20:
            with pytest.raises(DataError, match="unpack to 151 MB at once"):
                data.open(path)
    assert data.open(path).features.columns[0].kind == "number"


def test_batches_of_ordinary_files_are_as_they_were(tmp_path):
    words = [f"word{i % 977} " * (i % 40) for i in range(20_000)]
    table = pa.table({"text": words, "x": np.arange(20_000.0), "label": np.arange(20_000) % 2})
    for codec in ("snappy", "zstd", "gzip", "none"):
        path = tmp_path / f"{codec}.parquet"
        pa.parquet.write_table(table, path, compression=codec, row_group_size=7000)
        chunks = [chunk.table for chunk in columnar(path, "parquet")]
        plain = pa.parquet.ParquetFile(path).iter_batches(BATCH_ROWS)
        assert [c.num_rows for c in chunks] == [batch.num_rows for batch in plain]
        assert pa.concat_tables(chunks).equals(table)


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow", "stream.arrow"])
def test_damaged_headers_of_pages_and_batches_are_refused_with_a_sentence(tmp_path, name):
    path = tmp_path / name
    table = pa.table({"text": ["good", "bad"] * 50, "label": [0, 1] * 50})
    if name.endswith("parquet"):
        pa.parquet.write_table(table, path, compression="zstd")
    else:
        options = pa.ipc.IpcWriteOptions(compression="zstd")
        kind = pa.ipc.new_stream if name.startswith("stream") else pa.ipc.new_file
        with kind(path, table.schema, options=options) as out:
            out.write_table(table)
    whole = path.read_bytes()
    draw = random.Random(31)
    refused = 0
    for _ in range(300):
        mutated = bytearray(whole)
        for _ in range(draw.randint(1, 4)):
            mutated[draw.randrange(len(mutated))] = draw.randrange(256)
        path.write_bytes(mutated[: draw.choice([len(whole), draw.randrange(8, len(whole))])])
        try:
            list(data.open(path, label="label"))
        except DataError:
            refused += 1
    assert refused > 50


def test_a_changed_byte_in_the_header_of_a_page_is_no_crash(tmp_path):
    path = tmp_path / "a.parquet"
    table = pa.table({"text": ["good", "bad"] * 50, "label": [0, 1] * 50})
    pa.parquet.write_table(table, path, compression="zstd")
    whole, refused = path.read_bytes(), 0
    for at in range(4, 90):
        for byte in (0, 12, 21, 28, 76, 255):
            path.write_bytes(whole[:at] + bytes([byte]) + whole[at + 1 :])
            try:
                unpacking.rows_at_once(pa.OSFile(str(path)), None, 8192, [0])
            except pa.ArrowInvalid:
                refused += 1
    assert refused > 100


def test_archives_of_which_all_rows_are_kept_in_memory_have_a_limit(tmp_path):
    import gzip

    path = tmp_path / "bomb.csv.gz"
    path.write_bytes(gzip.compress(b"x,label\n" + b"0,a\n1,b\n" * (1 << 22)))
    with pytest.raises(DataError, match="unpacks to more than 100 times its size"):
        read_arrays(path)
