"""A device that cannot be used: one sentence that says what to do, and no fitted model changes."""

import pickle
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import clone

import rosenblatt
from rosenblatt import gpu
from rosenblatt.gpu import device as devices
from tests.gpu.standin import needs_compiler, on_device


def rows_and_words():
    generator = np.random.default_rng(0)
    X = generator.integers(-3, 4, (60, 6)).astype(np.float32)
    return X, np.array(["ant", "bee", "cat"])[generator.integers(0, 3, 60)]


def no_cupy(name):
    raise ModuleNotFoundError("No module named 'cupy'", name="cupy")


def wrong_build(name):
    raise ImportError("=====\nFailed to import CuPy.\nlibcudart.so.12: cannot open shared object")


def no_driver(name):
    return SimpleNamespace(cuda=SimpleNamespace(runtime=SimpleNamespace(getDeviceCount=refuse)))


def refuse():
    raise RuntimeError("cudaErrorInsufficientDriver: CUDA driver version is insufficient")


def no_device(name):
    return SimpleNamespace(cuda=SimpleNamespace(runtime=SimpleNamespace(getDeviceCount=lambda: 0)))


REMEDIES = {
    no_cupy: "pip install '.[gpu]'",
    wrong_build: "install the build for the CUDA version that nvidia-smi shows",
    no_driver: "install a newer driver",
    no_device: "check nvidia-smi and CUDA_VISIBLE_DEVICES",
}
KINDS = ["Perceptron", "KernelPerceptron"]


def fitted(kind, X, y):
    """An estimator of the GPU, fitted on the processor."""
    options = {"random_state": 0, "max_iter": 3, "tol": None}
    model = getattr(gpu, kind).textbook(**options)
    vars(model).update(vars(getattr(rosenblatt, kind).textbook(**options).fit(X, y)))
    return model


@pytest.fixture(params=REMEDIES)
def missing(request, monkeypatch):
    """What a machine lacks; its message must say this to do about it."""
    devices._cupy.cache_clear()
    monkeypatch.setattr(devices, "import_module", request.param)
    yield REMEDIES[request.param]
    devices._cupy.cache_clear()


def assert_refused(model, call, X, y, remedy):
    """A call fails with one sentence that says what to do, and the fitted model is as it was."""

    def shown():
        names = [name for name in dir(model) if name.endswith("_") and not name.startswith("_")]
        # Some, such as probabilities, are there only where rows were held out for them.
        return {name: pickle.dumps(getattr(model, name)) for name in names if hasattr(model, name)}

    def attempt():
        if call == "fit_many":
            gpu.fit_many(clone(model).set_params(scale=None), X, y)
        else:
            getattr(model, call)(*([X] if call == "predict" else [X, y]))

    before = shown()
    model.set_params(threshold=1.0)
    with pytest.raises(gpu.DeviceError) as found:
        attempt()
    message = str(found.value)
    assert remedy in message
    assert message.endswith(".")
    assert ". " not in message
    assert "\n" not in message
    assert shown() == before


@pytest.mark.parametrize(
    ("kind", "call", "lies"),
    [
        *product(KINDS, ["fit"], ["here", "there"]),
        *product(KINDS, ["partial_fit", "predict"], ["there"]),
        *product(["Perceptron"], ["fit_many"], ["here", "there"]),
    ],
)
def test_what_is_missing_is_one_sentence_and_the_model_stays(missing, kind, call, lies):
    X, y = rows_and_words()
    model = fitted(kind, X, y)
    rows = on_device(X[::-1]) if lies == "there" else X[::-1]
    assert_refused(model, call, rows, y[::-1], missing)


@needs_compiler
@pytest.mark.parametrize(("kind", "call"), [*product(KINDS, ["fit"]), ("Perceptron", "fit_many")])
def test_memory_that_is_used_up_is_one_sentence_and_the_model_stays(
    standin, monkeypatch, kind, call
):
    class OutOfMemoryError(Exception):
        __module__ = "cupy.cuda.memory"

    def fail(*arguments, **options):
        raise OutOfMemoryError("Out of memory allocating 99 bytes")

    X, y = rows_and_words()
    model = fitted(kind, X, y)
    monkeypatch.setattr(standin, "product", fail)
    remedy = "out of memory: free what other programs hold there, train on fewer rows"
    assert_refused(model, call, X[::-1], y[::-1], remedy)


@pytest.mark.parametrize(
    ("kind", "call"),
    [*product(KINDS, ["fit", "partial_fit", "predict"]), ("Perceptron", "fit_many")],
)
def test_another_device_is_one_sentence_and_the_model_stays(standin, kind, call):
    X, y = rows_and_words()
    model = fitted(kind, X, y)
    rows = on_device(X[::-1])
    rows.number = 1
    remedy = "make their device the current one"
    assert_refused(model, call, rows, y[::-1], remedy)
