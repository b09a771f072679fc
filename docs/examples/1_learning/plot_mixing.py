"""
Mixing keeps the bound
======================

The same rows in 1, 4 and 16 shards. The updates of a shard count by its share of the rows; their
sum over all epochs stays below (R/γ)², however many shards there are (:doc:`/theory/mixing`).
"""

import matplotlib.pyplot as plt
import numpy as np

from rosenblatt import theory
from rosenblatt.viz import style

generator = np.random.default_rng(0)
u = generator.normal(size=20)
u /= np.linalg.norm(u)
X = generator.normal(size=(4000, 20))
y = np.sign(X @ u)
X += 0.15 * y[:, None] * u
margin = float((y * (X @ u)).min())
radius = float(np.linalg.norm(X, axis=1).max())


def updates_by_shares(shards, epochs):
    """Iterative parameter mixing; the sum of updates, each times its shard's share, by epoch."""
    w, total, sums = np.zeros(X.shape[1]), 0.0, []
    for _ in range(epochs):
        ends = []
        for rows in np.array_split(y[:, None] * X, shards):
            end = w.copy()
            for z in rows:
                if end @ z <= 0:
                    end += z
                    total += len(rows) / len(X)
            ends.append(len(rows) / len(X) * end)
        w = sum(ends)
        sums.append(total)
    return sums


figure, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
for shards, color, marker in zip((1, 4, 16), style.PALETTE, style.MARKERS, strict=False):
    label = "1 shard" if shards == 1 else f"{shards} shards"
    updates = updates_by_shares(shards, epochs=40)
    ax.plot(range(1, 41), updates, f"{marker}-", color=color, label=label)
bound = theory.novikoff_bound(radius, margin)
ax.axhline(bound, color=style.INK, linestyle="--", label=f"(R/γ)² = {bound:,.0f}")
ax.set(xlabel="epochs", ylabel="updates by shares, Σ μ k", yscale="log")
_ = ax.legend(loc="center right", bbox_to_anchor=(1.0, 0.65))
