"""Rules as functions of numbers."""

import math

from hypothesis import given
from hypothesis import strategies as st

from rosenblatt import rules

margins = st.integers(-30, 30).map(float)
thresholds = st.integers(0, 5).map(float)


@given(margins, thresholds, st.sampled_from([0.5, 1.0, 2.0]), st.integers(0, 9), st.integers(0, 9))
def test_the_step_is_that_of_copies_shown_one_after_the_other(m, threshold, eta, copies, sqnorm):
    margin, total = m, 0.0
    for _ in range(copies):
        if margin <= threshold:
            total += eta
            margin += eta * sqnorm
    assert rules.step(m, threshold, eta, float(copies), float(sqnorm)) == total


@given(st.integers(0, 9), st.integers(1, 5).map(float), st.integers(0, 50).map(float))
def test_the_lag_is_that_of_copies_counted_one_after_the_other(copies, eta, time):
    added = sum((time + i) * eta for i in range(copies))
    assert rules.lag(copies * eta, eta, time) == added


def test_not_a_number_is_never_a_mistake():
    assert rules.step(math.nan, 0.0, 1.0, 1.0, 1.0) == 0.0


def test_the_sign_rule_spares_a_score_of_zero_only_for_the_negative_class():
    below, above = rules.thresholds("sign", 0.0)
    assert not rules.is_within(0.0, below)
    assert rules.is_within(-5e-324, below)
    assert rules.is_within(0.0, above)
    assert not rules.is_within(math.nan, below)
