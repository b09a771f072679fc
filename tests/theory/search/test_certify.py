from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_iris

from rosenblatt import certify, verify
from rosenblatt.theory import CertificateSet, load_certificate

XOR = np.array([[0, 0], [0, 1], [1, 0], [1, 1]]), np.array([0, 1, 1, 0])


def iris():
    X, y = load_iris(return_X_y=True)
    return X, y


def test_xor_contradicts_itself_with_a_quarter_of_each_row():
    certificate = certify(*XOR)
    assert certificate.verdict == "inseparable"
    assert certificate.contradiction.rows == (0, 1, 2, 3)
    assert certificate.contradiction.shares == (Fraction(1, 4),) * 4
    assert "1/4·row 0 + 1/4·row 3 (class 0) = 1/4·row 1 + 1/4·row 2 (class 1)" in str(certificate)


def test_iris_petals_have_the_margin_radius_and_bound_of_the_notes():
    X, y = iris()
    certificate = certify(X[:100, 2:], y[:100])
    assert certificate.separable
    assert certificate.augmented.lower == pytest.approx(0.2685, abs=5e-5)
    assert certificate.radius == pytest.approx(5.438, abs=5e-4)
    assert certificate.mistake_bound == 410
    assert [rule.column for rule in certificate.columns] == [0, 1]
    assert verify(certificate, X[:100, 2:], y[:100])


def test_several_classes_get_one_certificate_per_class_or_pair():
    X, y = iris()
    rest = certify(X, y)
    assert [rest[k].verdict for k in range(3)] == ["separable", "inseparable", "inseparable"]
    pairs = certify(X, y, strategy="ovo")
    assert [k for k, c in pairs.items() if c.separable] == [(0, 1), (0, 2)]
    assert pairs.verdict == "inseparable"
    for parts in (rest, pairs):
        assert verify(parts, X, y)
        assert CertificateSet.from_dict(parts.to_dict()).to_dict() == parts.to_dict()


def test_rows_of_pairs_have_the_row_indices_of_the_data():
    X, y = [[0.0], [9.0], [1.0], [9.0]], ["a", "b", "c", "c"]
    pair = certify(X, y, strategy="ovo")["b", "c"]
    assert pair.contradiction.rows == (1, 3)


def test_touching_classes_are_quasi_separable_and_proven_both_ways():
    X, y = [[0.0, 0.0], [1.0, 0.0], [1.0, 0.0], [2.0, 1.0]], [0, 0, 1, 1]
    certificate = certify(X, y)
    assert certificate.verdict == "quasi-separable"
    assert not certificate.separable
    assert certificate.contradiction.rows == (1, 2)
    assert certificate.weights is not None
    assert verify(certificate, X, y)


def test_weak_separation_in_a_slanted_direction_is_found():
    # The hulls share the segment from (1, 1) to (2, 2); no column separates even weakly.
    X = [[1, 1], [2, 2], [1, 1], [2, 2], [3, 0], [0, 4], [5, 3], [3, 5]]
    y = [0, 0, 1, 1, 0, 1, 0, 1]
    certificate = certify(X, y)
    assert certificate.verdict == "quasi-separable"
    w = np.array(certificate.weights, dtype=float)
    assert w[0] == -w[1]
    assert verify(certificate, X, y)


def test_rows_on_one_line_across_many_columns_are_decided():
    direction = np.arange(1.0, 6.0)
    X = np.outer([0.0, 1.0, 2.0, 3.0], direction)
    assert certify(X, [0, 0, 1, 1]).separable
    assert certify(X, [0, 1, 0, 1]).verdict == "inseparable"


def test_a_zero_row_contradicts_itself_through_the_origin():
    X, y = [[0.0, 0.0], [1.0, 2.0]], [0, 1]
    certificate = certify(X, y, fit_intercept=False)
    assert certificate.verdict == "quasi-separable"
    assert certificate.contradiction.rows == (0,)
    assert "Row 0 is zero" in certificate.report()
    assert verify(certificate, X, y)
    assert certify(X, y).separable


def test_more_columns_than_rows_in_general_position_are_separable():
    X = np.random.default_rng(0).normal(size=(30, 100))
    y = np.arange(30) % 2
    certificate = certify(X, y)
    assert certificate.separable
    assert verify(certificate, X, y)


def test_integers_beyond_two_to_the_53_keep_their_last_digit():
    X = np.array([[2**60], [2**60 + 1], [2**60 + 2]], dtype=np.uint64)
    assert certify(X, [0, 0, 1]).separable
    assert certify(X, [0, 1, 0]).verdict == "inseparable"
    assert certify(X.astype(float), [0, 0, 1]).verdict == "inseparable"


def test_dense_and_sparse_copies_have_the_same_fingerprint_and_verdict():
    generator = np.random.default_rng(1)
    X = generator.normal(size=(200, 30)) * (generator.random((200, 30)) < 0.2)
    y = generator.integers(0, 2, 200)
    dense, csr = certify(X, y), certify(sparse.csr_array(X), y)
    assert dense.fingerprint == csr.fingerprint
    assert dense.verdict == csr.verdict
    assert verify(dense, sparse.coo_array(X), y)
    assert verify(csr, X, y)


