"""Copies of the same data in other layouts, pieces and orders give the same model."""

from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from rosenblatt import OneByOne, Perceptron, learn_online, training
from rosenblatt.learners import Spec, make
from rosenblatt.learners.examples import distinct, examples_of
from rosenblatt.training import Drawn, Plan, Progress
from tests.invariants.strategies import LAYOUTS, data_sets, options
from tests.members import offsets_of, weights_of

kinds = st.sampled_from(["ovr", "ovo", "joint"])


def same_model(a, b):
    return (
        np.array_equal(weights_of(a), weights_of(b))
        and np.array_equal(offsets_of(a), offsets_of(b))
        and a.n_updates_ == b.n_updates_
        and a.t_ == b.t_
    )


@given(st.sampled_from([2, 3]).flatmap(data_sets), kinds, options, st.integers(0, 9))
def test_every_layout_gives_the_same_model(data, multiclass, options, seed):
    X, y = data
    models = [
        Perceptron.textbook(multiclass=multiclass, random_state=seed, max_iter=5, **options).fit(
            lay_out(X), y
        )
        for name, lay_out in LAYOUTS.items()
        if "float32" not in name
    ]
    assert all(same_model(models[0], other) for other in models[1:])


@given(st.sampled_from([2, 3]).flatmap(data_sets), kinds, options, st.integers(0, 9), st.randoms())
def test_the_order_of_the_file_does_not_matter(data, multiclass, options, seed, random):
    X, y = data
    shuffled = list(range(len(y)))
    random.shuffle(shuffled)
    model = Perceptron.textbook(multiclass=multiclass, random_state=seed, max_iter=5, **options)
    first = Perceptron.textbook(**model.get_params()).fit(X, y)
    second = Perceptron.textbook(**model.get_params()).fit(X[shuffled], y[shuffled])
    assert same_model(first, second)


@given(
    st.sampled_from([2, 3]).flatmap(data_sets),
    kinds,
    options,
    st.lists(st.integers(1, 4), min_size=9, max_size=9),
)
def test_a_weight_is_so_many_copies(data, multiclass, options, weights):
    X, y = data
    copies = np.array(weights[: len(y)])
    model = Perceptron.textbook(multiclass=multiclass, random_state=0, max_iter=5, **options)
    weighted = Perceptron.textbook(**model.get_params()).fit(X, y, sample_weight=copies)
    copied = Perceptron.textbook(**model.get_params()).fit(X.repeat(copies, 0), y.repeat(copies))
    assert same_model(weighted, copied)
    assert weighted.t_ % copies.sum() == 0


@st.composite
def cuts(draw):
    """Where to divide nine rows or fewer into calls."""
    return sorted(draw(st.lists(st.integers(0, 9), max_size=4)))


@given(
    st.sampled_from([2, 3]).flatmap(data_sets),
    kinds,
    options,
    cuts(),
    st.sampled_from(sorted(LAYOUTS)),
    st.booleans(),
)
def test_partial_fit_on_any_split_is_partial_fit_on_the_whole(
    data, multiclass, options, cuts, layout, named
):
    X, y = data
    classes = np.unique(y) if named else None
    X = LAYOUTS[layout](X)
    whole = Perceptron.textbook(multiclass=multiclass, **options).partial_fit(X, y, classes=classes)
    pieces = Perceptron.textbook(multiclass=multiclass, **options)
    for start, stop in zip([0, *cuts], [*cuts, len(y)], strict=True):
        if start < stop and start < len(y):
            pieces.partial_fit(X[start:stop], y[start:stop], classes=classes)
    assert same_model(whole, pieces)
    assert np.array_equal(whole.state_.sums, pieces.state_.sums)
    assert np.array_equal(whole.classes_, pieces.classes_)


def test_partial_fit_on_real_numbers_is_split_bit_for_bit():
    random = np.random.default_rng(0)
    X, y = random.normal(size=(500, 30)), random.integers(0, 5, 500)
    for data in (X, X.astype(np.float32), sparse.csr_array(np.where(X > 0.5, X, 0))):
        whole = Perceptron.textbook(keep="average").partial_fit(data, y)
        pieces = Perceptron.textbook(keep="average")
        for start in range(0, 500, 37):
            pieces.partial_fit(data[start : start + 37], y[start : start + 37])
        assert np.array_equal(weights_of(whole), weights_of(pieces))
        assert weights_of(whole).dtype == data.dtype


