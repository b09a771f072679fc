"""The bounds on a budget against exact enumeration, and what no bound can cover."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rosenblatt.theory import forgetron_bound, projection_bound, random_removal_bound


def expected_by_enumeration(Z, u, budget):
    """Mistakes and hinge loss expected under random removal: every choice there is, weighed."""
    losses = np.maximum(0.0, 1.0 - Z @ u)

    def onward(t, kept):
        while t < len(Z):
            if sum(Z[i] @ Z[t] for i in kept) <= 0:
                break
            t += 1
        if t == len(Z):
            return np.zeros(2)
        here = np.array([1.0, losses[t]])
        if len(kept) < budget:
            return here + onward(t + 1, (*kept, t))
        rests = [kept[:i] + kept[i + 1 :] for i in range(budget)]
        return here + sum(onward(t + 1, (*rest, t)) for rest in rests) / budget

    return onward(0, ())


@st.composite
def sequences(draw):
    """Rows times labels, and a comparison vector."""
    entries = st.lists(st.integers(-2, 2), min_size=3, max_size=3)
    rows = np.array(draw(st.lists(entries, min_size=2, max_size=10)), dtype=float)
    u = np.array(draw(entries), dtype=float) * draw(st.sampled_from([0.02, 0.1, 0.3]))
    return rows, u


@given(sequences(), st.integers(1, 3))
@settings(max_examples=60)
def test_random_removal_expects_no_more_mistakes_than_its_bound(data, budget):
    Z, u = data
    R, U = np.linalg.norm(Z, axis=1).max(), np.linalg.norm(u)
    assume(R > 0)
    mistakes, loss = expected_by_enumeration(Z, u, budget)
    assert mistakes <= random_removal_bound(budget, U, loss, R) * (1 + 1e-9)
    whole = np.maximum(0.0, 1.0 - Z @ u).sum()
    assert mistakes <= random_removal_bound(budget, U, whole, R) * (1 + 1e-9)


def wave(budget, start, endless, a=0.4):
    """Rows, times their labels, that removing the oldest without shrinking gets wrong for ever.

    Each row turns on from the present weights by an angle, so that they never catch up. Returns
    the rows and whether each was mistaken.
    """
    b, kept, f, rows, mistaken = math.sqrt(1 - a * a), [], np.zeros(3), [], []
    for k in range(start + endless):
        angle = math.radians(90 + 38.7 * min(1.0, max(0.0, 3 * k / start - 1)))
        turn = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
        size = np.linalg.norm(f[1:])
        towards = turn @ f[1:] / size if size else np.array([1.0, 0.0])
        rows.append(np.array([a if k >= start else 0.0, *(b * towards)]))
        mistaken.append(f @ rows[-1] <= 1e-12)
        if mistaken[-1]:
            kept.append(rows[-1])
            f = np.sum(kept[-budget:], axis=0)
    return np.array(rows), np.array(mistaken)


@pytest.mark.parametrize("budget", [5, 20, 100])
def test_removing_the_oldest_without_shrinking_can_be_wrong_for_ever(budget):
    start, endless = 15 * budget, 1000
    rows, mistaken = wave(budget, start, endless)
    u = np.array([2.5, 0.0, 0.0])
    assert np.allclose(rows[start:] @ u, 1.0)  # no loss any more
    assert (np.linalg.norm(rows, axis=1) <= 1 + 1e-9).all()
    assert mistaken[start:].all()


def test_the_state_of_the_wave_is_one_that_every_row_prolongs():
    """The proof's inequality: ``a²B + b²·Σ cos(ωj) <= 0`` over the B rows before."""
    for budget in (3, 10, 100, 1000):
        omega = 3 * math.pi / (2 * budget + 1)
        cosines = np.cos(omega * np.arange(1, budget + 1)).sum()
        assert 0.16 * budget + 0.84 * cosines <= 0


@given(st.integers(83, 10**6), st.floats(0, 1), st.floats(0, 1000))
def test_the_published_form_of_the_forgetrons_bound_follows(budget, share, loss):
    norm = share * 0.25 * math.sqrt((budget + 1) / math.log(budget + 1))
    assert forgetron_bound(budget, norm, loss) <= 2 * norm**2 + 4 * loss + 1e-9


def test_eighty_three_is_the_least_budget_of_the_published_form():
    norm = 0.25 * math.sqrt(83 / math.log(83))
    assert forgetron_bound(82, norm) == math.inf
    assert forgetron_bound(83, 0.25 * math.sqrt(84 / math.log(84))) < math.inf


@given(st.floats(0, 3), st.floats(0, 100), st.floats(0.1, 4))
def test_bounds_depend_on_the_length_times_the_radius_and_tend_to_the_perceptrons(norm, loss, R):
    for bound in (random_removal_bound, forgetron_bound):
        assert bound(200, norm, loss, R) == pytest.approx(bound(200, norm * R, loss))
    plain = projection_bound(norm, loss, R)
    a = norm * R
    assert plain == pytest.approx(((a + math.sqrt(a * a + 4 * loss)) / 2) ** 2)
    assert plain <= projection_bound(norm, loss, R, error=0.1)
    assert random_removal_bound(10**12, norm, 0.0, R) == pytest.approx(2 * a * a)


@pytest.mark.parametrize(
    "arguments", [{"norm": -1.0}, {"norm": 1.0, "loss": -1.0}, {"norm": 1.0, "radius": math.nan}]
)
def test_lengths_and_losses_below_zero_are_refused(arguments):
    with pytest.raises(ValueError, match="must not be negative"):
        projection_bound(**arguments)
    with pytest.raises(ValueError, match="must not be negative"):
        random_removal_bound(5, **arguments)
    with pytest.raises(ValueError, match="at least 1"):
        forgetron_bound(0, 1.0)
    with pytest.raises(ValueError, match="error"):
        projection_bound(1.0, error=-0.1)
