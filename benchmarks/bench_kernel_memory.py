"""The memory of a kernel perceptron beside the budget it was given, on 20,000 rows of MNIST.

    python benchmarks/bench_kernel_memory.py

What NumPy allocates during `fit` at its peak, less the support rows (a result, not Gram entries)
and the scores of all rows for all classes, of which two copies are kept.
"""

from __future__ import annotations

import tracemalloc

from rich.console import Console
from rich.table import Table

from common import machine, mnist
from rosenblatt import KernelPerceptron

MIB = 2**20


def main() -> None:
    console = Console(width=130)
    console.print(machine(), "\n")
    X, y = mnist()
    X, y = X[:20_000], y[:20_000]
    KernelPerceptron.textbook(max_iter=1, tol=None).fit(X[:300], y[:300])  # compile
    table = Table("budget MiB", "peak MiB", "of it Gram entries", "updates", box=None)
    for budget in (10, 25, 100, 400):
        model = KernelPerceptron.textbook(
            degree=2, gamma=1, coef0=1 / 255**2, max_iter=2, tol=None, random_state=0,
            cache_size=budget,
        )  # fmt: skip
        tracemalloc.start()
        model.fit(X, y)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        others = model.support_vectors_.nbytes + 2 * 10 * 8 * len(y)
        table.add_row(
            str(budget), f"{peak / MIB:.1f}", f"{(peak - others) / MIB:.1f}",
            f"{model.n_updates_:,}",
        )  # fmt: skip
    console.print(table)


if __name__ == "__main__":
    main()
