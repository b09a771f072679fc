"""Predicting and evaluating on shards: what one process would have written."""

from __future__ import annotations

import json

import numpy as np
import pyarrow.parquet
import pytest
from typer.testing import CliRunner

from rosenblatt import data, train
from rosenblatt.cli import app
from rosenblatt.cluster.scoring import evaluate_on_shards, predict_on_shards
from rosenblatt.errors import DataError, OptionError
from rosenblatt.jobs.evaluate import evaluate
from rosenblatt.jobs.predict import write_predictions
from rosenblatt.models.model_file import read_model

from .reviews import write_reviews


@pytest.fixture(scope="module")
def model(reviews, tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "a.model"
    train(reviews, label="sentiment", epochs=2, out=path)
    return path


@pytest.fixture(scope="module")
def test_file(tmp_path_factory):
    return write_reviews(tmp_path_factory.mktemp("new") / "new.csv", 400, seed=7)


def predicted(model, path, out):
    """What one process writes."""
    loaded = read_model(model)
    source = data.open(path, features=loaded.features)
    source.labelled = False
    return write_predictions(loaded, source, out)


def read(path):
    """The rows of an output."""
    if path.suffix == ".parquet":
        return pyarrow.parquet.read_table(path).to_pylist()
    header, *lines = path.read_text().splitlines(True)
    return [header, *lines] if path.suffix == ".jsonl" else lines


@pytest.mark.parametrize("format", ["csv", "tsv", "jsonl", "parquet"])
def test_the_outputs_of_shards_hold_the_rows_of_one_process(
    model, test_file, format, tmp_path, threads
):
    rows = predicted(model, test_file, tmp_path / f"whole.{format}")
    folder = tmp_path / "parts"
    assert predict_on_shards(model, test_file, threads, folder, to=format, shards=5) == (rows, 0)
    parts = sorted(folder.iterdir())
    assert [path.name for path in parts] == [f"part-0000{i}.{format}" for i in range(5)]
    together = [row for path in parts for row in read(path)]
    assert together == read(tmp_path / f"whole.{format}")


def test_an_evaluation_is_that_of_one_process(model, test_file, threads):
    loaded = read_model(model)
    source = data.open(test_file, features=loaded.features, classes=loaded.classes)
    whole = evaluate(loaded, source, keep_scores=True, top=1)
    found = evaluate_on_shards(model, test_file, threads, shards=5, keep_scores=True, top=1)
    assert np.array_equal(found.confusion, whole.confusion)
    assert found.to_json() == whole.to_json()
    assert np.array_equal(found.scores, whole.scores)
    assert np.array_equal(found.truth, whole.truth)


def test_the_commands_share_the_work(model, test_file, tmp_path):
    runner = CliRunner()
    out = tmp_path / "out"
    options = ["--workers", "2", "--shards", "3"]
    done = runner.invoke(app, ["predict", str(model), str(test_file), "-o", str(out), *options])
    assert done.exit_code == 0, done.output
    assert "400 rows" in done.output
    done = runner.invoke(app, ["evaluate", str(model), str(test_file), "--json", *options])
    assert json.loads(done.output)["rows"] == 400


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["evaluate", "{model}", "none-*.csv", "--workers", "1"], "there is no such file"),
        (["evaluate", "{model}", "{file}", "--shards", "3"], "is for --workers"),
        (["predict", "{model}", "{file}", "--workers", "1"], "name it with --out"),
    ],
)
def test_bad_input_is_one_sentence(model, test_file, arguments, message):
    given = [text.format(model=model, file=test_file) for text in arguments]
    done = CliRunner().invoke(app, given)
    assert isinstance(done.exception, OptionError | DataError)
    assert message in str(done.exception)
