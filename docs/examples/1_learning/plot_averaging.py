"""
Last against averaged weights
=============================

The last weights favour the examples seen last, so that their error on held-out rows jumps from
epoch to epoch. The mean of the weights over all steps does not.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from rosenblatt import Perceptron
from rosenblatt.viz.style import NEGATIVE, POSITIVE

X, y = load_digits(return_X_y=True)
X_train, X_val, y_train, y_val = train_test_split(X, y, random_state=0, stratify=y)

figure, ax = plt.subplots(figsize=(7, 3.5), layout="constrained")
for keep, style in (("last", "s--"), ("average", "o-")):
    model = Perceptron.textbook(keep=keep, random_state=0, max_iter=25, tol=None)
    model.fit(X_train, y_train, X_val=X_val, y_val=y_val)
    color = NEGATIVE if keep == "last" else POSITIVE
    errors = model.history_["validation_error"]
    ax.plot(model.history_["epoch"], errors, style, ms=4, color=color, label=keep)
ax.set(xlabel="epoch", ylabel="validation error", ylim=(0, None))
ax.legend(title="weights")
