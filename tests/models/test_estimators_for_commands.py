"""The commands read the files of estimators: one kind of model file."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import dump_svmlight_file, load_iris
from sklearn.pipeline import make_pipeline
from typer.testing import CliRunner

from rosenblatt import (
    AROW,
    KernelPerceptron,
    Model,
    Perceptron,
    TableClassifier,
    load,
    save,
    train,
)
from rosenblatt.cli import app
from rosenblatt.errors import DataError, ModelFormatError, OptionError


def flowers(kinds=3):
    X, y = load_iris(return_X_y=True, as_frame=True)
    return X[y < kinds], y[y < kinds].map(dict(enumerate(["setosa", "versicolor", "virginica"])))


def run(*call):
    result = CliRunner().invoke(app, list(map(str, call)))
    assert result.exit_code == 0, (result.output, result.exception)
    return result.output


@pytest.mark.parametrize("make", [Perceptron, AROW])
@pytest.mark.parametrize(("kinds", "multiclass"), [(2, "auto"), (3, "joint"), (3, "ovr")])
def test_every_command_reads_an_estimator_of_named_columns(tmp_path, make, kinds, multiclass):
    X, y = flowers(kinds)
    estimator = make(multiclass=multiclass, random_state=0).fit(X, y)
    path, table = tmp_path / "e.model", tmp_path / "flowers.csv"
    save(estimator, path)
    X.assign(kind=y).sample(frac=1, random_state=0).to_csv(table, index=False)
    shuffled = pd.read_csv(table)
    accuracy = estimator.score(shuffled.drop(columns="kind"), shuffled["kind"])
    told = json.loads(run("evaluate", path, table, "--label", "kind", "--json"))
    assert told["accuracy"] == pytest.approx(accuracy)
    predicted = run("predict", path, table, "--only", "predicted").split()
    assert predicted[-len(X) :] == estimator.predict(shuffled[list(X)]).tolist()
    assert "petal length (cm)" in run("inspect", path)
    row = X.iloc[0].to_dict()
    explained = run("explain", path, json.dumps(row))
    assert f"predicted {y.iloc[0]}" in explained
    assert "petal length (cm)" in explained
    model = Model.load(path)
    scores = estimator.decision_function(X)
    largest = np.abs(scores).max()
    np.testing.assert_allclose(model.decision_function(X), scores, rtol=0, atol=1e-5 * largest)
    np.testing.assert_allclose(model.predict_proba(X), estimator.predict_proba(X), atol=1e-4)
    assert type(load(path)) is make


def test_an_estimator_of_an_array_reads_svmlight_files_by_column(tmp_path):
    X, y = flowers()
    estimator = Perceptron(multiclass="joint").fit(X.to_numpy(), y)
    save(estimator, tmp_path / "e.model")
    codes = np.searchsorted(estimator.classes_, y)
    dump_svmlight_file(X.to_numpy(), codes, str(tmp_path / "a.svm"), zero_based=True)
    predicted = run("predict", tmp_path / "e.model", tmp_path / "a.svm", "--only", "predicted")
    assert predicted.split()[-len(X) :] == estimator.predict(X.to_numpy()).tolist()
    X.to_csv(tmp_path / "a.csv", index=False)
    with pytest.raises(DataError, match="the model was trained on svmlight data"):
        CliRunner().invoke(
            app,
            ["predict", str(tmp_path / "e.model"), str(tmp_path / "a.csv")],
            catch_exceptions=False,
        )


def test_what_a_command_cannot_read_is_said_in_a_sentence(tmp_path):
    X, y = flowers()
    path = tmp_path / "e.model"
    save(KernelPerceptron().fit(X, y), path)
    with pytest.raises(ModelFormatError, match="by its support vectors"):
        Model.load(path)
    save(Perceptron(multiclass="joint").fit(X, y), path)
    with pytest.raises(OptionError, match="partial_fit"):
        train(X.assign(label=y), start=path)
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
