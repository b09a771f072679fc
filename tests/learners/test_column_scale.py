"""Columns are centred and scaled by powers of two, and streams by the rows so far."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from rosenblatt.learners.column_scale import MOST, ColumnScale, RunningScale, refuse_large
from rosenblatt.learners.examples import examples_of


def scale_of(X, omega=None, centred=True):
    omega = np.ones(1) if omega is None else np.asarray(omega, float)
    return ColumnScale.of(examples_of(X, np.zeros(X.shape[0])), omega, centred)


def table(rows=200, seed=0):
    """Columns of many units and offsets, one with a single number, and an indicator."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(rows, 6)) * [1, 100, 1e-4, 3, 1, 1] + [0, 2000, 5, -7, 0, 0]
    X[:, 4] = 12.5
    X[:, 5] = (random.random(rows) < 0.1) * 8.0
    return X


def test_full_columns_get_mean_zero_and_deviation_one_up_to_a_power_of_two():
    X = table()
    scaled = scale_of(X).rows(X)
    deviations = scaled[:, :4].std(axis=0)
    assert (np.abs(scaled[:, :4].mean(axis=0)) < 0.07).all()
    assert ((deviations > 0.7) & (deviations < 1.42)).all()
    assert not scaled[:, 4].any()
    assert set(scaled[:, 5]) == {0.0, 1.0}


def test_factors_are_powers_of_two_and_whole_numbers_stay_exact():
    X = np.random.default_rng(1).integers(-1000, 5000, size=(77, 5)).astype(float)
    scale = scale_of(X)
    assert (np.frexp(scale.factors)[0] == 0.5).all()
    scaled = scale.rows(X)
    assert np.array_equal(scaled / scale.factors + scale.centre, X)
    assert np.array_equal(np.rint(scaled * 2**20), scaled * 2**20)


@given(st.lists(st.integers(-40, 40), min_size=6, max_size=6), st.booleans())
def test_columns_times_powers_of_two_give_the_same_scaled_rows(exponents, centred):
    X, factors = table(), 2.0 ** np.array(exponents)
    for layout in (np.asarray, sparse.csr_array):
        if layout is sparse.csr_array:
            factors = np.full(6, factors[0])
        one, other = (layout(rows) for rows in (X, X * factors))
        first, second = scale_of(one, centred=centred), scale_of(other, centred=centred)
        if layout is np.asarray:
            assert np.array_equal(first.rows(one), second.rows(other))
        else:
            assert np.array_equal(first.factors, second.factors)


def test_weights_of_rows_are_copies_and_rows_of_weight_zero_are_not_there():
    X = table(40)
    X[3] = 1e9
    omega = np.arange(40) % 3 + 1.0
    omega[3] = 0.0
    repeated = np.repeat(X, omega.astype(int), axis=0)
    weighted, plain = scale_of(X, omega), scale_of(repeated)
    assert np.array_equal(weighted.factors, plain.factors)
    assert np.array_equal(weighted.centre, plain.centre)


def test_folded_weights_score_the_columns_as_given():
    X, random = table(), np.random.default_rng(0)
    scale = scale_of(X)
    weights, bias = random.normal(size=(3, 6)), random.normal(size=3)
    folded = scale.fold(weights, bias)
    assert np.allclose(X @ folded.weights.T + folded.bias, scale.rows(X) @ weights.T + bias)
    again = scale.unfold(*folded)
    live = scale.factors > 0
    assert np.allclose(again.weights[:, live], weights[:, live])
    assert np.allclose(again.bias, bias)


def test_sparse_columns_are_scaled_only_where_they_are_unusual():
    X = sparse.random_array((300, 20), density=0.2, rng=np.random.default_rng(0)).tocsr()
    assert scale_of(X) is None
    X[:, [4]] = X[:, [4]] * 5000.0
    scale = scale_of(X)
    assert np.flatnonzero(scale.factors != 1).tolist() == [4]
    assert 0.3 < abs(scale.rows(X)[:, [4]]).max() < 4
    assert not scale.centre.any()


def test_numbers_that_are_not_finite_or_overflow_are_left_for_others_to_refuse():
    X = table()
    X[0, 0], X[0, 1], X[0, 2] = np.nan, np.inf, 1e300
    scaled = scale_of(X).rows(X)
    assert np.isnan(scaled[0, 0])
    assert np.isinf(scaled[0, 1])
    assert scaled[0, 2] == 1e300


@given(st.lists(st.integers(0, 90), max_size=6))
def test_a_stream_is_scaled_alike_however_it_is_divided(cuts):
    X = table(90)
    X[50:, 0] *= 1e6  # another unit
    whole, parts = np.empty_like(X), np.empty_like(X)
    one, other = RunningScale(6, True), RunningScale(6, True)
    everything = np.arange(90, dtype=np.uint64)
    changes = [rows[0] for rows, _ in one.visits(X, everything, whole)]
    for rows in np.split(everything, sorted(cuts)):
        list(other.visits(X, rows, parts))
    assert np.array_equal(whole, parts)
    assert np.array_equal(one.sums, other.sums)
    assert one.square == other.square
    assert 50 in changes


def test_a_column_that_begins_to_vary_is_scaled_at_once():
    X = np.zeros((40, 2))
    X[:, 0] = np.arange(40) % 2
    X[20:, 1] = 1e5
    out, running = np.empty_like(X), RunningScale(2, True)
    list(running.visits(X, np.arange(40, dtype=np.uint64), out))
    assert not out[:20, 1].any()
    assert 0 < out[20, 1] < 4


def test_a_stream_whose_squares_would_overflow_is_refused():
    refuse_large(np.array([[1e100, -1e100]]))
    with pytest.raises(ValueError, match="overflow"):
        refuse_large(np.array([[0.0, -2 * MOST]]))
