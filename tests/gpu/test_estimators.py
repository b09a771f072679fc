"""The estimators of the GPU, on a stand-in for the device."""

import gc
import sys
from itertools import product
from weakref import WeakSet

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

import rosenblatt
from rosenblatt import gpu
from rosenblatt.gpu import device as devices
from rosenblatt.gpu.blocks import Blocks
from rosenblatt.gpu.dual import DeviceGram
from tests.gpu.standin import OnDevice, needs_compiler, on_device
from tests.members import offsets_of, weights_of


def digits(n=240, d=6, classes=3, dtype=np.float32, seed=0):
    generator = np.random.default_rng(seed)
    X = generator.integers(-3, 4, (n, d)).astype(dtype)
    y = (
        X @ generator.normal(size=(d, classes)) + 0.7 * generator.normal(size=(n, classes))
    ).argmax(axis=1)
    return X, np.array(["ant", "bee", "cat", "dog"])[y]


def halving(t):
    return 2.0 ** -(t % 4)


def fitted_on_both(X, y, **options):
    where = dict(options)
    given = {name: where.pop(name) for name in ("sample_weight", "X_val", "y_val") if name in where}
    return [home.Perceptron.textbook(**where).fit(X, y, **given) for home in (rosenblatt, gpu)]


def assert_same(here, there):
    np.testing.assert_array_equal(weights_of(here), weights_of(there))
    np.testing.assert_array_equal(offsets_of(here), offsets_of(there))
    assert (here.n_iter_, here.n_updates_, here.t_) == (there.n_iter_, there.n_updates_, there.t_)
    assert here.stop_reason_ == there.stop_reason_
    for name in ("updates", "updated_rows", "mistakes", "validation_error", "weight_norm"):
        np.testing.assert_array_equal(here.history_[name], there.history_[name])


@needs_compiler
@pytest.mark.parametrize("multiclass", ["ovr", "ovo", "joint"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"keep": "average", "shuffle": False},
        {"keep": "late_average", "threshold": 2.0, "eta0": 0.5},
        {"early_stopping": True, "keep": "average", "tol": 0},
        {"shuffle": True, "learning_rate": halving, "max_iter": 7, "tol": None},
        {"class_weight": {"ant": 4.0, "bee": 0.5}, "fit_intercept": False, "keep": "average"},
        {"mistake": "sign", "intercept_scaling": 2.0, "shuffle": "after_first"},
        {"feature_rates": "idf", "warm_start": True},
    ],
    ids="-".join,  # names of options: what a function is called differs between processes
)
def test_both_devices_give_the_same_model(standin, multiclass, options):
    X, y = digits()
    options = {"max_iter": 12, "random_state": 3} | options
    here, there = fitted_on_both(X, y, multiclass=multiclass, **options)
    assert ("walk_joint" if multiclass == "joint" else "walk") in standin.launched
    assert_same(here, there)
    if options.get("warm_start"):
        assert_same(here.fit(X, y), there.fit(X, y))
    for model in (here, there):
        model.set_params(feature_rates=None).partial_fit(X[:20], y[:20])
    np.testing.assert_array_equal(weights_of(here), weights_of(there))


@needs_compiler
@pytest.mark.parametrize("kind", ["Perceptron", "KernelPerceptron"])
@pytest.mark.parametrize("place", [np.array, on_device])
def test_given_validation_rows_stop_both_devices_at_the_same_epoch(standin, kind, place):
    (X, y), (X_val, y_val) = digits(n=150), digits(n=80, seed=1)
    options = {"random_state": 0, "early_stopping": True, "n_iter_no_change": 2, "max_iter": 9}
    here = getattr(rosenblatt, kind).textbook(**options).fit(X, y, X_val=X_val, y_val=y_val)
    there = getattr(gpu, kind).textbook(**options)
    there.fit(place(X), y, X_val=place(X_val), y_val=y_val)
    assert (here.n_iter_, here.stop_reason_) == (there.n_iter_, there.stop_reason_)
    for name in ("validation_error", "updates"):
        np.testing.assert_array_equal(here.history_[name], there.history_[name])
    np.testing.assert_array_equal(here.predict(X), there.predict(X))


