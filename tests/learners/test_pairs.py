"""Weights by pairs are those of a matrix, bit for bit, and take less memory."""

import numpy as np
import pytest

from rosenblatt.kernels.packing import Numbering
from rosenblatt.kernels.rows import Packed
from rosenblatt.kernels.text import Rows
from rosenblatt.learners import MANY_CLASSES, Spec, make
from rosenblatt.learners import pairs as pairs_module
from rosenblatt.learners.examples import ONE, Examples
from rosenblatt.learners.pairs import PairPart, PairWeights
from rosenblatt.rules.perceptron import Thresholds

N_CLASSES = MANY_CLASSES + 9


def some_examples(seed=0, rows=300, features=200, weighted=False):
    random = np.random.default_rng(seed)
    counts = random.integers(1, 20, rows)
    pointers = np.append(0, np.cumsum(counts)).astype(np.uint64)
    columns = [random.choice(features, count, replace=False) for count in counts]
    columns = np.concatenate(columns).astype(np.uint32)
    values = random.choice(np.array([0.5, 0.25, 0.75], np.float32), len(columns))
    numbering = Numbering(features)
    packed = numbering.pack(Rows(pointers, columns, values), Packed.room(rows, len(columns)))
    codes = random.integers(0, N_CLASSES, rows).astype(np.int32)
    omega = random.choice([0.5, 1.0, 2.5], rows) if weighted else ONE
    return Examples(packed, codes, omega, len(numbering), numbering.columns)


def a_learner(examples, by_pairs, multiclass="joint", **more):
    rates = np.linspace(0.5, 2.0, 50).astype(np.float32)
    spec = Spec(
        rule=Thresholds(0.5, 0.5), multiclass=multiclass, padding=0.1, averaging=True,
        dtype=np.float32, rates=rates, by_pairs=by_pairs, **more,
    )  # fmt: skip
    return make(spec, N_CLASSES, examples.n_features)


def orders(examples, epochs=4):
    random = np.random.default_rng(1)
    return [random.permutation(len(examples)).astype(np.uint64) for _ in range(epochs)]


def assert_same_weights(by_pairs, matrix):
    for averaged in (False, True):
        one, other = by_pairs.weights(averaged), matrix.weights(averaged)
        assert isinstance(one.weights, PairWeights)
        assert np.array_equal(np.asarray(one.weights).T, other.weights)
        assert np.array_equal(one.bias, other.bias)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("multiclass", ["joint", "ovr"])
def test_walks_give_the_weights_scores_and_counts_of_a_matrix(multiclass, weighted, monkeypatch):
    monkeypatch.setattr(pairs_module, "_FIRST_ROOM", 64)  # so that room is made several times
    examples = some_examples(weighted=weighted)
    by_pairs, matrix = (a_learner(examples, flag, multiclass) for flag in (True, False))
    assert isinstance(by_pairs.parts[0], PairPart)
    by_pairs.mark()
    matrix.mark()
    for order in orders(examples):
        assert by_pairs.walk(examples, order) == matrix.walk(examples, order)
    assert_same_weights(by_pairs, matrix)
    everything = np.arange(len(examples), dtype=np.uint64)
    for averaged in (False, True):
        scores = [a.scores(examples, everything, averaged) for a in (by_pairs, matrix)]
        assert np.array_equal(*scores)
        errors = [a.error(examples, everything, averaged) for a in (by_pairs, matrix)]
        assert errors[0] == errors[1]
    assert by_pairs.measure()[0] == pytest.approx(matrix.measure()[0])


def test_a_learner_restored_from_its_state_goes_on_bit_for_bit():
    examples = some_examples()
    first = a_learner(examples, by_pairs=True)
    matrix = a_learner(examples, by_pairs=False)
    before, after = orders(examples)[:2], orders(examples)[2:]
    for order in before:
        first.walk(examples, order)
        matrix.walk(examples, order)
    second, third = (a_learner(examples, by_pairs=True) for _ in range(2))
    second.restore(first.state())
    third.restore(matrix.state())  # of a matrix
    for order in after:
        for learner in (first, second, third, matrix):
            learner.walk(examples, order)
    for learner in (first, second, third):
        assert_same_weights(learner, matrix)
    dense = a_learner(examples, by_pairs=False, threads=2)
    dense.restore(first.state())
    assert np.array_equal(dense.weights().weights, matrix.weights().weights)


def test_memory_is_that_of_the_pairs_that_were_updated():
    examples = some_examples(rows=40, features=2000)
    learner = a_learner(examples, by_pairs=True)
    learner.walk(examples, np.arange(len(examples), dtype=np.uint64))
    lists = learner.parts[0].lists
    stored = int((lists.ends - lists.starts).sum())
    assert 0 < stored < examples.n_features * N_CLASSES / 8
    assert int(lists.heads[pairs_module.pairs.TOP]) < 4 * stored


def test_other_numbers_and_parts_of_pairs_are_those_of_the_matrix():
    random = np.random.default_rng(2)
    matrix = random.normal(size=(60, 50)).astype(np.float32)
    matrix[random.random(matrix.shape) < np.linspace(0, 1, 60)[:, None]] = 0.0
    weights, order = PairWeights.of(matrix), random.permutation(50)
    assert np.array_equal(np.asarray(weights), matrix)
    assert np.array_equal(np.asarray(weights.renumbered(np.argsort(order), 50)), matrix[:, order])
    assert np.array_equal(np.asarray(weights.among([3, 7, 40])), matrix[:, [3, 7, 40]])
    places = np.array([5, 2, 59, 2])
    assert np.array_equal(np.asarray(weights.take(places)), matrix[places])
    assert np.array_equal(weights[places], matrix[places])
    assert np.array_equal(weights[4], matrix[4])
    large = np.where(np.abs(matrix) > 1, matrix, 0)
    values = np.where(np.abs(weights.values) > 1, weights.values, 0)
    assert np.array_equal(np.asarray(weights.with_values(values)), large)


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("pointers", np.array([0, 3, 2], np.uint64)),
        ("pointers", np.array([0, 1, 5], np.uint64)),
        ("classes", np.array([2, 1], np.uint16)),
        ("classes", np.array([1, 9], np.uint16)),
        ("classes", np.array([1, 2], np.int64)),
    ],
)
def test_pairs_of_a_damaged_file_are_refused(name, array):
    arrays = {
        "pointers": np.array([0, 2, 2], np.uint64),
        "classes": np.array([1, 2], np.uint16),
        "values": np.ones(2, np.float32),
    }
    PairWeights(**arrays, n_classes=9).checked()
    with pytest.raises(ValueError, match="pairs"):
        PairWeights(**arrays | {name: array}, n_classes=9).checked()
