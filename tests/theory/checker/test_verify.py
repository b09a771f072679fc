"""What verify accepts; every field altered: tests/invariants/test_certificates.py."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from sklearn.datasets import load_iris

from rosenblatt import certify, verify
from rosenblatt.theory import Combination

XOR = np.array([[0, 0], [0, 1], [1, 0], [1, 1]]), np.array([0, 1, 1, 0])


def iris():
    X, y = load_iris(return_X_y=True)
    return X, y


def noisy(n, d, seed=0, noise=0.1):
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n, d))
    y = (X @ generator.normal(size=d) > 0).astype(int)
    return X, np.where(generator.random(n) < noise, 1 - y, y)


def test_an_inexact_certificate_says_so_and_proves_nothing():
    X, y = iris()
    quick = certify(X[50:], y[50:], exact=False)
    assert quick.verdict == "inseparable"
    assert "Not proven" in quick.report()
    assert not verify(quick, X[50:], y[50:])
    assert certify(X[:100], y[:100], exact=False).separable


def test_a_certificate_for_other_data_is_refused():
    X, y = XOR
    certificate = certify(X, y)
    assert "fingerprints differ" in verify(certificate, X + 1, y).reason
    assert "fingerprints differ" in verify(certificate, X, 1 - y).reason
    assert "4 rows" in verify(certificate, X[:3], y[:3]).reason


def test_a_balance_that_was_tampered_with_is_refuted():
    X, y = noisy(1000, 80)
    certificate = certify(X, y)
    balance = certificate.balance
    even = replace(balance, coefficients=(1,) * len(balance.rows))
    heavy = replace(
        balance, coefficients=(balance.coefficients[0] * 1000, *balance.coefficients[1:])
    )
    turned = replace(balance, signs=tuple(-s for s in balance.signs))
    few = Combination(balance.rows[:70], balance.signs[:70], balance.coefficients[:70])
    for wrong in (even, heavy, turned, few):
        assert not verify(replace(certificate, balance=wrong), X, y)
    assert not verify(replace(certificate, verdict="separable"), X, y)
    assert not verify(replace(certificate, verdict="quasi-separable"), X, y)
