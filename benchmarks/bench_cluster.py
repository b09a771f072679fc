"""Training on shards: accuracy, time, and bytes sent, against one process.

    python benchmarks/bench_cluster.py accuracy [DATA]  # and time: 1, 4, 16, 64 shards, serial
    python benchmarks/bench_cluster.py scaling [N ...]  # epochs with 1 and 2 (N) local processes
    python benchmarks/bench_cluster.py bytes         # what an epoch sends, and would send
    python benchmarks/bench_cluster.py choices [DATA]  # threshold and epochs, on training rows
    python benchmarks/bench_cluster.py large [GB]    # a generated file, 3 GB by default

Each model is trained with its defaults: a held-out tenth decides the number of epochs, and the
model is then trained on all rows. Accuracy is on rows that no training has seen. Times are of the
epochs from the second on, in which rows are read from the workers' disks; the least of several
rounds, taken in turn.
"""

from __future__ import annotations

import gzip
import itertools
import pickle
import sys
import tempfile
import warnings
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from time import perf_counter
from unittest import mock

import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.table import Table

import rosenblatt
from common import data_folder, machine
from rosenblatt import data
from rosenblatt.cluster import mixing
from rosenblatt.cluster.rows import ShardWarning
from rosenblatt.jobs.evaluate import evaluate

SHARDS = (1, 4, 16, 64)


def imdb(folder: Path, copies: int = 1) -> tuple[Path, Path]:
    """The reviews as TSV files, for training perhaps several times over, and for the test."""
    paths = []
    for part in ("train", "test"):
        with pa.input_stream(str(data_folder() / "text" / f"imdb_{part}.tsv.zst")) as file:
            header, _, rows = file.read().partition(b"\n")
        paths.append(folder / f"imdb{copies}_{part}.tsv")
        times = copies if part == "train" else 1
        paths[-1].write_bytes(header + b"\n" + (rows.rstrip(b"\n") + b"\n") * times)
    return paths[0], paths[1]


def covtype(folder: Path) -> tuple[Path, Path]:
    """Forest covers as CSV files: 100,000 rows for training, 20,000 for the test."""
    found = np.load(data_folder() / "tabular" / "covtype_120k.npz")
    order = np.random.default_rng(0).permutation(len(found["y"]))
    X, y = found["X"][order], found["y"][order]
    names = ",".join(["label", *(f"c{j}" for j in range(X.shape[1]))])
    paths = folder / "covtype_train.csv", folder / "covtype_test.csv"
    for path, rows in zip(paths, (slice(0, 100_000), slice(100_000, None)), strict=True):
        table = np.column_stack([y[rows], X[rows]])
        np.savetxt(path, table, "%d", ",", header=names, comments="")
    return paths


def news20(folder: Path) -> tuple[Path, Path]:
    """Newsgroups in svmlight lines: a fifth of the rows is for the test."""
    with gzip.open(data_folder() / "libsvm" / "news20.gz") as file:
        lines = file.read().splitlines(keepends=True)
    order = np.random.default_rng(0).permutation(len(lines))
    cut = len(lines) * 4 // 5
    paths = folder / "news20_train.svm", folder / "news20_test.svm"
    for path, rows in zip(paths, (order[:cut], order[cut:]), strict=True):
        path.write_bytes(b"".join(lines[i] for i in rows))
    return paths


def accuracy_of(model: rosenblatt.Model, test: Path) -> float:
    source = data.open(test, features=model.features, classes=model.classes)
    return evaluate(model, source).accuracy


def accuracy(console: Console, folder: Path, *wanted: str) -> None:
    table = Table("data", "rows", "serial", *(f"{s} shards" for s in SHARDS),
                  title="accuracy, % (s for the whole run, 2 processes)")  # fmt: skip
    sets = {
        "news20": partial(news20, folder),
        "covtype": partial(covtype, folder),
        "IMDB": partial(imdb, folder),
        "IMDB, 8 copies": partial(imdb, folder, 8),
    }
    for name in [name for name in sets if not wanted or name in wanted]:
        path, test = sets[name]()
        rows = sum(1 for _ in path.open("rb")) - (path.suffix != ".svm")
        cells: list[str] = []
        for options in ({}, *({"workers": 2, "shards": shards} for shards in SHARDS)):
            began = perf_counter()
            model = rosenblatt.train(path, **options)
            seconds = perf_counter() - began
            cells.append(f"{100 * accuracy_of(model, test):.2f} ({seconds:.1f})")
            console.print(name, options, cells[-1], len(model.history), highlight=False)
        table.add_row(name, f"{rows:,}", *cells)
    console.print(table)


