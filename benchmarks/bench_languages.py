"""Language identification on translation catalogues, against fastText on the same rows.

The corpus is made of the translations (.mo files) of packages that are installed, in site-packages
or in folders given: ``pip install --no-deps --target FOLDER django wagtail django-oscar ...``. It
is written to a temporary folder and never kept. A sentence goes to the test rows by a hash of it.

    python benchmarks/bench_languages.py [FOLDER ...] [--most 1500] [--tune SECONDS]
"""

from __future__ import annotations

import argparse
import hashlib
import re
import site
import struct
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from typing import Any

from rich.console import Console
from rich.table import Table

from common import best_of, machine
from rosenblatt import load, train

LEAST = 600  # sentences of a language
PLACES = re.compile(r"%\(\w+\)\w|%[sdif]|\{[^}]*\}|<[^>]*>|&\w+;|https?:\S+|[\w.]+@[\w.]+")
CODE = re.compile(r"([a-z]{2,3})([_-](Hans|Hant|[A-Z]{2}|[a-z]{2}))?$")
SCRIPTS = {"zh_CN": "zh_Hans", "zh_TW": "zh_Hant", "zh_HK": "zh_Hant", "zh": "zh_Hans", "nn": "nn"}
FASTTEXT = """
import sys, time, fasttext
train, test, out, seconds = sys.argv[1:5]
began = time.perf_counter()
options = dict(minn=2, maxn=4, dim=16, thread=2, lr=0.5, epoch=25)
if int(seconds):
    options = dict(autotuneValidationFile=sys.argv[5], autotuneDuration=int(seconds), thread=2)
model = fasttext.train_supervised(train, verbose=0, **options)
print("train", time.perf_counter() - began)
model.save_model(out + ".bin")
lines = [line.split(" ", 1) for line in open(test, encoding="utf-8").read().splitlines()]
for name in (".bin", ".ftz"):
    if name == ".ftz":
        model.quantize(input=train, retrain=True, qnorm=True, cutoff=50000, verbose=0)
        model.save_model(out + ".ftz")
    texts = [text for _, text in lines]
    times = []
    for _ in range(3):
        began = time.perf_counter()
        labels, _ = model.predict(texts)
        times.append(time.perf_counter() - began)
    right = sum(found[0] == label for found, (label, _) in zip(labels, lines))
    print(name, right / len(lines), min(times))
"""


def messages(path: Path) -> Iterator[tuple[str, str]]:
    """The messages of a .mo file with their translations; nothing for a file that is none."""
    data = path.read_bytes()
    for order in "<>":
        if len(data) > 20 and struct.unpack(f"{order}I", data[:4])[0] == 0x950412DE:
            count, originals, translations = struct.unpack(f"{order}III", data[8:20])
            for i in range(count):
                pair = []
                for table in (originals, translations):
                    length, at = struct.unpack_from(f"{order}II", data, table + 8 * i)
                    pair.append(data[at : at + length].decode("utf-8", "replace"))
                yield pair[0], pair[1]


def language_of(path: Path) -> str | None:
    """The language that a catalogue is in, by the name of its folder; regions are left out."""
    if path.parent.name != "LC_MESSAGES" or not CODE.match(name := path.parents[1].name):
        return None
    name = name.replace("-", "_")
    return SCRIPTS.get(name, name if name.startswith("zh_Han") else name.split("_")[0])


def corpus(folders: list[Path], most: int) -> dict[str, list[str]]:
    """Different sentences of each language, those of two languages left out."""
    found: dict[str, set[str]] = defaultdict(set)
    for folder in folders:
        for path in sorted(folder.rglob("*.mo")):
            language = language_of(path)
            if language is None:
                continue
            for original, text in messages(path):
                for sentence in text.split("\0"):
                    plain = " ".join(PLACES.sub(" ", sentence).split())
                    if original and len(plain) >= 12 and sentence not in original:
                        found[language].add(plain)
    times: dict[str, int] = defaultdict(int)
    for sentences in found.values():
        for sentence in sentences:
            times[sentence] += 1
    kept = {
        name: sorted(filter(lambda s: times[s] == 1, sentences), key=digest)[:most]
        for name, sentences in sorted(found.items())
        if name != "en"
    }
    return {name: sentences for name, sentences in kept.items() if len(sentences) >= LEAST}


def digest(sentence: str) -> str:
    """A number of a sentence that has nothing to do with its content."""
    return hashlib.sha256(sentence.encode()).hexdigest()


