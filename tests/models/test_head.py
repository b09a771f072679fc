"""Heads: a matrix, a tree, and the slopes of both."""

from __future__ import annotations

import numpy as np
import pytest

from rosenblatt.models.head import Head

NONE = np.empty((0, 0), np.float32)
TREE = np.array([[0, 3], [1, 4], [2, 5]], np.int32)  # classes 0 to 3, nodes 4 to 6
RNG = np.random.default_rng(3)
MATRIX = RNG.normal(size=(5, 3)).astype(np.float32)


def test_the_scores_of_a_tree_are_logarithms_of_probabilities():
    outputs = np.array([[0.3, -2.0, 4.0], [90.0, -90.0, 0.0]], np.float32)
    right = 1 / (1 + np.exp(-outputs.astype(float)))
    a, b, c = right.T
    expected = np.array([c * b * (1 - a), c * (1 - b), 1 - c, c * b * a])
    probabilities = np.exp(Head(NONE, TREE).scores(outputs))
    assert np.abs(probabilities.T - expected).max() < 1e-6


@pytest.mark.parametrize("head", [Head(MATRIX, NONE), Head(MATRIX, TREE), Head(NONE, TREE)])
def test_slopes_are_the_derivatives_of_the_scores(head):
    sums = RNG.normal(size=5 if head.matrix.size else 3).astype(np.float32)
    moves = 1e-2 * np.eye(len(sums), dtype=np.float32)
    differences = (head.scores(sums + moves) - head.scores(sums - moves)) / 2e-2
    assert head.slopes(sums) == pytest.approx(differences, abs=1e-3)


@pytest.mark.parametrize(
    ("matrix", "tree", "says"),
    [
        (MATRIX[:4], NONE, "does not fit"),
        (MATRIX, TREE[:, ::-1] * 0, "is none"),
        (MATRIX, np.array([[0, 1], [2, 6], [3, 5]], np.int32), "is none"),
        (MATRIX, np.array([[0, 5], [1, 4], [2, 3]], np.int32), "cycle"),
        (MATRIX * 1e38, TREE, "too large"),
        (NONE, NONE, "5 sums are not"),
    ],
)
def test_heads_that_do_not_fit_are_refused(matrix, tree, says):
    classes = 4 if tree.size else 3
    with pytest.raises(ValueError, match=says):
        Head(matrix, tree).check(np.full((2, 5), 9, np.float32), classes + (says[0] == "5"))
