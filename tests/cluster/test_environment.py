"""Workers whose results would have other bits refuse to compute."""

from __future__ import annotations

import pytest

from rosenblatt.cluster.environment import WorkerError, environment, run_checked


def test_an_equal_environment_passes():
    assert run_checked(environment(), abs, -2) == 2


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("numpy", "a worker has numpy .*, this process 0: install the same versions"),
        ("sources", "other sources of rosenblatt"),
        ("processor", "another kind of processor"),
    ],
)
def test_a_process_with_another_environment_refuses_to_compute(name, message):
    expected = tuple((key, "0" if key == name else value) for key, value in environment())
    with pytest.raises(WorkerError, match=message):
        run_checked(expected, abs, -2)
