"""Estimators with device="cuda", on a stand-in for the device."""

import gc
import sys
from weakref import WeakSet

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from tests.gpu.standin import OnDevice, needs_compiler, on_device

from rosenblatt import KernelPerceptron, Perceptron, fit_many
from rosenblatt.estimators import _device
from rosenblatt.gpu import device as gpu
from rosenblatt.gpu.blocks import Blocks
from rosenblatt.gpu.gram import DeviceGram


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
    return [
        Perceptron.textbook(**where, device=name).fit(X, y, **given) for name in ("cpu", "cuda")
    ]


def assert_same(here, there):
    np.testing.assert_array_equal(here.coef_, there.coef_)
    np.testing.assert_array_equal(here.intercept_, there.intercept_)
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
        {"update": "batch", "keep": "best"},
        {"update": "batch", "learning_rate": halving, "max_iter": 7, "tol": None},
        {"max_updates": 100, "shuffle": "random"},
        {"class_weight": {"ant": 4.0, "bee": 0.5}, "fit_intercept": False, "keep": "average"},
        {"mistake": "sign", "intercept_scaling": 2.0, "shuffle": "after_first"},
        {"feature_rates": [1, 2, 0.5, 1, 1, 4], "warm_start": True},
    ],
    ids="-".join,  # names of options: what a function is called differs between processes
)
def test_both_devices_give_the_same_model(standin, multiclass, options):
    X, y = digits()
    options = {"max_iter": 12, "random_state": 3} | options
    here, there = fitted_on_both(X, y, multiclass=multiclass, **options)
    assert ("walk_joint" if multiclass == "joint" else "walk") in standin.launched or (
        options.get("update") == "batch"
    )
    assert_same(here, there)
    if options.get("warm_start"):
        assert_same(here.fit(X, y), there.fit(X, y))
    if options.get("update") != "batch" and options.get("keep") != "best":
        for model in (here, there):
            model.partial_fit(X[:20], y[:20])
        np.testing.assert_array_equal(here.coef_, there.coef_)


@needs_compiler
@pytest.mark.parametrize("kind", [Perceptron, KernelPerceptron])
@pytest.mark.parametrize("place", [np.array, on_device])
def test_given_validation_rows_stop_both_devices_at_the_same_epoch(standin, kind, place):
    (X, y), (X_val, y_val) = digits(n=150), digits(n=80, seed=1)
    options = {"random_state": 0, "early_stopping": True, "n_iter_no_change": 2, "max_iter": 9}
    here = kind.textbook(**options, device="cpu").fit(X, y, X_val=X_val, y_val=y_val)
    there = kind.textbook(**options, device="cuda")
    there.fit(place(X), y, X_val=place(X_val), y_val=y_val)
    assert (here.n_iter_, here.stop_reason_) == (there.n_iter_, there.stop_reason_)
    for name in ("validation_error", "updates"):
        np.testing.assert_array_equal(here.history_[name], there.history_[name])
    np.testing.assert_array_equal(here.predict(X), there.predict(X))


@needs_compiler
def test_a_pocket_is_looked_into_at_epoch_ends(standin):
    X, y = digits()
    model = Perceptron.textbook(keep="best", device="cuda", max_iter=9, random_state=0).fit(X, y)
    errors = model.history_["train_error"]
    assert np.mean(model.predict(X) != y) == np.nanmin(errors)


@needs_compiler
def test_rows_on_the_device_stay_there_and_so_do_predictions(standin):
    X, y = digits()
    here = Perceptron.textbook(random_state=0, device="cpu").fit(X, y)
    there = Perceptron.textbook(random_state=0).fit(on_device(X), y)
    assert_same(here, there)
    assert isinstance(there.coef_, np.ndarray)
    scores = there.decision_function(on_device(X))
    assert isinstance(scores, OnDevice)
    np.testing.assert_allclose(scores, here.decision_function(X), rtol=1e-6)
    np.testing.assert_array_equal(there.predict(on_device(X)), here.predict(X))
    assert there.score(on_device(X), y) == here.score(X, y)
    codes = np.unique(y, return_inverse=True)[1]
    numbers = Perceptron.textbook(random_state=0, multiclass="ovo").fit(
        on_device(X), on_device(codes)
    )
    np.testing.assert_array_equal(
        numbers.predict(on_device(X)),
        clone(numbers).set_params(device="cpu").fit(X, codes).predict(X),
    )


@needs_compiler
@pytest.mark.parametrize("kind", [Perceptron, KernelPerceptron])
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
    here = Perceptron.textbook(**options, device="cpu").fit(X, y)
    there = Perceptron.textbook(**options).fit(on_device(X), y)
    probabilities = there.predict_proba(on_device(X))
    assert isinstance(probabilities, OnDevice)
    np.testing.assert_allclose(probabilities, here.predict_proba(X), rtol=1e-6)
    assert not isinstance(there.predict_proba(X), OnDevice)


@needs_compiler
def test_the_defaults_are_the_same_in_units_of_rows_on_the_device(standin):
    X, y = digits(n=400)
    here = Perceptron(random_state=0, device="cpu").fit(X, y)
    there = Perceptron(random_state=0).fit(on_device(X), y)
    assert (here.threshold_, here.intercept_scaling_, here.multiclass_) == (
        there.threshold_, there.intercept_scaling_, there.multiclass_,
    )  # fmt: skip
    np.testing.assert_allclose(here.coef_, there.coef_, rtol=1e-5)


