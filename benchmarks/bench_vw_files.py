"""Files of Vowpal Wabbit and svmlight: rosenblatt beside Vowpal Wabbit, with the defaults of both.

    python benchmarks/bench_vw_files.py [rounds]

Adult (numbers in one namespace, categories in another) and the reviews of IMDB (the words of a
review) are written in both formats. Each program trains and predicts in processes of its own;
times are of training, from starting the process to its end: processor time and, in brackets, the
clock, the least of the rounds. Vowpal Wabbit has the logistic loss and, for IMDB, 2^22 columns.
"""

from __future__ import annotations

import csv
import gzip
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from time import perf_counter

import pyarrow as pa

from common import data_folder, machine

NUMBERS = {0: "age", 2: "weight", 4: "school", 10: "gain", 11: "loss", 12: "hours"}
VW = [sys.executable, "-m", "vowpalwabbit", "--quiet", "--loss_function", "logistic"]
RUNS = {
    "adult": [[], ["--passes", "5", "-c", "-k"], ["-q", "nc"]],
    "imdb": [["-b", "22"], ["-b", "22", "--ngram", "2"]],
}
OURS = {"adult": [[], ["--cross", "nc"]], "imdb": [[], ["--ngrams", "2"]]}


def adult(part: str) -> list[tuple[int, dict[str, Counter[str]]]]:
    """The label of each row, and its features by namespace."""
    rows = []
    with gzip.open(data_folder() / f"tabular/adult-{part}.csv.gz", "rt") as file:
        for row in csv.reader(file, skipinitialspace=True):
            if len(row) == 15:
                numbers = {name: float(row[at]) for at, name in NUMBERS.items() if row[at] != "0"}
                others = [f"{at}={v}" for at, v in enumerate(row[:14]) if at not in NUMBERS]
                known = Counter(cell.replace(" ", "") for cell in others if not cell.endswith("?"))
                label = 1 if row[14].startswith(">50K") else -1
                rows.append((label, {"n": Counter(numbers), "c": known}))
    return rows


def imdb(part: str) -> list[tuple[int, dict[str, Counter[str]]]]:
    """The label of each review, and its words in their order."""
    text = pa.input_stream(str(data_folder() / f"text/imdb_{part}.tsv.zst")).read().decode()
    rows = []
    for line in text.splitlines()[1:]:
        label, _, review = line.partition("\t")
        words = re.findall(r"\w+", review.lower())
        rows.append((1 if label == "pos" else -1, {"t": words}))
    return rows


def write(rows: list, path: Path, numbers: dict[str, int]) -> None:
    """Rows as Vowpal Wabbit lines, or by feature numbers as svmlight lines."""
    with path.open("w") as file:
        for label, spaces in rows:
            if path.suffix == ".vw":
                parts = [f"|{name} {_spelled(features)}" for name, features in spaces.items()]
                file.write(f"{label} {' '.join(parts)}\n")
                continue
            counts: Counter[str] = Counter()
            for features in spaces.values():
                counts.update(features)
            if path.stem == "train":
                for name in counts:
                    numbers.setdefault(name, len(numbers) + 1)
            known = sorted((numbers[name], v) for name, v in counts.items() if name in numbers)
            file.write(f"{label} {' '.join(f'{at}:{v:g}' for at, v in known)}\n")


def _spelled(features: list[str] | Counter[str]) -> str:
    if isinstance(features, list):
        return " ".join(features)
    return " ".join(name if v == 1 else f"{name}:{v:g}" for name, v in features.items())


def timed(command: list[str]) -> tuple[float, float]:
    """Processor time and time of a process."""
    before, began = os.times(), perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    after, seconds = os.times(), perf_counter() - began
    used = after.children_user + after.children_system
    return used - before.children_user - before.children_system, seconds


def accuracy(predictions: Path, rows: list) -> float:
    """The share of rows whose prediction, the first number of a line, has the sign of the label."""
    signs = [float(line.split()[0]) > 0 for line in predictions.read_text().splitlines() if line]
    return sum(s == (label > 0) for s, (label, _) in zip(signs, rows, strict=True)) / len(rows)


def main(rounds: int = 3) -> None:
    print(machine("vowpalwabbit"))
    ours = [sys.executable, "-m", "rosenblatt"]
    with tempfile.TemporaryDirectory() as name:
        for data in (adult, imdb):
            parts = {part: data(part) for part in ("train", "test")}
            numbers: dict[str, int] = {}
            folder = Path(name)
            paths = {}
            for suffix in ("vw", "svm"):
                for part, rows in parts.items():
                    paths[part, suffix] = folder / f"{part}.{suffix}"
                    write(rows, paths[part, suffix], numbers)
            model, out = folder / "m.model", folder / "p.txt"
            jobs = []
            for options in OURS[data.__name__]:
                for suffix in ("vw", "svm") if not options else ("vw",):
                    train, test = str(paths["train", suffix]), str(paths["test", suffix])
                    jobs.append(
                        (
                            f"rosenblatt, {suffix} {' '.join(options)}",
                            [*ours, "train", train, *options, "--out", str(model), "-q"],
                            [*ours, "predict", str(model), test, "--out", str(out), "--to", "text"],
                        )
                    )
            for options in RUNS[data.__name__]:
                train, test = str(paths["train", "vw"]), str(paths["test", "vw"])
                jobs.append(
                    (
                        f"Vowpal Wabbit {' '.join(options)}",
                        [*VW, "-d", train, *options, "-f", str(model)],
                        [*VW, "-d", test, "-t", "-i", str(model), "-p", str(out)],
                    )
                )
            for what, train, predict in jobs:
                used, seconds = (
                    min(column)
                    for column in zip(*(timed(train) for _ in range(rounds)), strict=True)
                )
                subprocess.run(predict, check=True, capture_output=True)
                share = accuracy(out, parts["test"])
                print(
                    f"| {data.__name__} | {what} | {share:.2%} | {used:.2f} ({seconds:.2f}) |",
                    flush=True,
                )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
