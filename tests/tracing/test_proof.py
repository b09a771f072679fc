"""The inequalities of the convergence proof hold at every update of every run."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rosenblatt import trace


@st.composite
def separable(draw):
    """Integer rows with their labels, and a vector that separates them by construction."""
    u = draw(st.tuples(*[st.integers(-3, 3)] * 3).filter(any))
    points = draw(st.lists(st.tuples(*[st.integers(-5, 5)] * 2), min_size=2, max_size=10))
    scores = [u[0] * p[0] + u[1] * p[1] + u[2] for p in points]
    kept = [(p, 1 if s > 0 else -1) for p, s in zip(points, scores, strict=True) if s]
    return u, kept


@settings(max_examples=80, deadline=None)
@given(
    separable().filter(lambda case: len({y for _, y in case[1]}) == 2),
    st.sampled_from([0, 1, 3]),
    st.sampled_from([1, 0.5, 2]),
    st.sampled_from(["online", "batch"]),
    st.booleans(),
)
def test_progress_length_and_potential_keep_their_promises(case, threshold, eta, update, moved):
    u, data = case
    start = {"weights": [2, -1], "bias": 1} if moved else {}
    run = trace(
        [p for p, _ in data], [y for _, y in data],
        threshold=threshold, eta=eta, update=update, max_epochs=40, **start,
    )  # fmt: skip
    proof = run.proof(separator=u)
    slack = 1e-9 * (1 + proof.alpha**2)
    for before, after in zip(proof.points, proof.points[1:], strict=False):
        assert after.progress >= after.progress_floor - slack
        assert after.sqnorm <= after.sqnorm_ceiling + slack
        assert after.potential <= before.potential - after.fall + slack
        assert after.fall > 0
    if proof.bound is not None:
        assert run.n_updates <= proof.bound + slack


def test_the_bound_of_the_notes_holds_from_any_start_with_a_constant_rate():
    X, y = [[2, 1], [-1, 1]], [1, -1]
    assert trace(X, y).proof((1, 0, 0)).bound == pytest.approx(6)
    assert trace(X, y, threshold=1, eta=2).proof((1, 0, 0)).bound == pytest.approx(7)
    moved = trace(X, y, weights=[1, 0]).proof((1, 0, 0))
    # k₀ = ‖w0 - αu‖²/R² with R² = 6, γ = 1, α = R²/γ = 6: ((1 - 6)² + 0 + 0)/6.
    assert moved.bound == pytest.approx(25 / 6)
    assert trace(X, y, eta=lambda t: 1 / t).proof((1, 0, 0)).bound is None
    assert trace(X, y, update="batch").proof((1, 0, 0)).bound is None


def test_the_length_of_the_separator_does_not_matter():
    run = trace([[2, 1], [-1, 1]], [1, -1])
    assert run.proof((1, 0, 0)).margin == pytest.approx(run.proof((7, 0, 0)).margin)
    assert math.hypot(*run.proof((4, 3, 0)).separator) == pytest.approx(1)


@pytest.mark.parametrize("separator", [(0, 0, 0), (-1, 0, 0)])
def test_a_vector_that_does_not_separate_proves_nothing(separator):
    with pytest.raises(ValueError, match="does not separate the rows"):
        trace([[2, 1], [-1, 1]], [1, -1]).proof(separator)
