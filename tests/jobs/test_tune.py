"""Tuning: within its time, what is chosen is among what was tried, and fits the rows better."""

from __future__ import annotations

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import rosenblatt.jobs.tune as tuning
from rosenblatt import load, train
from rosenblatt.cli import app
from rosenblatt.errors import DataError, OptionError
from rosenblatt.jobs.tune import Choice, Trial, parse_seconds
from rosenblatt.kernels.text import Ngrams


def words(count=900, seed=0):
    """Single words whose endings tell their class: characters help, words do not."""
    generator = np.random.default_rng(seed)
    endings = {"nl": "ij", "fr": "aux", "de": "ung"}
    names = generator.choice(list(endings), count)
    stems = ["".join(generator.choice(list("abcdefghklmnoprst"), 5)) for _ in names]
    return {
        "label": names.tolist(),
        "text": [s + endings[n] for s, n in zip(stems, names, strict=True)],
    }


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    table = words()
    path = tmp_path_factory.mktemp("tuning") / "words.tsv"
    rows = zip(table["label"], table["text"], strict=True)
    path.write_text("label\ttext\n" + "".join(f"{a}\t{b}\n" for a, b in rows))
    return path


@pytest.fixture
def clock(monkeypatch):
    """A clock that goes by the calls, whatever else the machine does."""
    calls = iter(range(10**9))
    monkeypatch.setattr(tuning, "_now", lambda: 0.05 * next(calls))


@pytest.mark.usefixtures("clock")
def test_tuning_finds_characters_where_words_cannot_help(path):
    tried = []
    model = train(path, tune=20, report_trial=tried.append)
    assert model.features.ngrams.analyzer in ("char", "pieces")
    assert len(tried) >= 9
    test = words(300, seed=1)
    assert model.score(test, test["label"]) > 0.9
    plain = train(path, analyzer="word")
    assert plain.score(test, test["label"]) < 0.6
    first = model.parameters["tuning"][0]
    assert (first["ngrams"], first["threshold"], first["analyzer"]) == ([1, 2], 2.0, "pieces")
    assert len(model.parameters["tuning"]) == len(tried)


@pytest.mark.usefixtures("clock")
def test_what_is_chosen_trains_to_the_same_model_again(path):
    tuned = train(path, tune="3s", average=False)
    n, p = tuned.features.ngrams, tuned.parameters
    again = train(
        path, ngrams=(n.low, n.high), analyzer=n.analyzer, bits=n.bits,
        threshold=p["threshold"], padding=p["padding"], average=p["average"],
        multiclass=p["multiclass"], rule=p["rule"],
    )  # fmt: skip
    assert np.array_equal(tuned.weights, again.weights)
    assert np.array_equal(tuned.columns, again.columns)
    assert not p["average"], "what was given is not tuned"


@pytest.mark.usefixtures("clock")
def test_what_is_given_is_not_tried_otherwise(path):
    tried = []
    train(path, tune=3, ngrams=1, threshold=1.0, padding=0.5, report_trial=tried.append)
    assert {t.choice.threshold for t in tried} == {1.0}
    assert {t.choice.padding for t in tried} == {0.5}
    assert {t.choice.ngrams.high for t in tried} == {1}


@pytest.mark.usefixtures("clock")
@pytest.mark.parametrize(
    ("option", "value"), [("rule", "perceptron"), ("average", True), ("threshold", 2.0)]
)
def test_a_default_that_is_given_is_not_tuned(path, option, value):
    tried = []
    model = train(path, tune=15, ngrams=1, report_trial=tried.append, **{option: value})
    assert len(tried) > 5
    assert {getattr(trial.choice, option) for trial in tried} == {value}
    assert model.parameters[option] == value


