"""Where the model is to go is checked before training, and a full disk does not lose it."""

import os
from pathlib import Path

import pytest

from rosenblatt import data, load, train
from rosenblatt.errors import DataError, OptionError


@pytest.fixture
def rows(tmp_path):
    path = tmp_path / "x.tsv"
    path.write_text("".join(f"{'ab'[i % 2]}\tword{i % 2} and more\n" for i in range(60)))
    return path


def never(run):
    raise AssertionError("training has begun")


def test_the_model_never_replaces_what_is_read(rows, tmp_path):
    content = rows.read_bytes()
    (tmp_path / "link").symlink_to(rows)
    other = tmp_path / "valid.tsv"
    other.write_bytes(content)
    for out in (rows, tmp_path / "link", other):
        with pytest.raises(OptionError, match="which is read"):
            train(rows, label=1, valid=other, out=out, report=never)
    assert rows.read_bytes() == other.read_bytes() == content
    run = tmp_path / "run"
    run.mkdir()
    with pytest.raises(OptionError, match="belongs to the checkpoint"):
        train(rows, label=1, out=run / "checkpoint", checkpoint=run, report=never)


def test_a_folder_that_cannot_be_written_is_detected_before_training(rows, tmp_path, monkeypatch):
    with pytest.raises(OptionError, match="there is no folder"):
        train(rows, label=1, out=tmp_path / "missing" / "m", report=never)
    with pytest.raises(OptionError, match="not a file"):
        train(rows, label=1, out=tmp_path, report=never)

    def is_read_only(**options):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr("rosenblatt.atomic_files.tempfile.TemporaryFile", is_read_only)
    with pytest.raises(OptionError, match="Read-only file system"):
        train(rows, label=1, out=tmp_path / "m", report=never)


def test_a_model_that_finds_the_disk_full_is_saved_elsewhere_and_says_where(
    rows, tmp_path, monkeypatch
):
    train(rows, label=1)  # so that no kernel is compiled, and written, in between
    (tmp_path / "other").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "other"))
    write, calls = os.fsync, []

    def is_full(descriptor):
        calls.append(descriptor)
        if len(calls) == 1:
            raise OSError(28, "No space left on device")
        write(descriptor)

    monkeypatch.setattr("rosenblatt.atomic_files.os.fsync", is_full)
    out = tmp_path / "m.model"
    with pytest.raises(OSError, match=r"No space left on device.*m\.model") as failure:
        train(rows, label=1, out=out)
    assert failure.value.filename == str(out)
    [refuge] = (tmp_path / "other").glob("*/m.model")
    assert str(refuge) in str(failure.value)
    assert load(refuge).classes == ("a", "b")
    assert not out.exists()
    assert [p for p in Path(tmp_path).iterdir() if p.name.startswith(".")] == []


def test_numbers_too_large_to_be_scaled_are_refused_when_they_are_read(tmp_path):
    early, late = tmp_path / "early.csv", tmp_path / "late.csv"
    lines = [f"{'ab'[i % 2]},{i},{i % 7}" for i in range(400)]
    early.write_text("\n".join(["label,x,z", "a,1e300,1", "b,-1e300,1", *lines]))
    late.write_text("\n".join(["label,x,z", *lines, "a,1e300,1"]))
    with pytest.raises(DataError, match="column 'x': its numbers are too large"):
        train(early, report=never)
    with pytest.raises(DataError, match="row 401 has a value of"):
        train(data.open(late, block_bytes=1000))
    path = tmp_path / "early.model"
    train(early, columns={"x": "ignore"}, epochs=1, out=path)
    assert load(path).classes == ("a", "b")


def test_values_that_overflow_in_svmlight_files_are_refused(tmp_path):
    path = tmp_path / "a.svm"
    path.write_text("1 1:1 2:1\n-1 1:-1\n1 1:1e30\n" * 3)
    with pytest.raises(DataError, match=r"row 3 has a value of 1e\+30"):
        train(path)