def write(folder: Path, sentences: dict[str, list[str]]) -> dict[str, int]:
    """Write train, valid and test rows as fastText lines: 70, 10 and 20 of 100."""
    rows: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for name, texts in sentences.items():
        for text in texts:
            key = digest(text)
            part = int(key[-4:], 16) % 10
            rows["train" if part < 7 else "valid" if part < 8 else "test"].append(
                (key, f"__label__{name} {text}")
            )
    for part, lines in rows.items():
        (folder / f"{part}.txt").write_text("\n".join(line for _, line in sorted(lines)) + "\n")
    return {part: len(lines) for part, lines in rows.items()}


def main() -> None:
    """Make the corpus, train both, and print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--most", type=int, default=1500)
    parser.add_argument("--tune", type=int, default=0, help="seconds for both to tune in, too")
    options = parser.parse_args()
    console = Console(width=120)
    console.print(machine("fasttext-numpy2-wheel"), "\n")
    folders = [*options.folders, *map(Path, site.getsitepackages())]
    sentences = corpus(folders, options.most)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        counts = write(folder, sentences)
        console.print(f"{len(sentences)} languages ({', '.join(sentences)}), rows {counts}\n")
        table = Table("", "accuracy", "size", "training", "prediction", "same bytes")
        rows = ours(folder) + ours(folder, analyzer="char", ngrams=(2, 4)) + theirs(folder, 0)
        if options.tune:
            rows += ours(folder, tune=options.tune, valid=folder / "valid.txt")
            rows += theirs(folder, options.tune)
        for row in rows:
            table.add_row(*row)
        console.print(table)


def ours(folder: Path, **settings: Any) -> list[list[str]]:
    """rosenblatt with settings of `train`, and the compressed form of its model."""
    took, digests = [], set()
    rounds = 1 if "tune" in settings else 2
    for round_ in range(rounds):
        began = perf_counter()
        train(folder / "train.txt", out=folder / f"{round_}.model", **settings)
        took.append(perf_counter() - began)
        digests.add(hashlib.sha256((folder / f"{round_}.model").read_bytes()).hexdigest())
    model = load(folder / "0.model")
    model.compressed().save(folder / "small.model")
    lines = [line.split(" ", 1) for line in (folder / "test.txt").read_text().splitlines()]
    texts = [text for _, text in lines]
    truth = [label.removeprefix("__label__") for label, _ in lines]
    same = "-" if rounds == 1 else "yes" if len(digests) == 1 else "no"
    said = [f"{name}={value}" for name, value in settings.items() if name != "valid"]
    label = f"rosenblatt, {', '.join(said) or 'by default'}"
    rows = []
    for title, file in ((label, "0.model"), ("  compressed", "small.model")):
        found = load(folder / file)
        accuracy = found.score(texts, truth)
        (seconds,) = best_of(3, lambda found=found: found.predict(texts))
        rows.append(_row(title, accuracy, folder / file, min(took), seconds, len(texts), same))
    return rows


def theirs(folder: Path, tune: int) -> list[list[str]]:
    """fastText with the n-grams of its language models, and its quantised form."""
    files = [str(folder / f"{part}.txt") for part in ("train", "test")]
    runs = []
    for round_ in range(1 if tune else 2):
        command = [sys.executable, "-c", FASTTEXT, *files, str(folder / f"ft{round_}"), str(tune)]
        done = subprocess.run(
            [*command, str(folder / "valid.txt")], capture_output=True, text=True, check=True
        )
        runs.append([line.split() for line in done.stdout.splitlines()])
    took = min(float(run[0][1]) for run in runs)
    rows = []
    title = (
        f"fastText, autotune {tune} s"
        if tune
        else "fastText, minn=2, maxn=4, dim=16, lr=0.5, epoch=25"
    )
    for i, name in enumerate((".bin", ".ftz"), start=1):
        digests = {
            hashlib.sha256((folder / f"ft{r}{name}").read_bytes()).hexdigest()
            for r in range(len(runs))
        }
        same = "-" if tune else "yes" if len(digests) == 1 else "no"
        _, accuracy, seconds = runs[0][i]
        count = len((folder / "test.txt").read_text().splitlines())
        file = folder / f"ft0{name}"
        label = title if i == 1 else "  quantised (.ftz)"
        rows.append(_row(label, float(accuracy), file, took, float(seconds), count, same))
    return rows


def _row(
    title: str, accuracy: float, file: Path, took: float, seconds: float, count: int, same: str
) -> list[str]:
    size = f"{file.stat().st_size / 1e6:.1f} MB"
    rate = f"{1e6 * seconds / count:.1f} µs a row"
    return [title, f"{100 * accuracy:.2f} %", size, f"{took:.1f} s", rate, same]


if __name__ == "__main__":
    main()
