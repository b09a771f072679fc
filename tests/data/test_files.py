"""Files are told apart by samples of all of them; byte order marks and breaks are noticed."""

from __future__ import annotations

import gzip
import io
import sys

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rosenblatt.data.blocks import read_blocks
from rosenblatt.data.files import ByteSource, fingerprint
from rosenblatt.errors import DataError

PACKED = {"gzip": gzip.compress, "zstd": lambda data: pa.compress(data, "zstd", asbytes=True)}


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


@pytest.mark.parametrize("content", [b"", b"ab", b"abcdef", b"\xef\xbb\xbf", b"\xef\xbb\xbfabc"])
@pytest.mark.parametrize("looked", [0, 2, 4])
def test_bytes_come_whole_and_without_a_byte_order_mark(tmp_path, content, looked):
    (tmp_path / "a").write_bytes(content)
    source, expected = ByteSource(str(tmp_path / "a")), content.removeprefix(b"\xef\xbb\xbf")
    if looked:
        assert source.head(looked) == expected[:looked]
    found, before = b"", np.empty(0, dtype=np.uint8)
    while (read := source.read(before, 3))[1]:
        found += read[0][: read[1]].tobytes()
    assert found == expected


def cut(source, size):
    return [(block.data, block.line) for block in read_blocks(source, size, ord(","))]


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
    plain = cut(ByteSource(str(tmp_path / "plain")), size)
    assert cut(ByteSource(str(tmp_path / "packed")), size) == plain


def test_a_packed_stream_names_its_lines_though_it_comes_only_once(tmp_path, monkeypatch):
    content = b"".join(b"%d,abc\n" % i for i in range(1000))
    (tmp_path / "packed").write_bytes(gzip.compress(content))
    given = io.BufferedReader(io.BytesIO(gzip.compress(content)))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(given))
    assert cut(ByteSource("-"), 500) == cut(ByteSource(str(tmp_path / "packed")), 500)


@pytest.mark.parametrize("kind", sorted(PACKED))
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
