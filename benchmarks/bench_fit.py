"""Whole fits by the clock on the wall, against scikit-learn's Perceptron and two other peers.

    python benchmarks/bench_fit.py [--rounds 7] [--only MNIST] [--epochs 5 0] [--peers] [--small]
                                   [--kernels] [--best] [--memory] [--processor]

Every round runs both programs in turns; least and median milliseconds of the rounds are printed.
The ratio is that of the least times, scikit-learn's `Perceptron` over ours: above 1 ours is faster.
With `--peers` SGDClassifier and LinearSVC, which take far longer, are run once per table row. On a
machine that others use, `--processor` counts the processor time of one thread instead of the wall
clock's.
A number of epochs stands for the textbook's algorithm, which is theirs (last weights, no threshold,
one against the rest), shuffled; `default` (0) is each program as it comes. `--small` measures what
takes micro- to milliseconds: small fits, clone, pickle, predict, partial_fit, cross-validation.
`--kernels` compares the default KernelPerceptron with SVC on generated tables and on digits.
`--best` compares `keep="best"` with a plain fit.
`--memory` prints by how much the memory of the process grows at most in a fit.
"""

from __future__ import annotations

import argparse
import ctypes
import math
import os
import pickle
import statistics
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris, make_classification
from sklearn.linear_model import Perceptron as Theirs
from sklearn.linear_model import SGDClassifier
from sklearn.model_selection import cross_val_score
from sklearn.svm import SVC, LinearSVC

from bench_perceptron import imdb, svmlight
from common import data_folder, machine, mnist, seconds
from rosenblatt import KernelPerceptron
from rosenblatt import Perceptron as Ours

TEXTBOOK = {"threshold": 0.0, "keep": "last", "multiclass": "ovr", "intercept_scaling": 1.0}
GOALS = {"two dense": (2.5, 5.0), "ten dense": (12.0, 12.0), "two sparse": (None, 2.5)}


def covtype() -> tuple[np.ndarray, np.ndarray]:
    """Forest cover, standardised, class 2 against the rest."""
    stored = np.load(data_folder() / "tabular" / "covtype_120k.npz")
    X = stored["X"].astype(np.float32)
    return (X - X.mean(axis=0)) / (X.std(axis=0) + 1e-6), stored["y"] == 2


def one_digit(digit: int) -> tuple[np.ndarray, np.ndarray]:
    """MNIST, one digit against the rest."""
    X, y = mnist()
    return X, y == digit


def data_sets() -> Iterator[tuple[str, str, Callable[[], tuple[Any, np.ndarray]]]]:
    """Name, the goal that applies, and what makes rows and labels."""
    many = partial(make_classification, 10_000, 20, n_informative=10, random_state=0)
    yield "iris", "tiny", partial(load_iris, return_X_y=True)
    yield "10,000 x 20", "tiny", many
    yield "MNIST, 0 against the rest", "two dense", partial(one_digit, 0)
    yield "MNIST, 8 against the rest", "two dense", partial(one_digit, 8)
    yield "MNIST, 10 classes", "ten dense", mnist
    yield "covtype, 2 classes", "", covtype
    yield "IMDB, 2^20 hashed", "two sparse", partial(imdb, 20)
    yield "news20, 20 classes", "", partial(svmlight, "news20")
    yield "sector, 105 classes", "", partial(svmlight, "sector")


def programs(epochs: int, peers: bool) -> dict[str, Any]:
    """What is fitted: theirs, ours with one thread and with all cores, and peers if asked for."""
    ours: dict[str, Any] = {"random_state": 0}
    theirs: dict[str, Any] = {"random_state": 0}
    if epochs:
        ours |= TEXTBOOK | {"max_iter": epochs, "tol": None}
        theirs |= {"max_iter": epochs, "tol": None}
    found = {
        "theirs": Theirs(**theirs),
        "ours": Ours(**ours),
        "ours, all cores": Ours(n_jobs=-1, **ours),
    }
    if peers:
        found["SGD"] = SGDClassifier(loss="perceptron", **theirs)
    if peers and not epochs:
        found["SVC"] = LinearSVC(random_state=0)
    return found


def in_turns(
    rounds: int, works: dict[str, Callable[[], Any]], clock: Callable[[], float] = perf_counter
) -> dict[str, list[float]]:
    """The milliseconds of each work in each round; ours is compiled in a round of its own."""
    for name, work in works.items():
        if name != "theirs":
            work()
    taken: dict[str, list[float]] = {name: [] for name in works}
    names = list(works)
    for _ in range(rounds):
        for name in names:
            began = clock()
            works[name]()
            taken[name].append(1e3 * (clock() - began))
        names = [*names[1:], names[0]]  # what runs after what may matter
    return taken


