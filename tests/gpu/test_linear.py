"""The learner on a device takes the steps of the learner on the processor."""

import numpy as np
import pytest

from rosenblatt.gpu.blocks import screen_error
from rosenblatt.gpu.linear import DeviceLinear
from rosenblatt.learners import Spec, make
from rosenblatt.learners.examples import examples_of
from rosenblatt.rules.perceptron import Thresholds
from tests.gpu.standin import StandIn, needs_compiler

pytestmark = needs_compiler


def whole_numbers(seed, n=150, d=7, classes=4, dtype=np.float32):
    generator = np.random.default_rng(seed)
    X = generator.integers(-4, 5, (n, d)).astype(dtype)
    W = generator.normal(size=(classes, d))
    y = (X @ W.T + generator.normal(size=(n, classes))).argmax(axis=1)
    y[:classes] = range(classes)
    return X, y.astype(np.int32)


def both(X, y, omega=None, block_rows=64, **options):
    classes = int(y.max()) + 1
    omega = np.ones(1) if omega is None else omega
    spec = Spec(dtype=X.dtype, dense=True, **options)
    host = make(spec, classes, X.shape[1])
    device = DeviceLinear(spec, classes, X.shape[1], StandIn(), block_rows)
    return examples_of(X, y, omega), host, device


def assert_same(host, device):
    for here, there in zip(host.weights(), device.weights(), strict=True):
        np.testing.assert_array_equal(here, there)
    if host.spec.averaging:
        np.testing.assert_array_equal(host.state().sums, device.state().sums)
        np.testing.assert_array_equal(host.weights(True).weights, device.weights(True).weights)
        np.testing.assert_array_equal(host.weights(True).bias, device.weights(True).bias)
    np.testing.assert_array_equal(host.state().clock, device.state().clock)


@pytest.mark.parametrize("averaging", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("classes", "multiclass"), [(2, "ovr"), (4, "ovr"), (4, "ovo"), (4, "joint")]
)
@pytest.mark.parametrize("weights", ["one", "whole", "fractions"])
def test_whole_numbers_give_the_same_model_bit_for_bit(
    classes, multiclass, dtype, averaging, weights
):
    X, y = whole_numbers(classes, classes=classes, dtype=dtype)
    generator = np.random.default_rng(9)
    omega = {
        "one": None,
        "whole": generator.integers(0, 4, len(y)).astype(float),
        "fractions": generator.integers(0, 9, len(y)) / 4.0,
    }[weights]
    examples, host, device = both(X, y, omega, multiclass=multiclass, averaging=averaging)
    rows = np.flatnonzero(np.broadcast_to(examples.omega, y.shape) > 0).astype(np.uint64)
    for learner in (host, device):
        learner.mark()
    for epoch in range(4):
        order = np.random.default_rng(epoch).permutation(rows)
        here, there = (learner.walk(examples, order, np.ones(1)) for learner in (host, device))
        assert here._replace(predictions=None, run=0)[:4] == there[:4]
        np.testing.assert_equal(here.mistakes, there.mistakes)
        assert host.measure() == device.measure()
    assert_same(host, device)
    assert host.error(examples, rows) == device.error(examples, rows)
    assert host.misclassified(examples, rows) == device.misclassified(examples, rows)
    assert host.is_separating(examples, rows) == device.is_separating(examples, rows)
    np.testing.assert_array_equal(host.scores(examples, rows), device.scores(examples, rows))
    if averaging:
        assert host.error(examples, rows, True) == device.error(examples, rows, True)


@pytest.mark.parametrize("thresholds", [(3.0, 3.0), (-5e-324, 0.0)])
@pytest.mark.parametrize("multiclass", ["ovr", "ovo", "joint"])
def test_thresholds_rates_and_a_start_away_from_zero_are_those_of_the_processor(
    thresholds, multiclass
):
    X, y = whole_numbers(3)
    rates = np.array([1, 2, 0, 1, 4, 1, 0.5], np.float32)
    examples, host, device = both(
        X,
        y,
        multiclass=multiclass,
        rule=Thresholds(*thresholds),
        rates=rates,
        averaging=True,
        padding=2.0,
    )
    order = np.arange(len(y), dtype=np.uint64)
    host.walk(examples, order, np.ones(1))
    device.restore(host.state())
    etas = 2.0 ** -(np.arange(len(y)) % 3)
    for _ in range(2):
        for learner in (host, device):
            learner.walk(examples, order, etas)
    assert_same(host, device)


def test_the_size_of_blocks_does_not_show():
    X, y = whole_numbers(7)
    models = []
    for size in (32, 64, 1024):
        examples, _, device = both(X, y, block_rows=size, averaging=True)
        device.walk(examples, np.arange(len(y), dtype=np.uint64))
        models.append(device.weights(True).weights)
    np.testing.assert_array_equal(models[0], models[1])
    np.testing.assert_array_equal(models[0], models[2])


