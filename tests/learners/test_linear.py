"""The linear learner: the reference's steps, whatever the walks, the features and the threads."""

from __future__ import annotations

import copy
import ctypes
import gc
import pickle
import platform
import sys
import weakref
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rosenblatt import AROW, OnlineGradient, Perceptron, learn_online, reference, rules
from rosenblatt.kernels.packing import Numbering
from rosenblatt.kernels.rows import Packed
from rosenblatt.kernels.text import Rows
from rosenblatt.learners import Spec, make
from rosenblatt.learners.dual import Dual
from rosenblatt.learners.examples import Examples, examples_of
from rosenblatt.learners.gram_blocks import GramBlocks
from rosenblatt.learners.problems import Problems
from rosenblatt.rules.passive_aggressive import Pa
from rosenblatt.rules.perceptron import Thresholds
from rosenblatt.rules.second_order import Arow

STATE = ("weights", "bias", "sums", "bias_sums", "clock")


def sparse(X):
    X = np.asarray(X)
    columns = np.tile(np.arange(X.shape[1], dtype=np.uint32), len(X))
    pointers = np.arange(0, X.size + 1, X.shape[1], dtype=np.uint64)
    rows = Rows(pointers, columns, X.ravel().astype(np.float32))
    return Numbering(64).pack(rows, Packed.room(len(X), X.size))


def packed(X, codes, omega=None):
    omega = np.ones(1) if omega is None else omega
    return Examples(sparse(X), np.asarray(codes, np.int32), omega, X.shape[1])


def learner_of(n_classes=2, threshold=1.0, padding=1.0, features=0, **options):
    made = make(
        Spec(
            rule=Thresholds(threshold, threshold),
            padding=padding,
            averaging=True,
            dtype=np.float32,
            **options,
        ),
        n_classes,
        0,
    )
    made.reserve(features)
    return made


def rows_of(count, start=0):
    return np.arange(start, count, dtype=np.uint64)


def same(one, other):
    first, second = one.state(), other.state()
    return all(np.array_equal(getattr(first, name), getattr(second, name)) for name in STATE)


@pytest.fixture
def integers():
    generator = np.random.default_rng(7)
    return generator.integers(-3, 4, (40, 4)), generator.integers(0, 2, 40)


@pytest.mark.parametrize("cuts", [[40], [1, 17, 18, 40], list(range(1, 41))])
def test_any_cut_into_walks_takes_the_steps_of_the_reference(integers, cuts):
    X, codes = integers
    signs = (2 * codes - 1).tolist()
    steps = list(reference.online(X.tolist(), signs, threshold=2, padding=1, max_epochs=1))
    learner, examples = learner_of(threshold=2.0, features=4), packed(X, codes)
    tallies, start = [], 0
    for end in cuts:
        tallies.append(learner.walk(examples, rows_of(end, start)))
        start = end
    assert sum(tally.visits for tally in tallies) == 40
    assert sum(tally.updates for tally in tallies) == sum(step.mistake for step in steps)
    assert sum(t.mistakes for t in tallies) == sum(step.prediction != step.y for step in steps)
    assert learner.weights().weights.ravel().tolist() == list(steps[-1].weights_after)
    mean = np.mean([step.weights_after for step in steps], axis=0)
    assert learner.weights(averaged=True).weights.ravel() == pytest.approx(mean, rel=1e-6)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_learner_grows_without_forgetting(integers, n_classes):
    X, _ = integers
    learner = learner_of(n_classes, padding=0.0, features=4)
    learner.walk(packed(X, X[:, 0] % n_classes), rows_of(40))
    before = learner.weights(averaged=True).weights
    learner.reserve(50)
    after = learner.weights(averaged=True).weights
    assert np.array_equal(after[:, :4], before)
    assert after.shape[1] == 50
    assert not after[:, 4:].any()


def test_room_for_more_features_changes_no_measure(integers):
    X, codes = integers
    learners = [learner_of(features=4), learner_of(features=4)]
    learners[1].reserve(1000)
    learners[1].n_features = 4
    for learner in learners:
        learner.mark()
        learner.walk(packed(X, codes), rows_of(40))
    assert learners[0].measure() == learners[1].measure()


def test_a_learner_that_restarts_is_a_new_one(integers):
    X, codes = integers
    learner, fresh = learner_of(features=4), learner_of(3, features=4)
    learner.walk(packed(X, codes), rows_of(40))
    learner.restart(3)
    for each in (learner, fresh):
        each.walk(packed(X, X[:, 0] % 3), rows_of(40))
    assert same(learner, fresh)


