"""
The space above XOR
===================

No line separates the four points of XOR. :func:`rosenblatt.find_lift` finds that the product of
the two inputs is enough: with it as the height, a plane separates them, two points above it and two
below. In the original plane, it is a curve.
"""

import matplotlib.pyplot as plt
import numpy as np

from rosenblatt import find_lift, teaching_sets
from rosenblatt.viz import BoundaryDisplay
from rosenblatt.viz.style import PALETTE

xor = teaching_sets.load("xor")
X, y = np.array(xor.X, dtype=float), np.array(xor.y)
lift = find_lift(X, y, folds=0)
print(lift)

model = lift.pipeline().fit(X, y)
(w1, w2, w3), b = model[-1].coef_[0], model[-1].intercept_[0]

figure = plt.figure(figsize=(11, 4.5), layout="constrained")
display = BoundaryDisplay.from_estimator(model, X, y, ax=figure.add_subplot(121))
display.ax_.set(xlabel="p", ylabel="q")
above = figure.add_subplot(122, projection="3d")
points = lift.transform(X)
for label, colour in zip((-1, 1), PALETTE, strict=False):
    above.scatter(*points[y == label].T, s=60, color=colour, depthshade=False)
    for p, q, height in points[y == label]:
        above.plot([p, p], [q, q], [height, -(b + w1 * p + w2 * q) / w3], color=colour, lw=2)
side = np.linspace(-0.2, 1.2, 20)
p, q = np.meshgrid(side, side)
above.plot_surface(p, q, -(b + w1 * p + w2 * q) / w3, alpha=0.3, color="gray")
above.set(xlabel="p", ylabel="q", zlim=(-0.5, 1.5))
above.set_zlabel("p·q", labelpad=8)
above.set_box_aspect(None, zoom=0.9)
