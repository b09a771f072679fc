"""
Mistakes an epoch
=================

The updates a perceptron makes in each epoch on handwritten digits, and the error of its last and of
its averaged weights on held-out rows.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from rosenblatt import Perceptron

X, y = load_digits(return_X_y=True)
X_train, X_val, y_train, y_val = train_test_split(X, y, random_state=0, stratify=y)

figure, (above, below) = plt.subplots(2, sharex=True, figsize=(7, 5), layout="constrained")
for keep in ("last", "average"):
    model = Perceptron(keep=keep, random_state=0, max_iter=25, tol=None)
    model.fit(X_train, y_train, X_val=X_val, y_val=y_val)
    below.plot(model.history_["epoch"], model.history_["validation_error"], label=keep)
above.bar(model.history_["epoch"], model.history_["mistakes"], color="0.6")
above.set_ylabel("mistakes")
below.set(xlabel="epoch", ylabel="validation error", ylim=(0, None))
below.legend(title="weights")
