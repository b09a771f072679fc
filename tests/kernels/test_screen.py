"""The copy of rows in 8 bits: it may only say of a row that it is right if that is so, exactly."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rosenblatt.kernels import learn
from rosenblatt.kernels.rows import Dense, Screened
from rosenblatt.learners.examples import examples_of
from rosenblatt.learners.parts import counts_of, no_sums
from rosenblatt.learners.survey import survey


def screened_rows(X):
    return survey(examples_of(X, np.zeros(len(X))), keys=False, copies=True).screened


def walked(rows, codes, order, *, thresholds, padding, omega, w, bias):
    """Weights, book, counts and scores after two walks."""
    w, book = w.copy(), np.zeros((learn.BOOK, 1))
    book[learn.BIAS] = bias
    rule, counts = np.array([*thresholds, padding]), counts_of()
    seen = np.empty((len(order), 1), w.dtype)
    for _ in range(2):
        learn.walk_one(
            rows, codes, omega, order, np.ones(1), (w, no_sums(w)), np.ones(1, np.float32), book,
            rule, learn.Task(), counts, seen,
        )  # fmt: skip
    return w, book, counts, seen


def assert_same_walk(X, codes, order, **options):
    """Walk with and without the copy; the share of the visits that read the row itself."""
    plain = walked(Dense(X), codes, order, **options)
    quick = walked(screened_rows(X), codes, order, **options)
    assert np.array_equal(plain[0], quick[0], equal_nan=True)
    assert np.array_equal(plain[1], quick[1], equal_nan=True)
    assert np.array_equal(plain[2][: learn.READ], quick[2][: learn.READ])
    exact, told = plain[3][:, 0], quick[3][:, 0]
    assert np.array_equal(exact > 0, told > 0)
    below, above = options["thresholds"]
    sign = 2.0 * codes[order] - 1
    limit = np.where(sign > 0, above, below)
    assert np.array_equal(sign * exact <= limit, sign * told <= limit)
    return quick[2][learn.READ] / (2 * len(order))


def family(kind, generator, n, d):
    """Rows that try the bound: whole numbers that tie, huge ranges, zeros, subnormal numbers."""
    X = generator.normal(size=(n, d))
    if kind == "integers":
        return generator.integers(-3, 4, (n, d)).astype(float)
    if kind == "ranges":
        return X * 10.0 ** generator.integers(-30, 30, (n, d))
    if kind == "outlier":
        X[np.arange(n), generator.integers(0, d, n)] *= 1e6
    if kind == "sparse":
        return X * (generator.random((n, d)) < 0.1)
    if kind == "tiny":
        return X * 1e-42
    if kind == "huge":
        return X * 1e37
    if kind == "mixed":
        return X * 10.0 ** generator.integers(-45, 38, (n, 1))
    return X


KINDS = ["normal", "integers", "ranges", "outlier", "sparse", "tiny", "huge", "mixed"]


@settings(max_examples=120, deadline=None)
@given(
    kind=st.sampled_from(KINDS),
    seed=st.integers(0, 10_000),
    d=st.sampled_from([1, 2, 15, 16, 17, 64, 100, 300]),
    dtype=st.sampled_from([np.float32, np.float64]),
    thresholds=st.sampled_from([(0.0, 0.0), (-5e-324, 0.0), (0.5, 0.5), (30.0, 30.0)]),
    padding=st.sampled_from([0.0, 1.0]),
    weighted=st.booleans(),
    started=st.sampled_from([0.0, 1.0, 1e-30, 1e25]),
)
def test_the_walk_is_the_same_to_the_last_bit(
    kind, seed, d, dtype, thresholds, padding, weighted, started
):
    generator = np.random.default_rng(seed)
    n = 60
    with np.errstate(over="ignore"):
        X = np.nan_to_num(family(kind, generator, n, d).astype(dtype), posinf=1e38, neginf=-1e38)
    X[::11] = 0
    direction = generator.normal(size=d)
    codes = (X.astype(np.longdouble) @ direction > 0).astype(np.int32)
    codes[generator.random(n) < 0.05] ^= 1
    assert_same_walk(
        X, codes, generator.integers(0, n, 150).astype(np.uint64), thresholds=thresholds,
        padding=padding, omega=generator.uniform(0.1, 4, n) if weighted else np.ones(1),
        w=(started * generator.normal(size=d)).astype(dtype), bias=started * generator.normal(),
    )  # fmt: skip


def test_rows_far_from_the_line_are_not_read():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(500, 200)).astype(np.float32)
    w = generator.normal(size=200).astype(np.float32)
    scores = X @ w
    X = np.ascontiguousarray(X[np.abs(scores) > 2])
    codes = (X @ w > 0).astype(np.int32)
    order = np.arange(len(X), dtype=np.uint64)
    options = {"padding": 1.0, "omega": np.ones(1), "w": w, "bias": 0.0}
    assert assert_same_walk(X, codes, order, thresholds=(0.0, 0.0), **options) < 0.05
    assert assert_same_walk(X, codes, order, thresholds=(1e9, 1e9), **options) == 1.0


def test_a_margin_of_exactly_the_threshold_is_read_and_corrected():
    X = np.array([[2.0, 0.0], [0.0, 2.0]] * 4, np.float32)
    codes, order = np.ones(8, np.int32), np.arange(8, dtype=np.uint64)
    w, _, counts, _ = walked(
        screened_rows(X), codes, order, thresholds=(2.0, 2.0), padding=0.0, omega=np.ones(1),
        w=np.ones(2, np.float32), bias=0.0,
    )  # fmt: skip
    assert counts[learn.UPDATES] == 2
    assert w.tolist() == [3.0, 3.0]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_copy_is_within_half_a_step_of_the_row(dtype):
    X = np.random.default_rng(1).normal(size=(50, 30)).astype(dtype)
    X[0] = 0
    _, small, errors = screened_rows(X)
    assert isinstance(screened_rows(X), Screened)
    off = X - errors[:, :1] * small
    assert np.all(np.abs(off) <= 0.5001 * errors[:, :1])
    assert np.all(np.linalg.norm(off, axis=1) <= errors[:, 1])
    assert np.all(errors[1:, 1] <= 1.1 * np.linalg.norm(off, axis=1)[1:])
    assert np.all(np.abs(small[1:]).max(axis=1) == 127)
