"""Small models predict like large ones, and are as small as was asked for."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

from rosenblatt import data, load, train
from rosenblatt.cli import app
from rosenblatt.errors import OptionError
from rosenblatt.models.compress import compress, parse_share, parse_size

CLASSES = {"a": "abcdefgh", "b": "ghijklmn", "c": "mnopqrst"}


def rows(count, seed, classes, noise=20_000):
    generator = np.random.default_rng(seed)
    names = generator.choice(classes, count)
    texts = [" ".join(generator.choice(list(CLASSES[name]), 6)) for name in names]
    numbers = generator.integers(0, noise, (count, 3))
    return {
        "label": names.tolist(),
        "text": [f"{t} n{u} n{v} n{w}" for t, (u, v, w) in zip(texts, numbers, strict=True)],
    }


@pytest.fixture(scope="module", params=[2, 3], ids=["two classes", "three classes"])
def trained(request, tmp_path_factory):
    classes = list(CLASSES)[: request.param]
    folder = tmp_path_factory.mktemp("models")
    model = train(rows(1500, 0, classes), text="text", epochs=3)
    path = folder / "valid.tsv"
    table = rows(800, 1, classes)
    lines = [f"{a}\t{b}" for a, b in zip(table["label"], table["text"], strict=True)]
    path.write_text("label\ttext\n" + "\n".join(lines) + "\n")
    model.save(folder / "large.model")
    return model, path, folder


def opened(model, path):
    return data.open(path, features=model.features, classes=model.classes)


def test_without_rounding_nothing_changes(trained):
    model, path, _ = trained
    _, lossless, *_ = compress(model)
    table = {"text": [line.split("\t")[1] for line in path.read_text().splitlines()[1:]]}
    expected = model.decision_function(table)
    assert np.allclose(lossless.model.decision_function(table), expected, atol=1e-5)
    assert not lossless.model.state


def test_a_loss_of_nothing_drops_only_the_state(trained):
    model, path, _ = trained
    lossless = compress(model, loss=0.0)[-1].model
    assert (lossless.precision, len(lossless.state)) == ("float32", 0)
    texts = [line.split("\t")[1] for line in path.read_text().splitlines()[1:]]
    assert np.array_equal(lossless.decision_function(texts), model.decision_function(texts))


def test_a_model_without_weights_is_compressed(trained):
    model, path, _ = trained
    empty = replace(model, weights=np.zeros_like(model.weights), state={})
    for form in compress(empty, size=10**6, rows=opened(model, path)):
        assert form.weights == 0
    *_, last = compress(empty, loss=0.0, rows=opened(model, path))
    assert len(last.model.columns) == 0
    assert last.accuracy > 0


def test_the_size_asked_for_is_reached_and_used(trained):
    model, path, folder = trained
    forms = compress(model, rows=opened(model, path))
    least = 4000  # for what a model says about itself
    for share in (0.9, 0.5, 0.2):
        most = least + share * (forms[-1].bytes - least)
        small = compress(model, size=most, rows=opened(model, path))[-1]
        small.model.save(folder / "small.model")
        assert (folder / "small.model").stat().st_size == small.bytes <= most
        assert small.bytes > 0.9 * most - 600
    again = load(folder / "small.model")
    assert again.precision == "int8"
    assert np.array_equal(again.weights, small.model.weights)
    again.save(folder / "again.model")
    assert (folder / "again.model").read_bytes() == (folder / "small.model").read_bytes()
    assert small.accuracy > 0.8 * forms[0].accuracy


def test_no_more_is_lost_than_allowed(trained):
    model, path, _ = trained
    forms = compress(model, loss=0.01, rows=opened(model, path))
    assert forms[-1].accuracy >= forms[0].accuracy - 0.01
    assert forms[-1].bytes < 0.5 * forms[1].bytes
    assert [form.bytes for form in forms] == sorted((f.bytes for f in forms), reverse=True)
    assert model.compressed(loss=0.01, rows=opened(model, path)).precision == "int8"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"size": 10.0}, "still takes"),
        ({"loss": 0.1}, "loss needs rows"),
        ({"size": 1e6, "loss": 0.1}, "exclude each other"),
    ],
)
def test_what_cannot_be_is_refused(trained, options, message):
    with pytest.raises(OptionError, match=message):
        compress(trained[0], **options)


@pytest.mark.parametrize("text", ["", "MB", "-2MB", "2 parsecs", "nan", "0"])
def test_what_is_not_a_size_is_refused(text):
    with pytest.raises(OptionError, match="is not a size"):
        parse_size(text)


@pytest.mark.parametrize("text", ["", "%", "-1%", "100%", "nan%"])
def test_what_is_not_a_share_is_refused(text):
    with pytest.raises(OptionError, match="is not a share"):
        parse_share(text)


def run(*arguments):
    return CliRunner().invoke(app, ["compress", *(str(a) for a in arguments)])


def test_the_command_prints_size_against_accuracy(trained):
    _, path, folder = trained
    out = folder / "s.model"
    result = run(folder / "large.model", "-o", out, "--size", "20kB", "--valid", path)
    assert result.exit_code == 0, result.output
    lines = result.output.splitlines()
    assert lines[0].split() == ["size", "accuracy", "weights"]
    assert "with what only training needs" in lines[1]
    assert max(map(len, lines[:-1])) <= 80
    assert out.stat().st_size <= 20_000
    told = json.loads(run(folder / "large.model", "-o", out, "--json").output)
    assert told["forms"][-1]["precision"] == "int8"
    assert told["forms"][-1]["accuracy"] is None
    evaluated = CliRunner().invoke(app, ["evaluate", str(out), str(path), "--json"])
    assert json.loads(evaluated.output)["accuracy"] > 0.8


def test_a_small_model_can_be_trained_further_from_its_weights(trained):
    model, _, folder = trained
    model.compressed().save(folder / "small.model")
    more = train(rows(300, 5, list(model.classes)), start=folder / "small.model", epochs=1)
    assert more.precision == "float32"
    assert math.isfinite(float(more.weights.sum()))


def test_faults_leave_no_file(trained):
    _, path, folder = trained
    out = folder / "never.model"
    for options in (["--size", "huge"], ["--loss", "1%"], ["--size", "1MB", "--loss", "1%"]):
        assert run(folder / "large.model", "-o", out, *options).exit_code != 0
    assert run(path, "-o", out).exit_code != 0
    assert not out.exists()
