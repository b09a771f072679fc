"""Pictures need matplotlib, and say so."""

import sys

import pytest
from scipy import sparse

from rosenblatt.errors import MissingExtraError
from rosenblatt.viz import EpochsDisplay
from rosenblatt.viz.style import class_names, named_rows


def test_without_matplotlib_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r'pip install "\.\[plot\]"'):
        EpochsDisplay([1, 0]).plot()


def test_signed_labels_keep_their_signs():
    assert class_names([-1, 1]) == ["-1", "+1"]
    assert class_names([0, 1]) == ["0", "1"]
    assert class_names(["ham", "spam"]) == ["ham", "spam"]


def test_sparse_rows_of_millions_of_columns_are_not_written_out():
    with pytest.raises(ValueError, match="2,000 rows of 4,194,304 columns, too many to draw"):
        named_rows(sparse.csr_array((2000, 1 << 22)))
    rows, names = named_rows(sparse.csr_array([[0.0, 2.0]]))
    assert (rows.tolist(), names) == ([[0.0, 2.0]], ["x1", "x2"])
