"""The kernel learner on a device takes the steps of the learner on the processor."""

import numpy as np
import pytest

from rosenblatt.gpu.dual import DeviceDual, DeviceGram
from rosenblatt.learners.dual import Dual
from rosenblatt.learners.examples import examples_of
from rosenblatt.learners.gram_blocks import GramBlocks
from rosenblatt.learners.problems import Problems
from tests.gpu.standin import StandIn, needs_compiler

pytestmark = needs_compiler


def squared(A, B):
    return (A @ B.T + 1) ** 2


def squared_by(product):
    return lambda A, B: (product(A, B) + A.dtype.type(1)) ** 2


def both(
    multiclass="ovr", classes=4, n=120, dtype=np.float32, megabytes=None, thresholds=(0.0, 0.0)
):
    generator = np.random.default_rng(classes)
    X = generator.integers(-2, 3, (n, 5)).astype(dtype)
    y = generator.integers(0, classes, n)
    y[:classes] = range(classes)
    problems = Problems(classes, multiclass, thresholds)
    host = Dual(problems, GramBlocks(squared, X, block_rows=32))
    gram = DeviceGram(StandIn(), squared_by, X, block_rows=32, megabytes=megabytes)
    return X, y, host, DeviceDual(problems, gram)


def assert_same(host, device):
    for name in ("problems", "rows", "taus", "times"):
        np.testing.assert_array_equal(getattr(host.log, name), getattr(device.log, name))
    np.testing.assert_array_equal(host.clock, device.clock)
    np.testing.assert_array_equal(host.squares, device.squares)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("megabytes", [None, 0.03, 0], ids=["whole", "some rows", "no rows"])
@pytest.mark.parametrize("weights", [None, "whole", "fractions"])
@pytest.mark.parametrize(
    ("classes", "multiclass"), [(2, "ovr"), (4, "ovr"), (4, "ovo"), (4, "joint")]
)
def test_whole_numbers_give_the_same_log(classes, multiclass, weights, megabytes, dtype):
    X, y, host, device = both(multiclass, classes, megabytes=megabytes, dtype=dtype)
    generator = np.random.default_rng(1)
    omega = {
        None: np.ones(1),
        "whole": generator.integers(1, 4, len(y)).astype(float),
        "fractions": generator.integers(1, 9, len(y)) / 4,
    }[weights]
    examples = examples_of(X, y, omega)
    for learner in (host, device):
        learner.mark()
    for epoch in range(3):
        order = np.random.default_rng(epoch).permutation(len(y)).astype(np.uint64)
        here, there = (learner.walk(examples, order) for learner in (host, device))
        assert here[:5] == there[:5]
        assert_same(host, device)
        assert host.measure() == device.measure()
    rows = np.arange(len(y))
    np.testing.assert_array_equal(host.scores(rows), device.scores(rows))
    assert host.error(examples, rows) == device.error(examples, rows)
    assert host.misclassified(examples, rows) == device.misclassified(examples, rows)
    assert host.is_separating(examples, rows) == device.is_separating(examples, rows)


def test_a_learner_goes_on_from_a_state():
    X, y, host, device = both()
    examples, order = examples_of(X, y), np.arange(len(y), dtype=np.uint64)
    for learner in (host, device):
        learner.mark()
        learner.walk(examples, order)
    again = DeviceDual(device.problems, device.gram, device.state())
    for learner in (host, again):
        learner.walk(examples, order)
    assert_same(host, again)
    moment = again.snapshot()
    assert again.is_at(moment)
    again.walk(examples, order)
    assert not again.is_at(moment)


def test_scores_that_overflow_are_refused():
    X = np.array([[1.0], [-1.0]])
    gram = DeviceGram(StandIn(), squared_by, X, block_rows=32)
    gram.K[...] = np.inf
    learner = DeviceDual(Problems(2), gram)
    with pytest.raises(ValueError, match="not a finite number"):
        learner.walk(examples_of(X, np.array([0, 1])), np.arange(2, dtype=np.uint64))


def test_small_whole_numbers_are_multiplied_on_tensor_cores():
    X = np.array([[3.0, 2047.0]], np.float32)
    assert DeviceGram(StandIn(), squared_by, X)._tf32
    for other in (X + 0.5, X * 2, X * 5, X.astype(np.float64)):
        assert not DeviceGram(StandIn(), squared_by, other)._tf32
