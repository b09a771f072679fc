"""Bytes come whole, in pieces that are cut into the same blocks however they are packed."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import lzma
import os
import sys
import threading
import tracemalloc
from contextlib import suppress

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rosenblatt import data, train
from rosenblatt.data.bytes import ByteSource, read_blocks
from rosenblatt.errors import DataError

PACKED = {
    "gzip": gzip.compress,
    "zstd": lambda data: pa.compress(data, "zstd", asbytes=True),
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "lz4": lambda data: pa.compress(data, "lz4", asbytes=True),
}


@pytest.mark.parametrize("content", [b"", b"ab", b"abcdef", b"\xef\xbb\xbf", b"\xef\xbb\xbfabc"])
@pytest.mark.parametrize("looked", [0, 2, 4])
def test_bytes_come_whole_and_without_a_byte_order_mark(tmp_path, content, looked):
    (tmp_path / "a").write_bytes(content)
    source, expected = ByteSource(str(tmp_path / "a")), content.removeprefix(b"\xef\xbb\xbf")
    if looked:
        assert source.head(looked) == expected[:looked]
    found, room, count = b"", np.empty(3, dtype=np.uint8), 3
    while count == 3:
        count = source.read_into(room)
        found += room[:count].tobytes()
    assert found == expected


@pytest.mark.parametrize("kind", [None, *sorted(PACKED)])
def test_blocks_that_are_kept_are_not_written_over_by_what_follows(tmp_path, kind):
    letters = np.random.default_rng(0).integers(97, 123, 100_000).astype(np.uint8)
    letters[99::100] = ord("\n")
    (tmp_path / "a").write_bytes(PACKED[kind](letters.tobytes()) if kind else letters.tobytes())
    blocks = list(read_blocks(ByteSource(str(tmp_path / "a")), 1000))
    assert len(blocks) == 100
    assert b"".join(block.data for block in blocks) == letters.tobytes()


def cut(path, size):
    return [(block.data, block.line) for block in read_blocks(ByteSource(path), size, ",")]


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.lists(st.integers(0, 300), min_size=1, max_size=40),
    st.integers(1, 200),
    st.sampled_from(sorted(PACKED)),
)
def test_packed_files_are_cut_into_the_same_blocks_as_plain_ones(tmp_path, lengths, size, kind):
    content = b"\n".join(b"abc,d"[i % 5 :] + b"x" * n for i, n in enumerate(lengths))
    (tmp_path / "plain").write_bytes(content)
    (tmp_path / "packed").write_bytes(PACKED[kind](content))
    plain = cut(str(tmp_path / "plain"), size)
    assert cut(str(tmp_path / "packed"), size) == plain


def test_a_packed_stream_names_its_lines_though_it_comes_only_once(tmp_path, monkeypatch):
    content = b"".join(b"%d,abc\n" % i for i in range(1000))
    (tmp_path / "packed").write_bytes(gzip.compress(content))
    given = io.BufferedReader(io.BytesIO(gzip.compress(content)))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(given))
    assert cut("-", 500) == cut(str(tmp_path / "packed"), 500)


@pytest.mark.parametrize("kind", ["gzip", "zstd"])
@pytest.mark.parametrize("size", [1 << 15, 1 << 18, 1 << 22])
def test_what_stands_before_a_break_is_read(tmp_path, kind, size):
    numbers = np.random.default_rng(0).integers(0, 1 << 40, 200_000)
    content = b"".join(b"%d\n" % number for number in numbers)
    packed = PACKED[kind](content)
    (tmp_path / "packed").write_bytes(packed[: len(packed) * 2 // 3])
    found = []
    blocks = read_blocks(ByteSource(str(tmp_path / "packed")), size)
    with pytest.raises(DataError, match=f"the {kind} data cannot be read to the end") as error:
        found.extend(block.data for block in blocks)
    assert content.startswith(b"".join(found))
    lines = b"".join(found).count(b"\n")
    assert 0 <= error.value.line - lines < size / 10
    assert len(content) / 2 < sum(map(len, content.split(b"\n")[: error.value.line]))


def piped(path, content):
    """A named pipe that a thread writes to."""
    os.mkfifo(path)

    def write():
        with suppress(BrokenPipeError):
            path.write_bytes(content)

    threading.Thread(target=write, daemon=True).start()
    return path


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
@pytest.mark.parametrize("kind", ["csv", "csv.gz", "vw"])
def test_a_pipe_is_read_like_a_file(tmp_path, kind):
    content = b"label,text\n" + b"a,good film\nb,dull film\n" * 5000
    if kind == "vw":
        content = b"1 | good\n-1 | dull\n" * 5000
    (tmp_path / "file").write_bytes(content)
    packed = gzip.compress(content) if kind.endswith("gz") else content
    piped_model = train(piped(tmp_path / "pipe", packed), epochs=2)
    model = train(tmp_path / "file", epochs=2)
    assert np.array_equal(piped_model.weights, model.weights)
    source = data.open(piped(tmp_path / "other", packed))
    list(source)
    with pytest.raises(DataError, match="a stream can be read only once"):
        list(source)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\0" * (1 << 20), "a zero byte; is this a binary file"),
        (b"label,x\n" + b"a" * (1 << 21), "line 2: a row is longer than 10 MB"),
    ],
)
def test_a_row_that_never_ends_is_refused_at_the_limit(tmp_path, monkeypatch, content, message):
    monkeypatch.setattr("rosenblatt.data.readers.LONGEST_ROW", 1 << 18)
    (tmp_path / "a.csv").write_bytes(content)
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(content))
    for name in ("a.csv", "a.csv.gz"):
        tracemalloc.start()
        with pytest.raises(DataError, match=message):
            data.open(tmp_path / name)
        assert tracemalloc.get_traced_memory()[1] < 1 << 21
        tracemalloc.stop()


PIECES = st.sampled_from([b"a", b",", b"\n", b"\r\n", b'"', b'"a"', b'"b""c"', b'"\n"', b'",",'])


def python_rows(content):
    return list(csv.reader(io.StringIO(content.decode(), newline="")))


@settings(
    max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(PIECES, min_size=1, max_size=40).map(b"".join), st.integers(1, 30))
def test_no_block_ends_within_a_value(tmp_path, content, size):
    (tmp_path / "a").write_bytes(content + b"\n")
    blocks = list(read_blocks(ByteSource(str(tmp_path / "a")), size, ","))
    rows = [row for block in blocks for row in python_rows(block.data) if row]
    assert rows == [row for row in python_rows(content + b"\n") if row]


def test_a_row_of_many_reads_is_one_block(tmp_path):
    (tmp_path / "a").write_bytes(b'a,"' + b"w\n" * 5000 + b'"\n' + b"b,v\n" * 5000)
    blocks = list(read_blocks(ByteSource(str(tmp_path / "a")), 64, ","))
    assert (blocks[0].data.count(b"w"), blocks[1].data[:3]) == (5000, b"b,v")
    assert blocks[1].line == 1 + blocks[0].data.count(b"\n")
