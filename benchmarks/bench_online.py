"""Online learning, predict then learn, against River's `Perceptron`.

    python benchmarks/bench_online.py

The same examples in the same order: as dictionaries for River, as an array and one call an example
for rosenblatt. River gets the non-zero features only, its natural format.
"""

from __future__ import annotations

import numpy as np
from rich.console import Console
from rich.table import Table
from river import linear_model
from sklearn.datasets import load_breast_cancer, load_svmlight_file
from sklearn.preprocessing import scale

from common import best_of, data_folder, machine, mnist
from rosenblatt import OneByOne, Perceptron, learn_online


def river(rows: list[dict], labels: list[bool]) -> None:
    model = linear_model.Perceptron()
    for x, y in zip(rows, labels, strict=True):
        model.predict_one(x)
        model.learn_one(x, y)


def one_by_one(X: np.ndarray, labels: list[bool]) -> None:
    with OneByOne(Perceptron.textbook(), classes=[False, True]) as learner:
        for x, y in zip(X, labels, strict=True):
            learner.learn(x, y)


def data_sets():
    X, y = load_breast_cancer(return_X_y=True)
    X = np.tile(scale(X), (40, 1))
    yield "breast cancer x 40", X, X, np.tile(y, 40) == 1
    file = data_folder() / "libsvm" / "a9a.gz"
    X, y = load_svmlight_file(str(file), dtype=np.float64)
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    yield "a9a", X, X.toarray(), y > 0
    X, y = mnist()
    yield "MNIST, 10,000 rows", X[:10_000], X[:10_000], y[:10_000] == 0


def main() -> None:
    console = Console(width=130)
    console.print(machine("river"), "\n")
    table = Table(
        "data",
        "rows",
        "features",
        "River µs",
        "one call µs",
        "ratio",
        "array µs",
        "ratio",
        box=None,
    )
    for name, X, dense, y in data_sets():
        rows = [
            {j: v for j, v in enumerate(x) if v != 0} for x in np.asarray(dense, float).tolist()
        ]
        labels = y.tolist()
        learn_online(Perceptron.textbook(), X, y, classes=[False, True])
        theirs, single, array = best_of(
            5,
            lambda rows=rows, labels=labels: river(rows, labels),
            lambda dense=dense, labels=labels: one_by_one(dense, labels),
            lambda X=X, y=y: learn_online(Perceptron.textbook(), X, y, classes=[False, True]),
        )
        n = len(labels)
        table.add_row(
            name, f"{n:,}", str(dense.shape[1]), f"{1e6 * theirs / n:.2f}",
            f"{1e6 * single / n:.2f}", f"{theirs / single:.1f}", f"{1e6 * array / n:.3f}",
            f"{theirs / array:.0f}",
        )  # fmt: skip
    console.print(table)


if __name__ == "__main__":
    main()
