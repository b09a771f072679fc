"""The log of updates against the weight vectors it stands for."""

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rosenblatt.learners.log import DualState, Log, Moment


@st.composite
def logs(draw):
    """Updates of one problem by three rows, at most one per step."""
    times = sorted(draw(st.sets(st.integers(0, 9), max_size=6)))
    rows = [draw(st.integers(0, 2)) for _ in times]
    taus = [draw(st.sampled_from([-1.0, 1.0])) for _ in times]
    return Log(
        np.zeros(len(times), np.int64), np.array(rows, np.int64), np.array(taus), np.array(times)
    )  # fmt: skip


def after_each_step(log, steps):
    """The coefficients of the three rows after each step."""
    out = np.zeros((steps, 3))
    for row, tau, time in zip(log.rows, log.taus, log.times, strict=True):
        out[int(time) :, row] += tau
    return out


@given(logs())
def test_the_coefficients_are_those_of_the_last_and_of_the_mean_weights(log):
    weights = after_each_step(log, 10)
    assert np.array_equal(log.coefficients(1, 3)[0], weights[-1])
    assert np.allclose(log.averaged(3, clock=np.array([10.0]))[0], weights.mean(axis=0))
    assert log.updates(1).tolist() == [len(log)]


@given(logs(), st.integers(0, 6))
def test_logs_can_be_cut_and_joined(log, place):
    joined = Log.joined([log[:place], Log(), log[place:]])
    for name in ("problems", "rows", "taus", "times"):
        assert np.array_equal(getattr(joined, name), getattr(log, name))
    assert len(Log.joined([])) == 0


@given(logs(), st.integers(0, 6))
def test_the_best_state_has_the_updates_up_to_then(log, place):
    kept = Moment(min(place, len(log)), np.array([5.0]), np.zeros(1))
    state = replace(DualState.zero(1), log=log, clock=np.array([10.0]), kept=kept)
    best, clock = state.at_best()
    assert len(best) == kept.lines
    assert clock == 5.0
    assert len(replace(state, kept=None).at_best()[0]) == len(log)


def test_two_classes_become_three_with_a_vector_each():
    log = Log(np.zeros(2, np.int64), np.array([0, 1]), np.array([1.0, -1.0]), np.array([0.0, 1.0]))
    state = replace(DualState.zero(1), log=log, clock=np.array([2.0]), updates=np.array([2]))
    grown = state.grown(np.array(["a", "c"]), np.array(["a", "b", "c"]), "ovr")
    assert grown.log.coefficients(3, 2).tolist() == [[-1, 1], [0, 0], [1, -1]]
    assert grown.clock.tolist() == [2, 2, 2]
    assert grown.updates.tolist() == [2, 0, 2]


def test_the_rows_of_a_log_become_places_among_the_distinct_rows():
    log = Log(np.array([0, 0]), np.array([7, 3]), np.array([1.0, 1.0]), np.array([0.0, 1.0]))
    rows, placed = log.by_row()
    assert rows.tolist() == [3, 7]
    assert placed.rows.tolist() == [1, 0]
