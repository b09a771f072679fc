from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris

from rosenblatt import reference, verify
from rosenblatt.theory import cycle_certificate, max_margin, run_certificate


def find_cycle(X, y, epochs=3000, **options):
    """Updates a row between two epoch ends with equal weights, and None if there are none."""
    counts, seen = np.zeros(len(X), dtype=int), {}
    steps = reference.online(X.tolist(), y.tolist(), max_epochs=epochs, **options)
    for step in steps:
        counts[step.row] += step.mistake
        if step.row == len(X) - 1:
            state = (step.weights_after, step.bias_after)
            if state in seen:
                return counts - seen[state]
            seen[state] = counts.copy()
    return None


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 4))
def test_a_cycle_of_the_perceptron_is_a_proof(seed, d):
    generator = np.random.default_rng(seed)
    X = generator.integers(-3, 4, size=(4 * d + 4, d))
    y = np.where(generator.random(len(X)) < 0.5, 1, -1)
    y[:2] = 1, -1
    updates = find_cycle(X, y)
    if updates is None or not updates.any():
        return
    certificate = cycle_certificate(X, y, updates)
    assert certificate.verdict in ("inseparable", "quasi-separable")
    assert set(certificate.contradiction.rows) <= set(np.flatnonzero(updates).tolist())
    assert verify(certificate, X, y)


def test_xor_cycles_and_proves_itself_inseparable():
    X, y = np.array([[0, 0], [0, 1], [1, 0], [1, 1]]), np.array([-1, 1, 1, -1])
    certificate = cycle_certificate(X, y, find_cycle(X, y))
    assert certificate.verdict == "inseparable"
    assert certificate.contradiction.coefficients == (1, 1, 1, 1)


def test_updates_that_do_not_cancel_are_no_cycle():
    X, y = [[0.0], [1.0]], [0, 1]
    for updates in ([1, 1], [0, 0]):
        with pytest.raises(ValueError, match="not a cycle"):
            cycle_certificate(X, y, updates)
    for updates in ([1.0, 1.0], [-1, 1], [1]):
        with pytest.raises(ValueError, match="nonnegative integer"):
            cycle_certificate(X, y, updates)


def test_a_run_on_iris_is_held_against_its_bounds():
    X, y = load_iris(return_X_y=True)
    X, y = X[:100, 2:], 2 * y[:100] - 1
    steps = list(reference.online(X.tolist(), y.tolist()))
    counts = np.bincount([s.row for s in steps if s.mistake], minlength=100)
    last = steps[-1]
    found = run_certificate(
        X, y, last.weights_after, last.bias_after, updates=4, row_updates=counts
    )
    assert found.separable
    best = max_margin(X, y)
    assert found.margin_lower <= best.upper
    assert best.lower <= found.margin_upper
    assert len(found.bounds) == 2
    assert all(bound.holds for bound in found.bounds)
    assert "Mistakes made: 4." in str(found)
    assert "Novikoff" in str(found)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([0.0, 1.0]), st.sampled_from([0.5, 1.0]))
def test_every_bound_holds_for_every_run(seed, threshold, eta):
    generator = np.random.default_rng(seed)
    X = generator.integers(-4, 5, size=(20, 3)).astype(float)
    y = np.where(X @ [1.0, 2.0, -1.0] + generator.normal(size=20) > 0, 1, -1)
    if len(set(y.tolist())) < 2:
        return
    steps = list(
        reference.online(X.tolist(), y.tolist(), threshold=threshold, eta=eta, max_epochs=50)
    )
    counts = np.bincount([s.row for s in steps if s.mistake], minlength=20)
    last = steps[-1]
    found = run_certificate(
        X, y, last.weights_after, last.bias_after, updates=int(counts.sum()), eta=eta,
        threshold=threshold, row_updates=counts,
    )  # fmt: skip
    assert all(bound.holds for bound in found.bounds)
    assert found.margin_lower <= found.margin_upper * (1 + 1e-12)
