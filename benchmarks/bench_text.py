"""From a file of text to a trained model: rosenblatt, Vowpal Wabbit, fastText, scikit-learn.

    python benchmarks/bench_text.py [rounds]

Bigrams and 5 epochs for all, on IMDB (2 classes) and 20 newsgroups (20 classes). rosenblatt and
scikit-learn read the raw file. Vowpal Wabbit and fastText get the same words in the format they
need, and the time to make it is not counted. Each program runs in a process of its own; *inside* is
from opening the file to the trained model, *process* from starting the process to its end, imports
and the loading of compiled kernels included. Each is the least of several rounds, taken in turn.
`rosenblatt train` is the program itself, which also reads its options and, like Vowpal Wabbit,
writes the model to a file. Bytecode is kept between the rounds, as it is for any installed package.
Vowpal Wabbit runs through its Python package, whose native program would need about the time
*inside*. fastText gets lr=0.5 and scikit-learn alpha=1e-6, which on IMDB serve them better than
their defaults.

The ratios are peer / rosenblatt: above 1 we are faster.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

import pyarrow as pa
import pyarrow.csv
import pyarrow.json
from rich.console import Console
from rich.table import Table

from common import data_folder, machine

EPOCHS, BITS = 5, 22

OURS = """
from rosenblatt import data
import rosenblatt
from rosenblatt.jobs.evaluate import evaluate
began = perf_counter()
model = rosenblatt.train(train, label="label", epochs=epochs)
inside = perf_counter() - began
if judge:
    source = data.open(test, features=model.features, classes=model.classes)
    accuracy = evaluate(model, source).accuracy
"""

PROGRAM = """
import io, json as j
from contextlib import redirect_stdout
from rosenblatt.cli import app
out = train + ".model"
options = ["--label", "label", "--epochs", str(epochs), "--json", "--out", out]
with redirect_stdout(io.StringIO()) as said:
    app(["train", train, *options], standalone_mode=False)
inside = j.loads(said.getvalue())["seconds"]
if judge:
    from rosenblatt import data, load
    from rosenblatt.jobs.evaluate import evaluate
    model = load(out)
    source = data.open(test, features=model.features, classes=model.classes)
    accuracy = evaluate(model, source).accuracy
"""

VW = """
import vowpalwabbit
options = "--loss_function hinge" if classes == 2 else f"--oaa {classes} --loss_function logistic"
model = train + ".model"
began = perf_counter()
vw = vowpalwabbit.Workspace(
    f"-d {train} {options} --ngram 2 -b {bits} --passes {epochs} "
    f"-c -k --holdout_off -f {model} --quiet"
)
vw.finish()
inside = perf_counter() - began
if judge:
    said = test + ".said"
    vowpalwabbit.Workspace(f"-t -d {test} -i {model} -p {said} --quiet").finish()
    truth = [int(line.split(" ", 1)[0]) for line in open(test)]
    found = [float(line.split()[0]) for line in open(said)]
    hits = [(f > 0) == (t > 0) if classes == 2 else f == t for f, t in zip(found, truth)]
    accuracy = sum(hits) / len(hits)
"""

FASTTEXT = """
import fasttext
began = perf_counter()
model = fasttext.train_supervised(
    train, epoch=epochs, wordNgrams=2, lr=0.5, thread=2, verbose=0
)
inside = perf_counter() - began
if judge:
    accuracy = model.test(test)[1]
"""

SKLEARN = """
import csv, json as j
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.linear_model import SGDClassifier
csv.field_size_limit(1 << 30)
def read(path):
    with open(path, encoding="utf-8") as file:
        if path.endswith("jsonl"):
            rows = [j.loads(line) for line in file]
        else:
            rows = list(csv.DictReader(file, delimiter="\\t", quoting=csv.QUOTE_NONE))
    return [row["text"] for row in rows], [row["label"] for row in rows]
began = perf_counter()
texts, labels = read(train)
hashing = HashingVectorizer(ngram_range=(1, 2), n_features=2**bits, alternate_sign=False)
model = SGDClassifier(
    alpha=1e-6, average=True, max_iter=epochs, tol=None, n_jobs=2, random_state=0
)
model.fit(hashing.transform(texts), labels)
inside = perf_counter() - began
if judge:
    texts, labels = read(test)
    accuracy = model.score(hashing.transform(texts), labels)
