"""Hashed rows on a worker's disk: checked before they are used, made again if need be."""

from __future__ import annotations

import pytest

from rosenblatt.cluster.manifest import make_manifest
from rosenblatt.cluster.shards import detect_reading, hashed_rows, open_rows, shard_name
from rosenblatt.errors import DataError

from .reviews import write_reviews


@pytest.fixture
def shard(reviews):
    manifest = make_manifest(reviews, shards=3)
    return manifest.shards[1], detect_reading(manifest, label="sentiment")


def test_rows_are_made_once_and_found_again(shard, tmp_path):
    rows = hashed_rows(*shard, str(tmp_path))
    assert hashed_rows(*shard, str(tmp_path)) is rows
    open_rows.cache_clear()
    again = hashed_rows(*shard, str(tmp_path))
    assert again is not rows
    assert again.digest == rows.digest
    assert [path.name for path in tmp_path.iterdir()] == [shard_name(*shard)]


@pytest.mark.parametrize("name", ["near", "codes", "about"])
def test_damaged_rows_are_made_again(shard, tmp_path, name):
    digest = hashed_rows(*shard, str(tmp_path)).digest
    open_rows.cache_clear()
    path = tmp_path / shard_name(*shard) / name
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    assert hashed_rows(*shard, str(tmp_path)).digest == digest


def test_rows_of_a_file_that_changed_meanwhile_are_refused(shard, tmp_path):
    hashed_rows(*shard, str(tmp_path))
    with pytest.raises(DataError, match=r"reviews\.csv: was changed since the run began"):
        hashed_rows(*shard, str(tmp_path), digest="0" * 32)


@pytest.mark.parametrize("content", ["sentiment,review\n1,2,3\n" * 900, "", None])
def test_a_file_that_is_replaced_while_it_is_read_is_an_error(tmp_path, content):
    path = write_reviews(tmp_path / "reviews.csv")
    manifest = make_manifest(path, shards=3)
    reading = detect_reading(manifest, label="sentiment")
    if content is None:
        text = path.read_text()
        path.write_text(text.replace("good", "evil"))  # of the same size, and without a fault
    else:
        path.write_text(content)
    with pytest.raises(DataError, match=r"reviews\.csv: was changed while it was read"):
        hashed_rows(manifest.shards[1], reading, str(tmp_path / "rows"))
    assert list((tmp_path / "rows").iterdir()) == []


def test_values_that_cannot_be_learned_from_are_refused(tmp_path):
    path = tmp_path / "a.svm"
    path.write_text("1 1:1\n-1 2:-1e16\n")
    manifest = make_manifest(path, shards=1)
    reading = detect_reading(manifest)
    with pytest.raises(DataError, match=r"a\.svm: a row has a value of .* cannot be learned from"):
        hashed_rows(manifest.shards[0], reading, str(tmp_path / "rows"))


def test_an_array_of_json_objects_is_not_cut(tmp_path):
    path = tmp_path / "a.json"
    path.write_text('[{"x": 1, "label": "a"}, {"x": 2, "label": "b"}]')
    with pytest.raises(DataError, match=r"a\.json: an array of JSON objects cannot be cut"):
        detect_reading(make_manifest(path, shards=2), label="label")


def test_a_shard_that_cannot_be_read_leaves_nothing(shard, tmp_path):
    part = shard[0][0]
    gone = (part._replace(file=part.file._replace(path=str(tmp_path / "gone.csv"))),)
    with pytest.raises(DataError, match=r"gone\.csv"):
        hashed_rows(gone, shard[1], str(tmp_path / "rows"))
    assert list((tmp_path / "rows").iterdir()) == []
