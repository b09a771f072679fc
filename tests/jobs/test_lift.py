"""Lifts of tables in training: what is chosen, and the same bits whatever way the rows come."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest
from typer.testing import CliRunner

from rosenblatt import data, load, train
from rosenblatt.cli import app
from rosenblatt.cluster import ShardWarning
from rosenblatt.errors import OptionError
from rosenblatt.models.onnx import export_onnx


def checkers(rows=900, seed=0):
    """Two columns that matter only together, one of noise, and a category."""
    random = np.random.default_rng(seed)
    a, b, noise = random.normal(size=(3, rows))
    a[::50] = np.nan
    job = random.choice(["tech", "sales", "none"], rows)
    label = np.where(np.nan_to_num(a) * b > 0, "same", "other")
    return {"a": a, "b": b, "noise": noise, "job": job, "label": label}


def written(folder, frame, name="a.csv"):
    pa.csv.write_csv(pa.table(frame), folder / name)
    return folder / name


def same(one, other):
    return (
        np.array_equal(one.weights, other.weights)
        and np.array_equal(one.columns, other.columns)
        and np.array_equal(one.bias, other.bias)
        and one.features == other.features
    )


def test_pairs_are_chosen_where_columns_interact_and_nothing_where_a_line_is_as_good():
    frame = checkers()
    model = train(frame)
    errors = {trial["lift"]: trial["error"] for trial in model.parameters["lifts"]}
    assert errors["pairs"] < 0.15 < 0.35 < errors["none"]
    assert model.features.lift.pairs
    fresh = checkers(seed=1)
    assert model.score(fresh, fresh["label"]) > 0.85
    frame["label"] = np.where(np.nan_to_num(frame["a"]) + frame["b"] > 0, "up", "down")
    model = train(frame)
    assert model.features.lift is None
    assert {trial["lift"] for trial in model.parameters["lifts"]} == {"none", "knots", "pairs"}


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow"])
def test_files_of_columns_whose_strings_are_not_sampled_have_a_lift_as_well(tmp_path, name):
    table = pa.table(checkers())
    if name.endswith("parquet"):
        pa.parquet.write_table(table, tmp_path / name)
    else:
        pa.feather.write_feather(table, str(tmp_path / name))
    lift = train(tmp_path / name).features.lift
    assert lift.pairs


def test_curves_are_chosen_where_a_column_bends():
    frame = checkers(2000)
    frame["label"] = np.where(frame["b"] ** 2 > 1, "far", "near")
    lift = train(frame).features.lift
    assert lift.columns
    assert not lift.pairs


@pytest.mark.parametrize("kind", ["none", "knots", "pairs"])
def test_a_lift_that_is_named_is_taken_without_a_comparison(kind):
    model = train(checkers(), lift=kind, epochs=2)
    lift = model.features.lift
    assert (lift is None, bool(lift and lift.pairs)) == (kind == "none", kind == "pairs")
    assert "lifts" not in model.parameters


def test_few_rows_and_text_are_left_as_they_are():
    frame = {"label": ["a", "b"] * 20, "x": [1.0, 2.0, 3.0, 4.0] * 10}
    assert train(frame).features.lift is None
    frame = checkers() | {"text": ["some words that go on and on"] * 900}
    assert train(frame, columns={"text": "text"}, epochs=1).features.lift is None
    lifted = train(frame, columns={"text": "text"}, epochs=1, lift="pairs")
    assert len(lifted.features.lift.pairs) == 6
    assert lifted.predict(frame).tolist() == load_again(lifted).predict(frame).tolist()


def load_again(model):
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.model"
        model.save(path)
        return load(path)


def test_threads_cuts_of_files_and_memory_do_not_change_the_model(tmp_path):
    frame = checkers(3000)
    path = written(tmp_path, frame)
    model = train(path, n_jobs=1)
    assert same(model, train(path, n_jobs=-1))
    assert train(path, memory=1).features == model.features
    pieces = data.open(path, features=model.features, block_bytes=4096)
    assert same(model, train(pieces))


def test_a_run_goes_on_after_a_kill_and_from_a_model(tmp_path):
    path = written(tmp_path, checkers(3000))
    straight_on = train(path)

    def stop(run):
        if run.progress.epoch == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(path, checkpoint=tmp_path / "run", checkpoint_rows=1, report=stop)
    assert same(straight_on, train(path, checkpoint=tmp_path / "run", resume=True))
    further = train(path, start=straight_on, epochs=1)
    assert further.features == straight_on.features


def test_saved_compressed_and_command_line_models_predict_the_same(tmp_path):
    frame = checkers()
    path = written(tmp_path, frame)
    model = train(path, out=tmp_path / "a.model")
    again = load(tmp_path / "a.model")
    assert same(model, again)
    scores = model.decision_function(frame)
    assert np.array_equal(scores, again.decision_function(frame))
    small = model.compressed()
    assert (small.predict(frame) == model.predict(frame)).mean() > 0.99
    result = CliRunner().invoke(
        app, ["predict", str(tmp_path / "a.model"), str(path), "--out", str(tmp_path / "p.csv")]
    )
    assert result.exit_code == 0, result.output
    predicted = pa.csv.read_csv(tmp_path / "p.csv")
    assert predicted["predicted"].to_pylist() == model.predict(frame).tolist()
    assert predicted["score"].to_numpy() == pytest.approx(scores, rel=1e-6)


def test_shards_learn_the_lifted_rows(tmp_path):
    frame = checkers(3000)
    path = written(tmp_path, frame)
    with pytest.warns(ShardWarning):
        model = train(path, workers=1, shards=2, max_epochs=8)
    assert model.features.lift.pairs
    assert model.score(frame, frame["label"]) > 0.85


def test_an_explanation_speaks_of_columns_and_adds_up_to_the_score():
    frame = checkers()
    model = train(frame)
    for i in range(60):
        row = {name: cells[i] for name, cells in frame.items() if name != "label"}
        explanation = model.explain(row)
        score = float(model.decision_function(row)[0])
        assert explanation.scores[0] == pytest.approx(score, abs=1e-5)
        names = explanation.features
        assert len(names) == len(set(names)) == 4 + 6
        assert "a × b" in names
        assert f"job={row['job']}" in names
    strongest = [model.explain({n: c[i] for n, c in frame.items()}).top(1)[0][0] for i in (1, 2, 3)]
    assert "a × b" in strongest


def test_strongest_features_have_names():
    frame = checkers()
    model = train(frame, lift="pairs")
    names = [name for pairs in model.words.values() for name, _ in pairs]
    assert len(names) == 50
    assert any(name.startswith(("a~", "a -")) and " × b" in name for name in names)


def test_a_lifted_model_is_not_exported_to_onnx(tmp_path):
    model = train({"x": np.arange(200.0) % 17, "label": ["u", "v"] * 100}, lift="knots", epochs=1)
    with pytest.raises(ValueError, match="--lift none"):
        export_onnx(model, tmp_path / "a.onnx")


def test_an_unknown_lift_is_refused():
    with pytest.raises(OptionError, match="lift is one of auto, none, knots, pairs"):
        train(checkers(), lift="triples")
