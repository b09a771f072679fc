"""Predicting and evaluating on shards: what one process would have written."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pyarrow.parquet
import pytest
from typer.testing import CliRunner

from rosenblatt import data, train
from rosenblatt.cli import app
from rosenblatt.cluster.scoring import Scoring, evaluate_on_shards, predict_on_shards
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
    if path.suffix == ".parquet":
        return pyarrow.parquet.read_table(path).to_pylist()
    return gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()


@pytest.mark.parametrize("name", ["out.csv", "out.tsv.gz", "out.jsonl", "out.parquet"])
def test_one_output_is_that_of_one_process(model, test_file, name, tmp_path, threads):
    rows = predicted(model, test_file, tmp_path / name)
    (tmp_path / "shards").mkdir()
    target = tmp_path / "shards" / name
    scoring = Scoring(model, test_file, threads, {}, shards=5)
    assert predict_on_shards(scoring, str(target)) == (rows, 0)
    assert read(target) == read(tmp_path / name)


def test_one_output_per_shard_holds_the_rows_in_order(model, test_file, tmp_path, threads):
    predicted(model, test_file, tmp_path / "whole.csv")
    scoring = Scoring(model, test_file, threads, {}, shards=5)
    rows, _ = predict_on_shards(scoring, str(tmp_path / "parts") + "/")
    parts = sorted((tmp_path / "parts").iterdir())
    assert [path.name for path in parts] == [f"part-0000{i}.csv" for i in range(5)]
    header, *lines = (tmp_path / "whole.csv").read_text().splitlines(True)
    assert "".join(part.read_text().removeprefix(header) for part in parts) == "".join(lines)
    assert rows == 400


def test_an_evaluation_is_that_of_one_process(model, test_file, threads):
    loaded = read_model(model)
    source = data.open(test_file, features=loaded.features, classes=loaded.classes)
    whole = evaluate(loaded, source, keep_scores=True)
    found = evaluate_on_shards(Scoring(model, test_file, threads, {}, shards=5), keep_scores=True)
    assert np.array_equal(found.confusion, whole.confusion)
    assert found.to_json() == whole.to_json()
    assert np.array_equal(found.scores, whole.scores)
    assert np.array_equal(found.truth, whole.truth)


def test_the_commands_share_the_work(model, test_file, tmp_path):
    runner = CliRunner()
    out = tmp_path / "out.csv"
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
