from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rosenblatt.theory.checker.input_data import check_matrix
from rosenblatt.theory.search.exact_numbers import integer_multiples
from rosenblatt.theory.search.exact_simplex import decide_by_simplex
from rosenblatt.theory.search.integer_linear_algebra import (
    minimal_combination,
    null_space,
    orthogonal_vector,
    pivots,
    positive_combination,
    vanishes,
)
from rosenblatt.theory.search.limits import Clock, OutOfTimeError
from rosenblatt.theory.search.problem import BinaryProblem

matrices = st.integers(1, 4).flatmap(
    lambda d: st.lists(st.lists(st.integers(-3, 3), min_size=d, max_size=d), min_size=1, max_size=6)
)


@given(matrices)
def test_pivots_select_an_invertible_submatrix_of_full_rank(rows):
    basis, columns = pivots(rows)
    part = np.array([[rows[i][j] for j in columns] for i in basis], dtype=float)
    assert len(basis) == len(columns) == np.linalg.matrix_rank(np.array(rows, dtype=float))
    if basis:
        assert abs(np.linalg.det(part)) > 0.5


@given(matrices)
def test_the_null_space_is_orthogonal_and_complete(rows):
    width = len(rows[0])
    normals = null_space(rows, width)
    assert len(normals) == width - len(pivots(rows)[0])
    assert all(np.dot(row, n) == 0 for row in rows for n in normals)


@given(matrices, st.data())
def test_a_minimal_combination_vanishes_and_has_one_relation_only(rows, data):
    # Every row and its opposite: a combination of all of them vanishes.
    both = [row for r in rows for row in (r, [-x for x in r])]
    weights = [data.draw(st.integers(1, 5)) for _ in rows for _ in (0, 1)]
    weights = [w for pair in zip(weights[::2], weights[::2], strict=True) for w in pair]
    kept, coefficients = minimal_combination(both, weights)
    part = [both[i] for i in kept]
    assert min(coefficients) > 0
    assert vanishes(part, coefficients)
    assert len(pivots(part)[0]) == len(part) - 1


def test_a_guess_near_a_positive_relation_becomes_exact():
    rows = [[1, 0], [0, 1], [-1, -1], [2, -1], [-2, 1]]
    found = positive_combination(rows, [0.2, 0.2, 0.2, 0.2001, 0.1999])
    assert found is not None
    assert min(found) > 0
    assert vanishes(rows, found)


def test_independent_rows_have_no_positive_relation():
    assert positive_combination([[1, 0], [1, 1]], [0.5, 0.5]) is None


def test_an_orthogonal_vector_keeps_the_guess_where_it_can():
    v = orthogonal_vector([[1, 1, 0], [2, 2, 0]], [5, 1, 7])
    assert v is not None
    assert v[0] + v[1] == 0
    assert v[1] != 0
    assert v[2] * 1 == 7 * v[1]


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=5))
def test_doubles_become_integers_in_the_same_ratio(row):
    (whole,), _ = integer_multiples(np.array([row]))
    ratios = {
        (k * x.as_integer_ratio()[1], x.as_integer_ratio()[0])
        for k, x in zip(whole, row, strict=True)
    }
    factors = {p // q for p, q in ratios if q}
    assert all(p % q == 0 for p, q in ratios if q)
    assert all(p == 0 for p, q in ratios if not q)
    assert len(factors) <= 1


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6))
def test_exact_simplex_proves_its_answer_without_initial_rows(seed):
    generator = np.random.default_rng(seed)
    n, d = generator.integers(2, 30), generator.integers(1, 6)
    X = generator.integers(-2, 3, size=(n, d)) * generator.choice([1.0, 0.1])
    y = np.where(generator.random(n) < 0.5, 1.0, -1.0)
    problem = BinaryProblem(check_matrix(X), y, True)
    answer = decide_by_simplex(problem, Clock(None), np.empty(0, dtype=np.intp))
    if answer.v is not None:
        assert (problem.exact_signs(answer.v) > 0).all()
    else:
        assert min(answer.coefficients) > 0
        assert vanishes(problem.integer_rows(np.array(answer.rows))[0], answer.coefficients)


def test_exact_simplex_respects_the_time_limit():
    problem = BinaryProblem(check_matrix([[0.0], [1.0]]), np.array([1.0, -1.0]), True)
    with pytest.raises(OutOfTimeError):
        decide_by_simplex(problem, Clock(-1.0), np.empty(0, dtype=np.intp))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6))
def test_exact_signs_are_those_of_integer_scores(seed):
    generator = np.random.default_rng(seed)
    n, d = 20, int(generator.integers(1, 6))
    X = generator.integers(-2, 3, size=(n, d)) * 0.1 * 10.0 ** generator.integers(-200, 200)
    y = np.where(generator.random(n) < 0.5, 1.0, -1.0)
    problem = BinaryProblem(check_matrix(X), y, bool(generator.integers(2)))
    v = generator.integers(-3, 4, size=problem.width).tolist()
    rows, _ = problem.integer_rows(np.arange(n))
    expected = np.sign([sum(a * b for a, b in zip(row, v, strict=True)) for row in rows])
    assert problem.exact_signs(v).tolist() == expected.tolist()
