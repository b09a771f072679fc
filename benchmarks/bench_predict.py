"""Predict from file to file against fastText and scikit-learn, in MB/s of one core.

IMDB's 25,000 test reviews as lines of plain text (written to a temporary folder) become lines of
label and probability or score, with unigrams and bigrams everywhere, 2^22 columns. Every program
runs in this process, on one core, in turns; the least of some rounds counts, in seconds of the
processor, which other load of the machine does not count into. fastText has no command-line
program in its wheel: its `predict` is called with a list of lines.

    python benchmarks/bench_predict.py [--rounds 5]
"""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path
from time import process_time

import pyarrow as pa
from rich.console import Console
from rich.table import Table

if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

import fasttext
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.linear_model import SGDClassifier

from common import best_of, data_folder, machine
from rosenblatt import data, train
from rosenblatt.jobs.predict import OutputOptions, write_predictions


def read(part: str) -> tuple[list[str], list[str]]:
    """Labels and texts of a part of IMDB."""
    path = str(data_folder() / "text" / f"imdb_{part}.tsv.zst")
    with pa.OSFile(path) as file, pa.CompressedInputStream(file, "zstd") as stream:
        lines = stream.read().decode().split("\n")[1:]
    labels, texts = zip(*(line.split("\t", 1) for line in lines if line), strict=True)
    return list(labels), list(texts)


def programs(folder: Path) -> dict[str, tuple[object, float]]:
    """How each program predicts the file, and its accuracy."""
    labels, texts = read("train")
    truth, new = read("test")
    lines, out = folder / "test.txt", folder / "out.txt"
    lines.write_text("".join(text + "\n" for text in new))
    (folder / "train.ft").write_text(
        "".join(f"__label__{a} {b}\n" for a, b in zip(labels, texts, strict=True))
    )
    ours = train({"label": labels, "text": texts}, text="text")
    peer = fasttext.train_supervised(
        str(folder / "train.ft"), epoch=5, wordNgrams=2, lr=0.5, thread=1, verbose=0
    )
    hashing = HashingVectorizer(ngram_range=(1, 2), n_features=2**22, alternate_sign=False)
    linear = SGDClassifier(alpha=1e-6, average=True, max_iter=5, tol=None, random_state=0)
    linear.fit(hashing.transform(texts), labels)

    def by_rosenblatt(wanted: OutputOptions) -> list[str]:
        source = data.open(str(lines), features=ours.features)
        source.labelled = False
        write_predictions(ours, source, out, wanted)
        return [line.split("\t")[0] for line in out.read_text().splitlines()]

    def by_fasttext() -> list[str]:
        with lines.open() as file, out.open("w") as written:
            found, values = peer.predict([line.rstrip("\n") for line in file])
            rows = zip(found, values, strict=True)
            written.writelines(f"{label[0][9:]}\t{value[0]:.6f}\n" for label, value in rows)
        return [label[0][9:] for label in found]

    def by_sklearn() -> list[str]:
        with lines.open() as file, out.open("w") as written:
            scores = linear.decision_function(hashing.transform(file))
            said = linear.classes_[(scores > 0).astype(int)].tolist()
            written.writelines(f"{a}\t{b:.6f}\n" for a, b in zip(said, scores, strict=True))
        return said

    short = OutputOptions(proba=True, only=("predicted", "probability"))
    works = {
        "rosenblatt": lambda: by_rosenblatt(short),
        "rosenblatt, text as well": lambda: by_rosenblatt(OutputOptions(proba=True)),
        "fastText": by_fasttext,
        "scikit-learn": by_sklearn,
    }
    return {
        name: (work, sum(a == b for a, b in zip(work(), truth, strict=True)) / len(truth))
        for name, work in works.items()
    }


def main() -> None:
    """Print the throughput of each program, and its ratio to fastText and scikit-learn."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as name:
        found = programs(Path(name))
        megabytes = (Path(name) / "test.txt").stat().st_size / 1e6
        times = best_of(rounds, *(work for work, _ in found.values()), clock=process_time)
    rates = dict(zip(found, (megabytes / time for time in times), strict=True))
    table = Table(title=f"{megabytes:.1f} MB of reviews, one core, least of {rounds} rounds")
    for column in ("program", "MB/s", "x fastText", "x scikit-learn", "accuracy"):
        table.add_column(column, justify="left" if column == "program" else "right")
    for name, (_, accuracy) in found.items():
        against = (rates[name] / rates[peer] for peer in ("fastText", "scikit-learn"))
        table.add_row(
            name, f"{rates[name]:.1f}", *(f"{ratio:.1f}" for ratio in against), f"{accuracy:.2%}"
        )
    console = Console()
    console.print(machine("fasttext-numpy2-wheel", "scikit-learn", "pyarrow"), "\n")
    console.print(table)


if __name__ == "__main__":
    main()
