"""The lift of tables as a transformer, and the registry that names all lifts."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from rosenblatt import Lift, Perceptron, train
from rosenblatt.lab.lifts import FeatureMap
from rosenblatt.lifts.registry import LIFTS


def frame(rows=300, seed=0):
    random = np.random.default_rng(seed)
    a, b = random.normal(size=(2, rows))
    a[::9] = np.nan
    job = random.choice(["tech", "sales"], rows).astype(object)
    job[::11] = None
    return pd.DataFrame({"a": a, "b": b, "job": job})


def test_the_rows_are_those_that_train_learns_from():
    X = frame()
    y = np.where((X["b"] > 0) == (X["job"] == "tech"), "yes", "no")
    features = train(X.assign(label=y), lift="pairs", epochs=1).features
    expected = features.rows(pa.Table.from_pandas(X))
    lift = Lift("pairs").fit(X, y)
    assert lift.lift_ == features.lift
    rows = lift.transform(X)
    sums = np.add.reduceat(expected.values.astype(float), expected.indptr[:-1].astype(int))
    assert rows.sum(axis=1) == pytest.approx(sums, rel=1e-4)
    assert rows.shape[1] == len(np.unique(expected.indices))


def test_features_have_names_and_missing_values_are_a_level():
    X = frame()
    names = Lift("pairs").fit(X).get_feature_names_out()
    assert len(set(names)) == len(names)
    assert {"a", "b", "a=?", "job=tech", "job=?"} <= set(names)
    assert any(name.startswith("a~") for name in names)
    assert any(name.endswith(" × job=tech") for name in names)
    on_array = Lift("knots").fit(X[["b"]].to_numpy())
    assert on_array.get_feature_names_out()[0][:2] == "x0"
    assert on_array.get_feature_names_out(["height"])[0][:6] == "height"


def test_new_levels_are_left_out_and_other_columns_refused():
    X = frame()
    lift = clone(Lift("pairs")).fit(X)
    other = X.assign(job="pilot")
    assert lift.transform(other).nnz < lift.transform(X).nnz
    with pytest.raises(ValueError, match="X has 2 features, but Lift is expecting 3"):
        lift.transform(X[["a", "b"]])
    with pytest.raises(TypeError, match="dense rows"):
        lift.fit(sparse.eye_array(3))
    with pytest.raises(ValueError, match="kind is 'knots' or 'pairs'"):
        Lift("triples").fit(X)


def test_a_perceptron_after_the_lift_learns_what_no_line_separates():
    X, new = frame(2000), frame(1000, seed=1)
    model = make_pipeline(Lift(), Perceptron(random_state=0))
    error = 1 - model.fit(X, X["b"] * X["a"] > 0).score(new, new["b"] * new["a"] > 0)
    assert error < 0.1


@pytest.mark.parametrize("name", LIFTS)
def test_every_lift_maps_the_rows_of_the_lab_and_names_its_features(name):
    X = np.random.default_rng(0).normal(size=(30, 2)).round(2)
    lift = FeatureMap(name).fit(X.tolist(), ("p", "q"))
    lifted = lift(X)
    assert lifted.shape == (30, len(lift.names))
    if name not in ("none", "rbf"):
        assert any("p" in feature and "q" in feature for feature in lift.names) or name == "knots"