@needs_compiler
def test_a_pocket_is_looked_into_at_epoch_ends(standin):
    X, y = digits()
    model = gpu.Perceptron.textbook(keep="best", max_iter=9, random_state=0).fit(X, y)
    errors = model.history_["train_error"]
    assert np.mean(model.predict(X) != y) == np.nanmin(errors)


@needs_compiler
def test_rows_on_the_device_stay_there_and_so_do_predictions(standin):
    X, y = digits()
    here = rosenblatt.Perceptron.textbook(random_state=0).fit(X, y)
    there = gpu.Perceptron.textbook(random_state=0).fit(on_device(X), y)
    assert_same(here, there)
    assert isinstance(weights_of(there), np.ndarray)
    scores = there.decision_function(on_device(X))
    assert isinstance(scores, OnDevice)
    np.testing.assert_allclose(scores, here.decision_function(X), rtol=1e-6)
    np.testing.assert_array_equal(there.predict(on_device(X)), here.predict(X))
    assert there.score(on_device(X), y) == here.score(X, y)
    codes = np.unique(y, return_inverse=True)[1]
    numbers = gpu.Perceptron.textbook(random_state=0, multiclass="ovo")
    numbers.fit(on_device(X), on_device(codes))
    expected = rosenblatt.Perceptron(**numbers.get_params()).fit(X, codes).predict(X)
    np.testing.assert_array_equal(numbers.predict(on_device(X)), expected)


@needs_compiler
@pytest.mark.parametrize("kind", [gpu.Perceptron, gpu.KernelPerceptron])
def test_labels_come_back_on_the_device_if_they_are_numbers(standin, kind):
    X, words = digits(n=60)
    for y in (words, np.unique(words, return_inverse=True)[1]):
        model = kind.textbook(random_state=0, max_iter=2, tol=None).fit(on_device(X), y)
        labels = model.predict(on_device(X))
        assert isinstance(labels, OnDevice) == (y.dtype.kind == "i")
        assert type(model.predict(X)) is np.ndarray
        np.testing.assert_array_equal(labels, model.predict(X))


@needs_compiler
def test_probabilities_of_rows_on_the_device_are_those_of_the_processor(standin):
    X, y = digits(n=400)
    options = {"random_state": 0, "calibrate": "sigmoid", "early_stopping": True}
    here = rosenblatt.Perceptron.textbook(**options).fit(X, y)
    there = gpu.Perceptron.textbook(**options).fit(on_device(X), y)
    probabilities = there.predict_proba(on_device(X))
    assert isinstance(probabilities, OnDevice)
    np.testing.assert_allclose(probabilities, here.predict_proba(X), rtol=1e-6)
    assert not isinstance(there.predict_proba(X), OnDevice)


@needs_compiler
def test_the_defaults_are_the_same_in_units_of_rows_on_the_device(standin):
    X, y = digits(n=400)
    here = rosenblatt.Perceptron(random_state=0).fit(X, y)
    there = gpu.Perceptron(random_state=0).fit(on_device(X), y)
    assert (here.threshold_, here.intercept_scaling_, here.multiclass_) == (
        there.threshold_, there.intercept_scaling_, there.multiclass_,
    )  # fmt: skip
    np.testing.assert_allclose(weights_of(here), weights_of(there), rtol=1e-5)


