"""
The digits of 1999
==================

The experiment of Freund and Schapire (1999) on MNIST, repeated: test error of the voted, averaged
and last weights after up to ten epochs, for the kernels ``(1 + x·y)^d``. The numbers were made by
``benchmarks/bench_mnist_1999.py``.
"""

import json
from pathlib import Path

import matplotlib.pyplot as plt

folder = Path.cwd().resolve()
results = next(
    path / "benchmarks" / "results" / "mnist_1999.json"
    for path in (folder, *folder.parents)
    if (path / "benchmarks" / "results" / "mnist_1999.json").exists()
)
found = json.loads(results.read_text())
cells = [cell for cell in found["cells"] if cell["seed"] == found["seed"]]
degrees = sorted({cell["degree"] for cell in cells})

figure, axes = plt.subplots(
    1, len(degrees), sharey=True, figsize=(2.2 * len(degrees), 3.6), layout="constrained"
)
for ax, degree in zip(axes, degrees, strict=True):
    own = sorted((c for c in cells if c["degree"] == degree), key=lambda c: c["epochs"])
    for keep, style in (("vote", "o-"), ("average", "s--"), ("last", "^:")):
        ax.plot([c["epochs"] for c in own], [c[keep] for c in own], style, label=keep)
    ax.set(xscale="log", yscale="log", title=f"d = {degree}", xlabel="epochs T")
    ax.set_yticks([1.5, 2, 3, 5, 10, 15], ["1.5", "2", "3", "5", "10", "15"])
    ax.minorticks_off()
axes[0].set_ylabel("test error, %")
axes[-1].legend()
