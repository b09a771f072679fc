from __future__ import annotations

import time

import numpy as np
import pytest
from scipy import sparse

from rosenblatt import certify
from rosenblatt.theory.search.clock import NO_LIMIT, Clock, OutOfTimeError
from rosenblatt.theory.search.integer_linear_algebra import null_space, pivots, solve


def test_steps_that_would_not_end_in_time_are_not_started():
    Clock(60.0).require(1.0)
    with pytest.raises(OutOfTimeError):
        Clock(1.0).require(60.0)
    NO_LIMIT.require(1e9)


@pytest.mark.parametrize("work", [pivots, null_space, solve])
def test_exact_linear_algebra_checks_the_time_limit_first(work):
    numbers = np.random.default_rng(0).integers(-(2**60), 2**60, (60, 60)).tolist()
    argument = {pivots: 2**61 - 1, null_space: 60, solve: [1] * 60}[work]
    start = time.perf_counter()
    with pytest.raises(OutOfTimeError):
        work(numbers, argument, Clock(1e-4))
    assert time.perf_counter() - start < 0.5


def test_a_time_limit_holds_where_exact_solving_is_slow():
    generator = np.random.default_rng(0)
    X = sparse.random_array((6000, 400), density=0.02, rng=generator, format="csr")
    X.data *= 10.0 ** generator.integers(-220, 220, len(X.data))
    y = generator.random(6000) < 0.5
    start = time.perf_counter()
    certificate = certify(X, y, time_limit=1.0)
    assert certificate.verdict == "undecided"
    assert time.perf_counter() - start < 4.0
