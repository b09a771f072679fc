"""Knots between which a curve is straight are merged, within a bound that holds for any row."""

from __future__ import annotations

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from rosenblatt import Model, data, train
from rosenblatt.cli import app
from rosenblatt.lifts.tables import TableLift
from rosenblatt.models.compress import compress
from rosenblatt.models.merge import merged

TOLERANCES = (0.0, 1e-3, 1e-2, 0.1, 2.0)


def frame(n=1500, seed=0, classes=2):
    generator = np.random.default_rng(seed)
    x = generator.normal(size=(n, 3)).round(3)
    x[generator.random(n) < 0.05, 1] = np.nan
    bent = np.abs(x[:, 0]) + np.nan_to_num(x[:, 1]) * x[:, 2] + 0.2 * generator.normal(size=n)
    label = np.digitize(bent, np.quantile(bent, np.linspace(0, 1, classes + 1)[1:-1]))
    columns = {name: x[:, i].tolist() for i, name in enumerate("abc")}
    return columns | {"label": [f"k{c}" for c in label]}


@pytest.mark.parametrize(
    ("lift", "classes", "multiclass"),
    [("knots", 2, None), ("pairs", 2, None), ("knots", 3, None), ("pairs", 4, "ovo")],
)
def test_no_sum_changes_by_more_than_the_bound(lift, classes, multiclass):
    model = train(frame(classes=classes), lift=lift, multiclass=multiclass, max_epochs=5)
    rows = frame(seed=1)
    rows["a"][:6] = [-1e6, 1e6, 0.0, 9.0, -9.0, 3.5]  # also beyond the outer knots
    before, knots = model.sums(model._rows(rows)), []
    for tolerance in TOLERANCES:
        form = merged(model, tolerance)
        change = np.abs(form.model.sums(form.model._rows(rows)) - before).max()
        assert change <= form.bound + 1e-5 * (1 + np.abs(before).max())
        knots.append(form.knots)
    assert sorted(knots, reverse=True) == knots
    assert knots[-1] == 0  # all curves within twice the largest are none
    assert knots[-2] < knots[0]


def test_merging_twice_is_merging_once_and_is_saved(tmp_path):
    for lift in ("knots", "pairs"):
        once = merged(train(frame(), lift=lift, max_epochs=5), 0.05)
        twice = merged(once.model, 0.0)
        assert twice.knots == once.knots
        once.model.save(tmp_path / "a.model")
        again = Model.load(tmp_path / "a.model")
        assert again.features.lift == once.model.features.lift
        assert (again.decision_function(frame()) == once.model.decision_function(frame())).all()


def test_a_model_without_curves_stays_as_it_is():
    model = train(frame(), lift="none", max_epochs=2)
    assert merged(model, 1.0).model is model


def test_compress_merges_knots_and_says_by_how_much_scores_change(tmp_path):
    table, new = frame(5000), frame(1000, seed=2)  # with 64 intervals for each column
    model = train(table, lift="knots")
    model.save(tmp_path / "large.model")
    forms = compress(model)
    assert forms[-1].bound > 0
    assert forms[-1].model.features.lift != model.features.lift
    assert np.mean(forms[-1].model.predict(new) == model.predict(new)) > 0.98
    lines = [",".join(new), *(",".join(map(str, row)) for row in zip(*new.values(), strict=True))]
    (tmp_path / "new.csv").write_text("\n".join(lines).replace("nan", "") + "\n")
    rows = data.open(tmp_path / "new.csv", features=model.features, classes=model.classes)
    for form in compress(model, loss=0.02, rows=rows):
        assert form.accuracy == pytest.approx(form.model.score(new, new["label"]), abs=1e-9)
    options = [str(tmp_path / "large.model"), "-o", str(tmp_path / "small.model")]
    said = CliRunner().invoke(app, ["compress", *options])
    assert "merged knots change a score by at most" in said.output
    forms = json.loads(CliRunner().invoke(app, ["compress", *options, "--json"]).output)["forms"]
    assert forms[0]["change"] == 0.0
    assert forms[-1]["change"] > 0


@pytest.mark.parametrize("curve", [[0], [2, 1], [0, 99], [0.5, 1], [0, True]])
def test_a_damaged_curve_is_refused(curve):
    plain = TableLift.fit({"a": np.arange(9.0)}, {}).to_json()
    assert TableLift.from_json(plain).columns[0].curve is None
    plain["columns"][0]["curve"] = curve
    with pytest.raises(ValueError, match="makes no sense"):
        TableLift.from_json(plain)
