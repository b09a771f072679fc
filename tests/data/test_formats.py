"""Files are told apart by samples of all of them, and formats by names or first lines."""

from __future__ import annotations

import numpy as np
import pytest

from rosenblatt.data.bytes import fingerprint
from rosenblatt.data.formats import detect_format


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
