from __future__ import annotations

from threading import Barrier, Thread

import numpy as np
import pytest
from scipy import sparse
from threadpoolctl import ThreadpoolController, threadpool_limits

from rosenblatt import certify
from rosenblatt.theory.search.integer_linear_algebra import null_space, pivots, solve
from rosenblatt.theory.search.limits import NO_LIMIT, Clock, OutOfTimeError, limit_blas_threads


def test_steps_that_would_not_end_in_time_are_not_started():
    Clock(60.0).require(1.0)
    with pytest.raises(OutOfTimeError):
        Clock(1.0).require(60.0)
    NO_LIMIT.require(1e9)


@pytest.mark.parametrize("work", [pivots, null_space, solve])
def test_exact_linear_algebra_checks_the_time_limit_first(work):
    numbers = np.random.default_rng(0).integers(-(2**60), 2**60, (60, 60)).tolist()
    argument = {pivots: 2**61 - 1, null_space: 60, solve: [1] * 60}[work]
    with pytest.raises(OutOfTimeError):
        work(numbers, argument, Clock(1e-4))


def test_a_time_limit_is_noticed_where_exact_solving_is_slow():
    generator = np.random.default_rng(0)
    X = sparse.random_array((6000, 400), density=0.02, rng=generator, format="csr")
    X.data *= 10.0 ** generator.integers(-220, 220, len(X.data))
    y = generator.random(6000) < 0.5
    assert certify(X, y, time_limit=1.0).verdict == "undecided"


def threads():
    """The number of threads of each BLAS library in this process."""
    libraries = ThreadpoolController().select(user_api="blas").lib_controllers
    return {library.get_num_threads() for library in libraries}


@pytest.fixture(autouse=True)
def two_threads():
    with threadpool_limits(2, user_api="blas"):
        if threads() != {2}:
            pytest.skip("this BLAS does not change its number of threads")
        yield


def test_blas_uses_one_thread_inside_the_context_only():
    with limit_blas_threads(10_000, 100):
        assert threads() == {1}
        with limit_blas_threads(10_000, 100):
            assert threads() == {1}
        assert threads() == {1}
    assert threads() == {2}


def test_the_thread_count_is_restored_after_an_error():
    with pytest.raises(RuntimeError), limit_blas_threads(10_000, 100):
        raise RuntimeError
    assert threads() == {2}


@pytest.mark.parametrize(
    ("n", "width", "is_sparse"),
    [(10_000, 10, False), (10_000, 1001, False), (10_000, 2001, True)],
)
def test_small_and_wide_matrices_keep_all_threads(n, width, is_sparse):
    with limit_blas_threads(n, width, is_sparse):
        assert threads() == {2}


def test_sparse_matrices_keep_one_thread_up_to_more_columns():
    with limit_blas_threads(10_000, 1001, is_sparse=True):
        assert threads() == {1}


def test_a_second_thread_does_not_change_the_limit():
    def enter():
        with limit_blas_threads(10_000, 100):
            pass

    with limit_blas_threads(10_000, 100):
        other = Thread(target=enter)
        other.start()
        other.join()
        assert threads() == {1}
    assert threads() == {2}


def test_overlapping_threads_restore_the_thread_count():
    inside, outside = Barrier(2), Barrier(2)

    def first():
        with limit_blas_threads(10_000, 100):
            inside.wait()
            outside.wait()

    other = Thread(target=first)
    other.start()
    inside.wait()
    with limit_blas_threads(10_000, 100):
        outside.wait()
        other.join()
    assert threads() == {2}
