"""Cross-validation over the rows of a run, and probabilities where rows are few."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from typer.testing import CliRunner

from rosenblatt import TrainOptions, train
from rosenblatt.cli import app
from rosenblatt.errors import OptionError
from rosenblatt.jobs.folds import cross_validate, folds_of


def frame(rows=400, seed=0, noise=0.5):
    """Two numbers and a category that decide the label, but for noise."""
    rng = np.random.default_rng(seed)
    x, job = rng.normal(size=(rows, 2)), rng.integers(0, 3, rows)
    score = x[:, 0] - x[:, 1] + (job == 1) + noise * rng.normal(size=rows)
    return {
        "a": x[:, 0],
        "b": x[:, 1],
        "job": np.array(["tech", "sales", "none"])[job],
        "label": np.where(score > 0, "yes", "no"),
    }


def test_folds_share_out_all_rows_and_each_class():
    codes = np.array([0] * 70 + [1] * 31)
    folds = folds_of(codes, 4, seed=1)
    assert sorted(np.concatenate(folds).tolist()) == list(range(101))
    assert {int((codes[fold] == 1).sum()) for fold in folds} <= {7, 8}
    assert all((a == b).all() for a, b in zip(folds, folds_of(codes, 4, 1), strict=True))


def test_a_fold_is_scored_by_what_was_learned_without_it():
    rng = np.random.default_rng(0)
    noise = {"key": [f"k{i}" for i in range(600)], "label": rng.choice(["a", "b"], 600)}
    folds = list(cross_validate(noise, TrainOptions(columns={"key": "category"}), 5))
    assert [fold.rows for fold in folds] == [120] * 5
    assert 0.4 < np.mean([fold.accuracy for fold in folds]) < 0.6
    assert all(fold.log_loss > 0.6 for fold in folds)


def test_folds_agree_with_new_rows():
    folds = list(cross_validate(frame(3000), TrainOptions(), 3))
    new = frame(3000, seed=1)
    accuracy = train(frame(3000), label="label").score(new, new["label"])
    assert np.mean([fold.accuracy for fold in folds]) == pytest.approx(accuracy, abs=0.02)


def test_folds_are_lifted_as_the_model_is():
    x = np.random.default_rng(0).uniform(-3, 3, 600)
    rows = {"x": x, "label": np.where(np.abs(x) < 1.5, "inside", "outside")}
    for lift, least in ("auto", 0.97), ("knots", 0.97), ("none", 0.0):
        folds = list(cross_validate(rows, TrainOptions(lift=lift), 3))
        accuracy = np.mean([fold.accuracy for fold in folds])
        assert accuracy > least if least else accuracy < 0.8


@pytest.mark.parametrize("options", [{}, {"epochs": 5}, {"class_weight": "balanced"}])
@pytest.mark.parametrize("rows", [30, 400])
def test_few_rows_have_probabilities_from_folds(rows, options):
    model, new = train(frame(rows), label="label", **options), frame(2000, seed=1)
    of_truth = model.predict_proba(new)[np.arange(2000), (new["label"] == "yes").astype(int)]
    assert -np.log(of_truth).mean() < 0.6
    again = train(frame(rows), label="label", **options, calibrate=None)
    assert again.calibration is None
    assert (model.weights == again.weights).all()


def test_folds_respect_weights_and_several_classes():
    rows = frame(300)
    rows["label"] = np.where(rows["a"] > 1, "more", rows["label"])
    rows["w"] = np.where(np.arange(300) % 3 == 0, 0.0, 2.0)
    folds = list(cross_validate(rows, TrainOptions(weight="w", max_epochs=4), 4))
    assert sum(fold.rows for fold in folds) == 200
    assert all(fold.accuracy > 0.7 and math.isfinite(fold.log_loss) for fold in folds)


def test_cross_validation_excludes_what_it_cannot_repeat(tmp_path):
    for options in ({"valid": frame(30)}, {"tune": 1}, {"checkpoint": tmp_path}):
        with pytest.raises(OptionError, match="exclude each other"):
            next(cross_validate(frame(30), TrainOptions(**options), 3))
    with pytest.raises(OptionError, match="all rows in memory"):
        next(cross_validate(frame(3000), TrainOptions(memory=1 << 10), 3))


def test_the_command_prints_folds_mean_and_standard_error(tmp_path):
    path, rows = tmp_path / "a.csv", frame(200)
    lines = zip(*rows.values(), strict=True)
    path.write_text("\n".join([",".join(rows), *(",".join(map(str, row)) for row in lines)]))
    call = ["train", str(path), "--cv", "3", "--epochs", "3", "--out", str(tmp_path / "m.model")]
    result = CliRunner().invoke(app, call)
    assert result.exit_code == 0, result.output
    begins = [line.split("  ")[0] for line in result.output.splitlines()]
    assert begins[:5] == ["fold 1", "fold 2", "fold 3", "mean", "± error"]
    result = CliRunner().invoke(app, [*call, "--json"])
    told = json.loads(result.output.splitlines()[-1])["cross_validation"]
    folds = list(cross_validate(str(path), TrainOptions(epochs=3), 3))
    accuracies = [fold.accuracy for fold in folds]
    assert told["accuracy"]["mean"] == pytest.approx(np.mean(accuracies))
    error = np.std(accuracies, ddof=1) / math.sqrt(3)
    assert told["accuracy"]["standard_error"] == pytest.approx(error)
    result = CliRunner().invoke(app, ["train", "-", "--cv", "3"], input="a")
    assert "name files, not pipes" in str(result.exception)
