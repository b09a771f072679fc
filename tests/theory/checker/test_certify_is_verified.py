"""What certify writes, verify proves; and every finite input is decided."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rosenblatt import certify, verify
from rosenblatt.theory import Certificate

LARGEST = 1.7976931348623157e308
EXTREME = [0.0, 5e-324, -5e-324, 1e-308, 1e300, -1e300, LARGEST, -LARGEST, 1.0, -1.0, 1e-16]


def proportional(g, n, d):
    return g.normal(size=(n, 1)) * g.normal(size=d)


def nearly_flat(g, n, d):
    X = g.normal(size=(n, d))
    X[:, -1] = -X[:, :-1] @ g.normal(size=d - 1)
    return np.nextafter(X, X + g.integers(-1, 2, (n, d)))


def mixed_with_denormals(g, n, d):
    tiny = g.integers(-5, 6, (n, d)) * 5e-324
    return np.where(g.random((n, d)) < 0.5, tiny, g.normal(size=(n, d)) * 1e-16)


def objects(entry):
    def draw(g, n, d):
        return np.array([[entry(g) for _ in range(d)] for _ in range(n)], dtype=object)

    return draw


FAMILIES = {
    "small integers": lambda g, n, d: g.integers(-2, 3, (n, d)),
    "wide exponents": lambda g, n, d: (
        g.integers(-2, 3, (n, d)) * 10.0 ** g.integers(-300, 301, (n, d))
    ),
    "denormals": lambda g, n, d: g.integers(-5, 6, (n, d)) * 5e-324,
    "mixed with denormals": mixed_with_denormals,
    "extremes": lambda g, n, d: g.choice(EXTREME, (n, d)),
    "nearly flat": nearly_flat,
    "proportional": proportional,
    "equal rows": lambda g, n, d: np.repeat(g.normal(size=(1, d)), n, axis=0),
    "moment curve": lambda g, n, d: np.vander(g.normal(size=n), d),
    "beyond doubles": lambda g, n, d: g.integers(-2, 3, (n, d)) + 2**60,
    "long integers": objects(lambda g: int(g.integers(-2, 3)) * 10**40 + int(g.integers(-2, 3))),
    "longer integers": objects(lambda g: int(g.integers(-2, 3)) * 10**4500 + 1),
    "fractions": objects(lambda g: Fraction(int(g.integers(-3, 4)), int(g.integers(1, 6)))),
}


@pytest.mark.parametrize("family", FAMILIES)
@settings(max_examples=15)
@given(
    st.integers(0, 2**32),
    st.integers(2, 8),
    st.integers(1, 3),
    st.booleans(),
    st.sampled_from([None, True, False]),
)
def test_what_certify_writes_is_proven(family, seed, n, d, fit_intercept, minimal):
    g = np.random.default_rng(seed)
    X, y = FAMILIES[family](g, n, d), g.integers(0, 2, n)
    y[:2] = 0, 1
    certificate = certify(X, y, fit_intercept=fit_intercept, minimal=minimal)
    assert certificate.verdict != "undecided"
    found = verify(certificate, X, y)
    assert found, found.reason
    assert Certificate.from_dict(certificate.to_dict()) == certificate
    assert certificate.report()


def test_a_column_of_the_reduced_problem_is_not_claimed_of_the_data():
    X = [
        [-2.290878462549448, 0.6138585320366058],
        [-2.778028917554514, 0.7443942492643022],
    ]
    certificate = certify(X, [1, -1], fit_intercept=False)
    assert certificate.separable
    assert certificate.columns == ()
    assert verify(certificate, X, [1, -1])


@pytest.mark.parametrize(
    ("X", "y"),
    [
        ([[5e-324], [-5e-324], [1e-16]], [1, -1, -1]),
        ([[5e-324, 1e300], [1e-300, 5e-324], [-5e-324, -1e300]], [1, -1, 1]),
        ([[LARGEST, LARGEST], [-LARGEST, LARGEST], [1.0, 0.0]], [1, -1, 1]),
        ([[10**5000], [-5], [7]], [1, -1, 1]),
        ([[Fraction(1, 10**5000)], [Fraction(-1, 10**5000)]], [1, -1]),
    ],
)
def test_finite_input_of_any_size_is_decided(X, y):
    X = np.array(X, dtype=None if isinstance(X[0][0], float) else object)
    certificate = certify(X, y)
    assert verify(certificate, X, y)
    assert Certificate.from_dict(certificate.to_dict()) == certificate
