"""Runs to draw."""

import numpy as np
import pytest

from rosenblatt import teaching_sets, trace


@pytest.fixture
def run():
    """A run that separates, over two features."""
    return trace([[2, 1], [1, 3], [-1, 1], [0, -2]], [1, 1, -1, -1], feature_names=["a", "b"])


@pytest.fixture
def xor():
    """A run that ends in a contradiction."""
    example = teaching_sets.load("xor")
    return trace(example.X, example.y, feature_names=example.feature_names)


@pytest.fixture
def blobs():
    """Four features, two classes that overlap a little."""
    generator = np.random.default_rng(3)
    y = np.repeat([0, 1], 30)
    return generator.normal(size=(60, 4)) + y[:, None], y
