"""
The digits of 1999
==================

The experiment of Freund and Schapire (1999) on MNIST, repeated: test error of the voted, averaged
and last weights after up to ten epochs, for the kernels ``(1 + x·y)^d``. Lines: one permutation of
the rows. Bars: the range over five others, where they were run. The numbers were made by
``benchmarks/bench_mnist_1999.py``.
"""

import json
from pathlib import Path

import matplotlib.pyplot as plt

from rosenblatt.viz.style import GOOD, NEGATIVE, POSITIVE

folder = Path.cwd().resolve()
results = next(
    path / "benchmarks" / "results" / "mnist_1999.json"
    for path in (folder, *folder.parents)
    if (path / "benchmarks" / "results" / "mnist_1999.json").exists()
)
found = json.loads(results.read_text())
cells = found["cells"]
degrees = sorted({cell["degree"] for cell in cells})

figure, axes = plt.subplots(
    1, len(degrees), sharex=True, sharey=True, figsize=(2.2 * len(degrees), 3.6),
    layout="constrained",
)  # fmt: skip
for ax, degree in zip(axes, degrees, strict=True):
    own = sorted((c for c in cells if c["degree"] == degree), key=lambda c: c["epochs"])
    main = [c for c in own if c["seed"] == found["seed"]]
    for keep, style, colour in (
        ("vote", "o-", POSITIVE), ("average", "^--", GOOD), ("last", "s:", NEGATIVE),
    ):  # fmt: skip
        at, errors = [c["epochs"] for c in main], [c[keep] for c in main]
        ax.plot(at, errors, style, ms=4, color=colour, label=keep)
        for epochs in {c["epochs"] for c in own if c["seed"] != found["seed"]}:
            others = [c[keep] for c in own if c["epochs"] == epochs and c["seed"] != found["seed"]]
            ax.vlines(epochs, min(others), max(others), color=colour, alpha=0.4, lw=5)
    ax.set(xscale="log", yscale="log", title=f"d = {degree}", xlabel="epochs T")
    ax.set_xticks([0.1, 1, 4, 10], ["0.1", "1", "4", "10"])
    ax.set_yticks([1.5, 2, 3, 5, 10, 15], ["1.5", "2", "3", "5", "10", "15"])
    ax.minorticks_off()
axes[0].set_ylabel("test error, %")
axes[-1].legend()
