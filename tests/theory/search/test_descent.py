from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from rosenblatt.theory.search.approximate_gordan import balance
from rosenblatt.theory.search.descent import descend
from tests.theory.rows import unit_rows


@pytest.mark.parametrize("seed", range(5))
def test_fewer_rows_than_columns_are_separated(seed):
    Z = unit_rows(seed, 40, 60)
    for rows in (Z, sparse.csr_array(Z)):
        found = descend(rows)
        assert found.outcome == "separated"
        assert (Z @ found.w > 0).all()


@pytest.mark.parametrize("seed", range(5))
def test_many_rows_in_few_columns_reach_a_balance(seed):
    Z = unit_rows(seed, 200, 10)
    found = descend(Z, balanced=lambda losses: balance(Z, losses))
    assert found.outcome == "balanced"
    assert found.losses.min() >= 0


def test_rows_that_touch_stay_unsure():
    Z = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]])
    assert descend(Z, balanced=lambda losses: balance(Z, losses)).outcome == "unsure"


def test_a_good_start_is_kept():
    Z = unit_rows(0, 40, 60)
    first = descend(Z)
    again = descend(Z, first.w)
    assert again.outcome == "separated"
    np.testing.assert_allclose(again.w, first.w, rtol=0.5, atol=0.5)


def test_the_callback_can_stop_the_descent():
    def stop():
        raise TimeoutError

    with pytest.raises(TimeoutError):
        descend(unit_rows(0, 40, 10), callback=stop)
