"""The dual learner against the linear one, and against itself when it is interrupted."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rosenblatt.learners import Spec, make
from rosenblatt.learners.dual import Dual
from rosenblatt.learners.examples import ONE, examples_of
from rosenblatt.learners.gram_blocks import GramBlocks
from rosenblatt.learners.problems import Problems, votes
from rosenblatt.rules.perceptron import Thresholds
from rosenblatt.training import Drawn, Plan, Progress, run

COLUMNS = ("updates", "updated_rows", "train_error", "epoch")


@st.composite
def examples(draw):
    """Whole-number rows, so that every score is exact, with weights or without."""
    k, n, d = draw(st.integers(2, 4)), draw(st.integers(4, 20)), draw(st.integers(1, 3))
    entries = st.lists(st.integers(-3, 3), min_size=d, max_size=d)
    X = np.array(draw(st.lists(entries, min_size=n, max_size=n)), dtype=float)
    codes = np.array([*range(k), *(draw(st.integers(0, k - 1)) for _ in range(n - k))])
    omega = draw(st.sampled_from([ONE, np.arange(n) % 3 + 0.5, np.arange(n) % 3 + 0.0]))
    return examples_of(X, codes, omega), k


multiclass = st.sampled_from(["ovr", "ovo", "joint"])
thresholds = st.sampled_from([(0.0, 0.0), (2.0, 2.0), (-5e-324, 0.0)])
draws = st.sampled_from(["fixed", "permutation", "after_first"])


def linear(A, B):
    return A @ B.T


def source(rows, block=3, pending=4):
    """Small blocks, so that a few rows make many of them."""
    gram = GramBlocks(linear, rows.rows.X)
    gram.block_rows, gram.pending_rows, gram.chunk_rows = block, pending, 2
    gram.cache = gram.cache[:pending]
    return gram


def drawn(rows, draw, seed=3):
    return Drawn(rows, Drawn(rows, np.empty(0)).everything()[1], draw, seed)


def trained(learner, data, plan, progress=None):
    progress = Progress() if progress is None else progress
    for _ in run(learner, data, plan, progress):
        pass
    return progress


def same_log(one, other):
    names = ("problems", "rows", "taus", "times")
    return all(np.array_equal(getattr(one.log, n), getattr(other.log, n)) for n in names)


@given(examples(), multiclass, thresholds, draws, st.integers(1, 5))
def test_the_linear_kernel_takes_the_steps_of_the_linear_learner(
    found, multiclass, thresholds, draw, epochs
):
    rows, k = found
    dual = Dual(Problems(k, multiclass, thresholds), source(rows), epochs=epochs)
    primal = make(
        Spec(multiclass=multiclass, rule=Thresholds(*thresholds), padding=0.0, dense=True),
        k,
        rows.n_features,
    )
    plan, data = Plan(max_epochs=epochs, tol=None), drawn(rows, draw)
    ours, theirs = trained(dual, data, plan), trained(primal, data, plan)
    assert (ours.stop_reason, ours.steps, ours.visits) == (
        theirs.stop_reason, theirs.steps, theirs.visits
    )  # fmt: skip
    predicts = multiclass != "ovo" or k == 2  # else the linear learner does not predict
    for column in COLUMNS + ("mistakes", "progressive_error") * predicts:
        if column == "updated_rows" and not predicts:
            continue
        a = [getattr(epoch, column) for epoch in ours.history]
        assert np.array_equal(a, [getattr(e, column) for e in theirs.history], equal_nan=True)
    for column in ("weight_norm", "relative_change"):
        a = [getattr(epoch, column) for epoch in ours.history]
        assert np.allclose(a, [getattr(epoch, column) for epoch in theirs.history])
    coefficients = dual.log.coefficients(len(dual.problems), len(rows))
    assert np.array_equal(coefficients @ rows.rows.X, primal.weights().weights)


@given(examples(), multiclass, draws, st.integers(0, 30), st.integers(1, 7))
def test_a_run_stopped_anywhere_and_resumed_is_the_undisturbed_run(
    found, multiclass, draw, walks, visits
):
    rows, k = found
    problems, data = Problems(k, multiclass), drawn(rows, draw)
    plan = Plan(max_epochs=4, tol=None, most_visits=visits)
    whole = Dual(problems, source(rows), epochs=4)
    undisturbed = trained(whole, data, plan)

    first, progress = Dual(problems, source(rows), epochs=4), Progress()
    for _, _ in zip(range(walks), run(first, data, plan, progress), strict=False):
        pass
    state, progress = pickle.loads(pickle.dumps((first.state(), progress)))
    second = Dual(problems, source(rows), state, epochs=4 - progress.epoch)
    resumed = trained(second, data, plan, progress)
    assert same_log(second, whole)
    assert np.array_equal(second.clock, whole.clock)
    assert np.array_equal(second.squares, whole.squares)
    assert resumed.stop_reason == undisturbed.stop_reason
    for one, other in zip(resumed.history, undisturbed.history, strict=True):
        assert repr({**vars(one), "seconds": 0}) == repr({**vars(other), "seconds": 0})


@given(examples(), multiclass, draws)
def test_the_last_epoch_is_right_even_if_it_is_not_the_last(found, multiclass, draw):
    rows, k = found
    data, plan = drawn(rows, draw), Plan(max_epochs=4, tol=None)
    right = Dual(Problems(k, multiclass), source(rows))
    wrong = Dual(Problems(k, multiclass), source(rows), epochs=2)
    assert repr(trained(right, data, plan).updates) == repr(trained(wrong, data, plan).updates)
    assert same_log(right, wrong)
    assert np.array_equal(right.squares, wrong.squares)
    everything = np.arange(len(rows))
    assert np.array_equal(right.scores(everything), wrong.scores(everything))


@given(examples(), multiclass, thresholds, st.integers(1, 2))
def test_errors_are_counted_by_the_scores_of_the_weights(found, multiclass, thresholds, epochs):
    rows, k = found
    X, codes = rows.rows.X, rows.codes
    dual = Dual(Problems(k, multiclass, thresholds), source(rows), epochs=epochs)
    trained(dual, drawn(rows, "fixed"), Plan(max_epochs=epochs, tol=None))
    _, everything = drawn(rows, "fixed").everything()
    weights = dual.log.coefficients(len(dual.problems), len(rows)) @ X
    scores, omega = X @ weights.T, rows.weights_of(np.arange(len(rows)))
    wrong = dual.problems.decide(scores) != codes
    assert dual.error(rows, everything) == pytest.approx(omega[wrong].sum() / omega.sum())
    sides = (2 * codes - 1) * scores[:, 0] <= 0 if k == 2 else wrong
    assert dual.misclassified(rows, everything) == pytest.approx(omega[sides].sum())
    averaged = X @ (dual.log.averaged(len(rows), dual.clock) @ X).T
    wrong = dual.problems.decide(averaged) != codes
    compared = votes(averaged, dual.problems) if multiclass == "ovo" and k > 2 else averaged
    ties = np.diff(np.sort(compared)[:, -2:]) if k > 2 else np.abs(averaged)
    if min(np.abs(averaged).min(), np.abs(ties).min()) > 1e-9:  # else rounding decides
        found = dual.error(rows, everything, averaged=True)
        assert found == pytest.approx(omega[wrong].sum() / omega.sum())
    before = dual.state()
    still = Dual(dual.problems, source(rows), before)
    assert dual.is_separating(rows, everything) == (still.walk(rows, everything).updates == 0)


@given(examples(), multiclass, st.integers(1, 6))
def test_a_snapshot_is_left_and_come_back_to(found, multiclass, visits):
    rows, k = found
    dual = Dual(Problems(k, multiclass), source(rows))
    start = dual.snapshot()
    assert dual.is_at(start)
    _, order = drawn(rows, "fixed").everything()
    dual.walk(rows, order[:visits])
    weights = dual.log.coefficients(len(dual.problems), len(rows)) @ rows.rows.X
    assert dual.is_at(start) == (not weights.any())
    assert dual.is_at(dual.snapshot())