@needs_compiler
def test_rows_on_the_device_are_checked(standin):
    X, y = digits()
    bad = X.copy()
    bad[3, 2] = np.nan
    model = gpu.Perceptron()
    with pytest.raises(ValueError, match="contains NaN"):
        model.fit(on_device(bad), y)
    with pytest.raises(ValueError, match="2D"):
        model.fit(on_device(X[0]), y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.fit(on_device(X), y[:9])
    with pytest.raises(ValueError, match="Several labels per row are learned on the processor"):
        model.fit(on_device(X), (X > 0).astype(int))
    with pytest.raises(ValueError, match="Complex data not supported"):
        model.fit(on_device(X.astype(complex)), y)
    model.fit(on_device(X), y)
    with pytest.raises(ValueError, match="2 features, but Perceptron is expecting 6"):
        model.predict(on_device(X[:, :2]))
    with pytest.raises(ValueError, match="NaN or infinity"):
        model.predict(on_device(bad))
    with pytest.raises(ValueError, match="2D"):
        model.predict(on_device(X[0]))
    with pytest.raises(ValueError, match="real numbers"):
        model.predict(on_device(X.astype(complex)))


@needs_compiler
@pytest.mark.parametrize("dtype", [np.float64, np.int16])
def test_rows_of_every_type_are_walked_over_where_they_lie(standin, dtype):
    X, y = digits()
    X = X.astype(dtype)
    options = {"random_state": 0, "max_iter": 3, "tol": None}
    here = rosenblatt.Perceptron.textbook(**options).fit(X, y)
    assert_same(here, gpu.Perceptron.textbook(**options).fit(on_device(X), y))


def test_what_a_device_does_not_learn_from_is_said(standin):
    X, y = digits(n=60)
    for kind in (gpu.Perceptron, gpu.KernelPerceptron):
        with pytest.raises(gpu.DeviceError, match=f"{kind.__name__} for a sparse X"):
            kind().fit(sparse.csr_array(X), y)
        elsewhere = on_device(X)
        elsewhere.number = 1
        with pytest.raises(gpu.DeviceError, match="on CUDA device 1, but the current one is 0"):
            kind().fit(elsewhere, y)
    with pytest.raises(gpu.DeviceError, match=r"use rosenblatt\.KernelPerceptron"):
        gpu.KernelPerceptron(kernel=lambda A, B: A @ B.T).fit(X, y)


@pytest.mark.parametrize("kind", ["Perceptron", "KernelPerceptron"])
def test_estimators_of_the_processor_refuse_rows_on_the_device_in_one_sentence(kind):
    X, y = digits(n=60)
    model = getattr(rosenblatt, kind)(random_state=0)
    sentence = f"X lies on a CUDA device: use rosenblatt.gpu.{kind}, or copy X to the host."
    for call in (model.fit, model.partial_fit):
        with pytest.raises(TypeError) as refused:
            call(on_device(X), y)
        assert str(refused.value) == sentence
    model.fit(X, y)
    with pytest.raises(TypeError, match=f"gpu.{kind}, or copy"):
        model.predict(on_device(X))


@needs_compiler
@pytest.mark.parametrize("kind", ["Perceptron", "KernelPerceptron"])
def test_a_saved_model_is_one_of_the_processor(standin, tmp_path, kind):
    X, y = digits(n=60)
    model = getattr(gpu, kind)(random_state=0).fit(X, y)
    rosenblatt.save(model, tmp_path / "a.model")
    loaded = rosenblatt.load(tmp_path / "a.model")
    assert type(loaded) is getattr(rosenblatt, kind)
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))


@needs_compiler
def test_a_fit_that_the_budget_ended_warns_as_on_the_processor(standin):
    for home in (rosenblatt, gpu):
        with pytest.warns(ConvergenceWarning, match="2 epochs of max_iter ended the fit"):
            home.Perceptron.textbook(max_iter=2, tol=1e-9).fit(*digits())


def test_methods_are_there_as_on_the_processor():
    for home in (rosenblatt, gpu):
        assert hasattr(home.Perceptron(), "partial_fit")
        assert not hasattr(home.Perceptron(keep="best"), "partial_fit")
        assert not hasattr(home.KernelPerceptron(kernel="precomputed"), "partial_fit")
        assert not hasattr(home.Perceptron(calibrate=None), "predict_proba")
        assert hasattr(home.Perceptron(calibrate="sigmoid"), "predict_proba")