@given(st.sampled_from([2, 3]).flatmap(data_sets), kinds, options, st.booleans())
def test_learning_online_ends_where_partial_fit_does(data, multiclass, options, named):
    X, y = data
    classes = np.unique(y) if named else None
    params = {"multiclass": multiclass, **options}
    fitted = Perceptron.textbook(**params).partial_fit(X, y, classes=classes)
    array = learn_online(Perceptron.textbook(**params), X, y, classes=classes)
    stream = learn_online(
        Perceptron.textbook(**params), zip(X, y.tolist(), strict=True), classes=classes
    )
    assert same_model(array.model, fitted)
    assert same_model(stream.model, fitted)
    assert np.array_equal(array.predictions, stream.predictions)
    assert array.mistakes == stream.mistakes


@given(
    st.sampled_from([2, 3]).flatmap(data_sets),
    kinds,
    options,
    st.sampled_from(["last", "average", "late_average", "best"]),
    st.sampled_from(["permutation", "fixed", "after_first"]),
    st.lists(st.integers(1, 7), min_size=1, max_size=30),
)
def test_a_run_stopped_anywhere_and_resumed_is_the_undisturbed_run(
    data, multiclass, options, keep, draw, pieces
):
    X, y = data
    examples = examples_of(sparse.csr_array(X) if len(pieces) % 2 else X, y)
    rows, omega = distinct(examples)
    examples = examples.reweighted(omega)

    def held_out(learner, averaged):
        return learner.error(examples, rows, averaged)

    def fresh():
        return make(
            Spec(multiclass=multiclass, dense=examples.is_dense, averaging="average" in keep),
            int(y.max()) + 1,
            X.shape[1],
        )

    data = Drawn(examples, rows, draw, seed=3)
    plan = Plan(
        keep=keep, max_epochs=9, validate=held_out if len(pieces) % 3 == 0 else None, patience=3
    )  # fmt: skip
    whole, undisturbed = fresh(), Progress()
    for _ in training.run(whole, data, plan, undisturbed):
        pass
    learner, progress, at = fresh(), Progress(), 0
    while progress.stop_reason is None:
        most = pieces[at] if at < len(pieces) else plan.most_visits
        for _ in training.run(learner, data, replace(plan, most_visits=most), progress):
            break
        taken_up = fresh()
        taken_up.restore(learner.state())
        learner, progress, at = taken_up, deepcopy(progress), at + 1
    for name in ("weights", "bias", "sums", "bias_sums", "clock"):
        assert np.array_equal(getattr(whole.state(), name), getattr(learner.state(), name)), name
    assert (undisturbed.updates, undisturbed.steps, undisturbed.epoch) == (
        progress.updates, progress.steps, progress.epoch,
    )  # fmt: skip
    assert undisturbed.stop_reason == progress.stop_reason
    kept = [
        training.kept_weights(one, plan, run)
        for one, run in ((whole, undisturbed), (learner, progress))
    ]
    assert np.array_equal(kept[0].weights, kept[1].weights)
    for one, other in zip(undisturbed.history, progress.history, strict=True):
        assert one.updates == other.updates
        assert one.relative_change == other.relative_change


@pytest.mark.parametrize("multiclass", ["ovr", "ovo", "joint"])
def test_one_by_one_goes_on_from_a_fitted_model(multiclass):
    random = np.random.default_rng(1)
    X, y = random.normal(size=(60, 3)), np.array(list("abc"))[random.integers(0, 3, 60)]
    fitted = Perceptron.textbook(multiclass=multiclass, random_state=0, max_iter=3).fit(
        X[:40], y[:40]
    )
    other = Perceptron.textbook(multiclass=multiclass, random_state=0, max_iter=3).fit(
        X[:40], y[:40]
    )
    fitted.partial_fit(X[40:], y[40:])
    with OneByOne(other) as learner:
        for x, label in zip(X[40:], y[40:].tolist(), strict=True):
            learner.learn(x, label)
    assert same_model(fitted, other)
