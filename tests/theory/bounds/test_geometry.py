from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from rosenblatt import certify
from rosenblatt.theory import dataset_margin, pad, point_margins, premultiply, radius


def test_padding_turns_an_offset_into_a_direction():
    X, y = [[1.0], [2.0], [3.0], [4.0]], [0, 0, 1, 1]
    assert not certify(X, y, fit_intercept=False).separable
    assert certify(pad(X, 3.0), y, fit_intercept=False).separable


def test_dense_and_sparse_rows_are_padded_and_turned_alike():
    X, y = np.array([[1.0, 0.0], [0.0, 2.0]]), ["b", "a"]
    dense = premultiply(pad(X, 2.0), y)
    csr = premultiply(pad(sparse.csr_array(X), 2.0), y)
    assert sparse.issparse(csr)
    np.testing.assert_array_equal(dense, csr.toarray())
    np.testing.assert_array_equal(dense, [[1.0, 0.0, 2.0], [0.0, -2.0, -2.0]])
    assert radius(X) == radius(sparse.csr_array(X)) == pytest.approx(5**0.5)


def test_whole_numbers_stay_whole_when_padded():
    assert pad(np.array([[1, 2]]), 1).dtype == np.int64


def test_the_margin_of_a_data_set_is_that_of_its_worst_point():
    X, y = [[3.0, 4.0], [0.0, 0.0], [6.0, 8.0]], [1, 0, 1]
    margins = point_margins(X, y, [3.0, 4.0], -5.0)
    assert dataset_margin(X, y, [3.0, 4.0], -5.0) == margins.min() == 1.0
    assert dataset_margin(X, y, [-3.0, -4.0], 5.0) < 0


def test_without_offset_both_margins_are_the_same():
    X, y = [[1.0, 2.0], [-1.0, 0.5]], [1, 0]
    both = [dataset_margin(X, y, [1.0, 0.0], kind=k) for k in ("geometric", "augmented")]
    assert both[0] == both[1]


def test_a_larger_constant_brings_the_augmented_margin_to_the_geometric_one():
    X, y = [[0.0], [4.0]], [0, 1]
    assert dataset_margin(X, y, [1.0], -2.0, kind="augmented", padding=1e6) == pytest.approx(2.0)


def test_nonsense_is_refused():
    with pytest.raises(ValueError, match="zero"):
        pad([[1.0]], 0.0)
    with pytest.raises(ValueError, match="zero"):
        point_margins([[1.0], [2.0]], [0, 1], [0.0])
    with pytest.raises(ValueError, match="zero"):
        dataset_margin([[1.0], [2.0]], [0, 1], [0.0])
    with pytest.raises(ValueError, match="kind"):
        dataset_margin([[1.0], [2.0]], [0, 1], [1.0], kind="other")