@pytest.mark.parametrize("threads", [1, 2])
def test_many_classes_are_each_learned_against_the_rest(integers, threads):
    X, _ = integers
    codes = X[:, 0] % 3
    together = learner_of(3, features=4, threads=threads)
    together.walk(packed(X, codes), rows_of(40))
    for c in range(3):
        alone = learner_of(features=4)
        alone.walk(packed(X, codes == c), rows_of(40))
        found, expected = (one.weights(averaged=True).weights for one in (together, alone))
        assert found[c] == pytest.approx(expected[0])


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_learner_goes_on_from_its_state(integers, n_classes):
    X, _ = integers
    examples = packed(X, X[:, 0] % n_classes)
    whole, first = learner_of(n_classes, features=4), learner_of(n_classes, features=4)
    for learner in (whole, first):
        learner.mark()
    whole.walk(examples, rows_of(40))
    first.walk(examples, rows_of(15))
    second = learner_of(n_classes)
    second.restore(first.state())
    second.walk(examples, rows_of(40, 15))
    assert same(whole, second)
    assert whole.measure() == second.measure()


def test_a_state_before_the_first_feature_knows_where_the_epoch_began(integers):
    X, codes = integers
    first, second = learner_of(), learner_of()
    first.mark()
    second.restore(first.state())
    for learner in (first, second):
        learner.reserve(4)
        learner.walk(packed(X, codes), rows_of(40))
    assert first.measure() == second.measure()


def test_predicting_changes_nothing(integers):
    X, codes = integers
    learner, examples = learner_of(features=4), packed(X, codes)
    learner.walk(examples, rows_of(40))
    before = {name: np.array(getattr(learner.state(), name)) for name in STATE}
    found = learner.problems.decide(learner.scores(examples, rows_of(40), averaged=True))
    weights, bias = learner.weights(averaged=True)
    assert found.tolist() == (X @ weights[0] + bias[0] > 0).astype(int).tolist()
    wrong = np.mean(found != codes)
    assert learner.error(examples, rows_of(40), averaged=True) == pytest.approx(wrong)
    assert all(np.array_equal(before[name], getattr(learner.state(), name)) for name in STATE)


def drawn(seed, n_classes, weighted):
    generator = np.random.default_rng(seed)
    X, codes = generator.normal(size=(30, 6)), generator.integers(0, n_classes, 30)
    return packed(X, codes, generator.uniform(0.0, 4.0, 30) if weighted else None)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 99),
    n_classes=st.sampled_from([2, 3, 9]),
    weighted=st.booleans(),
    cuts=st.lists(st.integers(0, 30), max_size=6),
)
def test_sums_are_the_same_to_the_last_bit_however_a_walk_is_cut(seed, n_classes, weighted, cuts):
    examples = drawn(seed, n_classes, weighted)
    whole, pieces = learner_of(n_classes, features=6), learner_of(n_classes, features=6)
    order = np.random.default_rng(seed).permutation(30).astype(np.uint64)
    whole.walk(examples, order)
    for piece in np.split(order, sorted(cuts)):
        pieces.walk(examples, piece)
    assert same(whole, pieces)


@pytest.mark.parametrize("n_classes", [2, 5])
def test_the_average_of_weighted_rows_is_the_mean_over_their_copies(n_classes):
    examples, rows = drawn(1, n_classes, weighted=False), rows_of(30)
    copies = np.random.default_rng(2).integers(1, 4, 30)
    weighted, repeated = learner_of(n_classes, features=6), learner_of(n_classes, features=6)
    weighted.walk(replace(examples, omega=copies.astype(float)), rows)
    repeated.walk(examples, np.repeat(rows, copies))
    for one, other in zip(weighted.weights(True), repeated.weights(True), strict=True):
        assert one == pytest.approx(other, rel=1e-4, abs=1e-5)


def test_an_average_that_starts_anew_forgets_the_sums():
    examples, rows = drawn(3, 2, weighted=False), rows_of(30)
    learner, fresh = learner_of(features=6), learner_of()
    learner.walk(examples, rows)
    learner.restart_average()
    assert not learner.state().sums.any()
    fresh.restore(learner.state())
    for each in (learner, fresh):
        each.walk(examples, rows)
    assert same(learner, fresh)


@pytest.mark.parametrize("n_classes", [2, 5])
@pytest.mark.parametrize("weighted", [False, True])
def test_rates_do_to_weights_what_scales_do_to_rows(n_classes, weighted):
    generator = np.random.default_rng(4)
    X, scales = generator.normal(size=(30, 6)), np.array([0.5, 2.0, 1.5, 3.0, 3.0, 3.0])
    plain = drawn(4, n_classes, weighted)
    rates = (scales[:4] ** 2).astype(np.float32)
    scaled = learner_of(n_classes, padding=0.5, features=6)
    rated = learner_of(n_classes, padding=0.5, features=6, rates=rates)
    for learner, rows in ((scaled, sparse(X * scales)), (rated, sparse(X))):
        learner.walk(replace(plain, rows=rows), rows_of(30))
    for averaged in (False, True):
        weights, bias = scaled.weights(averaged)
        other, other_bias = rated.weights(averaged)
        assert other == pytest.approx(weights * scales, rel=1e-4, abs=1e-5)
        assert other_bias == pytest.approx(bias, rel=1e-4, abs=1e-6)


