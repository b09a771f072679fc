"""The log of mistakes against the weight vectors it stands for."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rosenblatt.training.log import DualState, Log


@st.composite
def logs(draw):
    """Mistakes of one problem about three rows, one a step at most."""
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
def test_the_best_state_has_the_mistakes_up_to_then(log, place):
    kept = (min(place, len(log)), np.array([5.0]))
    state = DualState(log, np.array([10.0]), *np.zeros((4, 1)), {}, kept=kept)
    assert len(state.at_best().log) == kept[0]
    assert state.at_best().clock == 5.0
    assert len(state.again(0).at_best().log) == len(log)
