"""The voted perceptron beside scikit-learn's SVC, same kernel, on MNIST: time and test error.

    python benchmarks/bench_kernel_vs_svc.py                # 10,000 and 60,000 rows
    python benchmarks/bench_kernel_vs_svc.py --rows 10000
    python benchmarks/bench_kernel_vs_svc.py --rows 60000 --alone    # without SVC, which takes long

Both get pixels in 0 .. 1, the kernel ``(0.02·x·y + 1)^3`` or ``exp(-0.02·‖x - y‖²)``, and the same
memory for kernel rows. The perceptron makes ten epochs and votes.
"""

from __future__ import annotations

import argparse

from rich.console import Console
from rich.table import Table
from sklearn.svm import SVC

from common import machine, mnist, seconds
from rosenblatt import KernelPerceptron

KERNELS = {
    "poly": {"kernel": "poly", "degree": 3, "gamma": 0.02, "coef0": 1.0},
    "rbf": {"kernel": "rbf", "gamma": 0.02},
}
MEGABYTES = 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="*", default=[10_000, 60_000])
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--kernels", nargs="*", default=list(KERNELS), choices=list(KERNELS))
    parser.add_argument("--alone", action="store_true", help="leave SVC out")
    options = parser.parse_args()
    console = Console(width=130)
    console.print(machine("scikit-learn"), "\n")
    (X, y), (X_test, y_test) = mnist(), mnist("t10k")
    KernelPerceptron.textbook(max_iter=1, tol=None).fit(X[:300], y[:300]).predict(X[:10])  # compile
    table = Table(
        "kernel", "rows", "model", "train s", "ratio", "test s", "error %", "support", box=None
    )
    for rows in options.rows:
        for name in options.kernels:
            kernel = KERNELS[name]
            ours = KernelPerceptron.textbook(
                **kernel, max_iter=options.epochs, tol=None, cache_size=MEGABYTES, random_state=0
            )
            theirs = SVC(**kernel, C=10.0, cache_size=MEGABYTES)
            times = {}
            for model in (ours,) if options.alone else (ours, theirs):
                times[model] = seconds(lambda m=model, n=rows: m.fit(X[:n], y[:n]))
                errors = []
                test = seconds(
                    lambda m=model, e=errors: e.append(100 * (1 - m.score(X_test, y_test)))
                )
                table.add_row(
                    name, f"{rows:,}", type(model).__name__, f"{times[model]:.1f}",
                    f"{times[model] / times[ours]:.1f}", f"{test:.1f}", f"{errors[0]:.2f}",
                    f"{model.support_.size:,}",
                )  # fmt: skip
                console.print(
                    f"{name}, {rows:,} rows: {type(model).__name__} {times[model]:.1f} s, "
                    f"{errors[0]:.2f} %"
                )
    console.print(table)


if __name__ == "__main__":
    main()
