"""Certificates against an oracle in fractions that enumerates every minimal contradiction."""

from __future__ import annotations

from dataclasses import fields, replace
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import linprog

from rosenblatt import certify, verify
from rosenblatt.theory import Certificate, Combination


def only_relation(rows):
    """The coefficients of the only linear relation of the rows, or None."""
    m, width = len(rows), len(rows[0])
    M = [[rows[i][j] for i in range(m)] for j in range(width)]
    pivots = []
    for column in range(m):
        r = len(pivots)
        found = next((i for i in range(r, width) if M[i][column]), None)
        if found is None:
            continue
        M[r], M[found] = M[found], M[r]
        M[r] = [x / M[r][column] for x in M[r]]
        for i in range(width):
            if i != r and M[i][column]:
                f = M[i][column]
                M[i] = [a - f * b for a, b in zip(M[i], M[r], strict=True)]
        pivots.append(column)
    free = [c for c in range(m) if c not in pivots]
    if len(free) != 1:
        return None
    relation = [Fraction(0)] * m
    relation[free[0]] = Fraction(1)
    for i, c in enumerate(pivots):
        relation[c] = -M[i][free[0]]
    return relation


def verdict_by_enumeration(Z):
    """No minimal contradiction: separable. They cover every row: inseparable. Else quasi."""
    covered = set()
    for size in range(1, min(len(Z[0]) + 1, len(Z)) + 1):
        for rows in combinations(range(len(Z)), size):
            relation = only_relation([Z[i] for i in rows])
            if relation and (min(relation) > 0 or max(relation) < 0):
                covered |= set(rows)
    if not covered:
        return "separable"
    return "inseparable" if len(covered) == len(Z) else "quasi-separable"


def padded(X, y, fit_intercept):
    return [
        [s * Fraction(v) for v in row] + ([Fraction(s)] if fit_intercept else [])
        for row, s in zip(X, y, strict=True)
    ]


small = st.integers(-2, 2)
numbers = st.one_of(
    small,
    small.map(lambda k: k * 0.1),
    st.tuples(small, st.integers(-300, 300)).map(lambda p: p[0] * 10.0 ** p[1]),
    st.tuples(small, small).map(lambda p: p[0] * 0.3 + p[1] * 1e-17),
)
big_integers = st.tuples(small, small).map(lambda p: p[0] * 2**62 // 3 + p[1])
fractions = st.tuples(small, st.integers(1, 5)).map(lambda p: Fraction(*p))


@st.composite
def problems(draw, values):
    n, d = draw(st.integers(2, 7)), draw(st.integers(1, 3))
    X = [[draw(values) for _ in range(d)] for _ in range(n)]
    labels = st.lists(st.sampled_from([-1, 1]), min_size=n, max_size=n)
    return X, draw(labels.filter(lambda y: len(set(y)) == 2)), draw(st.booleans())


def check(X, matrix, y, fit_intercept):
    certificate = certify(matrix, y, fit_intercept=fit_intercept)
    assert certificate.verdict == verdict_by_enumeration(padded(X, y, fit_intercept))
    assert verify(certificate, matrix, y), verify(certificate, matrix, y).reason
    assert Certificate.from_dict(certificate.to_dict()) == certificate
    return certificate


@settings(max_examples=150, deadline=None)
@given(problems(numbers))
def test_doubles_of_any_size_get_the_verdict_of_exact_enumeration(problem):
    X, y, fit_intercept = problem
    X = [[float(v) for v in row] for row in X]
    dense = check(X, np.array(X), y, fit_intercept)
    assert certify(sparse.csr_matrix(X), y, fit_intercept=fit_intercept).verdict == dense.verdict
    assert verify(dense, sparse.csc_array(np.array(X)), y)


@settings(max_examples=60, deadline=None)
@given(problems(big_integers))
def test_integers_beyond_double_precision_are_not_rounded(problem):
    X, y, fit_intercept = problem
    check(X, np.array(X, dtype=np.int64), y, fit_intercept)


@settings(max_examples=60, deadline=None)
@given(problems(st.one_of(fractions, small.map(lambda k: k * 10**400))))
def test_fractions_and_huge_integers_are_taken_exactly(problem):
    X, y, fit_intercept = problem
    check(X, np.array(X, dtype=object), y, fit_intercept)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 40), st.integers(1, 12), st.booleans())