def fits(arguments: argparse.Namespace, console: Console) -> None:
    """Whole fits of all data sets."""
    rounds, clock = arguments.rounds, process_time if arguments.processor else perf_counter
    columns = ("data", "epochs", "theirs", "ours", "ratio", "all cores", "ratio", "goals", "SGD",
               "LinearSVC")  # fmt: skip
    table = Table(*columns, box=None, title="least (median) milliseconds of a whole fit")
    for name, kind, load in data_sets():
        if not any(part.lower() in name.lower() for part in arguments.only):
            continue
        X, y = load()
        for epochs in arguments.epochs:
            models = programs(epochs, arguments.peers)
            works = {k: partial(model.fit, X, y) for k, model in models.items()}
            if arguments.processor:
                del works["ours, all cores"]
            once = {k: [1e3 * seconds(works.pop(k))] for k in ("SGD", "SVC") if k in works}
            taken = in_turns(rounds if len(y) > 1000 else 10 * rounds, works, clock) | once
            least = {k: min(v) for k, v in taken.items()}
            cell = {k: f"{least[k]:,.1f} ({statistics.median(v):,.1f})" for k, v in taken.items()}
            cell |= {k: f"{least[k]:,.1f}" for k in once}
            goals = GOALS.get(kind, ("", "")) if epochs == 5 else ("", "")
            all_cores = least.get("ours, all cores", math.nan)
            table.add_row(
                name, str(epochs or "default"), cell["theirs"], cell["ours"],
                f"{least['theirs'] / least['ours']:.2f}", cell.get("ours, all cores", ""),
                f"{least['theirs'] / all_cores:.2f}",
                " / ".join(str(g) for g in goals if g), cell.get("SGD", ""), cell.get("SVC", ""),
            )  # fmt: skip
            console.print(f"{name}, {epochs or 'default'}: {cell}", style="dim")
    console.print(table)


def small_works() -> Iterator[tuple[str, int, Callable[[], Any], Callable[[], Any]]]:
    """Name, repetitions, theirs and ours."""
    X, y = load_iris(return_X_y=True)
    Z, z = make_classification(10_000, 50, n_informative=10, random_state=0)
    S = sparse.random(1000, 4096, density=0.02, format="csr", random_state=0)
    positive = (S @ np.random.default_rng(0).normal(size=4096) > 0).astype(int)
    theirs, ours = Theirs(random_state=0), Ours(random_state=0)
    yield "fit iris, default", 1, lambda: theirs.fit(X, y), lambda: ours.fit(X, y)
    few = {"max_iter": 5, "tol": None, "random_state": 0}
    yield (
        "fit iris, 5 epochs, textbook", 1, lambda: Theirs(**few).fit(X, y),
        lambda: Ours(**few, **TEXTBOOK).fit(X, y),
    )  # fmt: skip
    yield "clone", 20, lambda: clone(theirs), lambda: clone(ours)
    fitted, mine = Theirs(random_state=0).fit(X, y), Ours(random_state=0).fit(X, y)
    yield "pickle.dumps", 20, lambda: pickle.dumps(fitted), lambda: pickle.dumps(mine)
    packed, own = pickle.dumps(fitted), pickle.dumps(mine)
    yield "pickle.loads", 20, lambda: pickle.loads(packed), lambda: pickle.loads(own)
    yield "predict, 150 rows", 20, lambda: fitted.predict(X), lambda: mine.predict(X)
    grid = [{"random_state": 0, "max_iter": n, "tol": None} for n in (1, 5, 20)]
    yield (
        "cross_val_score over a grid of 3", 1,
        lambda: [cross_val_score(Theirs(**g), X, y, cv=5) for g in grid],
        lambda: [cross_val_score(Ours(**g), X, y, cv=5) for g in grid],
    )  # fmt: skip
    for rows in (1, 32, 1000):
        for kind, A, b in (("dense", Z[:rows], z[:rows]), ("sparse", S[:rows], positive[:rows])):
            first = Theirs().partial_fit(A, b, classes=[0, 1])
            second = Ours().partial_fit(A, b, classes=[0, 1])
            yield (
                f"partial_fit, {rows:,} {kind} rows", 10,
                partial(first.partial_fit, A, b), partial(second.partial_fit, A, b),
            )  # fmt: skip