def epoch_seconds(path: Path, workers: int, shards: int, epochs: int = 6) -> np.ndarray:
    """Of each epoch but the first: seconds, processor seconds of this process and of workers."""
    import psutil

    me, seen = psutil.Process(), []

    def note(run: object) -> None:
        if len(run.history) > len(seen):
            times = [process.cpu_times() for process in (me, *me.children(recursive=True))]
            own, *others = [time.user + time.system for time in times]
            seen.append((run.history[-1].seconds, own, sum(others)))

    rosenblatt.train(path, workers=workers, shards=shards, epochs=epochs, report=note)
    found = np.array(seen)
    return np.column_stack([found[1:, 0], np.diff(found[:, 1:], axis=0)])


def scaling(console: Console, folder: Path, *counts: str) -> None:
    """Epochs by 1 and by more processes; on a busy machine look at processor seconds."""
    path, _ = imdb(folder, 32)
    numbers = [int(n) for n in counts or ("1", "2")]
    found = {n: epoch_seconds(path, n, 16) for n in numbers}
    table = Table("local processes", "s per epoch", "processor s here", "processor s of workers",
                  "times as fast", "by processor seconds")  # fmt: skip
    first = None
    for workers, epochs in found.items():
        wall = epochs[:, 0].min()
        here, there = np.median(epochs[:, 1:], axis=0)
        computed = here + there / workers
        first = first or (wall, computed)
        table.add_row(str(workers), f"{wall:.3f}", f"{here:.3f}", f"{there:.3f}",
                      f"{first[0] / wall:.2f}", f"{first[1] / computed:.2f}")  # fmt: skip
    console.print(table)


def sent(console: Console, folder: Path) -> None:
    table = Table("data", "features", "weights, MB", "changes of a shard, MB", "MB per epoch",
                  "64 workers", "1,000 workers", title="sent, 16 shards")  # fmt: skip
    for name, (path, _) in {
        "IMDB": imdb(folder), "covtype": covtype(folder), "news20": news20(folder),
    }.items():  # fmt: skip
        seen: list = []
        epoch_sum = mixing.epoch_sum  # the task itself, below the mock

        def epoch(*arguments: object, seen: list = seen, epoch_sum: object = epoch_sum) -> object:
            seen.append((epoch_sum(*arguments), arguments[2].arrays["weights"].nbytes))
            return seen[-1][0]

        with ThreadPoolExecutor(16) as pool, mock.patch.object(mixing, "epoch_sum", epoch):
            rosenblatt.train(path, workers=pool, shards=16, epochs=3)
        deltas, weights = [delta for delta, _ in seen[-16:]], seen[-1][1]
        received = sum(len(pickle.dumps(delta)) for delta in deltas)
        cells = [16 * weights + received]
        cells += [n * weights + (n - 1) * received / 16 for n in (64, 1000)]
        sizes = [f"{size / 1e6:.2f}" for size in (weights, received / 16)]
        sizes += [f"{cell / 1e6:,.0f}" for cell in cells]
        table.add_row(name, f"{deltas[0].n_features:,}", *sizes)
    console.print(table)
    console.print(
        "Each worker gets the weights once per epoch and sends one sum of changes; for 64 and "
        "1,000 workers, one shard each, computed from the sizes measured.", highlight=False,
    )  # fmt: skip


