"""
Why it must end
===============

After k updates the weights have moved at least kγ along the separator, and are at most √k·R long.
The two curves cross at (R/γ)², so no run on these flowers makes more than 410 updates. This one
makes 4.
"""

import matplotlib.pyplot as plt

from rosenblatt import teaching_sets, trace
from rosenblatt.viz import ProofDisplay

iris = teaching_sets.load("iris")
flowers = trace(iris.X, iris.y, feature_names=iris.feature_names)
ProofDisplay.from_trace(flowers)

# %%
# The bound is the best possible. For orthogonal rows every row causes an update, and each
# inequality of the proof is an equation. The potential ‖w - αu‖² falls by R² per update, and cannot
# fall below zero, which is another proof of the theorem.

n = 12
rows = [[int(i == j) for j in range(n)] for i in range(n)]
run = trace(rows, [1, -1] * (n // 2), fit_intercept=False)
proof = run.proof()
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
ProofDisplay(proof).plot(ax=left)
right.plot([point.k for point in proof.points], [point.potential for point in proof.points], "o")
right.set(xlabel="updates k", ylabel="‖w - αu‖²", xlim=(0, None), ylim=(0, None))
