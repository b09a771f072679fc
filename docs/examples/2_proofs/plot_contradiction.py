"""
Rows that contradict each other
===============================

When no line separates two classes, a few rows are enough to prove it: a convex combination of rows
of one class is the same point as a convex combination of rows of the other.
"""

from sklearn.datasets import load_iris

from rosenblatt import certify, teaching_sets
from rosenblatt.viz import ContradictionDisplay

xor = teaching_sets.load("xor")
ContradictionDisplay.from_certificate(certify(xor.X, xor.y), xor.X, xor.y)

# %%
# A certificate finds the few among many: two kinds of iris that overlap.

X, y = load_iris(return_X_y=True, as_frame=True)
petals, species = X.iloc[50:, 2:], load_iris().target_names[y[50:]]
certificate = certify(petals, species)
ContradictionDisplay.from_certificate(certificate, petals, species)
print(certificate)
