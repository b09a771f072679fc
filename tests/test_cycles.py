"""Brent's search for a cycle."""

from hypothesis import given
from hypothesis import strategies as st

from rosenblatt.cycles import CycleFinder


@given(st.integers(0, 20), st.integers(1, 20))
def test_every_cycle_is_found_with_its_length(tail, length):
    def at(step):
        return step if step < tail else tail + (step - tail) % length

    finder, step, found = CycleFinder(at(0)), 0, 0
    while not found:
        step += 1
        now = at(step)
        found = finder.length_at(lambda anchor, now=now: anchor == now, lambda now=now: now)
    assert found == length
    assert step <= 3 * (tail + length) + 1


@given(st.integers(1, 200))
def test_a_run_that_never_returns_has_no_cycle(steps):
    finder = CycleFinder(0)
    for now in range(1, steps + 1):
        assert not finder.length_at(lambda anchor, now=now: anchor == now, lambda now=now: now)
