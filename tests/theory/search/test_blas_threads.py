from __future__ import annotations

from threading import Barrier, Thread

import pytest

from rosenblatt.theory.search import blas_threads as threads
from rosenblatt.theory.search.blas_threads import few_threads, one_thread


class Library:
    """What threadpoolctl says of a BLAS library."""

    number = 2

    def get_num_threads(self):
        return self.number

    def set_num_threads(self, number):
        self.number = number


@pytest.fixture
def library(monkeypatch):
    found = Library()
    monkeypatch.setattr(threads, "_libraries", lambda: [found])
    return found


def test_blas_keeps_to_one_thread_inside_and_only_there(library):
    with few_threads(10_000, 100):
        assert library.number == 1
        with few_threads(10_000, 100):
            assert library.number == 1
        assert library.number == 1
    assert library.number == 2


def test_an_error_inside_changes_nothing(library):
    with pytest.raises(RuntimeError), few_threads(10_000, 100):
        raise RuntimeError
    assert library.number == 2


@pytest.mark.parametrize(
    ("n", "width", "is_sparse"),
    [(10_000, 10, False), (10_000, 1001, False), (10_000, 2001, True)],
)
def test_small_tables_and_those_of_many_columns_are_left_alone(library, n, width, is_sparse):
    with few_threads(n, width, is_sparse):
        assert library.number == 2


def test_sparse_rows_count_as_many_columns_later(library):
    with few_threads(10_000, 1001, is_sparse=True):
        assert library.number == 1


def test_of_two_threads_the_last_restores(library):
    inside, outside = Barrier(2), Barrier(2)

    def first():
        with one_thread:
            inside.wait()
            outside.wait()

    other = Thread(target=first)
    other.start()
    inside.wait()
    with one_thread:
        outside.wait()
        other.join()
        assert library.number == 1
    assert library.number == 2


def test_the_library_that_is_there_obeys():
    before = [library.get_num_threads() for library in threads._libraries()]
    with one_thread:
        assert {library.get_num_threads() for library in threads._libraries()} <= {1}
    assert [library.get_num_threads() for library in threads._libraries()] == before