@needs_compiler
def test_rows_on_the_device_are_checked(standin):
    X, y = digits()
    bad = X.copy()
    bad[3, 2] = np.nan
    with pytest.raises(ValueError, match="NaN or infinity"):
        Perceptron().fit(on_device(bad), y)
    with pytest.raises(ValueError, match="2D"):
        Perceptron().fit(on_device(X[0]), y)
    with pytest.raises(ValueError, match=r"y has shape \(9,\)"):
        Perceptron().fit(on_device(X), y[:9])
    with pytest.raises(ValueError, match="Several labels per row are learned on the processor"):
        Perceptron().fit(on_device(X), (X > 0).astype(int))
    with pytest.raises(ValueError, match="2 features, but Perceptron is expecting 6"):
        Perceptron().fit(on_device(X), y).predict(on_device(X[:, :2]))
    with pytest.raises(ValueError, match="real numbers"):
        Perceptron().fit(on_device(X.astype(complex)), y)


def test_rows_and_device_must_agree(standin):
    X, y = digits()
    with pytest.raises(gpu.DeviceError, match="X lies on a CUDA device, but device='cpu'"):
        Perceptron(device="cpu").fit(on_device(X), y)
    with pytest.raises(gpu.DeviceError, match="dense rows"):
        Perceptron(device="cuda").fit(sparse.csr_array(X), y)
    elsewhere = on_device(X)
    elsewhere.number = 1
    with pytest.raises(gpu.DeviceError, match="lie on CUDA device 1, but the current one is 0"):
        Perceptron().fit(elsewhere, y)
    with pytest.raises(ValueError, match="device"):
        Perceptron(device="tpu").fit(X, y)


def test_auto_stays_on_the_processor_where_a_device_gains_nothing(standin, monkeypatch):
    from rosenblatt.learners.examples import Dense, Examples

    def choice(n, d, classes, **options):
        X = np.broadcast_to(np.float32(0), (n, d))
        examples = Examples(Dense(X), np.broadcast_to(np.int32(0), n), np.ones(1), d)
        model = Perceptron(**options)
        model.multiclass_ = "ovr"
        return _device.linear_device(model, examples, classes)

    assert choice(10**6, 2048, 2) == "cpu"
    assert choice(1000, 10, 100) == "cpu"
    assert choice(10**6, 2048, 1000) == "cuda"
    assert choice(10**6, 2048, 1000, device="cpu") == "cpu"
    assert choice(10**6, 2048, 1000, keep="best") == "cpu"
    monkeypatch.setattr(_device, "is_available", lambda: False)
    assert choice(10**6, 2048, 1000) == "cpu"


def test_without_cupy_the_error_says_what_to_install(monkeypatch):
    gpu._cupy.cache_clear()
    monkeypatch.setitem(sys.modules, "cupy", None)
    X, y = digits()
    with pytest.raises(gpu.DeviceError, match=r"needs CuPy: pip install '\.\[gpu\]'"):
        Perceptron(device="cuda").fit(X, y)
    assert Perceptron(device="auto").fit(X, y).n_iter_ >= 1


@needs_compiler
@pytest.mark.parametrize("multiclass", ["ovr", "ovo", "joint"])
@pytest.mark.parametrize("keep", ["last", "average", "vote"])
def test_kernel_models_are_the_same_on_both_devices(standin, multiclass, keep):
    X, y = digits(n=90)
    options = {"degree": 2, "gamma": 1, "multiclass": multiclass, "keep": keep, "random_state": 1}
    options |= {"early_stopping": True, "max_iter": 4, "tol": 0}
    here = KernelPerceptron.textbook(**options, device="cpu").fit(X, y)
    there = KernelPerceptron.textbook(**options, device="cuda").fit(X, y)
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
    here = KernelPerceptron(**options, device="cpu").fit(X, y)
    there = KernelPerceptron(**options).fit(on_device(X), y)
    np.testing.assert_array_equal(here.dual_coef_, there.dual_coef_)
    np.testing.assert_allclose(there.decision_function(on_device(X)), here.decision_function(X))


def test_what_a_device_does_not_know_of_kernels_is_said(standin):
    X, y = digits(n=60)
    with pytest.raises(gpu.DeviceError, match="a kernel of your own: use device='cpu'"):
        KernelPerceptron(kernel=lambda A, B: A @ B.T, device="cuda").fit(X, y)
    with pytest.raises(gpu.DeviceError, match="but device='cpu'"):
        KernelPerceptron(device="cpu").fit(on_device(X), y)
    with pytest.raises(gpu.DeviceError, match="dense rows"):
        KernelPerceptron(device="cuda").fit(sparse.csr_array(X), y)
    assert _device.dual_device(KernelPerceptron(), X, on_cuda=False) == "cpu"


@needs_compiler
@pytest.mark.parametrize(
    "fit",
    [
        lambda X, y: Perceptron.textbook(device="cuda").fit(X, y).partial_fit(X, y),
        lambda X, y: KernelPerceptron.textbook(device="cuda", keep="vote").fit(X, y).predict(X),
        lambda X, y: fit_many(Perceptron.textbook(), X, y, cv=2, device="cuda"),
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
