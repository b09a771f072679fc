"""
The boundary and the margins
============================

Where a perceptron draws its line, how far the points are from it, and which it gets wrong. Data of
more than two dimensions are shown in the plane of the distance from the boundary.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.preprocessing import StandardScaler

from rosenblatt import Perceptron
from rosenblatt.viz import BoundaryDisplay, MarginsDisplay

X, y = load_iris(return_X_y=True, as_frame=True)
petals, species = X.iloc[:100, 2:], load_iris().target_names[y[:100]]
model = Perceptron.textbook(shuffle=False).fit(petals, species)
BoundaryDisplay.from_estimator(model, petals, species)

# %%
# Thirty measurements of cells, seen along the weights: left of zero is predicted malignant.

X, y = load_breast_cancer(return_X_y=True)
X = StandardScaler().fit_transform(X)
model = Perceptron.textbook(keep="average", random_state=0).fit(X, y)
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
BoundaryDisplay.from_estimator(model, X, y, ax=left)
MarginsDisplay.from_estimator(model, X, y, ax=right)
