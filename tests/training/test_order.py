"""Orders are a function of the seed and the epoch."""

import numpy as np
import pytest

from rosenblatt.learners.examples import examples_of
from rosenblatt.training.order import Drawn

ROWS = np.arange(50, dtype=np.uint64)
EXAMPLES = examples_of(np.zeros((50, 1)), np.zeros(50, int))


@pytest.mark.parametrize("draw", ["permutation", "after_first"])
def test_an_epoch_is_drawn_the_same_way_whenever_it_is_asked_for(draw):
    first, second = Drawn(EXAMPLES, ROWS, draw, 3), Drawn(EXAMPLES, ROWS, draw, 3)
    for epoch in (4, 2, 9):
        assert np.array_equal(first.order(epoch), second.order(epoch))
    assert not np.array_equal(first.order(2), first.order(3))
    assert not np.array_equal(first.order(2), Drawn(EXAMPLES, ROWS, draw, 4).order(2))


def test_only_the_first_epoch_is_in_the_given_order():
    drawn = Drawn(EXAMPLES, ROWS, "after_first")
    assert np.array_equal(drawn.order(1), ROWS)
    assert sorted(drawn.order(2)) == ROWS.tolist() != drawn.order(2).tolist()


def test_what_is_left_of_an_order_is_the_rest_of_it():
    drawn = Drawn(EXAMPLES, ROWS, "permutation", 1)
    [(_, rest)] = drawn.parts(2, 20)
    assert np.array_equal(rest, drawn.order(2)[20:])


def test_an_order_may_leave_some_rows_out():
    assert Drawn(EXAMPLES, ROWS, "permutation").visits_all
    assert not Drawn(EXAMPLES, ROWS[:3]).visits_all
