"""Many models at once on the device: those of one run after the other on the processor."""

from itertools import chain

import numpy as np
import pytest
from scipy import sparse
from sklearn.model_selection import KFold

import rosenblatt
from rosenblatt import training
from rosenblatt.gpu import DeviceError, KernelPerceptron, Perceptron, fit_many, many
from tests.gpu.standin import needs_compiler, on_device
from tests.members import offsets_of, weights_of


def data(n=150, d=5, classes=3):
    generator = np.random.default_rng(classes)
    X = generator.integers(-3, 4, (n, d)).astype(np.float32)
    noise = generator.normal(size=(n, classes))
    return X, (X @ generator.normal(size=(d, classes)) + noise).argmax(axis=1)


def textbook(**options):
    return Perceptron.textbook(**{"random_state": 2, "max_iter": 6, "tol": 0.01} | options)


def on_both(monkeypatch, *arguments, **options):
    """The models of `fit_many`, trained one by one on the processor and together on the device."""

    def one_by_one(runs, there):
        for run in runs:
            for _ in training.run(run.learner, run.data, run.plan, run.progress):
                pass

    with monkeypatch.context() as patched:
        patched.setattr(many, "train_together", one_by_one)
        here = fit_many(*arguments, **options)
    return here, fit_many(*arguments, **options)


GRID = {"threshold": [0.0, 2.0], "eta0": [1.0, 0.5], "keep": ["last", "average", "late_average"]}


@needs_compiler
@pytest.mark.parametrize("multiclass", ["ovr", "ovo", "joint"])
@pytest.mark.parametrize("shuffle", [True, False, "after_first"])
def test_both_devices_fit_the_same_models(standin, monkeypatch, multiclass, shuffle):
    X, y = data()
    model = textbook(multiclass=multiclass, shuffle=shuffle)
    weights = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    fits = on_both(monkeypatch, model, X, y, grid=GRID, cv=3, sample_weight=weights)
    assert ("walk_joint" if multiclass == "joint" else "walk") in standin.launched
    assert len(fits[0].models) == 12
    for here, there in zip(*(chain(*fit.models) for fit in fits), strict=True):
        np.testing.assert_array_equal(weights_of(here), weights_of(there))
        np.testing.assert_array_equal(offsets_of(here), offsets_of(there))
        assert (here.n_iter_, here.n_updates_, here.t_) == (
            there.n_iter_,
            there.n_updates_,
            there.t_,
        )
        assert here.stop_reason_ == there.stop_reason_
        for name in ("updates", "updated_rows", "mistakes", "relative_change"):
            np.testing.assert_array_equal(here.history_[name], there.history_[name])
        assert here.shuffle == shuffle
    for name, column in fits[0].results.items():
        np.testing.assert_array_equal(column, fits[1].results[name])


@needs_compiler
def test_rates_that_fall_count_the_visits_of_each_model(standin, monkeypatch):
    X, y = data()
    model = textbook(learning_rate=lambda t: 2.0 ** -(t % 5))
    here, there = on_both(monkeypatch, model, X, y, cv=3)
    for one, other in zip(here.models[0], there.models[0], strict=True):
        np.testing.assert_array_equal(weights_of(one), weights_of(other))


@needs_compiler
def test_repeated_orders_are_fitted_side_by_side(standin, monkeypatch):
    X, y = data()
    grid = {"random_state": [0, 1, 2], "keep": ["last", "average"]}
    here, there = on_both(monkeypatch, textbook(), X, y, grid=grid)
    for one, other in zip(here.models, there.models, strict=True):
        np.testing.assert_array_equal(weights_of(one), weights_of(other))
    orders = {model.n_updates_ for model in there.models if model.keep == "last"}
    assert len(orders) > 1


@needs_compiler
@pytest.mark.parametrize("place", [np.array, on_device])
def test_in_the_given_order_the_models_are_those_of_fit(standin, place):
    X, y = data()
    fits = fit_many(textbook(shuffle=False), place(X), y, grid=GRID)
    for model, params in zip(fits.models, fits.results["params"], strict=True):
        given = textbook(shuffle=False, **params).get_params()
        alone = rosenblatt.Perceptron(**given).fit(X, y)
        np.testing.assert_array_equal(weights_of(alone), weights_of(model))
        assert alone.n_updates_ == model.n_updates_
    with pytest.raises(AttributeError, match="give cv=5"):
        fits.best_index  # noqa: B018


@needs_compiler
def test_the_table_is_that_of_a_grid_search(standin):
    X, y = data()
    fits = fit_many(textbook(), X, y, grid={"threshold": [0.0, 5.0]}, cv=KFold(4))
    scores = np.array([fits.results[f"split{i}_test_score"] for i in range(4)])
    for fold, (_, test) in enumerate(KFold(4).split(X)):
        for number in range(2):
            assert scores[fold, number] == fits.models[number][fold].score(X[test], y[test])
    np.testing.assert_array_equal(fits.results["mean_test_score"], scores.mean(axis=0))
    best = int(scores.mean(axis=0).argmax())
    assert (fits.best_index, fits.results["rank_test_score"][best]) == (best, 1)
    assert fits.best_params == {"threshold": [0.0, 5.0][best]}


@needs_compiler
def test_a_fold_never_sees_the_rows_it_holds_out(standin):
    X, y = data()
    poisoned = X.copy()
    (train, test), *_ = KFold(3).split(X)
    poisoned[test] *= 100
    one, other = (
        fit_many(textbook(), rows, y, cv=[(train, test)]).models[0][0] for rows in (X, poisoned)
    )
    np.testing.assert_array_equal(weights_of(one), weights_of(other))


def test_what_cannot_be_is_said(standin):
    X, y = data(n=60)
    for other in (rosenblatt.Perceptron(), KernelPerceptron(), textbook(keep="best")):
        with pytest.raises(ValueError, match="one by one"):
            fit_many(other, X, y)
    with pytest.raises(DeviceError, match="no update='batch'"):
        fit_many(textbook(update="batch"), X, y)
    with pytest.raises(DeviceError, match="dense rows"):
        fit_many(textbook(), sparse.csr_array(X), y)
    with pytest.raises(ValueError, match="for one class per row"):
        fit_many(textbook(), X, np.eye(3)[y].astype(int))
    with pytest.raises(ValueError, match="Invalid parameter 'treshold'"):
        fit_many(textbook(), X, y, grid={"treshold": [1.0]})
