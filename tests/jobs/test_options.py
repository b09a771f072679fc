"""The record of the options: `train`, the command line and checkpoints read it."""

from __future__ import annotations

import inspect
from dataclasses import fields, replace

import numpy as np
import pytest
from typer.main import get_command

from rosenblatt import TrainOptions, train
from rosenblatt.cli import app
from rosenblatt.errors import OptionError
from rosenblatt.jobs.options import SETTING, option_of

FRAME = {"label": ["a", "b"] * 20, "x": [1.0, 2.0] * 20}
NAMES = [entry.name for entry in fields(TrainOptions)]


def test_train_has_the_options_of_the_record_with_their_texts():
    parameters = inspect.signature(train).parameters
    assert list(parameters) == ["source", "options", *NAMES]
    for entry in fields(TrainOptions):
        assert parameters[entry.name].default == entry.default
        assert f"    {entry.name} : {entry.type}" in train.__doc__
        assert option_of(entry).help.split(".")[0][:60] in " ".join(train.__doc__.split())


def test_the_command_line_has_the_options_of_the_record_with_their_texts():
    given = {option.name: option for option in get_command(app).commands["train"].params}
    for entry in fields(TrainOptions):
        if option_of(entry).panel is None:
            assert entry.name not in given
        else:
            assert given[entry.name].help.startswith(option_of(entry).help)


def test_a_record_is_worth_its_keywords_and_keywords_replace_its_options():
    options = TrainOptions(epochs=2, threshold=1.5)
    by_record = train(FRAME, options=options)
    assert (by_record.weights == train(FRAME, epochs=2, threshold=1.5).weights).all()
    assert train(FRAME, options=options, seed=3).parameters["seed"] == 3


def test_models_record_the_options_that_decide_the_weights():
    settings = [entry.name for entry in fields(TrainOptions) if option_of(entry).kind == SETTING]
    recorded = train(FRAME, epochs=1).parameters
    assert set(recorded) == {*settings, "stop_reason", "importance"}
    assert recorded["rule"] == "perceptron"
    assert recorded["average"] is True


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("seed", -1, "seed must be at least 0, got -1"),
        ("bits", 27, "bits must be at most 26, got 27"),
        ("padding", float("nan"), "padding must be at least 0, got nan"),
        ("multiclass", "all", "multiclass is one of auto, ovr, ovo, joint, got 'all'"),
        ("class_weight", "a=x", "LABEL=NUMBER"),
        ("ngrams", "2-", "1 <= N <= M <= 20"),
    ],
)
def test_a_value_out_of_range_is_refused_by_name(name, value, message):
    with pytest.raises(OptionError, match=message):
        TrainOptions(**{name: value})
    with pytest.raises(OptionError, match=message):
        replace(TrainOptions(), **{name: value})


@pytest.mark.parametrize(
    "values",
    [
        {"epochs": 3, "patience": 2},
        {"shards": 4},
        {"checkpoint_rows": 10},
        {"tune": "5s", "workers": 2},
        {"target": "f1", "holdout": 0.0},
    ],
)
def test_options_without_effect_or_against_each_other_are_refused(values):
    options = TrainOptions(**values)
    with pytest.raises(OptionError):
        train(FRAME, options=options)


def test_labels_in_the_place_of_their_name_are_refused():
    with pytest.raises(OptionError, match=r"TableClassifier\(\).fit\(frame, y\)"):
        TrainOptions(label=np.array(["a", "b"]))


def test_auto_names_the_default_and_the_rule_of_a_single_pass():
    assert TrainOptions(rule="auto", epochs=1).rule == "arow"
    assert TrainOptions(rule="auto").rule == "perceptron"
    assert TrainOptions(multiclass="auto").multiclass is None
    frame = {"x": [1.0, 2.0, 3.0] * 9, "label": ["a", "b", "c"] * 9}
    assert train(frame, rule="auto", epochs=1).parameters["rule"] == "arow"
    assert train(frame, rule="auto", multiclass="auto", epochs=2).weights.shape[1] == 3
