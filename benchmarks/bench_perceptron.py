"""Epochs of `Perceptron` against scikit-learn's, on the same data, and the memory bandwidth.

    python benchmarks/bench_perceptron.py

Both fit the same number of epochs with one thread. The time of an epoch is the difference between a
long and a short fit, divided by the epochs between them, so that neither pays for its start; `fit`
is the ratio of the whole long fits. Compile time is shown apart.
"""

from __future__ import annotations

from functools import partial

import numba
import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.table import Table
from scipy import sparse
from sklearn.datasets import load_svmlight_file
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.linear_model import Perceptron as Theirs

from common import best_of, data_folder, machine, mnist, seconds
from rosenblatt import Perceptron as Ours

ROUNDS = 5


@numba.njit(fastmath={"reassoc", "contract"})
def read_all(x):
    """Read every number once: what the memory can deliver to one thread."""
    s = x.dtype.type(0)
    for i in range(x.size):
        s += x[i]
    return s


def imdb(bits: int) -> tuple[sparse.csr_matrix, np.ndarray]:
    file = data_folder() / "text" / "imdb_train.tsv.zst"
    lines = pa.input_stream(str(file), compression="zstd").read().decode().split("\n")[1:]
    labels, texts = zip(*(line.split("\t", 1) for line in lines if line), strict=True)
    hashing = HashingVectorizer(
        ngram_range=(1, 2), n_features=2**bits, alternate_sign=False, dtype=np.float32
    )
    return hashing.transform(texts), np.array(labels) == "pos"


def svmlight(name: str) -> tuple[sparse.csr_matrix, np.ndarray]:
    X, y = load_svmlight_file(str(data_folder() / "libsvm" / f"{name}.gz"), dtype=np.float32)
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X, y


def measure(X, y, epochs: int, shuffle: bool) -> tuple[float, float, float, float]:
    """Seconds an epoch, theirs and ours, and of the whole fit, theirs and ours."""
    options = {"tol": None, "shuffle": shuffle, "random_state": 0}
    works = [
        partial(kind(max_iter=n, **options).fit, X, y)
        for n in (1, epochs)
        for kind in (Theirs, Ours)
    ]
    their_short, our_short, their_long, our_long = best_of(ROUNDS, *works)
    between = epochs - 1
    return (
        (their_long - their_short) / between,
        (our_long - our_short) / between,
        their_long,
        our_long,
    )


def main() -> None:
    console = Console(width=130)
    console.print(machine("scikit-learn"))
    compiling = seconds(
        lambda: Ours(max_iter=1, tol=None).fit(np.eye(4, dtype=np.float32), [0, 1, 0, 1])
    )
    console.print(f"first fit in this process (compiled, or read from disk): {compiling:.2f} s")
    X, y = mnist()
    flat = X.reshape(-1)
    read_all(flat)
    (reading,) = best_of(10, lambda: read_all(flat))
    bandwidth = X.nbytes / reading
    console.print(f"memory bandwidth, one thread reading: {bandwidth / 1e9:.1f} GB/s\n")

    jobs = [
        ("MNIST 0 against the rest", X, y == 0, 11, (7, 9)),
        ("MNIST 10 classes", X, y, 4, (None, 12)),
        *((f"IMDB hashed, 2^{bits}", *imdb(bits), 11, (2, 3)) for bits in (18, 20, 22)),
        ("news20, 20 classes", *svmlight("news20"), 6, (5, 5)),
        ("sector, 105 classes", *svmlight("sector"), 6, (8, 8)),
    ]
    table = Table(
        "data", "order", "theirs ms", "ours ms", "epoch ratio", "goal", "fit ratio", "GB/s",
        "share",
        box=None,
    )  # fmt: skip
    for name, X, y, epochs, goals in jobs:
        stored = X.nbytes if isinstance(X, np.ndarray) else X.data.nbytes + X.indices.nbytes
        for shuffle, goal in zip((False, True), goals, strict=True):
            theirs, ours, their_fit, our_fit = measure(X, y, epochs, shuffle)
            table.add_row(
                name, "shuffled" if shuffle else "in order", f"{1e3 * theirs:.1f}",
                f"{1e3 * ours:.1f}", f"{theirs / ours:.1f}", str(goal or ""),
                f"{their_fit / our_fit:.1f}", f"{stored / ours / 1e9:.1f}",
                f"{stored / ours / bandwidth:.0%}",
            )  # fmt: skip
    console.print(table)


if __name__ == "__main__":
    main()
