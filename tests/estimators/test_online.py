"""Predict, see the label, count the mistake, learn."""

import os
import signal
import time

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits
from tests.members import weights_of

from rosenblatt import (
    AROW,
    KernelPerceptron,
    OneByOne,
    PassiveAggressive,
    Perceptron,
    learn_online,
)

X, Y = load_digits(return_X_y=True)


def by_hand(model, X, y, classes):
    """One partial_fit an example, a prediction before each."""
    model.partial_fit(X[:1], y[:1], classes=classes)
    guesses = [classes[0]]
    for x, label in zip(X[1:], y[1:], strict=True):
        guesses.append(model.predict(x[None])[0])
        model.partial_fit(x[None], [label])
    return np.array(guesses)


@pytest.mark.parametrize("multiclass", ["ovr", "ovo", "joint"])
def test_predictions_are_those_made_before_each_label_is_seen(multiclass):
    slow = by_hand(Perceptron.textbook(multiclass=multiclass), X[:150], Y[:150], np.arange(10))
    run = learn_online(
        Perceptron.textbook(multiclass=multiclass), X[:150], Y[:150], classes=np.arange(10)
    )
    assert np.array_equal(run.predictions[1:], slow[1:])
    assert run.mistakes == (run.predictions != Y[:150]).sum()


def test_the_curve_is_the_running_share_of_mistakes():
    run = learn_online(Perceptron.textbook(), X, Y)
    assert run.curve[-1] == run.mistakes / len(Y)
    assert run.predictions[0] is None
    assert run.wrong[0]


def test_batches_and_single_examples_make_the_same_run():
    whole = learn_online(Perceptron.textbook(keep="average"), X, Y)
    batches = learn_online(
        Perceptron.textbook(keep="average"),
        ((X[i : i + 100], Y[i : i + 100]) for i in range(0, 1797, 100)),
    )
    sparse_run = learn_online(Perceptron.textbook(keep="average"), sparse.csr_array(X), Y)
    singles = learn_online(Perceptron.textbook(keep="average"), zip(X, Y, strict=True))
    for other in (batches, sparse_run, singles):
        assert np.array_equal(weights_of(whole.model), weights_of(other.model))
        assert np.array_equal(whole.predictions, other.predictions)


def test_class_weights_and_learning_rates_are_heard_one_by_one():
    y = (Y > 4).astype(int)
    options = {"class_weight": {0: 2.5}, "learning_rate": "sqrt", "keep": "average"}
    together = Perceptron.textbook(**options).partial_fit(X, y, classes=[0, 1])
    single = learn_online(
        Perceptron.textbook(**options), zip(X, y, strict=True), classes=[0, 1]
    ).model
    assert np.array_equal(weights_of(together), weights_of(single))
    assert together.t_ == single.t_


def test_lists_and_other_precisions_are_taken_one_by_one():
    model = Perceptron.textbook()
    with OneByOne(model, classes=[0, 1]) as learner:
        learner.learn(X[0], 0)
        learner.learn(X[1].tolist(), 1)
        learner.learn(X[2].astype(np.float32), 1)
        learner.learn(X[3].astype(int), 0)
    assert model.t_ == 4


@pytest.mark.parametrize("label", [0, 5])
def test_a_bad_example_is_refused_and_what_was_learned_stays(label):
    model, bad = Perceptron.textbook(), np.where(X[0] > 8, np.inf, X[0])
    with OneByOne(model, classes=range(2 + label)) as learner:
        learner.learn(X[1], 1)
        learner.learn(X[0], 0)
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            learner.learn(bad, 0)
        with pytest.raises(ValueError, match="features"):
            learner.learn(X[0][:5], 0)
    assert np.isfinite(weights_of(model)).all()
    assert np.abs(weights_of(model)).max() > 0


def test_an_empty_stream_is_refused():
    with pytest.raises(ValueError, match="empty"):
        learn_online(Perceptron.textbook(), iter(()))


def test_what_needs_all_examples_cannot_learn_online():
    with pytest.raises(AttributeError):
        learn_online(Perceptron.textbook(keep="best"), X, Y)


def learned(model):
    """What a model has learned so far, apart from the model."""
    state = model.state_
    return (
        [None if part is None else np.copy(part) for part in vars(state).values()],
        (model.t_, model.n_updates_, model.classes_.tolist(), model.decision_function(X).tolist()),
    )


def assert_same(some, others):
    assert some[1] == others[1]
    for a, b in zip(some[0], others[0], strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("visit", [1, 40, 60])
def test_a_learning_rate_that_raises_leaves_the_model_as_it_was(visit):
    first, rest = np.flatnonzero(Y < 5)[:100], np.flatnonzero(Y < 9)[100:200]
    limit = [np.inf]

    def rate(t):
        if t >= limit[0]:
            raise ArithmeticError("no rate")
        return 1 / t

    model = Perceptron(learning_rate=rate).partial_fit(X[first], Y[first])
    before = learned(model)
    limit[0] = 100 + visit
    with pytest.raises(ArithmeticError):
        model.partial_fit(X[rest], Y[rest])
    assert_same(learned(model), before)


def test_rows_whose_squares_overflow_leave_the_model_as_it_was():
    model = Perceptron().partial_fit(X[:3], Y[:3])
    before = learned(model)
    with pytest.raises(ValueError, match="overflow"):
        model.partial_fit(np.vstack([X[3:7], X[7:9] * 1e300]), Y[3:9])
    assert_same(learned(model), before)


def test_an_interrupt_leaves_the_model_before_or_after_the_call():
    def interrupting(t):
        os.kill(os.getpid(), signal.SIGINT)  # another thread may receive it
        time.sleep(0.001)
        return 1.0

    model = Perceptron.textbook().partial_fit(X[:100], Y[:100])
    model.learning_rate = interrupting
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(X[100:103], Y[100:103])
    assert_same(learned(model), learned(Perceptron.textbook().partial_fit(X[:103], Y[:103])))


@pytest.mark.parametrize("warm_start", [False, True])
@pytest.mark.parametrize("weights", [None, "balanced", {3: 2.0}])
@pytest.mark.parametrize("kind", [Perceptron, AROW, PassiveAggressive, KernelPerceptron])
def test_a_second_fit_that_fails_leaves_the_model_as_it_was(kind, weights, warm_start):
    model = kind(class_weight=weights, random_state=0).fit(X[:200], Y[:200])
    model.set_params(warm_start=warm_start)
    before, attributes = model.decision_function(X), set(vars(model))
    failing = [
        (X[:50] * np.nan, Y[:50], {}),
        (X[:50], Y[:49], {}),
        (X[:50], Y[:50], {"sample_weight": -np.ones(50)}),
        (X[:50], np.zeros(50), {}),
        (X[:50, :9], Y[:50], {}) if warm_start else (X[:0], Y[:0], {}),
    ]
    for rows, labels, more in failing:
        with pytest.raises(ValueError, match=r"NaN|negative|class|feature|sample|shape"):
            model.fit(rows, labels, **more)
        assert np.array_equal(model.decision_function(X), before)
        assert set(vars(model)) == attributes
    if not isinstance(weights, str):  # "balanced" needs all labels
        model.set_params(class_weight={3: -1.0})
        with pytest.raises(ValueError, match="class_weight"):
            model.fit(X[:50], Y[:50])
        assert np.array_equal(model.decision_function(X), before)
