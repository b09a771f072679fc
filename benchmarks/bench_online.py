"""Online learning, predict then learn, against River: times of `Perceptron`, errors of streams.

    python -m benchmarks.bench_online [errors]

The same examples in the same order: as dictionaries for River, as an array and one call an example
for rosenblatt. River gets the non-zero features only, its natural format. `errors`: the share of
mistakes on streams made of training sets, shuffled, columns as they are, beside River's logistic
regression after its `StandardScaler`.
"""

from __future__ import annotations

import sys
from time import process_time

import numpy as np
from rich.console import Console
from rich.table import Table
from river import linear_model, multiclass, preprocessing
from sklearn.datasets import load_breast_cancer, load_svmlight_file
from sklearn.preprocessing import scale

from benchmarks.common import best_of, data_folder, machine, mnist
from benchmarks.study_tables import real_tables
from rosenblatt import (
    AROW,
    SCW,
    NormalHerd,
    OneByOne,
    OnlineGradient,
    PassiveAggressive,
    Perceptron,
    learn_online,
)

MOST_FEATURES = 130


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


def scaled_regression(X: np.ndarray, y: np.ndarray, several: bool) -> tuple[float, float]:
    """The share of mistakes of River's logistic regression, and microseconds per row."""
    model = linear_model.LogisticRegression()
    model = preprocessing.StandardScaler() | (
        multiclass.OneVsRestClassifier(model) if several else model
    )
    rows, labels = [dict(enumerate(x)) for x in X.tolist()], y.tolist()
    wrong, began = 0, process_time()
    for x, label in zip(rows, labels if several else map(bool, labels), strict=True):
        wrong += model.predict_one(x) != label
        model.learn_one(x, label)
    return wrong / len(labels), 1e6 * (process_time() - began) / len(labels)


def online(kind: type, X: np.ndarray, y: np.ndarray, **options) -> tuple[float, float]:
    """The share of mistakes of an estimator, and microseconds per row."""
    began = process_time()
    error = learn_online(kind(**options), X, y, classes=np.unique(y)).curve[-1]
    return error, 1e6 * (process_time() - began) / len(y)


def stream_errors(orders: int = 3) -> None:
    """Print the mean share of mistakes over all streams, and the median time of a row."""
    kinds = (Perceptron, PassiveAggressive, AROW, SCW, NormalHerd, OnlineGradient)
    streams = {n: t for n, t in real_tables().items() if t[0].shape[1] <= MOST_FEATURES}
    results: dict[str, list[tuple[float, float]]] = {}
    for X, y in streams.values():
        y = np.unique(y, return_inverse=True)[1]
        for seed in range(orders):
            order = np.random.default_rng(seed).permutation(len(y))
            rows, labels = np.ascontiguousarray(X[order], float), y[order]
            for kind in kinds:
                results.setdefault(f"{kind.__name__}()", []).append(online(kind, rows, labels))
            bare = online(Perceptron, rows, labels, scale=None)
            results.setdefault("Perceptron(scale=None)", []).append(bare)
            told = scaled_regression(rows, labels, y.max() > 1)
            results.setdefault("River", []).append(told)
    print(f"{len(streams)} streams: {', '.join(streams)}")
    for name, pairs in results.items():
        error, time = np.mean(pairs, axis=0)[0], np.median(pairs, axis=0)[1]
        print(f"{name:<22} {100 * error:6.2f} %  {time:7.2f} µs")


def main() -> None:
    if sys.argv[1:] == ["errors"]:
        stream_errors()
        return
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
