from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rosenblatt.theory.checker.input_data import check_labels


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
