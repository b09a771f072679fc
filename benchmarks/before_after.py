"""The same jobs with two checkouts of the package in turns: least seconds of each, and the ratio.

    python benchmarks/before_after.py OLD/src NEW/src [--turns 3] [--processor] [--only IMDB]

Every turn is a process of its own per checkout. --processor counts the seconds of the processor,
of child processes too, instead of the clock's: for machines that others use as well.
"""

from __future__ import annotations

import argparse
import inspect
import json
import os
import resource
import subprocess
import sys
import tempfile
import warnings
from collections import deque
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet

from common import data_folder, mnist, reviews


def processor() -> float:
    """Seconds of the processor so far, of this process and its children."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def least(job: Callable[[], Any], times: int, clock: Callable[[], float]) -> float:
    """The least seconds of a job that has been run once before."""
    job()
    taken = []
    for _ in range(times):
        began = clock()
        job()
        taken.append(clock() - began)
    return min(taken)


def estimator_jobs() -> dict[str, Callable[[], Any]]:
    """Fits of the estimators."""
    from sklearn.datasets import load_iris, load_svmlight_file

    from rosenblatt import (
        HashedNgrams,
        KernelPerceptron,
        OneByOne,
        Perceptron,
        certify,
        learn_online,
        verify,
    )

    # Spelled out, so that releases with other defaults do the same work.
    textbook = {"threshold": 0.0, "keep": "last", "multiclass": "ovr", "intercept_scaling": 1.0}
    if "scale" in inspect.signature(Perceptron).parameters:
        textbook["scale"] = None
    fit = {**textbook, "tol": None, "random_state": 0, "max_iter": 5}
    averaged = {**fit, "keep": "average"}
    X, y = mnist("train")
    X = X.astype(np.float32) / 255
    labels, texts = reviews()
    T, positive = HashedNgrams().fit_transform(texts), np.array(labels) == "pos"
    news, group = load_svmlight_file(str(data_folder() / "libsvm" / "news20.gz"), dtype=np.float32)
    w8a, is_rare = load_svmlight_file(str(data_folder() / "libsvm" / "w8a.gz"))
    row, flowers = T[0], load_iris(return_X_y=True)
    proof = certify(w8a, is_rare)
    online = Perceptron(**textbook).partial_fit(row, [1], classes=[0, 1])

    def one_by_one() -> None:
        with OneByOne(Perceptron(**textbook), classes=[False, True]) as learner:
            for x, label in zip(X[:2000], (y[:2000] == 0).tolist(), strict=True):
                learner.learn(x, label)

    return {
        "fit MNIST, 0 against the rest, 5 epochs": lambda: Perceptron(**fit).fit(X, y == 0),
        "the same, averaged": lambda: Perceptron(**averaged).fit(X, y == 0),
        "fit MNIST, 10 classes, 5 epochs": lambda: Perceptron(**fit).fit(X, y),
        "the same, averaged ": lambda: Perceptron(**averaged).fit(X, y),
        "fit IMDB, sparse, 5 epochs": lambda: Perceptron(**fit).fit(T, positive),
        "the same, averaged, threshold 2": lambda: Perceptron(**{**averaged, "threshold": 2.0}).fit(
            T, positive
        ),
        "fit news20, 20 classes, 5 epochs": lambda: Perceptron(**fit).fit(news, group),
        "fit iris": lambda: Perceptron(**textbook, random_state=0).fit(*flowers),
        "partial_fit, one sparse row, 2^22 columns": lambda: online.partial_fit(row, [1]),
        "2,000 examples one by one, 784 features": one_by_one,
        "kernel perceptron, 3,000 digits, 2 epochs": lambda: KernelPerceptron(
            kernel="poly",
            degree=2,
            gamma=1,
            coef0=1,
            keep="vote",
            threshold=0.0,
            tol=None,
            max_iter=2,
            random_state=0,
        ).fit(X[:3000], y[:3000]),
        "learn_online, 10,000 rows of an array": lambda: learn_online(
            Perceptron(**textbook), X[:10_000], y[:10_000] == 0
        ),
        "25,000 texts to hashed n-grams": lambda: HashedNgrams().transform(texts),
        "certify MNIST 0 and 1": lambda: certify(X[y < 2][:4000], y[y < 2][:4000]),
        "certify w8a, sparse": lambda: certify(w8a, is_rare),
        "verify w8a, sparse": lambda: verify(proof, w8a, is_rare),
    }


def reading_jobs(folder: Path) -> dict[str, Callable[[], Any]]:
    """Files of every kind to hashed rows."""
    from rosenblatt import data

    labels, texts = reviews()
    table = pa.table({"label": labels, "text": texts})
    paths = {
        kind: folder / f"reviews.{kind}" for kind in ("csv", "tsv", "jsonl", "parquet", "arrow")
    }
    pyarrow.csv.write_csv(table, paths["csv"])
    options = pyarrow.csv.WriteOptions(delimiter="\t")
    pyarrow.csv.write_csv(table, paths["tsv"], options)
    paths["jsonl"].write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))
    pyarrow.parquet.write_table(table, paths["parquet"])
    pyarrow.feather.write_feather(table, paths["arrow"], compression="uncompressed")

    def read(path: Path) -> Callable[[], Any]:
        label = {} if path.suffix == ".gz" else {"label": "label"}
        return lambda: deque(data.open(str(path), **label), maxlen=0)

    svmlight = data_folder() / "libsvm" / "news20.gz"
    return {f"read reviews.{kind}": read(path) for kind, path in paths.items()} | {
        "read news20.gz, svmlight": read(svmlight)
    }


def command_jobs(folder: Path) -> dict[str, Callable[[], Any]]:
    """Whole commands, as a user sees them."""
    text, out = data_folder() / "text", folder / "m.model"

    def command(*words: Any) -> Callable[[], Any]:
        line = [sys.executable, "-m", "rosenblatt", *map(str, words)]
        return lambda: subprocess.run(line, check=True, capture_output=True)

    small = folder / "small.csv"
    small.write_text("label,text\n" + "pos,good and fun\nneg,bad and dull\n" * 100)
    imdb, news = text / "imdb_train.tsv.zst", text / "20news_train.jsonl.zst"
    fit = "from rosenblatt import Perceptron as P; P(random_state=0).fit([[1.0], [-1.0]], [1, 0])"
    python = [sys.executable, "-c", fit]
    return {
        "--help": command("--help"),
        "import and first fit": lambda: subprocess.run(python, check=True),
        "train, 200 rows": command("train", small, "-q", "--out", out),
        "train IMDB": command("train", imdb, "--label", "label", "-q", "--out", out),
        "train IMDB, rows on disk": command(
            "train", imdb, "--label", "label", "--memory", 1, "--epochs", 5, "-q", "--out", out
        ),
        "evaluate IMDB": command("evaluate", out, text / "imdb_test.tsv.zst"),
        "train 20 newsgroups": command("train", news, "--label", "label", "-q", "--out", out),
    }


def measure(only: str, clock: Callable[[], float]) -> dict[str, float]:
    """The jobs whose names contain `only`, with the checkout on the path."""
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        jobs = estimator_jobs() | reading_jobs(Path(folder)) | command_jobs(Path(folder))
        return {name: least(job, 2, clock) for name, job in jobs.items() if only in name}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sources", nargs="*")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--processor", action="store_true")
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    if not arguments.sources:
        print(
            json.dumps(measure(arguments.only, processor if arguments.processor else perf_counter))
        )
        return
    options = ["--only", arguments.only] + ["--processor"] * arguments.processor
    best: dict[str, list[float]] = {}
    modules = tempfile.TemporaryDirectory()
    for _ in range(arguments.turns):
        for place, source in enumerate(arguments.sources):
            # As installed: with compiled modules, whatever lies in the two checkouts.
            environment = {**os.environ, "PYTHONPATH": source, "ROSENBLATT_QUIET": "1"}
            environment |= {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": modules.name}
            told = subprocess.run(
                [sys.executable, __file__, *options],
                env=environment,
                check=True,
                capture_output=True,
            ).stdout
            for name, seconds in json.loads(told).items():
                kept = best.setdefault(name, [float("inf")] * len(arguments.sources))
                kept[place] = min(kept[place], seconds)
            print(f"{source}: done", file=sys.stderr, flush=True)
    for name, seconds in best.items():
        shown = "   ".join(f"{s * 1000:>9,.1f}" for s in seconds)
        print(f"{name.strip():<46} {shown}   {seconds[0] / seconds[-1]:>5.2f}")


if __name__ == "__main__":
    main()
