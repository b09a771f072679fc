"""The commands read the models of a TableClassifier, and say what they do not read."""

from __future__ import annotations

import pytest
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from typer.testing import CliRunner

from rosenblatt import (
    KernelPerceptron,
    Model,
    Perceptron,
    TableClassifier,
    load,
    save,
)
from rosenblatt.cli import app
from rosenblatt.errors import ModelFormatError


def flowers(kinds=3):
    X, y = load_iris(return_X_y=True, as_frame=True)
    return X[y < kinds], y[y < kinds].map(dict(enumerate(["setosa", "versicolor", "virginica"])))


def run(*call):
    result = CliRunner().invoke(app, list(map(str, call)))
    assert result.exit_code == 0, (result.output, result.exception)
    return result.output


def test_what_a_command_cannot_read_is_said_in_a_sentence(tmp_path):
    X, y = flowers()
    path = tmp_path / "e.model"
    for estimator in (KernelPerceptron(), Perceptron()):
        save(estimator.fit(X, y), path)
        assert type(load(path)) is type(estimator)
        with pytest.raises(ModelFormatError, match="is the file of an estimator"):
            Model.load(path)
    with pytest.raises(TypeError, match=r"not Pipeline: joblib.dump"):
        save(make_pipeline(Perceptron()), path)
    with pytest.raises(TypeError, match="not TableClassifier"):
        save(TableClassifier(), path)


def test_a_table_classifier_is_saved_as_its_model(tmp_path):
    X, y = flowers()
    estimator = TableClassifier().fit(X, y)
    save(estimator, tmp_path / "t.model")
    assert (load(tmp_path / "t.model").predict(X) == estimator.predict(X)).all()
    X.assign(target=y).to_csv(tmp_path / "a.csv", index=False)
    assert "accuracy" in run("evaluate", tmp_path / "t.model", tmp_path / "a.csv")
