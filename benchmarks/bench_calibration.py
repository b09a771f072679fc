"""Calibration errors against CalibratedClassifierCV, and precision of several labels by fastText.

Expected calibration error (15 bins) and Brier score on the test parts of IMDB and 20 newsgroups,
and on a tenth of the training part of 20 newsgroups that was drawn at random: its test part is of
later dates, and errors are more frequent there than in any part of the training rows. Then 20
newsgroups with the steps of their names as labels (rec, rec.sport, rec.sport.hockey).

    python benchmarks/bench_calibration.py
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import fasttext
import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.table import Table
from sklearn.calibration import CalibratedClassifierCV
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.svm import LinearSVC

from common import data_folder, machine
from rosenblatt import data, train
from rosenblatt.jobs.evaluate import Reliability, evaluate_labels

Rows = tuple[list[str], list[str]]


def read(name: str) -> Rows:
    """Labels and texts of a file."""
    path = str(data_folder() / "text" / name)
    with pa.OSFile(path) as file, pa.CompressedInputStream(file, "zstd") as stream:
        lines = [line for line in stream.read().decode().split("\n") if line]
    if "jsonl" in name:
        rows = [json.loads(line) for line in lines]
        return [row["label"] for row in rows], [row["text"] for row in rows]
    labels, texts = zip(*(line.split("\t", 1) for line in lines[1:]), strict=True)
    return list(labels), list(texts)


def judged(P: np.ndarray, classes: list[str], labels: list[str]) -> tuple[str, str, str]:
    """The accuracy, the calibration error and the Brier score of probabilities."""
    truth = np.array([classes.index(label) for label in labels])
    found = Reliability(len(classes))
    found.add(P, truth)
    accuracy = np.mean(P.argmax(axis=1) == truth)
    return f"{accuracy:.2%}", f"{found.error:.2%}", f"{found.brier:.4f}"


def calibration(table: Table) -> None:
    """One line per data set and method."""
    imdb, news = read("imdb_train.tsv.zst"), read("20news_train.jsonl.zst")
    out = np.random.default_rng(0).random(len(news[0])) < 0.1
    inside: Rows = tuple([x for x, o in zip(side, out, strict=True) if not o] for side in news)  # type: ignore[assignment]
    outside: Rows = tuple([x for x, o in zip(side, out, strict=True) if o] for side in news)  # type: ignore[assignment]
    for name, rows, new in (
        ("IMDB", imdb, read("imdb_test.tsv.zst")),
        ("20 newsgroups, later dates", news, read("20news_test.jsonl.zst")),
        ("20 newsgroups, a random tenth", inside, outside),
    ):
        for method in ("sigmoid", "isotonic"):
            model = train({"label": rows[0], "text": rows[1]}, text="text", calibrate=method)
            P = model.predict_proba(new[1])
            table.add_row(name, f"rosenblatt {method}", *judged(P, list(model.classes), new[0]))
        words = TfidfVectorizer(ngram_range=(1, 2), min_df=2, sublinear_tf=True)
        X = words.fit_transform(rows[1])
        peer = CalibratedClassifierCV(LinearSVC(), ensemble=False, cv=5).fit(X, rows[0])
        P = peer.predict_proba(words.transform(new[1]))
        table.add_row(name, "LinearSVC sigmoid", *judged(P, peer.classes_.tolist(), new[0]))


def several_labels(table: Table, folder: Path) -> None:
    """fastText's one-vs-all loss and this package on the same lines."""
    for part in ("train", "test"):
        labels, texts = read(f"20news_{part}.jsonl.zst")
        lines = []
        for label, text in zip(labels, texts, strict=True):
            steps = label.split(".")
            names = [".".join(steps[: i + 1]) for i in range(len(steps))]
            marks = " ".join(f"__label__{name}" for name in names)
            lines.append(f"{marks} {' '.join(text.split())}\n")
        (folder / f"{part}.ft").write_text("".join(lines))
    model = train(folder / "train.ft")
    test = str(folder / "test.ft")
    found = evaluate_labels(
        model, data.open(test, features=model.features, classes=model.classes)
    ).at_rank
    peer = fasttext.train_supervised(
        str(folder / "train.ft"), loss="ova", epoch=25, wordNgrams=2, lr=0.5, thread=2, verbose=0
    )
    for rank in (1, 3):
        _, precision, recall = peer.test(test, k=rank)
        own = found[rank]
        table.add_row(f"P@{rank}", f"{own[0]:.2%}", f"{precision:.2%}")
        table.add_row(f"R@{rank}", f"{own[1]:.2%}", f"{recall:.2%}")


def main() -> None:
    """Print both tables."""
    console = Console()
    console.print(machine("fasttext-numpy2-wheel", "scikit-learn"), "\n")
    table = Table(title="Calibration of probabilities")
    for column in ("rows", "method", "accuracy", "ECE", "Brier score"):
        table.add_column(column)
    calibration(table)
    console.print(table)
    labels = Table(title="Several labels per row: 20 newsgroups by the steps of their names")
    for column in ("measure", "rosenblatt", "fastText (ova, 25 epochs)"):
        labels.add_column(column)
    with tempfile.TemporaryDirectory() as name:
        several_labels(labels, Path(name))
    console.print(labels)


if __name__ == "__main__":
    main()
