from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_iris

from rosenblatt import certify, verify
from rosenblatt.errors import DataError
from rosenblatt.theory import Certificate, CertificateSet, Combination, load_certificate
from rosenblatt.theory.checker.certificate_file import seal

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


def test_several_classes_get_one_certificate_each_or_one_a_pair():
    X, y = iris()
    rest = certify(X, y)
    assert [rest[k].verdict for k in range(3)] == ["separable", "inseparable", "inseparable"]
    pairs = certify(X, y, strategy="ovo")
    assert [k for k, c in pairs.items() if c.separable] == [(0, 1), (0, 2)]
    assert pairs.verdict == "inseparable"
    for parts in (rest, pairs):
        assert verify(parts, X, y)
        assert CertificateSet.from_dict(parts.to_dict()).to_dict() == parts.to_dict()


def test_rows_of_pairs_are_numbered_in_the_whole_data():
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


@pytest.mark.parametrize("kind", [np.float32, np.float16, np.int8, bool, object, np.longdouble])
def test_every_type_of_number_has_the_same_certificate(kind):
    X, y = XOR
    assert certify(X.astype(kind), y) == certify(X, y)


def test_dense_and_sparse_copies_have_the_same_fingerprint_and_verdict():
    generator = np.random.default_rng(1)
    X = generator.normal(size=(200, 30)) * (generator.random((200, 30)) < 0.2)
    y = generator.integers(0, 2, 200)
    dense, csr = certify(X, y), certify(sparse.csr_array(X), y)
    assert dense.fingerprint == csr.fingerprint
    assert dense.verdict == csr.verdict
    assert verify(dense, sparse.coo_array(X), y)
    assert verify(csr, X, y)


def test_duplicate_entries_of_a_sparse_matrix_add_up():
    X = sparse.coo_matrix(([1.0, 1.0, 1.0], ([0, 0, 1], [0, 0, 0])), shape=(2, 1))
    assert certify(X, [1, 0]).fingerprint == certify([[2.0], [1.0]], [1, 0]).fingerprint


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


@pytest.mark.parametrize(
    ("part", "value", "message"),
    [
        ("indices", 8, "must be < 8"),
        ("indices", -1, "must be >= 0"),
        ("indptr", 10**6, "decreasing"),
    ],
)
def test_sparse_rows_that_point_outside_are_refused(part, value, message):
    X = sparse.random_array((60, 8), density=0.4, format="csr", rng=np.random.default_rng(0))
    getattr(X, part)[5] = value
    with pytest.raises(ValueError, match=message):
        certify(X, np.arange(60) % 2)
    certificate = certify(np.arange(60.0)[:, None], np.arange(60) % 2)
    with pytest.raises(ValueError, match=message):
        verify(certificate, X, np.arange(60) % 2)


def _read_only(X):
    for part in (X.data, X.indices, X.indptr):
        part.flags.writeable = False


def _with_gaps(X):
    X.data, X.indices = np.repeat(X.data, 2)[::2], np.repeat(X.indices, 2)[::2]


def _wide(X):
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)


@pytest.mark.parametrize("change", [_read_only, _with_gaps, _wide])
def test_however_sparse_rows_lie_in_memory_they_are_the_same(change):
    generator = np.random.default_rng(0)
    X = sparse.random_array((60, 8), density=0.4, format="csr", rng=generator)
    y = generator.integers(0, 2, 60)
    other = X.copy()
    change(other)
    before = other.toarray()
    assert certify(other, y) == certify(X, y)
    np.testing.assert_array_equal(other.toarray(), before)


def test_what_has_to_be_compiled_first_does_not_count_as_time(tmp_path):
    """On a machine that has never certified sparse rows."""
    program = """
import numpy as np
from scipy import sparse
from rosenblatt import certify
X = sparse.random_array((300, 20), density=0.2, format="csr", rng=np.random.default_rng(0))
print(certify(X, np.arange(300) % 2, minimal=False, time_limit=0.5).verdict)
"""
    settings = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    found = subprocess.run(
        [sys.executable, "-c", program], env=settings, capture_output=True, text=True, check=True
    )
    assert found.stdout == "inseparable\n"


def test_a_time_limit_of_nothing_leaves_the_question_open():
    generator = np.random.default_rng(3)
    X, y = generator.normal(size=(300, 20)), generator.integers(0, 2, 300)
    certificate = certify(X, y, time_limit=0.0)
    assert certificate.verdict == "undecided"
    assert not certificate.separable
    assert "time limit" in certificate.report()
    assert not verify(certificate, X, y)


def test_an_inexact_certificate_says_so_and_proves_nothing():
    X, y = iris()
    quick = certify(X[50:], y[50:], exact=False)
    assert quick.verdict == "inseparable"
    assert "Not proven" in quick.report()
    assert not verify(quick, X[50:], y[50:])
    assert certify(X[:100], y[:100], exact=False).separable


