"""How classes become problems: one weight vector for two, one per class, or one per pair."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np

from rosenblatt.learners.protocol import Array


def votes(scores: Array, n_classes: int) -> Array:
    """Votes per class from the scores of all pairs, plus a tie-break from the summed scores.

    The tie-break lies in (-1/3, 1/3), so that it never outweighs a vote.

    >>> votes(np.array([[1.0, -2.0, 3.0]]), 3).round(2)
    array([[1.17, 0.78, 1.17]])
    """
    votes = np.zeros((scores.shape[0], n_classes))
    sums = np.zeros_like(votes)
    for column, (negative, positive) in enumerate(combinations(range(n_classes), 2)):
        score = scores[:, column].astype(np.float64)
        votes[:, positive] += score > 0
        votes[:, negative] += score <= 0
        sums[:, positive] += score
        sums[:, negative] -= score
    return votes + sums / (3 * (np.abs(sums) + 1))


def n_problems(n_classes: int, multiclass: str) -> int:
    """How many weight vectors a number of classes needs.

    >>> n_problems(2, "ovr"), n_problems(4, "ovr"), n_problems(4, "ovo")
    (1, 4, 6)
    """
    if n_classes <= 2:
        return 1
    return n_classes * (n_classes - 1) // 2 if multiclass == "ovo" else n_classes


def groups_of(n_classes: int, multiclass: str, threads: int) -> list[tuple[tuple[int, int], int]]:
    """The classes and the number of problems of each part."""
    if n_classes <= 2:
        return [((0, 1), 1)]
    if multiclass == "ovo":
        return [(pair, 1) for pair in combinations(range(n_classes), 2)]
    shares = min(threads, n_classes) if multiclass == "ovr" else 1
    bounds = np.linspace(0, n_classes, shares + 1).astype(int).tolist()
    return [((a, b), b - a) for a, b in pairwise(bounds)]


def signs_of(n_classes: int, multiclass: str) -> Array:
    """What each class is to each problem: -1, +1, or 0 if it takes no part in it.

    >>> signs_of(3, "ovo")
    array([[-1, -1,  0],
           [ 1,  0, -1],
           [ 0,  1,  1]], dtype=int8)
    """
    if n_classes <= 2:
        return np.array([[-1], [1]], np.int8)
    if multiclass != "ovo":
        return (2 * np.eye(n_classes) - 1).astype(np.int8)
    pairs = list(combinations(range(n_classes), 2))
    signs = np.zeros((n_classes, len(pairs)), np.int8)
    for problem, (negative, positive) in enumerate(pairs):
        signs[negative, problem], signs[positive, problem] = -1, 1
    return signs