@pytest.mark.usefixtures("clock")
def test_more_time_is_more_trials_and_no_time_is_the_defaults(path):
    counts = []
    for seconds in (0.1, 7, 16):
        tried = []
        model = train(path, tune=seconds, ngrams=1, report_trial=tried.append)
        counts.append(len(tried))
    assert counts[0] == 1
    assert counts[0] < counts[1] < counts[2]
    assert model.parameters["tuning"][0]["rule"] == "perceptron"


@pytest.mark.usefixtures("clock")
def test_the_best_of_many_trials_on_noise_does_not_replace_the_defaults():
    random = np.random.default_rng(2)
    texts = [" ".join(row) for row in random.choice(list("abcdefghij"), (240, 9)).tolist()]
    table = {"label": random.choice(["no", "yes"], 240).tolist(), "text": texts}
    tried = []
    model = train(table, text="text", tune=15, report_trial=tried.append)
    assert len(tried) <= 20, "few rows are for few choices"
    assert model.parameters["threshold"] == 2.0
    tuned = model.parameters["tuned"]
    assert tuned["gain"] <= tuned["standard_error"]
    assert not tuned["is_chosen"]


@pytest.mark.usefixtures("clock")
def test_numbers_are_tuned_on_validation_rows():
    generator = np.random.default_rng(0)
    x = generator.normal(size=(1200, 3))
    table = {f"x{j}": x[:, j] for j in range(3)} | {
        "label": np.where(x @ [1.0, -2.0, 0.5] > 0, "a", "b").tolist()
    }
    valid = {name: values[:300] for name, values in table.items()}
    tried = []
    model = train(table, valid=valid, tune=3, report_trial=tried.append)
    assert model.score(valid, valid["label"]) > 0.9
    assert all(t.error <= 1 for t in tried)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tune": "soon"}, "is not a time"),
        ({"tune": 0}, "is not a time"),
        ({"tune": 5, "checkpoint": "run"}, "exclude each other"),
    ],
)
def test_what_has_no_meaning_is_refused(path, options, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(OptionError, match=message):
        train(path, **options)
    with pytest.raises(OptionError, match="cannot be combined with start"):
        train(path, tune=5, start=train(path, epochs=1))


@pytest.mark.parametrize("text", ["", "s", "-3s", "nan", "1d", "1.2.3s"])
def test_what_is_not_a_time_is_refused(text):
    with pytest.raises(OptionError, match="is not a time"):
        parse_seconds(text)


def test_one_class_cannot_be_tuned():
    with pytest.raises(DataError, match="at least two classes"):
        train({"label": ["a"] * 50, "text": ["so good a film"] * 50}, tune=2)


@pytest.mark.usefixtures("clock")
def test_the_command_prints_what_was_tried(path, tmp_path):
    out = tmp_path / "m.model"
    result = CliRunner().invoke(app, ["train", str(path), "--tune", "3s", "--out", str(out)])
    assert result.exit_code == 0, result.output
    lines = result.output.splitlines()
    assert lines[0].split() == ["error", "rows", "tried"]
    assert "pieces 1-2 2^22, threshold 2, padding 0.1" in lines[1]
    assert max(len(line) for line in lines if str(out) not in line) <= 80
    assert json.dumps(load(out).parameters["tuning"])


def test_joint_updates_of_several_classes_can_be_asked_for(path):
    joint = train(path, analyzer="char", multiclass="joint", epochs=3)
    test = words(300, seed=1)
    assert joint.score(test, test["label"]) > 0.9
    with pytest.raises(OptionError, match="multiclass is"):
        train(path, multiclass="all")


def test_what_happens_between_epochs_does_not_grow_with_the_rows():
    trial = Trial(Choice(Ngrams()), rows=100, error=0.1, epochs=3, seconds=5.0, between=4.0)
    assert trial.seconds_for(100) == 5.0
    assert trial.seconds_for(900) == 13.0


def test_the_time_of_a_trial_is_told_apart_by_rows_and_between_epochs(path):
    tried = []
    train(path, tune=2, report_trial=tried.append)
    assert all(0 < trial.between < trial.seconds for trial in tried)