def small(arguments: argparse.Namespace, console: Console) -> None:
    """What takes micro- to milliseconds."""
    rounds, clock = 4 * arguments.rounds, process_time if arguments.processor else perf_counter
    table = Table("what", "theirs µs", "ours µs", "ratio", box=None)
    for name, times, theirs, ours in small_works():

        def repeated(work: Callable[[], Any], times: int = times) -> None:
            for _ in range(times):
                work()

        works = {"theirs": partial(repeated, theirs), "ours": partial(repeated, ours)}
        least = {k: 1e3 * min(v) / times for k, v in in_turns(rounds, works, clock).items()}
        ratio = f"{least['theirs'] / least['ours']:.2f}"
        table.add_row(name, f"{least['theirs']:,.1f}", f"{least['ours']:,.1f}", ratio)
    console.print(table)


def kernel_tables() -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Tables of a few hundred to a few thousand rows."""
    for rows in (200, 400, 1000, 2000, 4000):
        for classes in (2, 5):
            X, y = make_classification(
                rows, 20, n_informative=10, n_classes=classes, flip_y=0.05, random_state=0
            )
            yield f"{rows:,} x 20, {classes} classes", X, y
    yield "digits, 10 classes", *load_digits(return_X_y=True)


def kernels(arguments: argparse.Namespace, console: Console) -> None:
    """Whole fits of the kernel perceptron against SVC."""
    rounds, clock = arguments.rounds, process_time if arguments.processor else perf_counter
    table = Table("data", "SVC ms", "ours ms", "ratio", box=None)
    for name, X, y in kernel_tables():
        works = {
            "theirs": partial(SVC().fit, X, y),
            "ours": partial(KernelPerceptron(random_state=0).fit, X, y),
        }
        least = {k: min(v) for k, v in in_turns(rounds, works, clock).items()}
        ratio = f"{least['theirs'] / least['ours']:.2f}"
        table.add_row(name, f"{least['theirs']:,.1f}", f"{least['ours']:,.1f}", ratio)
    console.print(table)


def best(arguments: argparse.Namespace, console: Console) -> None:
    """Five epochs that keep the best weights, and five that keep the last."""
    rounds, clock = arguments.rounds, process_time if arguments.processor else perf_counter
    table = Table("data", "last ms", "best ms", "best / last", box=None)
    wanted = ("iris", "10,000 x 20", "MNIST, 0 against the rest", "MNIST, 10 classes")
    for name, _, load in data_sets():
        if name in wanted:
            (X, y), few = load(), {"max_iter": 5, "tol": None, "random_state": 0}
            works = {
                keep: partial(Ours.textbook(keep=keep, **few).fit, X, y)
                for keep in ("last", "best")
            }
            least = {k: min(v) for k, v in in_turns(rounds, works, clock).items()}
            ratio = f"{least['best'] / least['last']:.2f}"
            table.add_row(name, f"{least['last']:,.1f}", f"{least['best']:,.1f}", ratio)
    console.print(table)


def status(field: str) -> float:
    """A figure of this process in megabytes, by the name that Linux gives it."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field)) / 1024


def peak_growth(name: str, program: str) -> None:
    """Fit in this process and print the growth of its peak in megabytes, and the size of X."""
    X, y = next(load() for found, _, load in data_sets() if found == name)
    model: Any = Theirs if program == "theirs" else Ours
    few = {"max_iter": 5, "tol": None, "random_state": 0}
    model(**few).fit(X[:200], np.arange(200) % 2)  # what is compiled and loaded once
    size = X.nbytes if isinstance(X, np.ndarray) else X.data.nbytes + X.indices.nbytes
    ctypes.CDLL(None).malloc_trim(0)  # gives back what was freed
    Path("/proc/self/clear_refs").write_text("5")  # lets the peak begin anew
    before = status("VmRSS")
    model(**few).fit(X, y)
    print(f"{name}: X {size / 1e6:.0f} MB, {program} {status('VmHWM') - before:.0f} MB more")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", nargs="+", default=[""])
    parser.add_argument("--epochs", type=int, nargs="+", default=[1, 5, 20, 0])
    parser.add_argument("--peers", action="store_true")
    parser.add_argument("--processor", action="store_true")
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--kernels", action="store_true")
    parser.add_argument("--best", action="store_true")
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--peak", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    if arguments.peak:
        peak_growth(*arguments.peak)
        return
    console = Console(width=170)
    console.print(machine("scikit-learn"), f"load {os.getloadavg()[0]:.1f}")
    if arguments.memory:
        for name in ("MNIST, 0 against the rest", "MNIST, 10 classes", "IMDB, 2^20 hashed"):
            for program in ("theirs", "ours"):
                line = [sys.executable, __file__, "--peak", name, program]
                subprocess.run(line, check=True)
    elif arguments.small:
        small(arguments, console)
    elif arguments.kernels:
        kernels(arguments, console)
    elif arguments.best:
        best(arguments, console)
    else:
        fits(arguments, console)


if __name__ == "__main__":
    main()