def gram():
    return GramBlocks(lambda A, B: A @ B.T, np.eye(3))


@pytest.mark.parametrize(
    "new",
    [
        lambda: learner_of(3, features=4),
        lambda: pickle.loads(pickle.dumps(learner_of(3, features=4))),
        lambda: copy.deepcopy(make(Spec(rule=Arow(1.0), dense=True), 3, 4)),
        lambda: Dual(Problems(2), gram()),
    ],
    ids=["linear", "unpickled", "family", "dual"],
)
def test_a_learner_gives_its_memory_back_without_waiting_for_the_garbage_collector(new):
    gc.disable()
    try:
        learner = new()
        held = [weakref.ref(learner), *map(weakref.ref, getattr(learner, "parts", ()))]
        del learner
        assert not any(one() for one in held)
    finally:
        gc.enable()


@pytest.fixture
def no_denormals():
    """Let denormal numbers count as zero, as libraries built with -ffast-math do."""
    libm = ctypes.CDLL("libm.so.6")
    environment, changed = ctypes.create_string_buffer(32), ctypes.create_string_buffer(32)
    libm.fegetenv(environment)
    changed.raw = environment.raw
    control = int.from_bytes(environment.raw[28:], "little") | 0x8040
    changed[28:32] = control.to_bytes(4, "little")
    libm.fesetenv(changed)
    assert np.array([5e-324])[0] * 1.0 == 0.0
    yield
    libm.fesetenv(environment)


@pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() != "x86_64", reason="needs the MXCSR register"
)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_sign_rule_spares_a_score_of_zero_without_denormal_numbers(n_classes, no_denormals):
    rule = rules.thresholds("sign", 0.0)
    learner = make(Spec(rule=rule, dense=True), n_classes, 2)
    examples = examples_of(np.eye(2), np.zeros(2, np.int32))
    directions = learner.problems.directions(np.zeros((1, len(learner.problems))), np.array([0]))
    assert directions.tolist() == ([[0]] if n_classes == 2 else [[1, 0, 0]])
    assert learner.walk(examples, rows_of(2)).updates == np.abs(directions).sum()


@pytest.mark.parametrize("averaged", [False, True])
@pytest.mark.parametrize("rule", [Thresholds(7.0, 7.0), Pa(1.0, 0.0)])
def test_rescaled_weights_are_those_of_the_same_updates_by_scaled_rows(rule, averaged):
    random = np.random.default_rng(0)
    X, y = random.integers(-9, 9, size=(30, 4)).astype(float), random.integers(0, 2, 30)
    ratio, moved = np.array([2.0, 0.5, 1.0, 4.0]), np.array([3.0, 0.0, -2.0, 1.0])
    learner = make(Spec(rule=rule, dense=True, padding=2.0, averaging=True), 2, 4)
    coefficients = []
    for row in range(30):
        before = learner.weights().bias[0]
        learner.walk(examples_of(X, y), np.array([row], np.uint64))
        coefficients.append((learner.weights().bias[0] - before) / 4.0)
    bias = learner.weights(averaged).bias
    learner.rescale(ratio, moved)
    weights = np.cumsum(np.array(coefficients)[:, None] * (X - moved) * ratio, axis=0)
    replayed = weights.mean(axis=0) if averaged else weights[-1]
    assert learner.weights(averaged).weights[0] == pytest.approx(replayed)
    assert learner.weights(averaged).bias == bias


def test_a_scale_of_two_unusual_rows_does_not_spoil_a_stream():
    random = np.random.default_rng(0)
    X = random.normal(size=(500, 3))
    y = (X @ [1.0, 2.0, 3.0] > 0).astype(int)
    X[1, 2] = X[0, 2] + 1e-4  # the column seems to be in another unit
    for model in (Perceptron(), AROW(), OnlineGradient(), OnlineGradient(method="adagrad")):
        assert learn_online(model, X, y, classes=[0, 1]).mistakes < 60


def test_a_cycle_on_more_rows_than_scores_are_kept_for_is_described():
    rows = np.tile([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], (600_000, 1))
    y = np.tile([0, 1, 1, 0], 600_000)
    model = Perceptron.textbook(shuffle=False, tol=None).fit(rows, y)
    assert model.stop_reason_ == "cycle"
    updates = model.history_.row_updates
    assert updates.shape == y.shape
    assert updates.sum() > 0
