"""`train(tune=...)` beside fastText's autotune: the same rows and seconds, the error on test rows.

    python benchmarks/bench_tuning.py [SECONDS]

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

from bench_text import prepare
from common import data_folder, machine
from rosenblatt import data, train
from rosenblatt.estimators.evaluation import evaluate

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
    """Tune both on two collections and print one table."""
    seconds = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    console = Console(width=110)
    console.print(machine("fasttext-numpy2-wheel"), "\n")
    table = Table(f"{seconds} s", "test error", "took", "what was tried", box=None)
    folder = data_folder() / "text"
    for title, stem, suffix in (
        ("IMDB", "imdb", "tsv"),
        ("20 newsgroups", "20news", "jsonl"),
    ):
        with tempfile.TemporaryDirectory() as name:
            scratch = Path(name)
            files = {
                part: prepare(folder / f"{stem}_{part}.{suffix}.zst", scratch, part)
                for part in ("train", "test")
            }
            learn, valid = _split(files["train"]["ft"])
            began, tried = perf_counter(), []
            model = train(
                learn, format="fasttext", valid=valid, tune=seconds, report_trial=tried.append
            )
            took = perf_counter() - began
            rows = data.open(
                files["test"]["ft"], format="fasttext", features=model.features,
                classes=model.classes,
            )  # fmt: skip
            error = 1 - evaluate(model, rows).accuracy
            row = [f"{100 * error:.2f} %", f"{took:.0f} s", f"{len(tried)} settings"]
            table.add_row(f"{title}: rosenblatt", *row)
            command = [sys.executable, "-c", FASTTEXT, str(learn), str(valid)]
            done = subprocess.run(
                [*command, str(files["test"]["ft"]), str(seconds)],
                capture_output=True, text=True, check=True,
            )  # fmt: skip
            theirs, seconds_taken = map(float, done.stdout.split())
            table.add_row(
                f"{title}: fastText autotune", f"{100 * theirs:.2f} %", f"{seconds_taken:.0f} s", ""
            )
    console.print(table)


def _split(path: Path) -> tuple[Path, Path]:
    """Every tenth line to validate with, the others to learn from."""
    lines = path.read_text().splitlines(keepends=True)
    learn, valid = path.with_suffix(".learn.ft"), path.with_suffix(".valid.ft")
    learn.write_text("".join(line for i, line in enumerate(lines) if i % 10))
    valid.write_text("".join(lines[::10]))
    return learn, valid


if __name__ == "__main__":
    main()
