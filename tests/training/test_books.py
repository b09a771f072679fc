"""The books: the same run however it is interrupted, and the reason why it ended."""

import numpy as np
import pytest

from rosenblatt.kernels.rows import rows_of
from rosenblatt.kernels.tasks import Setting, task_of
from rosenblatt.training import Plan, State, run

AND, XOR = [-1, -1, -1, 1], [-1, 1, 1, -1]
CORNERS = np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]])


def books(labels, **options):
    """State, task and plan of a run over the corners of the square."""
    codes = (np.array(labels) > 0).astype(np.int32)
    task = task_of("ovr", rows_of(CORNERS), codes, np.ones(1), 2, 1)
    state = State.start(np.zeros((1, 2)), np.zeros(1), seed=0)
    setting = Setting(0.0, 0.0, 1.0, False, True)
    return state, task, Plan(setting, np.arange(4, dtype=np.uint64), **options)


@pytest.mark.parametrize(
    ("labels", "options", "reason"),
    [
        (AND, {"tol": None}, "separated"),
        (AND, {"tol": None, "max_epochs": 2}, "budget"),
        (AND, {"tol": None, "max_updates": 3}, "budget"),
        (AND, {"tol": 1e-3, "patience": 5}, "stalled"),
        (AND, {"tol": None, "callbacks": (lambda epoch: epoch.epoch == 2,)}, "callback"),
        (XOR, {"tol": None}, "cycle"),
        (XOR, {"tol": 1e-3, "draw": "permutation"}, "stable"),
    ],
)
def test_a_run_says_why_it_ended(labels, options, reason):
    state, history = run(*books(labels, **options))
    assert state.stop_reason == reason
    assert len(history) == state.epoch


@pytest.mark.parametrize("draw", ["fixed", "permutation", "random"])
@pytest.mark.parametrize("steps", [1, 3, 7])
def test_a_run_taken_in_pieces_is_the_run_in_one(draw, steps):
    state, task, plan = books(AND, draw=draw, tol=None, max_epochs=9)
    whole, history = run(state, task, plan)
    epochs = 0
    while state.stop_reason is None:
        state, piece = run(state, task, plan, steps=steps)
        epochs += len(piece)
    assert np.array_equal(state.weights, whole.weights)
    assert (state.stop_reason, state.updates, epochs) == (
        whole.stop_reason, whole.updates, len(history),
    )  # fmt: skip
