"""
Lifted by a kernel
==================

The kernel perceptron draws its boundary in a space that is never written down. Seen from the
plane it is a curve. Left: the last weights. Right: all weights there were, by vote, with as many
votes as each survived steps. Ringed are the points that either gets wrong; the support rows,
every point ever mistaken on the way, are marked by a dot.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_moons

from rosenblatt import KernelPerceptron
from rosenblatt.viz import BoundaryDisplay

X, y = make_moons(200, noise=0.25, random_state=0)
figure, axes = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
for ax, keep in zip(axes, ("last", "vote"), strict=True):
    model = KernelPerceptron(
        kernel="rbf", gamma=2.0, keep=keep, random_state=0, max_iter=10, tol=None
    )
    model.fit(X, y)
    BoundaryDisplay.from_estimator(model, X, y, ax=ax, legend=False)
    ax.scatter(*model.support_vectors_.T, s=6, color="black", zorder=5)
    ax.set_title(f"{keep}: {1 - model.score(X, y):.1%} of the points wrong")
