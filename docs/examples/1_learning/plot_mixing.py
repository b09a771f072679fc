"""
Mixing keeps the bound
======================

The same rows in 1, 4 and 16 shards. The updates of a shard count by its share of the rows; their
sum over all epochs stays below (R/γ)², however many shards there are (:doc:`/theory/mixing`).
"""

import tempfile
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import rosenblatt
from rosenblatt import theory
from rosenblatt.viz import style

warnings.simplefilter("ignore", rosenblatt.cluster.ShardWarning)  # these shards are tiny
generator = np.random.default_rng(0)
u = generator.normal(size=20)
u /= np.linalg.norm(u)
X = generator.normal(size=(4000, 20))
y = np.sign(X @ u)
X += 0.15 * y[:, None] * u
margin = float((y * (X @ u)).min())
radius = float(np.linalg.norm(X, axis=1).max())

path = Path(tempfile.mkdtemp()) / "rows.svm"
path.write_text(
    "".join(
        f"{int(label)} " + " ".join(f"{j}:{value:.9g}" for j, value in enumerate(row)) + "\n"
        for row, label in zip(X, y, strict=True)
    )
)

figure, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
for shards, color, marker in zip((1, 4, 16), style.PALETTE, style.MARKERS, strict=False):
    updates = {}

    def note(run, updates=updates):
        if run.history:
            updates[len(run.history)] = run.mixed_updates

    with ThreadPoolExecutor(2) as workers:
        rosenblatt.train(
            path, epochs=40, threshold=0.0, padding=0.0, average=False, report=note,
            workers=workers, shards=shards,
        )  # fmt: skip
    label = "1 shard" if shards == 1 else f"{shards} shards"
    ax.plot(list(updates), list(updates.values()), f"{marker}-", color=color, label=label)
bound = theory.mixing_bound(radius, margin, 1).mixed
ax.axhline(bound, color=style.INK, linestyle="--", label=f"(R/γ)² = {bound:,.0f}")
ax.set(xlabel="epochs", ylabel="updates by shares, Σ μ k", yscale="log")
_ = ax.legend(loc="center right", bbox_to_anchor=(1.0, 0.65))
