from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from rosenblatt import certify, verify
from rosenblatt.theory.checker.input_data import check_labels, check_matrix

XOR = np.array([[0, 0], [0, 1], [1, 0], [1, 1]]), np.array([0, 1, 1, 0])


@given(
    st.lists(st.sampled_from([0, 1, 7]), min_size=2, max_size=12),
    st.sampled_from(["?", "i1", "u8", "i8", "f4", "f8", "<U2", "O"]),
)
def test_classes_are_sorted_and_every_row_has_its_place(given_labels, dtype):
    labels = np.array(given_labels).astype(dtype)
    expected, codes = np.unique(labels, return_inverse=True)
    if len(expected) < 2:
        with pytest.raises(ValueError, match="two classes"):
            check_labels(labels, len(labels))
        return
    classes, found = check_labels(labels, len(labels))
    assert classes == expected.tolist()
    assert [type(c) for c in classes] == [type(c) for c in expected.tolist()]
    np.testing.assert_array_equal(found, codes)
    assert found.dtype == np.intp


@pytest.mark.parametrize("lowest", [0, 1])
def test_the_largest_whole_numbers_are_told_apart(lowest):
    labels = np.array([2**63 + lowest, 2**64 - 1, 2**63 + lowest], dtype=np.uint64)
    assert check_labels(labels, 3)[0] == [2**63 + lowest, 2**64 - 1]


@pytest.mark.parametrize("kind", [np.float32, np.float16, np.int8, bool, object, np.longdouble])
def test_every_type_of_number_has_the_same_certificate(kind):
    X, y = XOR
    assert certify(X.astype(kind), y) == certify(X, y)


LARGE = 2**53


def _decided(X, y):
    """The verdict, which the checker must confirm."""
    certificate = certify(X, y)
    assert verify(certificate, X, y)
    return certificate.verdict


@pytest.mark.parametrize(
    ("X", "y", "verdict"),
    [
        ([[LARGE + 1, 0.5], [LARGE, 0.5]], [0, 1], "separable"),
        ([[LARGE, 0.5], [LARGE + 1, 0.5], [LARGE + 2, 0.5]], [0, 1, 0], "inseparable"),
        ([[2**63 + 1, -1], [2**63, -1]], [0, 1], "separable"),
        ([[np.int64(LARGE + 1), 0.5], [LARGE, 0.5]], [0, 1], "separable"),
        ([np.array([LARGE + 1, 1]), np.array([LARGE, 0.5])], [0, 1], "separable"),
    ],
)
def test_integers_beside_decimal_fractions_are_not_rounded(X, y, verdict):
    assert _decided(X, y) == verdict


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
@pytest.mark.parametrize(
    "columns",
    [
        {"a": np.array([LARGE + 1, LARGE]), "b": np.array([0.5, 0.5])},
        {"a": np.array([2**63 + 1, 2**63], dtype=np.uint64), "b": np.array([-1, -1])},
    ],
)
def test_each_column_of_a_data_frame_keeps_its_type(frame, columns):
    assert _decided(frame(columns), [0, 1]) == "separable"


def test_a_data_frame_without_large_integers_is_an_array_of_doubles():
    frame = pd.DataFrame({"a": [1, 2], "b": [0.5, 2.5], "c": [True, False]})
    values = check_matrix(frame)
    assert values.dtype == float
    assert values.tolist() == [[1, 0.5, 1], [2, 2.5, 0]]
    with pytest.raises(ValueError, match="row 0, column 1: expected a number"):
        check_matrix(pd.DataFrame({"a": [1], "b": [pd.Timestamp("2024-03-31")]}))


def test_labels_of_a_list_are_told_apart_however_large_or_alike_they_are():
    assert check_labels([2**63, 2**63 + 1, -1], 3)[0] == [-1, 2**63, 2**63 + 1]
    assert check_labels(["a", "a\0", "b"], 3)[0] == ["a", "a\0", "b"]
    assert check_labels([0.5, 2, 2], 3)[0] == [0.5, 2]
    assert _decided([[0], [1]], ["a", "a\0"]) == "separable"


@given(
    st.lists(
        st.lists(
            st.integers() | st.floats(allow_nan=False, allow_infinity=False), min_size=2, max_size=2
        ),
        min_size=1,
        max_size=4,
    )
)
def test_a_list_of_lists_is_read_exactly(rows):
    values = check_matrix(rows).tolist()
    assert [list(map(Fraction, row)) for row in values] == [
        list(map(Fraction, row)) for row in rows
    ]


def test_duplicate_entries_of_a_sparse_matrix_add_up():
    X = sparse.coo_matrix(([1.0, 1.0, 1.0], ([0, 0, 1], [0, 0, 0])), shape=(2, 1))
    assert certify(X, [1, 0]).fingerprint == certify([[2.0], [1.0]], [1, 0]).fingerprint


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


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (np.empty((0, 2)), [], "at least one row"),
        (np.empty((2, 0)), [0, 1], "at least one row"),
        ([[1.0], [2.0]], [1, 1], "two classes"),
        ([[1.0], [np.nan]], [0, 1], "row 1, column 0"),
        ([[np.inf], [1.0]], [0, 1], "row 0, column 0"),
        (sparse.csr_array([[0.0], [np.nan]]), [0, 1], "row 1, column 0"),
        (
            sparse.csr_array(([1.0, np.nan], ([2, 1], [5, 10**9])), shape=(1000, 2 * 10**9)),
            [0, 1] * 500,
            "row 1, column 1000000000",
        ),
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


def test_numpys_numbers_of_several_types_are_not_compared_as_floats():
    labels = [np.int64(2**53 + 1), np.float64(2**53), 0.5]
    assert check_labels(labels, 3)[0] == [0.5, 2**53, 2**53 + 1]
    assert check_labels(np.array(labels, dtype=object), 3)[0] == [0.5, 2**53, 2**53 + 1]
    exact = check_matrix([[np.longdouble(0.5), 2**64 + 1]])
    assert exact.tolist() == [[Fraction(1, 2), 2**64 + 1]]


def test_masked_values_are_refused():
    with pytest.raises(ValueError, match="masked values: fill them"):
        check_matrix(np.ma.masked_array([[1.0], [2.0]], mask=[[0], [1]]))