def test_without_cupy_the_error_says_what_to_install(monkeypatch):
    devices._cupy.cache_clear()
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(gpu.DeviceError, match=r"needs CuPy: pip install '\.\[gpu\]'"):
        gpu.Perceptron().fit(*digits())


@needs_compiler
@pytest.mark.parametrize(
    ("multiclass", "keep"),
    [*product(("ovr", "ovo", "joint"), ("last", "average")), ("ovr", "vote"), ("ovo", "vote")],
)
def test_kernel_models_are_the_same_on_both_devices(standin, multiclass, keep):
    X, y = digits(n=90)
    options = {"degree": 2, "gamma": 1, "multiclass": multiclass, "keep": keep, "random_state": 1}
    options |= {"early_stopping": True, "max_iter": 4, "tol": 0}
    here = rosenblatt.KernelPerceptron.textbook(**options).fit(X, y)
    there = gpu.KernelPerceptron.textbook(**options).fit(X, y)
    assert {"walk_joint" if multiclass == "joint" else "walk", "apply_dual"} <= {*standin.launched}
    np.testing.assert_array_equal(here.support_, there.support_)
    np.testing.assert_array_equal(here.dual_coef_, there.dual_coef_)
    np.testing.assert_array_equal(here.problem_updates_, there.problem_updates_)
    for name in ("updates", "updated_rows", "mistakes", "validation_error", "weight_norm"):
        np.testing.assert_array_equal(here.history_[name], there.history_[name])
    assert type(there.support_vectors_) is np.ndarray
    scores = there.decision_function(on_device(X))
    np.testing.assert_allclose(scores, here.decision_function(X), rtol=1e-12)
    np.testing.assert_array_equal(there.predict(on_device(X)), here.predict(X))
    assert there.score(on_device(X), y) == here.score(X, y)
    for model in (here, there):
        model.partial_fit(X[:30], y[:30])
    np.testing.assert_array_equal(here.dual_coef_, there.dual_coef_)


@needs_compiler
@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf", "sigmoid", "precomputed"])
def test_every_kernel_by_name_is_known_to_the_device(standin, kernel):
    X, y = digits(n=60, dtype=np.float64)
    X = X @ X.T if kernel == "precomputed" else X
    options = {"kernel": kernel, "random_state": 0, "max_iter": 3, "tol": None, "gamma": 0.125}
    here = rosenblatt.KernelPerceptron(**options).fit(X, y)
    there = gpu.KernelPerceptron(**options).fit(on_device(X), y)
    np.testing.assert_array_equal(here.dual_coef_, there.dual_coef_)
    np.testing.assert_allclose(there.decision_function(on_device(X)), here.decision_function(X))


@needs_compiler
@pytest.mark.parametrize(
    "fit",
    [
        lambda X, y: gpu.Perceptron.textbook().fit(X, y).partial_fit(X, y),
        lambda X, y: gpu.KernelPerceptron.textbook(keep="vote").fit(X, y).predict(X),
        lambda X, y: gpu.fit_many(gpu.Perceptron.textbook(), X, y, cv=2),
    ],
    ids=["linear", "kernel", "many"],
)
def test_device_memory_is_free_after_a_fit_without_waiting_for_the_garbage_collector(
    fit, standin, monkeypatch
):
    holders = WeakSet()
    for kind in (Blocks, DeviceGram):

        def register(self, *arguments, begin=kind.__init__, **options):
            holders.add(self)
            begin(self, *arguments, **options)

        monkeypatch.setattr(kind, "__init__", register)
    gc.disable()
    try:
        fit(*digits(n=90))
        assert not holders
    finally:
        gc.enable()
