"""
Errors and mistakes
===================

Mistakes in each epoch fall, but only the error on held-out rows may be believed; it decides when to
stop.
"""

from sklearn.datasets import load_digits

from rosenblatt import Perceptron
from rosenblatt.viz import EpochsDisplay

X, y = load_digits(return_X_y=True)
model = Perceptron(keep="average", early_stopping=True, random_state=0).fit(X, y)
EpochsDisplay.from_estimator(model)
