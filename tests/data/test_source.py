"""Work done ahead keeps its order, raises in its turn and does not run away."""

from __future__ import annotations

import os
import time

import pytest

from rosenblatt.data.in_order import in_order


def test_results_come_in_the_order_of_the_items_however_long_they_take():
    def slow(n):
        time.sleep(0.01 * (n % 3))
        return n * n

    assert list(in_order(iter(range(20)), slow)) == [n * n for n in range(20)]


def test_an_error_of_the_items_is_raised_after_the_results_before_it():
    def broken():
        yield from (1, 2, 3)
        raise ValueError("the disk is gone")

    results = in_order(broken(), lambda n: n)
    assert [next(results) for _ in range(3)] == [1, 2, 3]
    with pytest.raises(ValueError, match="the disk is gone"):
        next(results)


def test_an_error_of_the_work_comes_before_a_later_one_of_the_items():
    def broken():
        yield 0
        raise ValueError("later")

    with pytest.raises(ZeroDivisionError):
        list(in_order(broken(), lambda n: 1 // n))


def test_no_more_is_read_than_the_threads_can_be_at():
    read = []

    def items():
        for n in range(1000):
            read.append(n)
            yield n

    results = in_order(items(), lambda n: n)
    assert next(results) == 0
    time.sleep(0.05)
    assert len(read) <= min(8, os.cpu_count() or 1) + 3
    results.close()
    time.sleep(0.05)
    assert len(read) <= min(8, os.cpu_count() or 1) + 3
