"""A folder of text files per class is a table of labels and texts."""

from __future__ import annotations

from itertools import pairwise

import pytest
from typer.testing import CliRunner

from rosenblatt import data, load, train
from rosenblatt.cli import app
from rosenblatt.errors import DataError, OptionError

TEXTS = {"pos": "good and fun", "neg": "bad and dull"}


@pytest.fixture
def folder(tmp_path):
    for name, text in TEXTS.items():
        for i in range(40):
            file = tmp_path / "reviews" / name / ("deep" if i % 2 else "") / f"{i}.txt"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(f"{text} {i}")
    (tmp_path / "reviews" / ".hidden").mkdir()
    (tmp_path / "reviews" / "pos" / ".notes").write_bytes(b"\xff")
    return tmp_path / "reviews"


def test_folders_are_labels_and_files_are_texts(folder):
    source = data.open(folder)
    (batch,) = source
    assert sorted(source.classes) == ["neg", "pos"]
    assert len(batch) == 80
    assert (source.format, source.features.label) == ("folder", "label")
    assert [c.name for c in source.features.columns] == ["text"]
    labels = batch.labels.tolist()
    changes = sum(a != b for a, b in pairwise(labels))
    assert changes > 10, "classes are mixed"


def test_training_from_a_folder(folder, tmp_path):
    out = tmp_path / "m.model"
    result = CliRunner().invoke(app, ["train", str(folder), "--out", str(out)])
    assert result.exit_code == 0, result.output
    model = load(out)
    assert model.predict(["good fun", "dull"]).tolist() == ["pos", "neg"]
    result = CliRunner().invoke(app, ["evaluate", str(out), str(folder)])
    assert result.exit_code == 0, result.output
    assert "the model was trained on" in result.output


def test_a_file_that_is_not_utf8_is_named_or_left_out(folder):
    (folder / "neg" / "8.txt").write_bytes(b"b\xff")
    with pytest.raises(DataError, match=r"8.txt: expected UTF-8"):
        list(data.open(folder))
    source = data.open(folder, skip_bad_rows=True)
    assert sum(map(len, source)) == 79
    assert source.bad == 1


def test_folders_that_cannot_be_read_are_said(folder, tmp_path):
    empty = tmp_path / "empty"
    (empty / "a").mkdir(parents=True)
    with pytest.raises(DataError, match="no text files"):
        data.open(empty)
    with pytest.raises(DataError, match="is a file, not a folder with a folder of text"):
        data.open(next(folder.rglob("*.txt")), format="folder")
    with pytest.raises(DataError, match="one at a time"):
        data.open([folder, folder])
    with pytest.raises(OptionError, match="--label has no effect on folders"):
        train(folder, label="label")
