"""Training on ordered classes: the rows that are made, the order, the model and its figures."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr
from typer.testing import CliRunner

from rosenblatt import DataError, data, load, train
from rosenblatt.cli import app
from rosenblatt.errors import OptionError
from rosenblatt.jobs.evaluate import evaluate, ordered_figures
from rosenblatt.jobs.options import TrainOptions
from rosenblatt.jobs.ordered import OrderedSource, ordered_rows
from rosenblatt.jobs.rows import FileRows
from rosenblatt.kernels.text import Rows

NAMES = ["awful", "bad", "fair", "good", "great"]


@pytest.fixture(scope="module")
def rated():
    """Texts whose words have values, and a rating from 0 to 4 by their sum."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=200)
    words = rng.integers(0, 200, (3000, 7))
    total = values[words].sum(axis=1) + rng.normal(0, 0.5, 3000)
    ratings = np.searchsorted(np.quantile(total, [0.1, 0.3, 0.7, 0.9]), total)
    return [" ".join(f"w{word}" for word in row) for row in words], ratings


def table(rated, rows=slice(None), names=None):
    texts, ratings = rated
    labels = ratings[rows].tolist()
    return {"text": texts[rows], "label": labels if names is None else [names[i] for i in labels]}


@pytest.fixture(scope="module")
def model(rated):
    return train(table(rated, slice(2400)), text="text", ordered=True)


@given(st.lists(st.lists(st.integers(0, 200), max_size=5), max_size=6), st.integers(2, 5))
def test_each_row_is_copied_for_each_threshold(rows, classes):
    source = data.open({"text": ["a", "b"], "label": [0, 1]})
    source = OrderedSource(source, [str(c) for c in range(classes)])
    indptr = np.cumsum([0, *map(len, rows)]).astype(np.uint64)
    flat = np.array([c for row in rows for c in row], np.uint32)
    copied = source._copied(Rows(indptr, flat, np.ones(len(flat), np.float32)))
    first = 1 << source.features.ngrams.bits
    expected = [[*row, first + cut] for row in rows for cut in range(classes - 1)]
    ends = copied.indptr.astype(int)
    assert [copied.indices[a:b].tolist() for a, b in itertools.pairwise(ends)] == expected
    is_cut = copied.indices >= first
    assert (copied.values[is_cut] < 0).all()
    assert (copied.values[~is_cut] == 1).all()


def test_copies_of_a_row_are_held_out_together(rated):
    options = TrainOptions(ordered=True)
    rows = FileRows(ordered_rows(data.open(table(rated), text="text"), options), options)
    for _ in rows.source.batches():
        pass
    held = rows._is_held_out(np.arange(4 * 3000)).reshape(-1, 4)
    assert (held.all(axis=1) == held.any(axis=1)).all()
    assert 200 < held[:, 0].sum() < 400
    assert rows._is_held_out(np.arange(5, 95)).tolist() == held.ravel()[5:95].tolist()


def test_ratings_are_ranked_better_than_by_classes_without_order(rated, model):
    texts, ratings = rated
    scores = model.decision_function(texts[2400:])
    plain = train(table(rated, slice(2400)), text="text")
    rank = spearmanr(scores, ratings[2400:]).statistic
    assert rank > 0.9
    assert (
        rank > 0.05 + spearmanr(plain.predict(texts[2400:]).astype(int), ratings[2400:]).statistic
    )
    said = model.predict(texts).astype(int)
    assert (np.diff(said[np.argsort(model.decision_function(texts))]) >= 0).all()


def test_probabilities_are_those_of_classes_and_of_being_above(rated, model):
    shares = model.predict_proba(rated[0][2400:])
    assert shares.shape == (600, 5)
    assert shares.sum(axis=1) == pytest.approx(np.ones(600))
    assert (shares >= 0).all()
    expected = shares @ np.arange(5)
    assert abs(expected.mean() - rated[1][2400:].mean()) < 0.15


