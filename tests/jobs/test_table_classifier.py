"""`train` as a scikit-learn estimator of raw tables."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from rosenblatt import TableClassifier, TrainOptions, load, train
from rosenblatt.errors import OptionError


def rows(count=300, seed=0):
    """A frame of numbers with gaps, categories, dates and text, and labels."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": np.where(rng.random(count) < 0.1, np.nan, rng.normal(40, 10, count)),
            "job": rng.choice(["tech", "sales", None], count),
            "day": pd.Timestamp("2024-03-01") + pd.to_timedelta(rng.integers(0, 60, count), "D"),
            "note": rng.choice(["good and fun to see", "bad and dull to see"], count),
        }
    )
    score = 1.0 * (frame["job"] == "tech") + 1.0 * frame["note"].str.startswith("good")
    score += rng.normal(size=count) / 4
    return frame, pd.Series(score > 1.5, name="bought")


def test_it_is_train_bit_for_bit():
    frame, y = rows()
    estimator = TableClassifier(epochs=4, class_weight="balanced").fit(frame, y)
    model = train(frame.assign(bought=y), label="bought", epochs=4, class_weight="balanced")
    assert (estimator.model_.weights == model.weights).all()
    assert estimator.model_.features == model.features
    assert estimator.model_.calibration == model.calibration
    assert (estimator.predict(frame) == (model.predict(frame) == "true")).all()
    assert estimator.feature_names_in_.tolist() == list(frame)


def test_cross_validation_scores_raw_frames_by_probabilities():
    frame, y = rows()
    scoring = ["accuracy", "neg_log_loss", "roc_auc", "neg_brier_score"]
    scores = cross_validate(TableClassifier(), frame, y, scoring=scoring, cv=4)
    assert scores["test_accuracy"].mean() > 0.85
    assert scores["test_roc_auc"].mean() > 0.9
    assert scores["test_neg_log_loss"].mean() > -0.4
    assert scores["test_neg_brier_score"].mean() > -0.12


@pytest.mark.parametrize(
    "labels",
    [
        np.array([0, 10, 9]),
        np.array([-1.0, 2.0, 10.0]),
        np.array(["b", "a", "c"]),
        np.array(["b", "a"], dtype=object),
        np.array([False, True]),
        np.array([-1, 1]),
    ],
)
def test_labels_of_every_type_come_back(labels):
    rng = np.random.default_rng(0)
    codes = rng.integers(0, len(labels), 150)
    X, y = {"x": (labels[codes] == labels[0]) * 1.0, "z": codes + 0.1}, labels[codes]
    estimator = TableClassifier().fit(X, y)
    assert estimator.classes_.dtype == labels.dtype
    assert (estimator.classes_ == np.unique(labels)).all()
    assert estimator.score(X, y) == 1.0
    likeliest = estimator.classes_[estimator.predict_proba(X).argmax(axis=1)]
    assert (likeliest == y).all()
    scores = estimator.decision_function(X)
    by_score = scores.argmax(axis=1) if scores.ndim == 2 else (scores > 0).astype(int)
    assert (estimator.classes_[by_score] == y).all()


def test_all_kinds_of_tables_give_the_same_model():
    frame, y = rows(120)
    frame = frame[["age", "job", "note"]]
    table = pa.Table.from_pandas(frame)
    forms = [frame, pl.from_pandas(frame), table, table.to_pydict(), table.to_pylist()]
    models = [TableClassifier(epochs=2).fit(form, y) for form in forms]
    for model, form in zip(models, forms, strict=True):
        assert (model.model_.weights == models[0].model_.weights).all()
        assert (model.predict(form) == models[0].predict(frame)).all()
    texts = frame["note"].tolist()
    of_texts = TableClassifier(epochs=2).fit(texts, frame["note"].str[0])
    assert of_texts.predict(texts).tolist() == frame["note"].str[0].tolist()
    numbers = np.random.default_rng(0).normal(size=(80, 3))
    plain = TableClassifier(epochs=9).fit(numbers, numbers[:, 1] > 0)
    assert plain.score(numbers, numbers[:, 1] > 0) > 0.9
    assert plain.n_features_in_ == 3


def test_options_are_those_of_train_and_parameters_of_scikit_learn():
    estimator = TableClassifier(epochs=3, rule="arow")
    assert estimator.get_params()["rule"] == "arow"
    assert clone(estimator.set_params(epochs=5)).epochs == 5
    assert repr(estimator) == "TableClassifier(epochs=5, rule='arow')"
    names = set(TrainOptions.__dataclass_fields__) - {"label", "label_separator"}
    assert set(estimator.get_params()) == names
    with pytest.raises(TypeError, match="'epoch' is not an option"):
        TableClassifier(epoch=3)
    with pytest.raises(OptionError, match="epochs must be at least 1"):
        TableClassifier(epochs=0).fit(*rows(40))
    with pytest.raises(ValueError, match="Invalid parameter"):
        estimator.set_params(label="y")


def test_it_works_in_grid_searches_and_pipelines(tmp_path):
    frame, y = rows()
    pipeline = make_pipeline(
        FunctionTransformer(lambda X: X.drop(columns="day")), TableClassifier()
    )
    search = GridSearchCV(
        pipeline, {"tableclassifier__epochs": [1, 6]}, scoring="neg_log_loss", cv=3
    )
    search.fit(frame, y)
    assert math.isfinite(search.best_score_)
    best = search.best_estimator_[-1]
    assert "day" not in best.feature_names_in_
    copy = pickle.loads(pickle.dumps(best))
    assert (copy.predict_proba(frame) == best.predict_proba(frame)).all()
    assert len(pickle.dumps(best)) < 50_000
    best.save(tmp_path / "m.model")
    assert (load(tmp_path / "m.model").predict(frame) == best.model_.predict(frame)).all()


def test_sample_weights_count_as_copies():
    frame, y = rows(200)
    weights = np.where(np.arange(200) % 2, 2.0, 0.0)
    weighted = TableClassifier(epochs=2).fit(frame, y, sample_weight=weights)
    named = TableClassifier(epochs=2, weight="w").fit(frame.assign(w=weights), y)
    assert (weighted.model_.weights == named.model_.weights).all()
    with pytest.raises(ValueError, match="exclude each other"):
        TableClassifier(weight="age").fit(frame, y, sample_weight=weights)


def test_what_cannot_be_learned_is_refused_in_a_sentence():
    frame, y = rows(60)
    for wrong, message in [
        (None, "requires y"),
        ([*y[:-1], None], "no label in row 59"),
        (y[:-1], "inconsistent numbers"),
        (np.eye(60), "1d array"),
        (["a "] * 30 + ["a"] * 30, "written alike"),
        (["a"] * 60, "at least two classes"),
    ]:
        with pytest.raises(ValueError, match=message):
            TableClassifier().fit(frame, wrong)
    with pytest.raises(ValueError, match="a table is expected"):
        TableClassifier().fit([1.0, 2.0], ["a", "b"])
    with pytest.raises(NotFittedError):
        TableClassifier().predict(frame)
    estimator = TableClassifier(calibrate=None, epochs=1).fit(frame, y)
    assert not hasattr(estimator, "predict_proba")
    with pytest.raises(ValueError, match="the columns age are missing"):
        estimator.predict(frame.drop(columns="age"))
