"""Text classifiers on corpora that anyone can make (corpora.py), each with one setting for all.

    python benchmarks/bench_corpora.py FOLDER [--corpora A,B] [--methods A,B] [--studied | --inner]

Each method reads the training file, trains, saves its model and predicts the test rows, in a
process of its own, with one thread. `--peers` is a Python with vowpalwabbit and fasttext, if this
one lacks them. `--inner` divides the training files and leaves the test files alone: for studies.
Results go to FOLDER/results.json; those that are there are not computed again.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

import numpy as np
from rich.console import Console
from rich.table import Table

from common import machine
from corpora import CORPORA, make, read

Outcome = tuple[list[str], list[str], np.ndarray | None, int]  # predictions, classes, P, bytes


def rosenblatt(train_file: Path, texts: list[str], out: Path, *options: str) -> Outcome:
    """`rosenblatt train FILE`, without options."""
    from rosenblatt import load
    from rosenblatt.cli import main

    path = out / "model"
    sys.argv = ["rosenblatt", "train", str(train_file), "--out", str(path), "--jobs", "1", *options]
    try:
        main()
    except SystemExit as exit:
        if exit.code:
            raise
    model = load(path)
    return (
        model.predict(texts).tolist(),
        list(model.classes),
        model.predict_proba(texts),
        _size(path),
    )


def fast(*arguments: object) -> Outcome:
    """The same with words alone."""
    return rosenblatt(*arguments, "--analyzer", "word")  # type: ignore[arg-type]


def fasttext(train_file: Path, texts: list[str], out: Path) -> Outcome:
    """fastText with 25 epochs and bigrams, and the learning rate of its tutorial."""
    from fasttext import train_supervised

    labels, said = read(train_file)
    lines = [f"__label__{label} {text}\n" for label, text in zip(labels, said, strict=True)]
    (out / "lines").write_text("".join(lines))
    model = train_supervised(
        str(out / "lines"), epoch=25, wordNgrams=2, lr=0.5, thread=1, verbose=0
    )
    model.save_model(str(out / "model"))
    classes = sorted(set(labels))
    place = {f"__label__{name}": i for i, name in enumerate(classes)}
    P = np.zeros((len(texts), len(classes)))
    for row, text in enumerate(texts):
        for label, p in zip(*model.predict(text, k=-1), strict=True):
            P[row, place[label]] = p
    return [classes[i] for i in P.argmax(axis=1)], classes, P, _size(out / "model")


def vw(train_file: Path, texts: list[str], out: Path) -> Outcome:
    """Vowpal Wabbit: one against all, logistic loss, bigrams, 10 passes, held-out early stop."""
    labels, said = read(train_file)
    classes = sorted(set(labels))
    place = {name: i + 1 for i, name in enumerate(classes)}
    clean = str.maketrans("|:", "  ")
    rows = [f"{place[y]} | {x.translate(clean)}\n" for y, x in zip(labels, said, strict=True)]
    tests = [f"1 | {text.translate(clean)}\n" for text in texts]
    (out / "train").write_text("".join(rows))
    (out / "test").write_text("".join(tests))
    program = [sys.executable, "-m", "vowpalwabbit"]
    common = ["--quiet", "--loss_function", "logistic", "--probabilities"]
    learn = ["--oaa", str(len(classes)), "--ngram", "2", "-b", "24", "-c", "--passes", "10", "-k"]
    files = ["-d", "train", "-f", "model"]
    subprocess.run([*program, *files, *learn, *common], cwd=out, check=True)
    asked = ["-t", "-d", "test", "-i", "model", "-p", "out", *common]
    subprocess.run([*program, *asked], cwd=out, check=True)
    lines = (out / "out").read_text().splitlines()
    P = np.array([[float(entry.split(":")[1]) for entry in line.split()] for line in lines])
    return [classes[i] for i in P.argmax(axis=1)], classes, P, _size(out / "model")


def linear_svc(train_file: Path, texts: list[str], out: Path) -> Outcome:
    """TF-IDF of words and pairs of words, and LinearSVC."""
    return _sklearn(train_file, texts, out, "word", (1, 2), "svc")


def char_svc(train_file: Path, texts: list[str], out: Path) -> Outcome:
    """TF-IDF of 2 to 5 characters within words, and LinearSVC."""
    return _sklearn(train_file, texts, out, "char_wb", (2, 5), "svc")


def sgd(train_file: Path, texts: list[str], out: Path) -> Outcome:
    """TF-IDF of words and pairs of words, and averaged SGD with the log loss."""
    return _sklearn(train_file, texts, out, "word", (1, 2), "sgd")


def _sklearn(
    train_file: Path, texts: list[str], out: Path, analyzer: str, ngrams: tuple[int, int], kind: str
) -> Outcome:
    import joblib
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import SGDClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import LinearSVC

    labels, said = read(train_file)
    vectorizer = TfidfVectorizer(analyzer=analyzer, ngram_range=ngrams, sublinear_tf=True)
    classifiers = {
        "svc": LinearSVC(),
        "sgd": SGDClassifier(
            loss="log_loss", alpha=1e-5, max_iter=20, random_state=0, average=True
        ),
    }
    model = make_pipeline(vectorizer, classifiers[kind]).fit(said, labels)
    joblib.dump(model, out / "model")
    P = model.predict_proba(texts) if kind == "sgd" else None
    return model.predict(texts).tolist(), model.classes_.tolist(), P, _size(out / "model")


def _size(path: Path) -> int:
    return path.stat().st_size


METHODS: dict[str, Callable[..., Outcome]] = {
    "rosenblatt": rosenblatt,
    "words": fast,
    "fastText": fasttext,
    "VW": vw,
    "LinearSVC": linear_svc,
    "char SVC": char_svc,
    "SGD": sgd,
}


def judged(truth: list[str], outcome: Outcome) -> dict[str, object]:
    """The figures of an outcome, and which rows are right."""
    said, classes, P, size = outcome
    right = [a == b for a, b in zip(said, truth, strict=True)]
    f1 = []
    for name in sorted(set(truth)):
        hits = sum(a == b == name for a, b in zip(said, truth, strict=True))
        f1.append(2 * hits / (said.count(name) + truth.count(name)))
    loss = float("nan")
    if P is not None:
        place = {name: i for i, name in enumerate(classes)}
        p = [P[i, place[y]] if y in place else 0.0 for i, y in enumerate(truth)]
        loss = float(-np.log(np.clip(p, 1e-7, 1.0)).mean())
    figures = {"accuracy": float(np.mean(right)), "macro_f1": float(np.mean(f1)), "log_loss": loss}
    return figures | {"bytes": size, "right": "".join("01"[x] for x in right)}


def worker(method: str, train_file: str, test_file: str, out: str) -> None:
    """Run a method and print its figures."""
    truth, texts = read(Path(test_file))
    began, used = perf_counter(), _used()
    outcome = METHODS[method](Path(train_file), texts, Path(out))
    figures = judged(truth, outcome)
    most = max(resource.getrusage(who).ru_maxrss for who in (0, resource.RUSAGE_CHILDREN))
    print(
        json.dumps(
            figures | {"seconds": perf_counter() - began, "cpu": _used() - used, "MB": most / 1024}
        )
    )


def _used() -> float:
    """Seconds of the processor of this process and its children."""
    usages = [resource.getrusage(who) for who in (0, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def inner(train_file: Path, seed: int) -> tuple[Path, Path]:
    """Two parts of a training file, three quarters and a quarter."""
    paths = [train_file.with_name(f"{train_file.stem}.{seed}.{n}.tsv") for n in ("train", "test")]
    if all(path.exists() for path in paths):
        return paths[0], paths[1]
    head, *rows = train_file.read_text("utf-8").split("\n")[:-1]
    key = str(seed).encode()
    drawn = [hashlib.blake2b(row.encode(), key=key, digest_size=1).digest()[0] for row in rows]
    for path, is_test in zip(paths, (False, True), strict=True):
        lines = [row for row, d in zip(rows, drawn, strict=True) if (d < 64) is is_test]
        path.write_text("\n".join([head, *lines]) + "\n", "utf-8")
    return paths[0], paths[1]


def run(method: str, files: tuple[Path, Path], folder: Path, python: str) -> dict[str, object]:
    """A method in a process of its own."""
    out = folder / f"out.{os.getpid()}"
    subprocess.run(["rm", "-rf", out], check=True)
    out.mkdir()
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    command = [python, __file__, "--worker", method, *map(str, files), str(out)]
    done = subprocess.run(
        command, env=os.environ | threads, stdout=subprocess.PIPE, check=True, text=True
    )
    return json.loads(done.stdout.splitlines()[-1])


def z_score(ours: str, theirs: str) -> float:
    """How far apart two columns of right and wrong are, in standard errors (McNemar)."""
    b = sum(a > c for a, c in zip(ours, theirs, strict=True))
    c = sum(a < c for a, c in zip(ours, theirs, strict=True))
    return (b - c) / np.sqrt(max(1, b + c))


def show(results: dict[str, dict[str, dict]], methods: list[str], console: Console) -> None:
    """Tables of all figures."""
    table = Table("corpus", *methods, title="accuracy, % (z against ours)")
    for corpus, by_method in results.items():
        ours = by_method.get(methods[0])
        cells = []
        for method in methods:
            figures = by_method.get(method)
            if figures is None or ours is None:
                cells.append("-")
                continue
            z = z_score(ours["right"], figures["right"])
            cells.append(f"{100 * figures['accuracy']:.2f} ({z:+.1f})")
        table.add_row(corpus, *cells)
    console.print(table)
    complete = [r for r in results.values() if all(m in r for m in methods)]
    table = Table("mean of complete rows", *methods)
    for key in ("accuracy", "macro_f1", "log_loss", "seconds", "cpu", "MB", "bytes"):
        means = [np.mean([r[m][key] for r in complete]) for m in methods]
        table.add_row(key, *(f"{x:.4g}" for x in means))
    best = [max(methods, key=lambda m: r[m]["accuracy"]) for r in complete]
    table.add_row("first on", *(str(best.count(m)) for m in methods))
    console.print(table)


def main() -> None:
    """Run what is missing and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--corpora", default="")
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--studied", action="store_true")
    parser.add_argument("--inner", type=int)
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--peers", default=sys.executable)
    options = parser.parse_args()
    names = [n for n, corpus in CORPORA.items() if corpus.is_studied or not options.studied]
    names = options.corpora.split(",") if options.corpora else names
    methods = options.methods.split(",")
    saved = options.folder / ("results.json" if options.inner is None else "inner.json")
    results = json.loads(saved.read_text()) if saved.exists() else {}
    for name in names:
        files = make(name, options.folder)
        files = files if options.inner is None else inner(files[0], options.inner)
        done = results.setdefault(name, {})
        for method in methods:
            if options.again or method not in done:
                done[method] = run(method, files, options.folder, options.peers)
                saved.write_text(json.dumps(results))
    console = Console(width=150)
    show({name: results[name] for name in names}, methods, console)
    console.print(machine())


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        worker(*sys.argv[2:])
    else:
        main()