def test_names_in_an_order_give_the_same_model_as_numbers(rated, model, tmp_path):
    named = train(table(rated, slice(2400), NAMES), text="text", order=NAMES)
    assert named.classes == tuple(NAMES)
    assert np.array_equal(named.weights, model.weights)
    assert np.array_equal(named.bias, model.bias)
    named.save(tmp_path / "a.model")
    again = load(tmp_path / "a.model")
    assert np.array_equal(again.predict_proba(rated[0]), model.predict_proba(rated[0]))
    assert again.predict(rated[0][:20]).tolist() == [
        NAMES[int(label)] for label in model.predict(rated[0][:20])
    ]


def test_an_explanation_adds_up_to_the_rank(rated, model):
    text = rated[0][2401]
    explanation = model.explain(text)
    assert explanation.scores[0] == pytest.approx(model.decision_function([text])[0], abs=1e-4)
    assert explanation.predicted == model.predict([text])[0]


def test_two_classes_and_tables_can_be_ordered(rated):
    rng = np.random.default_rng(1)
    x = rng.normal(size=600)
    frame = {"x": x, "z": rng.normal(size=600), "grade": np.where(x > 0, "pass", "fail")}
    made = train(frame, label="grade", order=["fail", "pass"], epochs=4)
    assert made.score(frame, frame["grade"]) > 0.95
    assert made.decision_function({"x": [-2.0, 2.0], "z": [0.0, 0.0]}).tolist()[0] < 0


def test_an_interrupted_run_goes_on_to_the_same_model(rated, model, tmp_path, monkeypatch):
    def stop(run):
        if len(run.history) == 2:
            raise KeyboardInterrupt

    options = {"text": "text", "ordered": True, "checkpoint": tmp_path, "checkpoint_rows": 1000}
    with pytest.raises(KeyboardInterrupt):
        train(table(rated, slice(2400)), report=stop, **options)
    again = train(table(rated, slice(2400)), resume=True, **options)
    assert np.array_equal(again.weights, model.weights)
    assert np.array_equal(again.bias, model.bias)


def test_training_does_not_go_on_from_ordered_classes(rated, model):
    with pytest.raises(OptionError, match="cannot be trained further"):
        train(table(rated, slice(100)), text="text", start=model)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"order": NAMES[:4]}, "'great' is not in the order awful, bad, fair, good"),
        ({"order": [*NAMES, "bad"]}, "all different"),
        ({"ordered": True}, "say their order"),
        ({"order": NAMES, "tune": "1s"}, "ordered classes and tune exclude"),
        ({"order": NAMES, "workers": 2}, "ordered classes and workers exclude"),
    ],
)
def test_orders_that_make_no_sense_are_refused(rated, options, says):
    with pytest.raises((OptionError, DataError), match=says):
        train(table(rated, slice(100), NAMES), text="text", **options)


def test_the_commands_train_rank_keep_and_evaluate(rated, tmp_path):
    path, out = tmp_path / "rated.jsonl", tmp_path / "r.model"
    texts, ratings = rated
    lines = zip(texts, ratings.tolist(), strict=True)
    path.write_text("".join(json.dumps({"text": t, "label": NAMES[r]}) + "\n" for t, r in lines))
    call = CliRunner().invoke
    order = ["--order", ",".join(NAMES)]
    done = call(app, ["train", str(path), *order, "--out", str(out), "--epochs", "3", "-q"])
    assert done.exit_code == 0, done.output
    model = load(out)
    said = call(app, ["predict", str(out), str(path), "--keep", "r>=good", "--json"]).stdout
    rows = [json.loads(line) for line in said.splitlines()]
    assert {row["predicted"] for row in rows} == {"good", "great"}
    scores = model.decision_function([row["text"] for row in rows])
    assert [row["score"] for row in rows] == pytest.approx(scores, rel=1e-5)
    figures = json.loads(call(app, ["evaluate", str(out), str(path), "--json"]).stdout)
    expected = spearmanr(model.decision_function(texts), ratings).statistic
    assert figures["ordered"]["spearman"] == pytest.approx(expected)
    shown = call(app, ["evaluate", str(out), str(path)]).stdout
    assert "Spearman" in shown
    assert "F1 above   awful: " in shown


def test_figures_by_scores_are_finer_than_those_by_classes(rated, model):
    source = data.open(table(rated), features=model.features, classes=model.classes)
    result = evaluate(model, source)
    assert result.roc_auc is None
    assert (
        result.ordered()["spearman"]
        != ordered_figures(result.classes, result.confusion)["spearman"]
    )