def test_separable_rows_far_from_each_other_in_scale_are_decided_exactly():
    grid = [(a, b) for a in range(-2, 3) for b in range(-2, 3) if a + b]
    X = np.array([[a * 1e300, b * 1e-300] for a, b in grid])
    y = np.array([a + b > 0 for a, b in grid])
    certificate = certify(X, y)
    assert certificate.separable
    assert verify(certificate, X, y)
    y[0] = not y[0]
    certificate = certify(X, y)
    assert certificate.verdict == "inseparable"
    assert verify(certificate, X, y)


def test_a_flipped_label_in_many_rows_is_found():
    generator = np.random.default_rng(2)
    X = generator.normal(size=(5000, 5))
    y = (X @ np.ones(5) > 0).astype(int)
    assert certify(X, y).separable
    y[np.argmax(X.sum(axis=1))] = 0
    certificate = certify(X, y)
    assert certificate.verdict == "inseparable"
    assert int(np.argmax(X.sum(axis=1))) in certificate.contradiction.rows
    assert verify(certificate, X, y)


def test_dropping_any_contradicting_row_makes_the_rest_of_them_separable():
    X, y = iris()
    X, y = X[50:], y[50:]
    found = certify(X, y).contradiction
    for i in found.rows:
        rest = [r for r in found.rows if r != i]
        assert certify(X[rest], y[rest]).separable


def test_a_time_limit_of_zero_is_undecided():
    generator = np.random.default_rng(3)
    X, y = generator.normal(size=(300, 20)), generator.integers(0, 2, 300)
    certificate = certify(X, y, time_limit=0.0)
    assert certificate.verdict == "undecided"
    assert not certificate.separable
    assert "time limit" in certificate.report()
    assert not verify(certificate, X, y)


def test_an_unknown_strategy_is_rejected():
    with pytest.raises(ValueError, match="strategy"):
        certify(*XOR, strategy="all")


def test_wide_sparse_rows_are_decided_and_verified():
    generator = np.random.default_rng(4)
    X = sparse.random_array((60, 3000), density=0.01, rng=generator, format="csr")
    y = generator.integers(0, 2, 60)
    certificate = certify(X, y)
    assert certificate.separable
    assert verify(certificate, X, y)
    twice = sparse.vstack([X, X[:1]]).tocsr()
    labels = np.append(y, 1 - y[0])
    certificate = certify(twice, labels)
    assert certificate.verdict == "quasi-separable"
    assert certificate.contradiction.rows == (0, 60)
    assert verify(certificate, twice, labels)


def noisy(n, d, seed=0, noise=0.1):
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n, d))
    y = (X @ generator.normal(size=d) > 0).astype(int)
    return X, np.where(generator.random(n) < noise, 1 - y, y)


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
def test_many_columns_of_noise_are_proven_by_a_balance(layout, tmp_path):
    X, y = noisy(2000, 80)
    X = layout(X)
    certificate = certify(X, y)
    assert certificate.verdict == "inseparable"
    assert certificate.contradiction is None
    assert certificate.spanning is None
    assert len(str(max(certificate.balance.coefficients))) < 20
    assert verify(certificate, X, y)
    certificate.save(tmp_path / "balance.json")
    assert load_certificate(tmp_path / "balance.json") == certificate
    assert "rows contradict each other" in certificate.report()


def test_minimal_selects_a_minimal_contradiction_or_a_balance():
    X, y = noisy(400, 70)
    minimal = certify(X, y, minimal=True)
    assert minimal.balance is None
    assert len(minimal.contradiction.rows) == 72
    assert verify(minimal, X, y)
    X, y = noisy(200, 3)
    assert certify(X, y).balance is None
    balance = certify(X, y, minimal=False)
    assert balance.balance is not None
    assert balance.contradiction is None
    assert verify(balance, X, y)


def test_without_a_balance_a_minimal_set_is_the_proof():
    X = [[1e300, 0], [0, 1e-300], [1e300, 1e-300], [1e300, 1e-300]]
    certificate = certify(X, [0, 1, 1, 0], minimal=False)
    assert certificate.verdict == "quasi-separable"
    assert certificate.balance is None
    assert verify(certificate, X, [0, 1, 1, 0])


def test_touching_rows_on_the_threshold_are_the_proof_for_any_value_of_minimal():
    X, y = [[0, 0], [0, 1], [1, 1], [1, 1]], [0, 1, 1, 0]
    for minimal in (True, False, None):
        certificate = certify(X, y, minimal=minimal)
        assert certificate.verdict == "quasi-separable"
        assert certificate.contradiction.rows == (2, 3)
        assert verify(certificate, X, y)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(4, 40), st.integers(1, 5), st.integers(1, 4))
def test_both_kinds_of_proof_have_the_same_verdict(seed, n, d, top):
    generator = np.random.default_rng(seed)
    X = generator.integers(-top, top + 1, size=(n, d))
    y = np.arange(n) % 2
    one, other = certify(X, y, minimal=True), certify(X, y, minimal=False)
    assert one.verdict == other.verdict
    assert verify(one, X, y)
    assert verify(other, X, y)
