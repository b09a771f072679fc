"""One look at all rows: finite or not, their keys, their copies; with any number of threads."""

import numpy as np
import pytest
from scipy import sparse
from tests.members import offsets_of, weights_of

from rosenblatt import Perceptron
from rosenblatt.learners import survey as surveys
from rosenblatt.learners.examples import distinct, examples_of
from rosenblatt.learners.survey import is_worth_a_copy, survey

LAYOUTS = {"dense": np.asarray, "csr": sparse.csr_array}


def rows(dtype, n=300, d=40):
    random = np.random.default_rng(0)
    return (random.normal(size=(n, d)) * (random.random((n, d)) < 0.5)).astype(dtype)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("threads", [1, 3])
def test_a_number_that_is_not_finite_is_found_wherever_it_stands(
    layout, dtype, threads, monkeypatch
):
    monkeypatch.setattr(surveys, "_BLOCK", 1)
    X = rows(dtype)
    X[0, 0] = np.finfo(dtype).max
    X[0, 1] = -np.finfo(dtype).max
    found = survey(examples_of(LAYOUTS[layout](X), np.zeros(300)), keys=True)
    assert found.largest == np.finfo(dtype).max
    for bad in (np.nan, -np.nan, np.inf, -np.inf):
        for row, column in ((0, 0), (150, 39), (299, 7)):
            Y = X.copy()
            Y[row, column] = bad
            examples = examples_of(LAYOUTS[layout](Y), np.zeros(300))
            for keys in (True, False):
                assert not np.isfinite(survey(examples, keys=keys, threads=threads).largest)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_keys_are_those_that_tell_rows_apart_whatever_the_threads(layout, dtype, monkeypatch):
    monkeypatch.setattr(surveys, "_BLOCK", 1)
    X = rows(dtype)
    X[::7], X[5, 2] = X[3], -0.0
    examples = examples_of(LAYOUTS[layout](X), np.arange(300) % 2)
    expected = distinct(examples)
    for threads in (1, 2, 5):
        found = distinct(examples, survey(examples, keys=True, threads=threads).keys)
        assert np.array_equal(found[0], expected[0])
        assert np.array_equal(found[1], expected[1])


def test_squared_lengths_are_those_of_the_rows(monkeypatch):
    monkeypatch.setattr(surveys, "_BLOCK", 1)
    X = rows(np.float32)
    examples = examples_of(X, np.zeros(300))
    for threads in (1, 3):
        found = survey(examples, keys=False, squares=True, threads=threads).squares
        assert found == pytest.approx((X.astype(float) ** 2).sum(axis=1), rel=1e-5)
    assert survey(examples, keys=True).squares is None


def test_copies_do_not_depend_on_the_threads(monkeypatch):
    monkeypatch.setattr(surveys, "_BLOCK", 1)
    examples = examples_of(rows(np.float32), np.zeros(300))
    one = survey(examples, keys=False, copies=True).screened
    more = survey(examples, keys=False, copies=True, threads=4).screened
    assert np.array_equal(one.small, more.small)
    assert np.array_equal(one.errors, more.errors)


def test_a_copy_is_for_many_visits_to_many_long_rows():
    large = examples_of(np.zeros((40_000, 128), np.float32), np.zeros(40_000))
    assert is_worth_a_copy(large, 1000)
    assert not is_worth_a_copy(large, 1)
    assert is_worth_a_copy(large, 9)
    assert not is_worth_a_copy(examples_of(np.zeros((1000, 128)), np.zeros(1000)), 1000)
    assert not is_worth_a_copy(examples_of(np.zeros((10**6, 4)), np.zeros(10**6)), 1000)


@pytest.mark.parametrize("multiclass", ["ovr", "ovo"])
@pytest.mark.parametrize("keep", ["last", "average", "best"])
def test_a_fit_with_the_copy_is_the_fit_without_it(multiclass, keep, monkeypatch):
    random = np.random.default_rng(3)
    X = random.normal(size=(1500, 150)).astype(np.float32)
    y = (X @ random.normal(size=(150, 3 if multiclass == "ovo" else 2))).argmax(axis=1)
    y[::20] = 0
    model = Perceptron(
        keep=keep, multiclass=multiclass, random_state=0, max_iter=6, tol=None, threshold=0.0
    )
    plain = model.fit(X, y)
    expected = weights_of(plain).copy(), offsets_of(plain).copy(), plain.history_["mistakes"]
    monkeypatch.setattr(surveys, "_LARGE", 1)
    for n_jobs in (1, 2):
        model.set_params(n_jobs=n_jobs)
        found = model.fit(X, y)
        assert np.array_equal(weights_of(found), expected[0])
        assert np.array_equal(offsets_of(found), expected[1])
        assert np.array_equal(found.history_["mistakes"], expected[2], equal_nan=True)


def test_without_memory_for_a_copy_there_is_none(monkeypatch):
    def fails(*_):
        raise MemoryError

    monkeypatch.setattr(surveys, "zeros", fails)
    examples = examples_of(rows(np.float32), np.zeros(300))
    assert survey(examples, keys=False, copies=True).screened is None