def choices(console: Console, folder: Path, *wanted: str) -> None:
    """Thresholds and epochs of 16 shards, by fifths of the training rows."""
    grids = {
        "IMDB": (imdb, (2.0, 0.25, 0.125), (8, 16), 3),
        "covtype": (covtype, (1.0, 0.25), (32, 64), 5),
    }
    for name in [name for name in grids if not wanted or name in wanted]:
        make, thresholds, numbers, folds = grids[name]
        source, _ = make(folder)
        header, *lines = source.read_bytes().splitlines(keepends=True)
        fifths = np.random.default_rng(3).permutation(len(lines)) % 5
        found = np.zeros((folds, len(thresholds), len(numbers)))
        for k in range(folds):
            paths = [folder / f"choice_{part}{source.suffix}" for part in ("train", "test")]
            for path, chosen in zip(paths, (fifths != k, fifths == k), strict=True):
                path.write_bytes(header + b"".join(itertools.compress(lines, chosen)))
            serial = accuracy_of(rosenblatt.train(paths[0]), paths[1])
            for i, j in np.ndindex(found.shape[1:]):
                mixed = rosenblatt.train(
                    paths[0], workers=2, shards=16, threshold=thresholds[i], epochs=numbers[j]
                )
                found[k, i, j] = accuracy_of(mixed, paths[1]) - serial
        table = Table("threshold", *(f"{n} epochs" for n in numbers),
                      title=f"{name}, 16 shards: points more than serial")  # fmt: skip
        for threshold, row in zip(thresholds, 100 * found.mean(axis=0), strict=True):
            table.add_row(f"{threshold:g}", *(f"{cell:+.2f}" for cell in row))
        console.print(table)


def generated(path: Path, gigabytes: float, seed: int = 0) -> int:
    """A CSV file of texts of random words, some of which tell the class; the number of rows."""
    generator, rows = np.random.default_rng(seed), 0
    words = [f"w{i}" for i in (generator.pareto(0.8, 1 << 22) * 40).astype(np.int64) % 50_000]
    pool, ends = " ".join(words), np.cumsum([len(word) + 1 for word in words]).tolist()

    def line(label: int, start: int, mark: int) -> str:
        text = pool[ends[start] : ends[start + 120] - 1]
        return f"{'ab'[label]},{text} mark{mark}{start % 50}\n"

    with path.open("w") as file:
        file.write("label,text\n")
        while file.tell() < gigabytes * 1e9:
            labels = generator.integers(0, 2, 20_000)
            starts = generator.integers(0, len(words) - 200, 20_000)
            marks = np.where(generator.random(20_000) < 0.9, labels, 1 - labels)
            file.writelines(map(line, labels.tolist(), starts.tolist(), marks.tolist()))
            rows += 20_000
    return rows


def large(console: Console, folder: Path, gigabytes: float) -> None:
    path, test = folder / "large.csv", folder / "large_test.csv"
    rows = generated(path, gigabytes)
    generated(test, 0.02, seed=1)
    console.print(f"{rows:,} rows, {path.stat().st_size / 1e9:.2f} GB", highlight=False)
    table = Table("", "whole run, s", "first epoch, s", "later epochs, s", "test accuracy, %")
    for workers, shards in ((None, None), (2, 16), (1, 64), (2, 64), (2, 4), (2, 1)):
        runs: list = []
        began = perf_counter()
        model = rosenblatt.train(
            path, epochs=3, workers=workers, shards=shards, report=runs.append, memory=2 << 30
        )
        seconds, history = perf_counter() - began, runs[-1].history
        name = "serial" if workers is None else f"{runs[-1].shards} shards, {workers} processes"
        row = (
            name, f"{seconds:.1f}", f"{history[0].seconds:.1f}",
            f"{min(epoch.seconds for epoch in history[1:]):.2f}",
            f"{100 * accuracy_of(model, test):.2f}",
        )  # fmt: skip
        table.add_row(*row)
        console.print(*row, highlight=False)
    console.print(table)


def main() -> None:
    console = Console(width=120)
    what, *rest = sys.argv[1:] or ["accuracy"]
    warnings.simplefilter("ignore", ShardWarning)
    console.print(machine("pyarrow"), highlight=False)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if what == "large":
            large(console, folder, float(rest[0]) if rest else 3.0)
        else:
            {"accuracy": accuracy, "scaling": scaling, "bytes": sent,
             "choices": choices}[what](console, folder, *rest)  # fmt: skip


if __name__ == "__main__":
    main()
