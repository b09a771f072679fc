from __future__ import annotations

from threading import Barrier, Thread

import numpy as np  # noqa: F401 (its BLAS is what is limited)
import pytest
from threadpoolctl import ThreadpoolController, threadpool_limits

from rosenblatt.theory.search.blas_threads import limit_blas_threads


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


def test_blas_keeps_to_one_thread_inside_and_only_there():
    with limit_blas_threads(10_000, 100):
        assert threads() == {1}
        with limit_blas_threads(10_000, 100):
            assert threads() == {1}
        assert threads() == {1}
    assert threads() == {2}


def test_an_error_inside_changes_nothing():
    with pytest.raises(RuntimeError), limit_blas_threads(10_000, 100):
        raise RuntimeError
    assert threads() == {2}


@pytest.mark.parametrize(
    ("n", "width", "is_sparse"),
    [(10_000, 10, False), (10_000, 1001, False), (10_000, 2001, True)],
)
def test_small_tables_and_those_of_many_columns_are_left_alone(n, width, is_sparse):
    with limit_blas_threads(n, width, is_sparse):
        assert threads() == {2}


def test_sparse_rows_count_as_many_columns_later():
    with limit_blas_threads(10_000, 1001, is_sparse=True):
        assert threads() == {1}


def test_another_thread_inside_changes_nothing():
    def enter():
        with limit_blas_threads(10_000, 100):
            pass

    with limit_blas_threads(10_000, 100):
        other = Thread(target=enter)
        other.start()
        other.join()
        assert threads() == {1}
    assert threads() == {2}


def test_threads_that_overlap_leave_the_number_as_it_was():
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
