"""
Lifted by a kernel
==================

The kernel perceptron learns a hyperplane in a feature space that is never computed; in the plane
it is a curve. Left: the last weights. Right: a vote of all weight vectors of the run, with one vote
per step that each survived. Misclassified points are ringed; dots mark the support rows, the points
that caused an update.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_moons

from rosenblatt import KernelPerceptron
from rosenblatt.viz import BoundaryDisplay

X, y = make_moons(200, noise=0.25, random_state=0)
figure, axes = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
for ax, keep in zip(axes, ("last", "vote"), strict=True):
    model = KernelPerceptron.textbook(
        kernel="rbf", gamma=2.0, keep=keep, random_state=0, max_iter=10, tol=None
    )
    model.fit(X, y)
    BoundaryDisplay.from_estimator(model, X, y, ax=ax, legend=False)
    ax.scatter(*model.support_vectors_.T, s=6, color="black", zorder=5)
    ax.set_title(f"{keep}: {1 - model.score(X, y):.1%} of the points wrong")
