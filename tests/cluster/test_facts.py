"""What must be the same wherever a task runs."""

from __future__ import annotations

import pytest

from rosenblatt.cluster import facts


def test_facts_of_this_process_pass():
    assert facts.checked(facts.facts(), abs, -2) == 2


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("numpy", "a worker has numpy .*, this process 0: install the same versions"),
        ("sources", "other sources of rosenblatt"),
        ("processor", "another kind of processor"),
    ],
)
def test_a_process_with_other_facts_refuses_to_compute(name, message):
    expected = tuple((key, "0" if key == name else value) for key, value in facts.facts())
    with pytest.raises(facts.WorkerError, match=message):
        facts.checked(expected, abs, -2)
