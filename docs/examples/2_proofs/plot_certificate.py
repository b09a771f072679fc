"""
Three verdicts and their proofs
===============================

A certificate says whether a line separates two classes, and proves it: by a line, by a line that
touches some rows, or by rows of both classes with a convex combination in common.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris

from rosenblatt import certify
from rosenblatt.viz.style import INK, SOFT, scatter

petals, species = load_iris(return_X_y=True)
cases = {
    "separable": (petals[:100, 2:], species[:100]),
    "quasi-separable": (
        np.array([[0, 0], [0, 2], [1, 3], [2, 2], [2, 2], [3, 3.5], [4, 4.5], [4, 2]]),
        np.array([0, 0, 0, 0, 1, 1, 1, 1]),
    ),
    "inseparable": (np.array([[0, 0], [0, 1], [1, 0], [1, 1]]), np.array([0, 1, 1, 0])),
}


def draw_line(ax, w, b, **style):
    """The line w·x + b = 0 across the axes."""
    w, b = np.array(w, dtype=float), float(b)
    middle = -b * w / (w @ w)
    along = np.array([-w[1], w[0]]) / np.linalg.norm(w)
    ends = np.array([middle - 50 * along, middle + 50 * along])
    ax.plot(*ends.T, **style)


figure, axes = plt.subplots(1, 3, figsize=(11, 3.8), layout="constrained")
for ax, (verdict, (X, y)) in zip(axes, cases.items(), strict=True):
    certificate = certify(X, y)
    assert certificate.verdict == verdict
    scatter(ax, X, y, ["class 0", "class 1"])
    low, high = X.min(axis=0), X.max(axis=0)
    middle, half = (low + high) / 2, (high - low).max() / 2 + 0.6
    (x0, y0), (x1, y1) = middle - half, middle + half
    ax.set(title=verdict, xlim=(x0, x1), ylim=(y0, y1), aspect="equal")
    if certificate.separable:
        best = certificate.geometric
        draw_line(ax, best.weights, best.bias, color=INK)
        size = np.linalg.norm(np.array(best.weights, dtype=float))
        for side in (-1, 1):
            offset = float(best.bias) + side * best.lower * size
            draw_line(ax, best.weights, offset, color=SOFT, linestyle=":")
    elif certificate.weights is not None:
        draw_line(ax, certificate.weights, certificate.bias, color=INK)
    if certificate.contradiction is not None:
        rows = np.array(certificate.contradiction.rows)
        ax.scatter(*X[rows].T, s=160, facecolors="none", edgecolors=INK)
        if len(np.unique(X[rows], axis=0)) == 1:
            ax.annotate("a row of each class", X[rows[0]], (6, -20), textcoords="offset points")
        for sign in (-1, 1):
            ends = X[rows[np.array(certificate.contradiction.signs) == sign]]
            ax.plot(*ends.T, color=INK, linestyle="--", linewidth=1)

# %%
# The middle one has two rows of different classes at one point; the right one is XOR, whose
# diagonals cross. In words:

print(certify(*cases["inseparable"]))
