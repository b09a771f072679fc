from __future__ import annotations

import numpy as np
import pytest

from rosenblatt.theory.checker.input_data import check_matrix
from rosenblatt.theory.search import exact_simplex as simplex
from rosenblatt.theory.search.clock import Clock
from rosenblatt.theory.search.problem import BinaryProblem

NOTHING = np.empty(0, dtype=np.intp)


def degenerate(seed):
    """Rows of few different numbers, in which very many bases are degenerate."""
    generator = np.random.default_rng(seed)
    n, d = int(generator.integers(10, 60)), int(generator.integers(8, 13))
    X = generator.integers(-1, 2, (n, d)) * generator.choice([1.0, 0.1])
    y = np.where(X @ generator.normal(size=d) > 0, 1.0, -1.0)
    y[generator.random(n) < generator.choice([0.0, 0.0, 0.1])] *= -1
    held = np.sort(generator.choice(n, int(generator.integers(0, 3)), replace=False))
    return BinaryProblem(check_matrix(X), y, bool(generator.integers(2))), held


def is_proven(problem, held, answer):
    """Whether the answer holds, by the definition."""
    rest = np.setdiff1d(np.arange(problem.n), held)
    if answer.v is not None:
        return min(problem.exact_dots(answer.v, rest)[0]) > 0 and not any(
            problem.exact_dots(answer.v, held)[0]
        )
    total = np.array(problem.integer_rows(np.array(answer.rows))[0], dtype=object)
    total = np.array(answer.coefficients, dtype=object) @ total
    free = [c for i, c in zip(answer.rows, answer.coefficients, strict=True) if i not in held]
    return not any(total) and min(free) > 0


def decided(problem, held, prefer=NOTHING):
    outside = np.ones(problem.n, dtype=bool)
    outside[held] = False
    return simplex.decide_by_simplex(problem, Clock(None), prefer, held, outside)


@pytest.mark.parametrize("seed", range(40))
def test_a_first_basis_changes_no_answer(seed, monkeypatch):
    problem, held = degenerate(seed)
    warm = decided(problem, held)
    monkeypatch.setattr(simplex, "_FEW_COLUMNS", problem.width + 1)
    cold = decided(problem, held)
    assert is_proven(problem, held, warm)
    assert is_proven(problem, held, cold)
    assert (warm.v is None) == (cold.v is None)


@pytest.mark.parametrize("stalled", [4, -1])
@pytest.mark.parametrize("seed", range(40))
def test_a_misleading_first_basis_and_the_rule_of_pivots_change_no_answer(
    seed, stalled, monkeypatch
):
    problem, held = degenerate(seed)
    expected = decided(problem, held)
    monkeypatch.setattr(simplex, "_FEW_COLUMNS", problem.width + 1)
    monkeypatch.setattr(simplex, "_STALLED", stalled)
    rest = np.setdiff1d(np.arange(problem.n), held)
    misleading = np.random.default_rng(seed).permutation(rest)[: problem.width]
    found = decided(problem, held, misleading)
    assert is_proven(problem, held, found)
    assert (found.v is None) == (expected.v is None)


def test_where_doubles_end_nothing_is_left_to_do(monkeypatch):
    generator = np.random.default_rng(0)
    X = generator.normal(size=(150, 20))
    problem = BinaryProblem(check_matrix(X), generator.choice([-1.0, 1.0], 150), True)
    monkeypatch.setattr(simplex._ColumnPool, "entering", None)
    answer = simplex.decide_by_simplex(problem, Clock(None), NOTHING)
    assert is_proven(problem, NOTHING, answer)
