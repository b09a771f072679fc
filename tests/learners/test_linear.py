"""The learner for streams: the reference's steps, whatever the blocks and the features to come."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rosenblatt import reference
from rosenblatt.kernels import streams
from rosenblatt.kernels.compact import Numbering
from rosenblatt.kernels.packed import Packed
from rosenblatt.kernels.text import Rows
from rosenblatt.training.stream import Examples, Learner, Outcome


def sparse(X):
    X = np.asarray(X)
    columns = np.tile(np.arange(X.shape[1], dtype=np.uint32), len(X))
    pointers = np.arange(0, X.size + 1, X.shape[1], dtype=np.uint64)
    rows = Rows(pointers, columns, X.ravel().astype(np.float32))
    return Numbering(bits=6).pack(rows, Packed.room(len(X), X.size))


@pytest.fixture
def integers():
    generator = np.random.default_rng(7)
    return generator.integers(-3, 4, (40, 4)), generator.integers(0, 2, 40)


@pytest.mark.parametrize("cuts", [[40], [1, 17, 18, 40], list(range(1, 41))])
def test_any_cut_into_walks_takes_the_steps_of_the_reference(integers, cuts):
    X, codes = integers
    signs = (2 * codes - 1).tolist()
    steps = list(reference.online(X.tolist(), signs, threshold=2, padding=1, max_epochs=1))
    learner = Learner(2, threshold=2.0, padding=1.0)
    learner.reserve(4)
    examples = Examples(sparse(X), codes.astype(np.int32), np.ones(1))
    outcome, start = Outcome(), 0
    for end in cuts:
        outcome += learner.learn(examples, np.arange(start, end, dtype=np.uint64))
        start = end
    assert outcome.steps == 40
    assert outcome.mistakes == sum(step.mistake for step in steps)
    assert outcome.wrong == sum(step.prediction != step.y for step in steps)
    assert learner.weights(False)[0].ravel().tolist() == list(steps[-1].weights_after)
    mean = np.mean([step.weights_after for step in steps], axis=0)
    assert learner.weights(True)[0].ravel() == pytest.approx(mean, rel=1e-6)


def test_a_learner_grows_without_forgetting(integers):
    X, codes = integers
    examples = Examples(sparse(X), codes.astype(np.int32), np.ones(1))
    learner = Learner(2, threshold=1.0, padding=0.0)
    learner.reserve(4)
    learner.learn(examples, np.arange(40, dtype=np.uint64))
    before = learner.weights(True)[0]
    learner.reserve(50)
    after = learner.weights(True)[0]
    assert np.array_equal(after[:4], before)
    assert after.shape == (50, 1)
    assert not after[4:].any()


def test_many_classes_are_each_learned_against_the_rest(integers):
    X, _ = integers
    codes = (X[:, 0] % 3).astype(np.int32)
    examples, order = Examples(sparse(X), codes, np.ones(1)), np.arange(40, dtype=np.uint64)
    together = Learner(3, threshold=1.0, padding=1.0)
    together.reserve(4)
    together.learn(examples, order)
    for c in range(3):
        alone = Learner(2, threshold=1.0, padding=1.0)
        alone.reserve(4)
        alone.learn(examples._replace(codes=(codes == c).astype(np.int32)), order)
        assert together.weights(True)[0][:, c] == pytest.approx(alone.weights(True)[0][:, 0])


def test_a_learner_goes_on_from_its_arrays(integers):
    X, codes = integers
    examples = Examples(sparse(X), codes.astype(np.int32), np.ones(1))
    whole, first = Learner(2, 1.0, 1.0), Learner(2, 1.0, 1.0)
    for learner in (whole, first):
        learner.reserve(4)
    whole.learn(examples, np.arange(40, dtype=np.uint64))
    first.learn(examples, np.arange(15, dtype=np.uint64))
    second = Learner(2, 1.0, 1.0)
    second.restore(first.arrays())
    second.learn(examples, np.arange(15, 40, dtype=np.uint64))
    assert all(np.array_equal(whole.arrays()[k], second.arrays()[k]) for k in whole.arrays())


def test_predicting_changes_nothing(integers):
    X, codes = integers
    examples = Examples(sparse(X), codes.astype(np.int32), np.ones(1))
    learner = Learner(2, 1.0, 1.0)
    learner.reserve(4)
    learner.learn(examples, np.arange(40, dtype=np.uint64))
    before = {k: v.copy() for k, v in learner.arrays().items()}
    found = learner.predict(examples, np.arange(40, dtype=np.uint64), averaged=True)
    W, b = learner.weights(True)
    assert found.tolist() == (X @ W[:, 0] + b[0] > 0).astype(int).tolist()
    assert all(np.array_equal(before[k], v) for k, v in learner.arrays().items())


def examples_of(seed, n_classes, weighted):
    generator = np.random.default_rng(seed)
    X, codes = generator.normal(size=(30, 6)), generator.integers(0, n_classes, 30)
    omega = generator.uniform(0.0, 4.0, 30) if weighted else np.ones(1)
    return Examples(sparse(X), codes.astype(np.int32), omega)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 99),
    n_classes=st.sampled_from([2, 3, 9]),
    weighted=st.booleans(),
    cuts=st.lists(st.tuples(st.integers(0, 30), st.booleans()), max_size=6),
)
def test_sums_are_the_same_to_the_last_bit_whenever_they_are_settled(
    seed, n_classes, weighted, cuts
):
    examples = examples_of(seed, n_classes, weighted)
    late, often = Learner(n_classes, 1.0, 1.0), Learner(n_classes, 1.0, 1.0)
    order = np.random.default_rng(seed).permutation(30).astype(np.uint64)
    for learner, settles in ((late, False), (often, True)):
        learner.reserve(6)
        start = 0
        for end, now in [*sorted(cuts), (30, False)]:
            learner.learn(examples, order[start:end])
            start = end
            if now and settles:
                learner.settle()
    assert all(np.array_equal(late.arrays()[k], often.arrays()[k]) for k in late.arrays())


@pytest.mark.parametrize("n_classes", [2, 5])
def test_the_average_of_weighted_rows_is_the_mean_over_their_copies(n_classes):
    examples = examples_of(1, n_classes, weighted=False)
    copies = np.random.default_rng(2).integers(1, 4, 30)
    weighted, repeated = Learner(n_classes, 1.0, 1.0), Learner(n_classes, 1.0, 1.0)
    for learner in (weighted, repeated):
        learner.reserve(6)
    rows = np.arange(30, dtype=np.uint64)
    weighted.learn(examples._replace(omega=copies.astype(float)), rows)
    repeated.learn(examples, np.repeat(rows, copies))
    for one, other in zip(weighted.weights(True), repeated.weights(True), strict=True):
        assert one == pytest.approx(other, rel=1e-4, abs=1e-5)


def test_an_average_that_starts_anew_forgets_what_was_owed():
    examples, rows = examples_of(3, 2, weighted=False), np.arange(30, dtype=np.uint64)
    learner, fresh = Learner(2, 1.0, 1.0), Learner(2, 1.0, 1.0)
    learner.reserve(6)
    learner.learn(examples, rows)
    learner.restart_average()
    last = {name: array.copy() for name, array in learner.arrays().items()}
    assert not last["U"].any()
    fresh.restore(last)
    for each in (learner, fresh):
        each.learn(examples, rows)
    assert np.array_equal(learner.weights(True)[0], fresh.weights(True)[0])


@pytest.mark.parametrize("n_classes", [2, 5])
@pytest.mark.parametrize("weighted", [False, True])
def test_rates_do_to_weights_what_scales_do_to_rows(n_classes, weighted):
    generator = np.random.default_rng(4)
    X, scales = generator.normal(size=(30, 6)), np.array([0.5, 2.0, 1.5, 3.0, 3.0, 3.0])
    plain = examples_of(4, n_classes, weighted)
    scaled = Learner(n_classes, 1.0, 0.5)
    rated = Learner(n_classes, 1.0, 0.5, rates=(scales[:4] ** 2).astype(np.float32))
    for learner, rows in ((scaled, sparse(X * scales)), (rated, sparse(X))):
        learner.reserve(6)
        learner.learn(plain._replace(rows=rows), np.arange(30, dtype=np.uint64))
    for averaged in (False, True):
        W, b = scaled.weights(averaged)
        other, other_b = rated.weights(averaged)
        assert other == pytest.approx(W * scales[:, None], rel=1e-4, abs=1e-5)
        assert other_b == pytest.approx(b, rel=1e-4, abs=1e-6)


@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 99), weighted=st.booleans(), threshold=st.sampled_from([0.0, 0.3, 5.0]))
def test_a_scout_changes_nothing_but_the_time(seed, weighted, threshold):
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(6000, 12)) * (generator.random((6000, 12)) < 0.3)
    codes = (X @ generator.normal(size=12) > 0).astype(np.int32)
    omega = generator.uniform(0.0, 3.0, 6000) if weighted else np.ones(1)
    examples = Examples(sparse(X), codes, omega)
    order = generator.permutation(6000).astype(np.uint64)
    alone, scouted = Learner(2, threshold, 0.1), Learner(2, threshold, 0.1)
    for learner in (alone, scouted):
        learner.reserve(12)
    for _ in range(3):
        found = scouted.learn(examples, order, scouted=True)
        assert found == alone.learn(examples, order)
    assert all(np.array_equal(alone.arrays()[k], scouted.arrays()[k]) for k in alone.arrays())


def test_a_scout_goes_home_when_the_walk_fails(integers, monkeypatch):
    def fails(*_):
        raise RuntimeError("lost")

    X, codes = integers
    examples = Examples(sparse(X), codes.astype(np.int32), np.ones(1))
    learner = Learner(2, 1.0, 1.0)
    learner.reserve(4)
    monkeypatch.setattr(streams, "two_classes", fails)
    threads = threading.active_count()
    with pytest.raises(RuntimeError, match="lost"):
        learner.learn(examples, np.zeros(5000, np.uint64), scouted=True)
    assert threading.active_count() == threads