def test_a_certificate_survives_its_file(tmp_path):
    certificate = certify(*XOR)
    certificate.save(tmp_path / "c.json")
    assert load_certificate(tmp_path / "c.json") == certificate


def test_a_file_that_was_edited_is_refused(tmp_path):
    certify(*XOR).save(tmp_path / "c.json")
    text = (tmp_path / "c.json").read_text()
    (tmp_path / "c.json").write_text(text.replace("inseparable", "separable"))
    with pytest.raises(DataError, match="altered"):
        load_certificate(tmp_path / "c.json")


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": "rosenblatt-certificate"}', "nul"])
def test_what_is_not_a_certificate_is_refused(tmp_path, text):
    (tmp_path / "c.json").write_text(text)
    with pytest.raises(DataError):
        load_certificate(tmp_path / "c.json")


def test_a_record_without_a_field_is_refused():
    from rosenblatt.theory.checker.certificate_file import seal

    record = certify(*XOR).to_dict()
    del record["radius"]
    record["seal"] = seal(record)
    with pytest.raises(DataError, match="malformed"):
        Certificate.from_dict(record)


def test_a_certificate_for_other_data_is_refused():
    X, y = XOR
    certificate = certify(X, y)
    assert "fingerprints differ" in verify(certificate, X + 1, y).reason
    assert "fingerprints differ" in verify(certificate, X, 1 - y).reason
    assert "4 rows" in verify(certificate, X[:3], y[:3]).reason


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (np.empty((0, 2)), [], "at least one row"),
        (np.empty((2, 0)), [0, 1], "at least one row"),
        ([[1.0], [2.0]], [1, 1], "two classes"),
        ([[1.0], [np.nan]], [0, 1], "row 1, column 0"),
        ([[np.inf], [1.0]], [0, 1], "row 0, column 0"),
        (sparse.csr_array([[0.0], [np.nan]]), [0, 1], "row 1, column 0"),
        ([[1.0], [2.0]], [0, 1, 1], "2 rows but y has 3"),
        ([1.0, 2.0], [0, 1], "2D"),
        ([["a"], ["b"]], [0, 1], "real numbers"),
        (np.array([["a"], [1]], dtype=object), [0, 1], "expected a number, found 'a'"),
        (np.array([[1j], [2]]), [0, 1], "real numbers"),
        ([[1.0], [2.0]], [np.nan, 1.0], "NaN"),
        ([[1.0], [2.0]], [[0, 1], [1, 0]], "one label per row"),
        ([[1.0], [2.0]], np.array([1, "a"], dtype=object), "cannot be sorted"),
    ],
)
def test_bad_input_is_named(X, y, message):
    with pytest.raises(ValueError, match=message):
        certify(X, y)


def test_an_unknown_strategy_is_refused():
    with pytest.raises(ValueError, match="strategy"):
        certify(*XOR, strategy="all")


def test_reports_name_rows_columns_and_classes():
    X, y = iris()
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    text = str(certify(X[:100, 2:], names[:100]))
    assert "class setosa" in text
    assert "at most 410 mistakes" in text
    assert "column 0 - 2 > 0 for class versicolor" in text
    text = str(certify(X[50:], names[50:]))
    assert "These 6 rows contradict each other" in text


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


def test_a_minimal_set_or_a_balance_is_given_as_asked():
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


def test_rows_that_touch_on_the_threshold_of_a_column_are_the_proof_whatever_is_asked():
    X, y = [[0, 0], [0, 1], [1, 1], [1, 1]], [0, 1, 1, 0]
    for minimal in (True, False, None):
        certificate = certify(X, y, minimal=minimal)
        assert certificate.verdict == "quasi-separable"
        assert certificate.contradiction.rows == (2, 3)
        assert verify(certificate, X, y)


@pytest.mark.parametrize(("version", "later"), [(1, ["balance", "replaced"]), (2, ["replaced"])])
def test_files_of_older_versions_are_still_read(version, later):
    record = certify([[0], [1], [2]], [0, 1, 0]).to_dict()
    for name in later:
        del record[name]
    record["version"] = version
    record["seal"] = seal(record)
    assert verify(Certificate.from_dict(record), [[0], [1], [2]], [0, 1, 0])


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(4, 40), st.integers(1, 5), st.integers(1, 4))
def test_both_kinds_of_proof_come_to_the_same_verdict(seed, n, d, top):
    generator = np.random.default_rng(seed)
    X = generator.integers(-top, top + 1, size=(n, d))
    y = np.arange(n) % 2
    one, other = certify(X, y, minimal=True), certify(X, y, minimal=False)
    assert one.verdict == other.verdict
    assert verify(one, X, y)
    assert verify(other, X, y)
