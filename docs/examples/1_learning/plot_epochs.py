"""
Updates and errors per epoch
============================

The updates per epoch decrease, and so does the progressive error, that of predictions made before
learning from each row. Only the error on held-out rows estimates the error on new data; it decides
when to stop.
"""

from sklearn.datasets import load_digits

from rosenblatt import Perceptron
from rosenblatt.viz import EpochsDisplay

X, y = load_digits(return_X_y=True)
model = Perceptron(keep="average", early_stopping=True, random_state=0).fit(X, y)
EpochsDisplay.from_estimator(model)
