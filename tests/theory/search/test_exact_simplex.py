from __future__ import annotations

import numpy as np
import pytest

from rosenblatt.theory.checker.input_data import check_matrix
from rosenblatt.theory.search import exact_simplex as simplex
from rosenblatt.theory.search.limits import Clock
from rosenblatt.theory.search.problem import BinaryProblem

NOTHING = np.empty(0, dtype=np.intp)


def degenerate(seed):
    """A problem with few distinct values, which has many degenerate bases, and equality rows."""
    generator = np.random.default_rng(seed)
    n, d = int(generator.integers(10, 60)), int(generator.integers(8, 13))
    X = generator.integers(-1, 2, (n, d)) * generator.choice([1.0, 0.1])
    y = np.where(X @ generator.normal(size=d) > 0, 1.0, -1.0)
    y[generator.random(n) < generator.choice([0.0, 0.0, 0.1])] *= -1
    equality_rows = np.sort(generator.choice(n, int(generator.integers(0, 3)), replace=False))
    return BinaryProblem(check_matrix(X), y, bool(generator.integers(2))), equality_rows


def is_proven(problem, equality_rows, answer):
    """Whether the answer satisfies the definition of a separator or a contradiction."""
    rest = np.setdiff1d(np.arange(problem.n), equality_rows)
    if answer.v is not None:
        return min(problem.exact_dots(answer.v, rest)[0]) > 0 and not any(
            problem.exact_dots(answer.v, equality_rows)[0]
        )
    total = np.array(problem.integer_rows(np.array(answer.rows))[0], dtype=object)
    total = np.array(answer.coefficients, dtype=object) @ total
    free = [
        c for i, c in zip(answer.rows, answer.coefficients, strict=True) if i not in equality_rows
    ]
    return not any(total) and min(free) > 0


def decided(problem, equality_rows, initial_rows=NOTHING):
    inequality_mask = np.ones(problem.n, dtype=bool)
    inequality_mask[equality_rows] = False
    return simplex.decide_by_simplex(
        problem, Clock(None), initial_rows, equality_rows, inequality_mask
    )


@pytest.mark.parametrize("seed", range(40))
def test_the_initial_basis_does_not_change_the_answer(seed, monkeypatch):
    problem, equality_rows = degenerate(seed)
    warm = decided(problem, equality_rows)
    monkeypatch.setattr(simplex, "_FEW_COLUMNS", problem.width + 1)
    cold = decided(problem, equality_rows)
    assert is_proven(problem, equality_rows, warm)
    assert is_proven(problem, equality_rows, cold)
    assert (warm.v is None) == (cold.v is None)


@pytest.mark.parametrize("stalled", [4, -1])
@pytest.mark.parametrize("seed", range(40))
def test_a_bad_initial_basis_and_the_pivoting_rule_do_not_change_the_answer(
    seed, stalled, monkeypatch
):
    problem, equality_rows = degenerate(seed)
    expected = decided(problem, equality_rows)
    monkeypatch.setattr(simplex, "_FEW_COLUMNS", problem.width + 1)
    monkeypatch.setattr(simplex, "_STALLED", stalled)
    rest = np.setdiff1d(np.arange(problem.n), equality_rows)
    misleading = np.random.default_rng(seed).permutation(rest)[: problem.width]
    found = decided(problem, equality_rows, misleading)
    assert is_proven(problem, equality_rows, found)
    assert (found.v is None) == (expected.v is None)


def test_the_basis_of_highs_needs_no_further_pivot(monkeypatch):
    generator = np.random.default_rng(0)
    X = generator.normal(size=(150, 20))
    problem = BinaryProblem(check_matrix(X), generator.choice([-1.0, 1.0], 150), True)
    monkeypatch.setattr(simplex._ColumnPool, "entering", None)
    answer = simplex.decide_by_simplex(problem, Clock(None), NOTHING)
    assert is_proven(problem, NOTHING, answer)
