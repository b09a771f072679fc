"""A learner of several labels is a learner of each."""

from __future__ import annotations

import numpy as np
import pytest

from rosenblatt.learners import Spec, make
from rosenblatt.learners.examples import examples_of
from rosenblatt.rules.perceptron import Thresholds

OPTIONS = {"dense": True, "averaging": True, "rule": Thresholds(0.5, 0.5)}


def problem(n=60, k=4, seed=0):
    rng = np.random.default_rng(seed)
    sets = np.unique(rng.random((8, k)) < 0.5, axis=0)
    X, codes = rng.normal(size=(n, 5)), rng.integers(len(sets), size=n)
    return examples_of(X, codes, sets=sets), sets


@pytest.mark.parametrize("threads", [1, 3])
def test_each_label_is_learned_as_if_it_were_alone(threads):
    examples, sets = problem()
    order = np.arange(60, dtype=np.uint64)
    together = make(Spec(multiclass="labels", threads=threads, **OPTIONS), 4, 5)
    tally = together.walk(examples, order)
    updates = 0
    for label in range(4):
        alone = make(Spec(**OPTIONS), 2, 5)
        own = examples.relabelled(sets[examples.codes, label].astype(np.int32))
        updates += alone.walk(own, order).updates
        for averaged in (False, True):
            assert np.array_equal(
                alone.weights(averaged).weights[0], together.weights(averaged).weights[label]
            )
    assert tally.updates == updates


def test_a_restored_learner_goes_on_to_the_same_weights():
    examples, _ = problem()
    order = np.arange(60, dtype=np.uint64)
    whole = make(Spec(multiclass="labels", **OPTIONS), 4, 5)
    whole.walk(examples, order)
    other = whole.untrained(5, dense=True)
    other.restore(whole.state())
    for learner in (whole, other):
        learner.walk(examples, order[::-1].copy())
    assert np.array_equal(whole.weights(True).weights, other.weights(True).weights)
    assert whole.is_at(other.snapshot())


def test_the_error_is_one_minus_the_micro_f1():
    from sklearn.metrics import f1_score

    examples, sets = problem()
    order = np.arange(60, dtype=np.uint64)
    learner = make(Spec(multiclass="labels", **OPTIONS), 4, 5)
    learner.walk(examples, order)
    truth, said = sets[examples.codes], learner.scores(examples, order) > 0
    wanted = 1 - f1_score(truth, said, average="micro")
    assert learner.error(examples, order) == pytest.approx(wanted)


def test_rows_that_no_label_would_correct_are_separated():
    examples, _ = problem(4, 3)
    order = np.arange(4, dtype=np.uint64)
    learner = make(Spec(multiclass="labels", dense=True), 3, 5)
    assert not learner.is_separating(examples, order)
    while learner.walk(examples, order).updates:
        pass
    assert learner.is_separating(examples, order)