"""

FRAME = """
import sys
from time import perf_counter
train, test, classes, epochs, bits, judge = sys.argv[1:]
classes, epochs, bits, judge = int(classes), int(epochs), int(bits), judge == "1"
accuracy = None
{program}
import json
print(json.dumps([inside, accuracy]))
"""

PEERS = {
    "rosenblatt": (OURS, "raw"),
    "rosenblatt train": (PROGRAM, "raw"),
    "Vowpal Wabbit": (VW, "vw"),
    "fastText, 2 threads": (FASTTEXT, "ft"),
    "scikit-learn": (SKLEARN, "raw"),
}


def table_of(path: Path) -> pa.Table:
    if ".tsv" in path.name:
        options = pyarrow.csv.ParseOptions(delimiter="\t", quote_char=False)
        return pyarrow.csv.read_csv(path, parse_options=options)
    with pa.input_stream(path, compression="zstd") as stream:
        return pyarrow.json.read_json(
            stream, read_options=pyarrow.json.ReadOptions(block_size=1 << 28)
        )


def prepare(path: Path, folder: Path, part: str) -> dict[str, Path]:
    """The same rows raw (decompressed), for Vowpal Wabbit and for fastText."""
    from rosenblatt.kernels.text import words

    suffix = path.suffixes[0]
    raw = folder / f"{part}{suffix}"
    with pa.input_stream(path, compression="zstd") as stream:
        raw.write_bytes(stream.read())
    table = table_of(path)
    names = sorted(set(table["label"].to_pylist()))
    number = (lambda i: (-1, 1)[i]) if len(names) == 2 else (lambda i: i + 1)
    vw, ft = folder / f"{part}.vw", folder / f"{part}.ft"
    with vw.open("w") as for_vw, ft.open("w") as for_ft:
        for row in table.to_pylist():
            text = " ".join(words(row["text"]))
            for_vw.write(f"{number(names.index(row['label']))} | {text}\n")
            for_ft.write(f"__label__{row['label']} {text}\n")
    return {"raw": raw, "vw": vw, "ft": ft, "classes": len(names)}


def run(program: str, train: Path, test: Path, classes: int, judge: bool) -> tuple[float, ...]:
    code = FRAME.format(program=program)
    arguments = [train, test, classes, EPOCHS, BITS, int(judge)]
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    began = perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    process = perf_counter() - began
    inside, accuracy = json.loads(done.stdout.splitlines()[-1])
    return inside, process, accuracy


def measure(folder: Path, train: Path, test: Path, rounds: int) -> dict[str, list[float]]:
    files = {part: prepare(path, folder, part) for part, path in (("train", train), ("test", test))}
    classes = files["train"]["classes"]

    def once(name: str, judge: bool) -> tuple[float, ...]:
        program, kind = PEERS[name]
        return run(program, files["train"][kind], files["test"][kind], classes, judge)

    accuracy = {name: once(name, judge=True)[2] for name in PEERS}
    times = [{name: once(name, judge=False) for name in PEERS} for _ in range(rounds)]
    least: Callable[[str, int], float] = lambda name, i: min(t[name][i] for t in times)  # noqa: E731
    return {name: [least(name, 0), least(name, 1), accuracy[name]] for name in PEERS}


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    console = Console(width=110)
    console.print(machine("vowpalwabbit", "fasttext-numpy2-wheel", "scikit-learn"), "\n")
    folder = data_folder() / "text"
    for title, train, test in (
        ("IMDB, 25,000 reviews, 33 MB", "imdb_train.tsv.zst", "imdb_test.tsv.zst"),
        ("20 newsgroups, 11,314 posts, 22 MB", "20news_train.jsonl.zst", "20news_test.jsonl.zst"),
    ):
        with tempfile.TemporaryDirectory() as scratch:
            found = measure(Path(scratch), folder / train, folder / test, rounds)
        ours = found["rosenblatt"]
        columns = ("inside s", "ratio", "process s", "ratio", "test accuracy")
        table = Table(title, *columns, box=None)
        for name, (inside, process, accuracy) in found.items():
            table.add_row(
                name, f"{inside:.2f}", f"{inside / ours[0]:.1f}", f"{process:.2f}",
                f"{process / ours[1]:.1f}", f"{100 * accuracy:.2f} %",
            )  # fmt: skip
        console.print(table, "\n")


if __name__ == "__main__":
    main()
