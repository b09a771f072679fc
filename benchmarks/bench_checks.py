"""What the checks of arrays and files from outside cost: calls with them and without, in turns.

    python benchmarks/bench_checks.py [rounds]

*Without* replaces the look at the indices of sparse matrices (``check_sparse``) by nothing, and the
checksums of files (``zlib.crc32``, in writing and reading) by a constant. Sparse `predict` checks
indices inside its product; it is measured against SciPy's product, which checks nothing. The least
time of several rounds, and the peak of the memory that Python's allocators hand out.
"""

from __future__ import annotations

import sys
import tempfile
import tracemalloc
import warnings
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from unittest.mock import patch

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy import sparse
from sklearn.utils.extmath import safe_sparse_dot

from common import machine, seconds
from rosenblatt import KernelPerceptron, Perceptron, load, save, train
from rosenblatt.estimators import _input, lift
from rosenblatt.estimators._linear import linear_scores

ROWS, COLUMNS, PER_ROW = 40_000, 50_000, 100


@contextmanager
def without_checks() -> Iterator[None]:
    """Leave out the look at sparse indices and the checksums of files."""
    with ExitStack() as stack:
        for module in (_input, lift):
            stack.enter_context(patch.object(module, "check_sparse", lambda X: None))
        stack.enter_context(patch.object(zlib, "crc32", lambda content, start=0: 0))
        yield


def peak(work: Callable[[], object]) -> float:
    """The most memory that a call holds at once, in MB."""
    tracemalloc.start()
    work()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most / 1e6


def sparse_rows() -> tuple[sparse.csr_matrix, np.random.Generator]:
    """A matrix with as many entries in each row, and the generator that drew it."""
    random = np.random.default_rng(0)
    step = COLUMNS // PER_ROW
    columns = np.arange(PER_ROW) * step + random.integers(step, size=(ROWS, PER_ROW))
    entries = random.standard_normal(ROWS * PER_ROW, np.float32)
    ends = np.arange(ROWS + 1) * PER_ROW
    return sparse.csr_matrix((entries, columns.ravel(), ends), (ROWS, COLUMNS)), random


def sparse_cases() -> dict[str, Callable[[], object]]:
    """Calls that take a sparse matrix."""
    X, random = sparse_rows()
    y = np.asarray(X @ random.standard_normal(COLUMNS, np.float32) > 0).astype(int)
    model = Perceptron.textbook(max_iter=3, tol=None).fit(X, y)
    kernel_rows = X[:1500]
    return {
        "fit, textbook, 1 epoch": lambda: Perceptron.textbook(max_iter=1, tol=None).fit(X, y),
        "fit, default, 5 epochs": lambda: Perceptron(max_iter=5, tol=None).fit(X, y),
        "partial_fit, 1,000 rows": lambda: model.partial_fit(X[:1000], y[:1000]),
        "partial_fit, 1 row": lambda: model.partial_fit(X[:1], y[:1]),
        "KernelPerceptron.fit, 1,500 rows": lambda: KernelPerceptron(max_iter=3, tol=None).fit(
            kernel_rows, y[:1500]
        ),
    }


def predicted() -> tuple[Callable[[], object], Callable[[], object]]:
    """The checked product and SciPy's, which checks nothing."""
    X, random = sparse_rows()
    W = random.standard_normal((1, COLUMNS), np.float32)
    bias = np.zeros(1)
    return (
        lambda: linear_scores(X, W, bias),
        lambda: (safe_sparse_dot(X, W.T, dense_output=True) + bias.astype(W.dtype))[:, 0],
    )


def file_cases(folder: Path) -> dict[str, Callable[[], tuple[Callable[[], object], ...]]]:
    """Calls that write or read files; each is made anew with or without checksums."""
    random = np.random.default_rng(0)
    words = np.array([f"w{i}" for i in range(30_000)])
    rows = [" ".join(random.choice(words, 60)) for _ in range(20_000)]
    table = folder / "rows.tsv"
    lines = [f"{'ab'[i % 2]}\t{row}" for i, row in enumerate(rows)]
    table.write_text("\n".join(["label\ttext", *lines]) + "\n")
    model = Perceptron().fit(random.standard_normal((500, 20_000), np.float32), [0, 1] * 250)
    number = iter(range(10**6))

    def trains_with_checkpoint() -> tuple[Callable[[], object], ...]:
        target = folder / f"run{next(number)}"
        return (lambda: train(table, epochs=3, memory=1 << 20, checkpoint=target),)

    def saves_and_loads() -> tuple[Callable[[], object], ...]:
        path = folder / f"{next(number)}.model"
        return (lambda: save(model, path)), (lambda: load(path))

    return {
        "train with a checkpoint, rows on disk": trains_with_checkpoint,
        "save / load a model of 160 kB": saves_and_loads,
    }


def compared(
    rounds: int, checked: Callable[[], object], unchecked: Callable[[], object], bare: bool
) -> tuple[float, float]:
    """The least times with checks and without, in turns."""
    times: tuple[list[float], list[float]] = [], []
    for _ in range(rounds):
        times[0].append(seconds(checked))
        if bare:
            times[1].append(seconds(unchecked))
        else:
            with without_checks():
                times[1].append(seconds(unchecked))
    return min(times[0]), min(times[1])


def main() -> None:
    warnings.simplefilter("ignore")
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    console = Console(width=110)
    console.print(machine("scipy", "scikit-learn"), "\n")
    table = Table("call", "checked ms", "without ms", "more %", "peak MB", "without MB")

    def add(name: str, times: tuple[float, float], memory: tuple[float, float]) -> None:
        more = 100 * (times[0] / times[1] - 1)
        cells = [f"{1e3 * t:.2f}" for t in times] + [f"{more:+.1f}"] + [f"{m:.1f}" for m in memory]
        table.add_row(name, *cells)

    for name, work in sparse_cases().items():
        times = compared(rounds, work, work, bare=False)
        checked = peak(work)
        with without_checks():
            add(name, times, (checked, peak(work)))
    ours, scipys = predicted()
    add("sparse scores, SciPy without", compared(rounds, ours, scipys, bare=True),
        (peak(ours), peak(scipys)))  # fmt: skip
    with tempfile.TemporaryDirectory() as scratch:
        for name, made in file_cases(Path(scratch)).items():
            steps: list[list[list[float]]] = [[], []]
            memory: list[list[float]] = [[], []]
            for turn in range(2 * max(3, rounds // 2)):
                bare = turn % 2
                with without_checks() if bare else ExitStack():
                    steps[bare].append([seconds(work) for work in made()])
            for bare in (0, 1):
                with without_checks() if bare else ExitStack():
                    memory[bare] = [peak(work) for work in made()]
            for step, what in enumerate(name.split(" / ")):
                least = [min(turn[step] for turn in steps[bare]) for bare in (0, 1)]
                add(what, (least[0], least[1]), (memory[0][step], memory[1][step]))
    console.print(table)


if __name__ == "__main__":
    main()
