"""What the mathematics promises."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from rosenblatt import Perceptron
from tests.invariants.strategies import LAYOUTS, data_sets, layouts, separable_sets
from tests.members import offsets_of, weights_of


def padded(X, y, c=1.0):
    """The rows z of the notes: padded and pre-multiplied."""
    return np.column_stack([X, np.full(len(X), c)]) * np.where(y == 1, 1, -1)[:, None]


def some_separator(Z):
    """A separator by linear programming, scaled to length 1, and its margin; or None."""
    n, d = Z.shape
    found = linprog(
        np.append(np.zeros(d), -1),
        A_ub=np.column_stack([-Z, np.ones(n)]),
        b_ub=np.zeros(n),
        bounds=[(-1, 1)] * d + [(None, 1)],
    )
    v = found.x[:d]
    margin = (Z @ v).min() / np.linalg.norm(v) if np.any(v) else 0.0
    return (v, margin) if margin > 1e-7 else None


@given(separable_sets(), layouts, st.sampled_from([False, True, "after_first"]), st.integers(0, 9))
def test_novikoffs_bound_holds_in_every_separable_case(data, layout, shuffle, seed):
    X, y = data
    if len(np.unique(y)) < 2:
        return
    Z = padded(X, y)
    found = some_separator(Z)
    assert found is not None
    R = np.linalg.norm(Z, axis=1).max()
    model = Perceptron.textbook(shuffle=shuffle, tol=None, max_iter=10**6, random_state=seed)
    model.fit(LAYOUTS[layout](X), y)
    assert model.stop_reason_ == "separated"
    assert model.converged_
    assert model.n_updates_ <= (R / found[1]) ** 2 + 1e-6
    assert model.score(X, y) == 1.0


@given(data_sets(), st.booleans())
def test_a_cycle_is_found_exactly_when_no_line_separates(data, fit_intercept):
    X, y = data
    Z = padded(X, y) if fit_intercept else padded(X, y)[:, :-1]
    model = Perceptron.textbook(
        shuffle=False, tol=None, max_iter=10**5, fit_intercept=fit_intercept
    )
    model.fit(X, y)
    assert model.stop_reason_ == ("separated" if some_separator(Z) else "cycle")
    if model.stop_reason_ == "cycle":
        counts = model.history_.row_updates
        assert counts.sum() > 0
        assert not (counts @ Z).any()


@given(data_sets(), layouts, st.sampled_from([0.25, 2.0, 8.0]))
def test_scaling_the_rows_scales_the_weights(data, layout, scale):
    X, y = data
    options = {"fit_intercept": False, "max_iter": 6, "random_state": 0, "shuffle": False}
    plain = Perceptron.textbook(**options).fit(LAYOUTS[layout](X), y)
    scaled = Perceptron.textbook(**options).fit(LAYOUTS[layout](X * scale), y)
    assert np.array_equal(weights_of(plain) * scale, weights_of(scaled))


@given(data_sets(), layouts, st.randoms())
def test_permuting_the_columns_permutes_the_weights(data, layout, random):
    X, y = data
    columns = list(range(X.shape[1]))
    random.shuffle(columns)
    plain = Perceptron.textbook(shuffle=False, max_iter=6).fit(LAYOUTS[layout](X), y)
    permuted = Perceptron.textbook(shuffle=False, max_iter=6).fit(LAYOUTS[layout](X[:, columns]), y)
    assert np.array_equal(weights_of(plain)[:, columns], weights_of(permuted))


@given(data_sets(), st.sampled_from([2.0, 0.5]))
def test_the_learning_rate_only_scales_the_weights_of_a_run_from_zero(data, eta):
    X, y = data
    plain = Perceptron.textbook(shuffle=False, max_iter=6).fit(X, y)
    scaled = Perceptron.textbook(shuffle=False, max_iter=6, eta0=eta).fit(X, y)
    assert np.array_equal(weights_of(plain) * eta, weights_of(scaled))


@given(data_sets())
def test_swapping_the_labels_flips_the_weights(data):
    X, y = data
    plain = Perceptron.textbook(shuffle=False, max_iter=6).fit(X, y)
    swapped = Perceptron.textbook(shuffle=False, max_iter=6).fit(X, 1 - y)
    assert np.array_equal(weights_of(plain), -weights_of(swapped))
    assert np.array_equal(offsets_of(plain), -offsets_of(swapped))


@given(data_sets(), st.sampled_from([1.0, 2.0, 3.0]))
def test_the_padding_constant_is_the_padded_column(data, c):
    X, y = data
    with_bias = Perceptron.textbook(shuffle=False, max_iter=6, intercept_scaling=c).fit(X, y)
    extended = np.column_stack([X, np.full(len(X), c)])
    without = Perceptron.textbook(shuffle=False, max_iter=6, fit_intercept=False).fit(extended, y)
    assert np.array_equal(with_bias.coef_[0], without.coef_[0, :-1])
    assert with_bias.intercept_[0] == c * weights_of(without)[0, -1]


@given(data_sets(max_rows=9), st.sampled_from(["online", "batch"]), st.integers(0, 9))
def test_the_pocket_never_holds_worse_weights_than_the_run_ends_with(data, update, seed):
    X, y = data
    model = Perceptron.textbook(keep="best", update=update, random_state=seed, max_iter=8, tol=None)
    model.fit(X, y)
    signs = np.where(y == 1, 1, -1)

    def mistaken(weights, bias):
        return (signs * (X @ weights[0] + bias[0]) <= 0).sum()

    held = mistaken(weights_of(model), offsets_of(model))
    assert held <= min(record.train_error for record in model.history_) * len(y) + 1e-9
    assert held <= mistaken(model.state_.weights, model.state_.bias)
    assert held <= len(y)


@pytest.mark.parametrize("threshold", [0.0, 1.0, 3.0])
@given(separable_sets())
def test_a_threshold_leaves_at_least_that_margin(threshold, data):
    X, y = data
    if len(np.unique(y)) < 2:
        return
    model = Perceptron.textbook(threshold=threshold, tol=None, max_iter=10**6, shuffle=False).fit(
        X, y
    )
    assert model.converged_
    margins = np.where(y == 1, 1, -1) * model.decision_function(X)
    assert margins.min() > threshold
