"""Rows hashed once into a folder come back as they were."""

from __future__ import annotations

import json

import numpy as np
import pytest

from rosenblatt import data
from rosenblatt.data import write_cache
from rosenblatt.errors import DataError


@pytest.fixture
def source(tmp_path):
    rows = "".join(f"{'yn'[i % 2]},word{i % 7} and more\n" for i in range(200))
    (tmp_path / "a.csv").write_text("label,text\n" + rows)
    return data.open(tmp_path / "a.csv", text="text", block_bytes=500)


def test_batches_classes_and_counts_come_back(source, tmp_path):
    assert write_cache(source, tmp_path / "a.cache") == 200
    back = data.open(tmp_path / "a.cache")
    for one, other in zip(source, back, strict=True):
        assert all(np.array_equal(a, b) for a, b in zip(one.rows, other.rows, strict=True))
        assert np.array_equal(one.labels, other.labels)
    assert (back.classes, back.rows, back.features) == (source.classes, 200, source.features)
    assert back.fingerprint() == source.fingerprint()
    assert back.first_table().equals(source.first_table())
    assert [len(batch) for batch in back.batches(3)] == [len(batch) for batch in source.batches(3)]


def test_codes_follow_the_classes_of_a_model(source, tmp_path):
    write_cache(source, tmp_path / "a.cache")
    turned = data.open(tmp_path / "a.cache", features=source.features, classes=["y", "x", "n"])
    assert set(next(iter(turned)).labels.tolist()) == {0, 2}
    with pytest.raises(DataError, match="the label 'n' is not a class of the model"):
        list(data.open(tmp_path / "a.cache", features=source.features, classes=["y", "x"]))


def test_a_folder_that_is_not_whole_or_of_other_features_is_refused(source, tmp_path):
    write_cache(source, tmp_path / "a.cache")
    with pytest.raises(DataError, match="exists already"):
        write_cache(source, tmp_path / "a.cache")
    other = data.open(tmp_path / "a.csv", columns={"text": "category"})
    with pytest.raises(DataError, match="hashed for other features"):
        data.open(tmp_path / "a.cache", features=other.features)
    (tmp_path / "a.cache" / "rows.arrow").write_bytes(b"short")
    with pytest.raises(DataError, match="cannot be read as a cache"):
        data.open(tmp_path / "a.cache")
    about = tmp_path / "a.cache" / "about.json"
    about.write_text(json.dumps(json.loads(about.read_text()) | {"version": 99}))
    with pytest.raises(DataError, match="another format or version"):
        data.open(tmp_path / "a.cache")


@pytest.mark.parametrize("name", ["rows.arrow", "first.arrow", "about.json"])
def test_no_file_that_was_cut_or_changed_is_read_as_another_one(source, tmp_path, name):
    write_cache(source, tmp_path / "a.cache")
    file, generator = tmp_path / "a.cache" / name, np.random.default_rng(1)
    content = file.read_bytes()

    def everything():
        back = data.open(tmp_path / "a.cache")
        found = [[a.tolist() for a in (*batch.rows, batch.labels)] for batch in back]
        return found, back.classes, back.first_table().to_pylist()

    sound, refused = everything(), 0
    for place in generator.integers(0, len(content), 60):
        flipped = bytearray(content)
        flipped[place] ^= 1 << int(generator.integers(0, 8))
        for damaged in (flipped, content[:place]):
            file.write_bytes(damaged)
            try:
                assert everything() == sound
            except DataError:
                refused += 1
    assert refused > 100


def test_numbers_that_are_not_finite_are_refused(tmp_path, monkeypatch):
    (tmp_path / "a.svm").write_text("1 1:1 2:1\n-1 1:-1\n")
    source = data.open(tmp_path / "a.svm")
    [batch] = source
    batch.rows.values[0] = np.inf
    monkeypatch.setattr(type(source), "__iter__", lambda self: iter([batch]))
    write_cache(source, tmp_path / "a.cache")
    monkeypatch.undo()
    with pytest.raises(DataError, match="a value or a weight is not finite"):
        list(data.open(tmp_path / "a.cache"))


def test_damaged_rows_are_refused_or_harmless(source, tmp_path):
    """No change of a byte may lead outside of the rows, the columns or the classes."""
    write_cache(source, tmp_path / "a.cache")
    file = tmp_path / "a.cache" / "rows.arrow"
    content = np.frombuffer(file.read_bytes(), dtype=np.uint8)
    refused = 0
    for place in np.random.default_rng(0).integers(0, len(content), 300):
        damaged = content.copy()
        damaged[place] ^= 0xFF
        file.write_bytes(damaged.tobytes())
        try:
            batches = list(data.open(tmp_path / "a.cache"))
        except DataError:
            refused += 1
            continue
        for batch in batches:
            assert int(batch.rows.indptr[-1]) == len(batch.rows.indices) == len(batch.rows.values)
            assert np.all(np.diff(batch.rows.indptr.astype(np.int64)) >= 0)
            assert batch.rows.indices.max(initial=0) < 1 << source.features.ngrams.bits
            assert set(batch.labels.tolist()) <= {0, 1}
    assert refused > 30
