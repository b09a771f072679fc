"""`train(tune=...)` beside fastText's autotune: the same rows and seconds, the error on test rows.

    python benchmarks/bench_tuning.py [SECONDS] [imdb 20news rt_polarity]

Both get nine tenths of the training rows to learn from and one tenth to validate with; fastText
trains its final model in addition to the time it is given. The test rows are looked at once.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

from rich.console import Console
from rich.table import Table

from bench_text import table_of
from common import data_folder, machine
from rosenblatt import data, train
from rosenblatt.jobs.evaluate import evaluate
from rosenblatt.kernels.text import words

FASTTEXT = """
import sys, time, fasttext
train, valid, test, seconds = sys.argv[1:]
began = time.perf_counter()
model = fasttext.train_supervised(
    train, autotuneValidationFile=valid, autotuneDuration=int(seconds), thread=2, verbose=0
)
print(1 - model.test(test)[1], time.perf_counter() - began)
"""


def main() -> None:
    """Tune both on each collection and print a table of it."""
    seconds = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    console = Console(width=110)
    console.print(machine("fasttext-numpy2-wheel"), "\n")
    folder = data_folder() / "text"
    for title in sys.argv[2:] or ["imdb", "20news", "rt_polarity"]:
        table = Table(f"{title}, {seconds} s", "test error", "took", "", box=None)
        with tempfile.TemporaryDirectory() as name:
            train_lines, test_lines = _lines(folder, title)
            learn, valid, test = (Path(name) / f"{part}.ft" for part in ("learn", "valid", "test"))
            learn.write_text("".join(line for i, line in enumerate(train_lines) if i % 10))
            valid.write_text("".join(train_lines[::10]))
            test.write_text("".join(test_lines))
            table.add_row("rosenblatt", *_ours(learn, valid, test, seconds))
            table.add_row("fastText autotune", *_theirs(learn, valid, test, seconds))
        console.print(table, "\n")


def _ours(learn: Path, valid: Path, test: Path, seconds: int) -> list[str]:
    began, tried = perf_counter(), []
    model = train(learn, format="fasttext", valid=valid, tune=seconds, report_trial=tried.append)
    took = perf_counter() - began
    rows = data.open(test, format="fasttext", features=model.features, classes=model.classes)
    error = 1 - evaluate(model, rows).accuracy
    return [f"{100 * error:.2f} %", f"{took:.0f} s", f"{len(tried)} trials"]


def _theirs(learn: Path, valid: Path, test: Path, seconds: int) -> list[str]:
    command = [sys.executable, "-c", FASTTEXT, str(learn), str(valid), str(test), str(seconds)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    error, took = map(float, done.stdout.split())
    return [f"{100 * error:.2f} %", f"{took:.0f} s", ""]


def _lines(folder: Path, title: str) -> tuple[list[str], list[str]]:
    """The lines to learn from and to test on; of a collection in one file, every fifth to test."""
    parts = sorted(folder.glob(f"{title}_t*.zst")) or [folder / f"{title}.tsv.gz"]
    found = {}
    for path in parts:
        rows = table_of(path).to_pylist()
        lines = [f"__label__{row['label']} {' '.join(words(row['text']))}\n" for row in rows]
        found["test" if "_test" in path.name else "train"] = lines
    if "test" in found:
        return found["train"], found["test"]
    lines = found["train"]
    return [line for i, line in enumerate(lines) if i % 5], lines[::5]


if __name__ == "__main__":
    main()
