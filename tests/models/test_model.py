"""Models in Python: what goes in, what comes out, why."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pandas
import polars
import pyarrow
import pytest

from rosenblatt import Model, train
from rosenblatt.data import Column, Features
from rosenblatt.errors import DataError
from rosenblatt.kernels.text import Ngrams, Rows, column
from rosenblatt.models.onnx import export_onnx


@pytest.fixture(scope="module")
def table():
    return {
        "label": [f"c{i % 3}" for i in range(60)],
        "x": [float(i % 7) for i in range(60)],
        "text": [f"word{i % 3} and {i % 5} more" for i in range(60)],
    }


@pytest.fixture(scope="module")
def model(table):
    return train(table, columns={"text": "text", "x": "number"}, epochs=2)


def test_a_model_of_one_text_column_takes_a_list():
    features = Features(columns=(Column("t", "text"),), ngrams=Ngrams(bits=12))
    at = np.array([column(["good"], 12)], np.uint32)
    model = Model(("no", "yes"), features, at, np.ones((1, 1), np.float32), np.zeros(1))
    assert model.predict(["Good!", "bad"]).tolist() == ["yes", "no"]
    with pytest.raises(ValueError, match="missing"):
        model.predict({"u": ["good"]})
    with pytest.raises(ValueError, match="not one text: write"):
        model.predict("Good!")
    series = [pandas.Series(["Good!", "bad"]), polars.Series(["Good!", "bad"])]
    for texts in (*series, np.array(["Good!", "bad"]), pyarrow.array(["Good!", "bad"])):
        assert model.predict(texts).tolist() == ["yes", "no"]


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        ([1.0, 0.0], ["0", "1"]),
        ([0.5, 2.25], ["0.5", "2.25"]),
        ([True, False], ["false", "true"]),
        ([7, -3], ["-3", "7"]),
        (["yes", " no "], ["no", "yes"]),
    ],
)
@pytest.mark.parametrize(
    "kind", [list, np.array, pandas.Series, polars.Series, pyarrow.array], ids=lambda k: k.__name__
)
def test_the_score_spells_labels_as_training_did(labels, classes, kind):
    table = {"label": labels * 40, "text": ["good and fun", "bad and dull"] * 40}
    model = train(table, label="label", epochs=2)
    assert sorted(model.classes) == classes
    assert model.score(table, kind(table["label"])) == 1.0
    assert model.score(table, kind(table["label"][::-1])) == 0.0
    with pytest.raises(ValueError, match=r"expected labels of shape \(80,\), got \(79,\)"):
        model.score(table, kind(table["label"][1:]))


def test_a_missing_label_or_one_of_another_type_is_a_wrong_one():
    table = {"label": [1.0, 0.0] * 40, "text": ["good and fun", "bad and dull"] * 40}
    model = train(table, label="label", epochs=2)
    rows = {"text": ["good and fun", "bad and dull"] * 2}
    assert model.score(rows, [1.0, 0.0, None, float("nan")]) == 0.5
    assert model.score(rows, ["1", 0, None, 2.5]) == 0.5


@pytest.fixture(scope="module")
def numbered(tmp_path_factory):
    path = tmp_path_factory.mktemp("rows") / "a.svm"
    path.write_text("".join(f"{i % 2} 3:{i % 2} 4:1\n" for i in range(60)))
    return train(path, bits=8, epochs=1)


@pytest.mark.parametrize("number", [256, 2**31, 2**32, -1, 10**30])
def test_feature_numbers_beyond_the_table_are_refused(numbered, number):
    message = rf"feature number {number} is not one of the 2\^8 columns of the model, 0 to 255"
    with pytest.raises(DataError, match=message):
        numbered.explain({3: 1.0, number: 1.0})
    if 0 < number < 2**32:
        rows = Rows(np.array([0, 1], np.uint64), np.array([number], np.uint32), np.ones(1, "f4"))
        with pytest.raises(DataError, match=message):
            numbered.scores(rows)
    assert numbered.explain({255: 1.0}).scores == numbered.bias
    assert numbered.explain({}).scores == numbered.bias


def test_a_model_too_wide_for_onnx_is_refused(tmp_path):
    path = tmp_path / "a.svm"
    path.write_text("".join(f"{i % 3} 4000000:{1 + i % 3}\n" for i in range(60)))
    with pytest.raises(ValueError, match=r"feature number 4,000,000 and 3 scores need 12,000,003"):
        export_onnx(train(path, epochs=1), tmp_path / "a.onnx")
    assert not (tmp_path / "a.onnx").exists()


def test_tables_of_every_kind_are_scored_alike(model, table):
    expected = model.decision_function(table)
    assert expected.shape == (60, 3)
    for frame in (pandas.DataFrame(table), polars.DataFrame(table), pyarrow.table(table)):
        assert np.array_equal(model.decision_function(frame), expected)


def test_the_score_is_the_share_of_right_predictions(model, table):
    right = model.predict(table) == np.array(table["label"])
    assert model.score(table, table["label"]) == right.mean()
    assert model.classes_.tolist() == list(model.classes) == ["c0", "c1", "c2"]


def test_numbers_as_labels_compare_with_the_strings_of_a_model():
    model = train({"label": [0, 1] * 9, "x": [0.0, 1.0] * 9}, epochs=5)
    assert model.score({"x": [0.0, 1.0]}, [0, 1]) == 1.0


def test_contributions_add_up_to_the_scores(model, table):
    for i in (0, 1, 5):
        row = {"x": table["x"][i], "text": table["text"][i]}
        found = model.explain(row)
        scores = model.decision_function({name: [value] for name, value in row.items()})[0]
        assert found.scores == pytest.approx(scores, abs=1e-5)
        assert found.predicted == model.predict({n: [v] for n, v in row.items()})[0]
        assert "x" in found.features
        assert f"text: word{i % 3}" in found.features
        assert repr(found).startswith(f"<Explanation: {found.predicted!r}, score")
        assert "<table>" in found._repr_html_()


def test_unknown_words_contribute_nothing_and_one_row_is_explained_at_a_time(model, table):
    columns = {"text": "text", "x": "number"}
    of_words = train(table, columns=columns, epochs=2, analyzer="word")
    found = of_words.explain({"x": 3.0, "text": "never seen"})
    places = [place for place, name in enumerate(found.features) if name != "x"]
    assert len(places) == 3
    assert not found.contributions[places].any()
    with pytest.raises(ValueError, match="one row"):
        model.explain(pandas.DataFrame({"x": [1.0, 2.0], "text": ["a", "b"]}))


def test_a_row_of_an_svmlight_model_is_explained_by_number(tmp_path):
    (tmp_path / "a.svm").write_text("1 3:2 7:1\n-1 4:1\n" * 9)
    found = train(tmp_path / "a.svm", epochs=2).explain({3: 2.0, 9: 1.0})
    assert found.features == ["3", "9"]
    assert found.contributions[0, 0] > 0 == found.contributions[1, 0]


def test_models_show_themselves_in_a_line(model):
    assert repr(model).startswith("<Model of 3 classes, ")
    assert repr(model).endswith(" features: c0, c1, c2>")
    assert "<td>c1</td>" in model._repr_html_()


def test_loading_and_predicting_imports_no_more_than_it_needs(tmp_path):
    frame = {"label": ["pos", "neg"] * 20, "text": ["good and fun", "bad and dull"] * 20}
    train(frame, text="text", epochs=2).save(tmp_path / "a.model")
    heavy = ("sklearn", "scipy", "pandas", "typer", "rich", "numba", "matplotlib")
    code = (
        f"import sys, rosenblatt; model = rosenblatt.load({str(tmp_path / 'a.model')!r}); "
        "model.predict(['good']); "
        f"print([name for name in {heavy!r} if name in sys.modules])"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    for _ in range(2):  # kernels that are compiled in the first process need Numba
        found = subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True
        )
        assert found.returncode == 0, found.stderr
    assert found.stdout.strip() == "[]"


def test_tables_come_as_frames_columns_records_or_one_record():
    frame = {"label": ["old", "new"] * 30, "age": [70, 5] * 30, "day": ["2024-03-31", ""] * 30}
    model = train(frame, epochs=3)
    records = [{"day": "2024-03-31", "age": 80}, {"age": 3, "more": [1]}]
    columns = {"age": [80, 3], "day": ["2024-03-31", None]}
    expected = model.decision_function(columns).tolist()
    for rows in (records, tuple(records), pyarrow.table(columns)):
        assert model.decision_function(rows).tolist() == expected
    assert model.decision_function(records[0]).tolist() == expected[:1]
    with pytest.raises(ValueError, match="the columns age are missing"):
        model.predict({"day": "2024-03-31"})


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"age": "old", "day": ""}, "line 1, column 'age': expected a number, found 'old'"),
        ({"age": 3, "day": 5}, "column 'day': expected a date such as 2024-03-31, found 5"),
    ],
)
def test_cells_of_the_wrong_type_are_refused_in_python(row, message):
    frame = {"label": ["old", "new"] * 30, "age": [70, 5] * 30, "day": ["2024-03-31", ""] * 30}
    model = train(frame, epochs=1)
    for method in (model.predict, model.decision_function, model.explain):
        with pytest.raises(DataError, match=message):
            method(row)
