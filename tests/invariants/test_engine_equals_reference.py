"""On integer-valued data the engine takes exactly the steps of the reference, option by option."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rosenblatt import Perceptron, reference, training
from rosenblatt.learners import Spec, make
from rosenblatt.learners.examples import distinct, examples_of
from rosenblatt.rules import thresholds
from rosenblatt.training import Drawn, Plan, Progress
from tests.invariants.strategies import (
    LAYOUTS,
    data_sets,
    in_the_words_of_the_reference,
    layouts,
    options,
)
from tests.members import weights_of

orders = st.sampled_from(["in order", "given"])
weights = st.sampled_from(["none", "whole"])


def mean(steps, epochs):
    """The brute-force mean of the weights and biases after each step."""
    return [
        np.mean([s.weights_after for s in steps if s.epoch <= epochs], axis=0),
        np.mean([s.bias_after for s in steps if s.epoch <= epochs], axis=0),
    ]


@given(data_sets(), layouts, options, orders, weights, st.data())
def test_online_binary(data, layout, options, order, weighted, draw):
    X, y = data
    n = len(X)
    given_rows = draw.draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=12))
    shuffle = False if order == "in order" else given_rows
    copies = draw.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    copies = [max(c, 1) if i in (np.argmin(y), np.argmax(y)) else c for i, c in enumerate(copies)]
    if not any(copies[i] for i in (range(n) if order == "in order" else given_rows)):
        return
    copies = None if weighted == "none" else copies
    model = Perceptron.textbook(shuffle=shuffle, tol=None, max_iter=7, **options)
    model.fit(LAYOUTS[layout](X), y, sample_weight=copies)
    steps = list(
        reference.online(
            X.tolist(),
            (2 * y - 1).tolist(),
            order=shuffle,
            sample_weight=copies,
            max_epochs=model.n_iter_,
            **in_the_words_of_the_reference(options),
        )
    )
    assert model.n_updates_ == sum(s.mistake for s in steps)
    assert model.t_ == len(steps)
    state = model.state_
    assert tuple(state.weights[0]) == steps[-1].weights_after
    assert state.bias[0] == steps[-1].bias_after
    if options["keep"] == "average":
        w, b = mean(steps, model.n_iter_)
        assert np.allclose(model.coef_[0], w, rtol=1e-5, atol=1e-5)
        assert np.allclose(model.intercept_[0], b, rtol=1e-5, atol=1e-5)
    else:
        assert np.array_equal(weights_of(model), state.weights)


@given(data_sets(), layouts, options, weights, st.data())
def test_batch_binary(data, layout, options, weighted, draw):
    X, y = data
    n = len(X)
    copies = draw.draw(st.lists(st.integers(1, 3), min_size=n, max_size=n))
    copies = None if weighted == "none" else copies
    model = Perceptron.textbook(update="batch", shuffle=False, tol=None, max_iter=5, **options)
    model.fit(LAYOUTS[layout](X), y, sample_weight=copies)
    steps = list(
        reference.batch(
            X.tolist(),
            (2 * y - 1).tolist(),
            sample_weight=copies,
            max_epochs=model.n_iter_,
            **in_the_words_of_the_reference(options),
        )
    )
    assert tuple(model.state_.weights[0]) == steps[-1].weights_after
    assert model.state_.bias[0] == steps[-1].bias_after
    assert [e.updated_rows for e in model.history_] == [len(s.mistaken) for s in steps]
    if options["keep"] == "average":
        assert np.allclose(model.coef_[0], mean(steps, 5)[0], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("n_jobs", [1, 2])
@given(data_sets(n_classes=3), layouts, options)
def test_one_against_the_rest(n_jobs, data, layout, options):
    X, y = data
    model = Perceptron.textbook(shuffle=False, tol=None, max_iter=5, n_jobs=n_jobs, **options)
    model.fit(LAYOUTS[layout](X), y)
    updates = 0
    for label in range(3):
        steps = list(
            reference.online(
                X.tolist(),
                np.where(y == label, 1, -1).tolist(),
                max_epochs=model.n_iter_,
                **in_the_words_of_the_reference(options),
            )
        )
        updates += sum(s.mistake for s in steps)
        assert tuple(model.state_.weights[label]) == steps[-1].weights_after
        assert model.state_.bias[label] == steps[-1].bias_after
        if options["keep"] == "average":
            assert np.allclose(
                weights_of(model)[label], _mean_as_if_it_went_on(steps, model), rtol=1e-5, atol=1e-5
            )
    assert model.n_updates_ == updates


def _mean_as_if_it_went_on(steps, model):
    """A class that is separated early stands still while the others go on."""
    missing = model.t_ - len(steps)
    total = np.sum([s.weights_after for s in steps], axis=0)
    return (total + missing * np.array(steps[-1].weights_after)) / model.t_


@given(data_sets(n_classes=3), layouts, options)
def test_one_against_one(data, layout, options):
    X, y = data
    if callable(options["learning_rate"]):
        return  # each pair sees the rate of the whole walk, which has no single-pair reference
    model = Perceptron.textbook(multiclass="ovo", shuffle=False, tol=None, max_iter=5, **options)
    model.fit(LAYOUTS[layout](X), y)
    for problem, (negative, positive) in enumerate([(0, 1), (0, 2), (1, 2)]):
        own = np.isin(y, (negative, positive))
        steps = list(
            reference.online(
                X[own].tolist(),
                np.where(y[own] == positive, 1, -1).tolist(),
                max_epochs=model.n_iter_,
                **in_the_words_of_the_reference(options),
            )
        )
        assert tuple(model.state_.weights[problem]) == steps[-1].weights_after
        assert model.state_.bias[problem] == steps[-1].bias_after


@given(data_sets(n_classes=3), layouts, options, weights, st.data())
def test_joint(data, layout, options, weighted, draw):
    X, y = data
    n = len(X)
    copies = draw.draw(st.lists(st.integers(1, 3), min_size=n, max_size=n))
    copies = None if weighted == "none" else copies
    model = Perceptron.textbook(multiclass="joint", shuffle=False, tol=None, max_iter=5, **options)
    model.fit(LAYOUTS[layout](X), y, sample_weight=copies)
    steps = list(
        reference.joint(
            X.tolist(),
            y.tolist(),
            3,
            sample_weight=copies,
            max_epochs=model.n_iter_,
            **in_the_words_of_the_reference(options),
        )
    )
    assert [tuple(w) for w in model.state_.weights] == list(steps[-1].weights_after)
    assert tuple(model.state_.bias) == steps[-1].bias_after
    assert model.n_updates_ == sum(s.mistake for s in steps)
    if options["keep"] == "average":
        assert np.allclose(weights_of(model), mean(steps, 5)[0], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("draw", ["permutation", "after_first"])
@given(data_sets(), layouts, options, st.integers(0, 99), st.booleans())
def test_random_orders(draw, data, layout, options, seed, packed):
    X, y = data
    examples = examples_of(LAYOUTS[layout](X), y)
    rows, omega = distinct(examples)
    examples = examples.reweighted(omega)
    drawn = Drawn(examples.packed() if packed else examples, rows, draw, seed)
    words = in_the_words_of_the_reference(options)
    learner = make(
        Spec(
            dense=examples.is_dense,
            dtype=examples.dtype,
            averaging=True,
            rule=thresholds(options["mistake"], options["threshold"]),
            padding=float(words["padding"] or 0),
        ),
        2,
        drawn.examples.n_features,
    )
    progress, plan = Progress(), Plan(eta=words["eta"], max_epochs=4, tol=None)
    for _ in training.run(learner, drawn, plan, progress):
        pass
    steps = list(
        reference.online(
            X.tolist(),
            (2 * y - 1).tolist(),
            order=lambda epoch: drawn.order(epoch).tolist(),
            sample_weight=np.broadcast_to(omega, len(y)).astype(int).tolist(),
            max_epochs=progress.epoch,
            **words,
        )
    )
    state = learner.state()
    weights, average = state.weights[0], learner.weights(averaged=True).weights[0]
    if drawn.examples.columns is not None:
        full = np.zeros((2, X.shape[1]))
        full[:, drawn.examples.columns] = weights, average
        weights, average = full
    assert tuple(weights) == steps[-1].weights_after
    assert state.bias[0] == steps[-1].bias_after
    assert np.allclose(average, mean(steps, 4)[0], rtol=1e-5, atol=1e-5)
