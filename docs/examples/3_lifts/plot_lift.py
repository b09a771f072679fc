"""
A lift
======

Rows that no line separates may be separable after a map to more features. In the original plane,
the separating hyperplane is a curve.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

from rosenblatt import Perceptron, teaching_sets
from rosenblatt.viz import BoundaryDisplay

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")

xor = teaching_sets.load("xor")
products = PolynomialFeatures(interaction_only=True, include_bias=False)
model = make_pipeline(products, Perceptron.textbook(shuffle=False)).fit(xor.X, xor.y)
BoundaryDisplay.from_estimator(model, np.array(xor.X), xor.y, ax=left)

X, y = make_moons(150, noise=0.12, random_state=0)
cubic = PolynomialFeatures(degree=3, include_bias=False)
model = make_pipeline(cubic, Perceptron.textbook(random_state=0, tol=None)).fit(X, y)
BoundaryDisplay.from_estimator(model, X, y, ax=right)
