"""The knots of a column: at quantiles, increasing, a frequent value by itself."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rosenblatt.lifts.columns import LiftedColumn


def test_a_frequent_largest_value_ends_no_interval_twice():
    numbers = np.concatenate([np.arange(20.0), np.full(1000, 20.0)])
    assert LiftedColumn.of_numbers("x", numbers, 4, 2).knots == (0.0, 20.0)


@given(st.lists(st.floats(-1e300, 1e300), min_size=2, max_size=40), st.integers(1, 7))
def test_knots_increase_and_those_of_levels_are_among_them(numbers, levels):
    scale = LiftedColumn.of_numbers("x", np.array(numbers), 16, levels)
    if not scale.is_number:
        return
    assert list(scale.knots) == sorted(set(scale.knots))
    assert (scale.knots[0], scale.knots[-1]) == (min(numbers), max(numbers))
    layers = [scale.level(k) for k in range(scale.levels)]
    assert [len(layer) for layer in layers] == sorted(len(layer) for layer in layers)
    assert all(len(layer) <= 1 + 2 ** (k + 1) for k, layer in enumerate(layers))
    assert all(set(layer) <= set(scale.knots) for layer in layers)
    assert scale.has_more or levels < 5 or layers[-1] == scale.knots
