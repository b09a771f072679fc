"""Pictures need matplotlib, and say so."""

import sys

import pytest

from rosenblatt.errors import MissingExtraError
from rosenblatt.viz import BoundsDisplay
from rosenblatt.viz.style import class_names


def test_without_matplotlib_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r'pip install "\.\[plot\]"'):
        BoundsDisplay(1, {"Novikoff": 2.0}).plot()


def test_signed_labels_keep_their_signs():
    assert class_names([-1, 1]) == ["-1", "+1"]
    assert class_names([0, 1]) == ["0", "1"]
    assert class_names(["ham", "spam"]) == ["ham", "spam"]
