"""Pictures of models of tables: what they show is what the model adds up."""

import numpy as np
import pytest

from rosenblatt import train
from rosenblatt.models.shapes import contributions
from rosenblatt.viz import ShapeDisplay


def frame(rows=1200, classes=2):
    random = np.random.default_rng(0)
    x, a, b = random.normal(size=(3, rows))
    job = random.choice(["tech", "sales", "none"], rows)
    a[::40] = np.nan
    score = np.sin(2 * x) + np.nan_to_num(a) * b + (job == "tech")
    label = np.array(["low", "mid", "high"])[np.digitize(score, [0.5] if classes == 2 else [0, 1])]
    return {"x": x, "a": a, "b": b, "job": job, "label": label}


@pytest.mark.parametrize("lift", ["none", "knots", "pairs"])
def test_contributions_and_the_bias_add_up_to_the_scores(lift):
    rows = frame()
    model = train(rows, lift=lift)
    parts = contributions(model, rows)
    total = parts.values.sum(axis=(1, 2)) + model.bias[0]
    assert total == pytest.approx(model.decision_function(rows), abs=1e-4)
    assert list(model.parameters["importance"]) == [k for k, v in parts.importance.items() if v > 0]


def test_a_shape_is_what_the_model_adds_where_a_column_is():
    rows = frame()
    model = train(rows, lift="pairs")
    display = ShapeDisplay.from_model(model, rows, names=["x", "job", "a × b"])
    x, job, surface = display.shapes
    assert [ax.get_visible() for ax in display.axes_.flat] == [True] * 3
    at = {
        "x": [x.grids[0][50], x.grids[0][150]],
        "a": [0.5, 0.5],
        "b": [1.0, 1.0],
        "job": ["tech"] * 2,
    }
    parts = contributions(model, at).values[:, contributions(model, at).names.index("x"), 0]
    assert x.values[150, 0] - x.values[50, 0] == pytest.approx(parts[1] - parts[0], abs=1e-5)
    assert set(job.grids[0]) == {"tech", "sales", "none"}
    assert surface.values.shape == (40, 40, 1)
    corners = surface.values[[5, 5, -5, -5], [5, -5, 5, -5], 0]
    assert len(set(np.sign(corners[[0, 3]]))) == len(set(np.sign(corners[[1, 2]]))) == 1


def test_several_classes_have_a_panel_each():
    rows = frame(classes=3)
    display = ShapeDisplay.from_model(train(rows, lift="knots", epochs=3), rows, top=2)
    assert display.axes_.shape == (2, 3)


def test_what_is_no_part_of_a_model_is_refused():
    rows = frame()
    model = train(rows, lift="knots", epochs=1)
    with pytest.raises(ValueError, match="'a × b' is not a column or pair"):
        ShapeDisplay.from_model(model, rows, names=["a × b"])
    text = train({"label": ["a", "b"] * 20, "text": ["good fun", "bad and dull"] * 20}, epochs=1)
    with pytest.raises(ValueError, match="tables without text"):
        contributions(text, ["good"])