@pytest.mark.parametrize("multiclass", ["ovr", "ovo"])
def test_a_screen_by_tensor_cores_does_not_show(multiclass, monkeypatch):
    from rosenblatt.gpu import blocks

    monkeypatch.setattr(blocks, "MANY", 1)
    monkeypatch.setattr(blocks, "WIDE", 1)
    generator = np.random.default_rng(4)
    X = np.rint(generator.normal(size=(400, 9)) * 5000).astype(np.float32) / 1024
    y = generator.integers(0, 4, 400).astype(np.int32)
    examples, host, device = both(X, y, multiclass=multiclass, rule=Thresholds(0.5, 0.5))
    assert device.blocks.screens
    order = np.arange(400, dtype=np.uint64)
    for _ in range(3):
        here, there = (learner.walk(examples, order, np.ones(1)) for learner in (host, device))
        assert here.updates == there.updates
    np.testing.assert_array_equal(host.weights().weights, device.weights().weights)


@pytest.mark.parametrize(
    ("multiclass", "weights"), [("ovr", "one"), ("ovo", "large"), ("ovr", "rated")]
)
def test_a_screened_run_takes_the_steps_of_one_that_scores_every_row_again(
    multiclass, weights, monkeypatch
):
    from rosenblatt.gpu import blocks

    monkeypatch.setattr(blocks, "MANY", 1)
    monkeypatch.setattr(blocks, "WIDE", 1)
    generator = np.random.default_rng(5)
    X = generator.normal(size=(2000, 30)).astype(np.float32)
    y = generator.integers(0, 4, 2000).astype(np.int32)
    omega = generator.uniform(0, 3, 2000) if weights == "large" else None
    options = {"rates": generator.uniform(0.1, 4, 30).astype(np.float32)}
    options = {"multiclass": multiclass, "rule": Thresholds(0.3, 0.3), "averaging": True} | (
        options if weights == "rated" else {}
    )

    def learned(error):
        monkeypatch.setattr(blocks, "screen_error", lambda features: error)
        examples, _, device = both(X, y, omega, 128, **options)
        rows = np.flatnonzero(np.broadcast_to(examples.omega, y.shape) > 0).astype(np.uint64)
        tallies = [device.walk(examples, np.roll(rows, 400 * k), np.ones(1)) for k in range(2)]
        return [tally.updates for tally in tallies], device.state()

    (some, screened), (all_of_them, scored) = learned(screen_error(30)), learned(1e30)
    assert some == all_of_them
    for name in ("weights", "bias", "sums", "bias_sums", "clock"):
        np.testing.assert_array_equal(getattr(screened, name), getattr(scored, name), name)
    _, blind = learned(1e-12)  # the scores of tensor cores taken as they are
    assert not np.array_equal(blind.weights, scored.weights)


def test_rows_that_do_not_fit_are_streamed_with_the_same_result(monkeypatch):
    from rosenblatt.gpu import device as devices

    X, y = whole_numbers(8, n=5000, d=3)
    examples, host, device = both(X, y, averaging=True)
    device.device.memory = 1000
    monkeypatch.setattr(devices, "_STREAMED_BYTES", 1 << 12)
    order = np.random.default_rng(0).permutation(len(y)).astype(np.uint64)
    for learner in (host, device):
        learner.walk(examples, order, np.ones(1))
    assert not device.blocks.on_device(examples)[0].is_resident
    assert_same(host, device)
    assert host.error(examples, order) == device.error(examples, order)


def test_rows_in_a_mapped_file_are_streamed_with_the_same_result(tmp_path, monkeypatch):
    from rosenblatt.gpu import device as devices

    X, y = whole_numbers(8, n=5000, d=3)
    np.save(tmp_path / "rows.npy", X)
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    assert isinstance(mapped, np.memmap)
    examples, host, device = both(X, y, averaging=True)
    of_file = examples_of(mapped, y)
    device.device.memory = X.nbytes  # more than the share that rows may take
    monkeypatch.setattr(devices, "_STREAMED_BYTES", 1 << 12)
    for epoch in range(3):
        order = np.random.default_rng(epoch).permutation(len(y)).astype(np.uint64)
        here, there = host.walk(examples, order), device.walk(of_file, order)
        assert here[:4] == there[:4]
    streamed = device.blocks.on_device(of_file)[0]
    assert isinstance(streamed, devices.Streamed)
    assert isinstance(streamed.X, np.memmap)
    assert_same(host, device)
    assert host.error(examples, order, True) == device.error(of_file, order, True)


def test_updates_of_a_cycle_are_counted_per_row():
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], np.float64)
    examples, host, device = both(X, np.array([0, 1, 1, 0], np.int32))
    order = np.arange(4, dtype=np.uint64)
    counts = [learner.row_updates(examples, order, np.ones(1), 6) for learner in (host, device)]
    np.testing.assert_array_equal(*counts)


def test_what_was_learned_moves_to_the_processor_and_back():
    X, y = whole_numbers(10)
    examples, _, device = both(X, y, averaging=True)
    order = np.arange(len(y), dtype=np.uint64)
    device.mark()
    device.walk(examples, order)
    assert device.is_at(device.snapshot())
    twin = device.on_host()
    for learner in (twin, device):
        learner.walk(examples, order)
    assert_same(twin, device)
    device.restart_average()
    twin.restart_average()
    assert_same(twin, device)
