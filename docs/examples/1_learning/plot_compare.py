"""
Several rules on the same examples
==================================

One pass over the examples in several orders, each prediction made before its label is used. The
rules are sorted by their errors; a band shows how much the order of the examples changes.
"""

from sklearn.datasets import load_breast_cancer

from rosenblatt import compare

X, y = load_breast_cancer(return_X_y=True)
comparison = compare(X, y, ["perceptron", "pa1", "arow", "scw1:C=0.5", "adagrad"], orders=5)
comparison.plot()
