"""The loop over epochs: the same run however it is interrupted, and the reason why it ended."""

from dataclasses import replace

import numpy as np
import pytest

from rosenblatt.learners import Spec, make
from rosenblatt.learners.examples import examples_of
from rosenblatt.training import Drawn, Plan, Progress, kept_weights, run

AND, XOR = [0, 0, 0, 1], [0, 1, 1, 0]
CORNERS = np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]])
ROWS = np.arange(4, dtype=np.uint64)


def a_run(labels, draw="fixed", **options):
    """Learner, data and plan of a run over the corners of the square."""
    plan = Plan(**options)
    learner = make(Spec(dense=True, averaging=plan.averages), 2, 2)
    return learner, Drawn(examples_of(CORNERS, labels), ROWS, draw), plan


def finish(learner, data, plan, progress=None):
    progress = Progress() if progress is None else progress
    records = [record for record in run(learner, data, plan, progress) if record]
    return progress, records


@pytest.mark.parametrize(
    ("labels", "options", "reason"),
    [
        (AND, {"tol": None}, "separated"),
        (AND, {"tol": None, "max_epochs": 2}, "budget"),
        (AND, {"tol": 1e-3, "patience": 5}, "stalled"),
        (AND, {"tol": None, "callbacks": (lambda epoch: epoch.epoch == 2,)}, "callback"),
        (XOR, {"tol": None}, "cycle"),
        (XOR, {"tol": 1e-3, "draw": "permutation"}, "stable"),
        (AND, {"tol": None, "early_stopping": True, "validate": lambda *_: 0.5}, "validation"),
    ],
)
def test_a_run_says_why_it_ended(labels, options, reason):
    progress, records = finish(*a_run(labels, **options))
    assert progress.stop_reason == reason
    assert len(records) == progress.epoch
    assert records == progress.history


@pytest.mark.parametrize("draw", ["fixed", "permutation", "after_first"])
@pytest.mark.parametrize("most", [1, 3, 7])
def test_a_run_taken_in_pieces_is_the_run_in_one(draw, most):
    whole, data, plan = a_run(AND, draw=draw, tol=None, max_epochs=9)
    progress, records = finish(whole, data, plan)
    learner, _, _ = a_run(AND)
    pieces, count = Progress(), 0
    while pieces.stop_reason is None:
        for record in run(learner, data, replace(plan, most_visits=most), pieces):
            count += record is not None
            break
    assert np.array_equal(learner.weights().weights, whole.weights().weights)
    assert (pieces.stop_reason, pieces.updates, count) == (
        progress.stop_reason, progress.updates, len(records),
    )  # fmt: skip


def test_after_a_cycle_the_updates_of_each_row_are_known():
    progress, _ = finish(*a_run(XOR, tol=None))
    signs = 2 * np.array(XOR) - 1
    padded = np.column_stack([CORNERS, np.ones(4)])
    assert progress.row_updates.sum() > 0
    assert np.array_equal(progress.row_updates * signs @ padded, np.zeros(3))


def test_the_late_average_leaves_out_the_first_half_of_the_epochs():
    """After 5 epochs it is the mean over the fifth: it begins anew after 1, 2 and 4."""
    late, data, plan = a_run(XOR, draw="permutation", tol=None, max_epochs=5, keep="late_average")
    progress, _ = finish(late, data, plan)
    alone, _, _ = a_run(XOR, keep="average")
    alone.restore(_weights_after(data, 4))
    alone.restart_average()
    alone.walk(data.examples, data.order(5))
    assert progress.epoch == 5
    assert np.array_equal(
        kept_weights(late, plan, progress).weights, alone.weights(averaged=True).weights
    )


def _weights_after(data, epochs):
    learner = make(Spec(dense=True), 2, 2)
    for epoch in range(1, epochs + 1):
        learner.walk(data.examples, data.order(epoch))
    return learner.state()


def test_weights_that_overflow_are_named():
    examples = examples_of(np.array([[1e308, 1e308], [1e308, -1e308]]), [0, 1])
    data = Drawn(examples, ROWS[:2])
    with np.errstate(all="ignore"), pytest.raises(ValueError, match="The weights overflowed"):
        finish(make(Spec(dense=True), 2, 2), data, Plan(tol=None, max_epochs=50))
