"""
Weight space
============

Each row allows one side of a line through weight space; the intersection of these half-planes is
the cone of solutions. The path shows the weights of the perceptron: every update adds one row.
"""

import matplotlib.pyplot as plt

from rosenblatt import trace
from rosenblatt.viz import BoundaryDisplay, WeightSpaceDisplay

X = [[1, 2], [2, 0.5], [3, 2.5], [-1, 1], [-2, -0.5], [-0.5, -2]]
y = [1, 1, 1, -1, -1, -1]
run = trace(X, y, fit_intercept=False, feature_names=["a", "b"])
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.8), layout="constrained")
BoundaryDisplay.from_trace(run, ax=left)
WeightSpaceDisplay.from_trace(run, ax=right)

# %%
# One feature and a bias: the cone is narrow, and the path crosses it back and forth.

run = trace([[1], [2], [3], [4]], [-1, -1, 1, 1])
WeightSpaceDisplay.from_trace(run)