def test_verdicts_agree_with_an_independent_linear_program(seed, n, d, fit_intercept):
    generator = np.random.default_rng(seed)
    X = generator.integers(-3, 4, size=(n, d)).astype(float)
    y = np.where(generator.random(n) < 0.5, 1, -1)
    y[:2] = 1, -1
    Z = np.hstack([X, np.ones((n, int(fit_intercept)))]) * y[:, None]
    solved = linprog(np.zeros(Z.shape[1]), A_ub=-Z, b_ub=-np.ones(n), bounds=(None, None))
    weak = linprog(-Z.sum(axis=0), A_ub=-Z, b_ub=np.zeros(n), bounds=(-1, 1))
    certificate = certify(X, y, fit_intercept=fit_intercept)
    assert certificate.separable == (solved.status == 0)
    if not certificate.separable:
        assert (certificate.verdict == "quasi-separable") == (-weak.fun > 1e-9)
    assert verify(certificate, X, y)


@settings(max_examples=40, deadline=None)
@given(problems(st.integers(-3, 3)), st.integers(-5, 5), st.permutations(range(3)))
def test_scaling_and_permuting_columns_keeps_the_verdict(problem, exponent, order):
    X, y, fit_intercept = problem
    X = np.array(X, dtype=float)
    order = [j for j in order if j < X.shape[1]]
    moved = X[:, order] * 2.0**exponent
    before = certify(X, y, fit_intercept=fit_intercept)
    assert certify(moved, y, fit_intercept=fit_intercept).verdict == before.verdict


def alterations(certificate):
    """Every field changed to something else of its kind."""
    for field in fields(certificate):
        value = getattr(certificate, field.name)
        if isinstance(value, bool):
            yield field.name, not value
        elif isinstance(value, int):
            yield field.name, value + 1
        elif isinstance(value, float):
            yield field.name, value * 1.5
        elif isinstance(value, str):
            yield field.name, value[::-1]
        elif field.name in ("contradiction", "spanning") and value is not None:
            first, *rest = value.coefficients
            yield field.name, None
            yield field.name, replace(value, coefficients=(first + 1, *rest))
            yield field.name, Combination(value.rows[1:], value.signs[1:], tuple(rest))
            yield field.name, replace(value, signs=tuple(-s for s in value.signs))
            yield field.name, replace(value, rows=tuple(i + 1000 for i in value.rows))
        elif field.name in ("augmented", "geometric") and value is not None:
            yield field.name, None
            yield field.name, replace(value, lower=value.lower * 1.01)
            yield field.name, replace(value, upper=value.upper * 0.99)
            yield field.name, replace(value, weights=tuple(-w for w in value.weights))
        elif field.name == "weights" and value is not None:
            yield field.name, None
            yield field.name, tuple(-w for w in value)
            yield field.name, value[:-1]
        elif field.name == "columns" and value:
            yield field.name, value[1:]
            yield field.name, (replace(value[0], direction=-value[0].direction), *value[1:])
            yield field.name, (replace(value[0], threshold=value[0].threshold + 1000), *value[1:])
        elif field.name in ("positive", "negative"):
            yield field.name, (*value, "nobody")
            yield field.name, ()


CASES = {
    "separable": ([[0.0, 1.0], [0.5, 3.0], [2.0, 1.5], [3.0, 1.0]], [0, 0, 1, 1]),
    "quasi-separable": ([[0.0, 1.0], [1.0, 1.0], [1.0, 1.0], [3.0, 1.0]], [0, 0, 1, 1]),
    "inseparable": ([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0], [0.5, 0.5]], [0, 1, 1, 0, 1]),
}


@pytest.mark.parametrize("verdict", CASES)
def test_no_altered_field_of_a_certificate_survives_verification(verdict):
    X, y = CASES[verdict]
    certificate = certify(X, y)
    assert certificate.verdict == verdict
    assert verify(certificate, X, y)
    seen = set()
    for name, value in alterations(certificate):
        assert not verify(replace(certificate, **{name: value}), X, y), (name, value)
        seen.add(name)
    assert len(seen) >= 11


@pytest.mark.parametrize("verdict", CASES)
def test_no_other_verdict_can_be_put_on_a_proof(verdict):
    X, y = CASES[verdict]
    certificate = certify(X, y)
    for other in {*CASES, "undecided", "nonsense"} - {verdict}:
        assert not verify(replace(certificate, verdict=other), X, y)
