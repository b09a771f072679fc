"""Size against accuracy: compressed models beside fastText's quantised ones, on IMDB.

    python benchmarks/bench_small_models.py

Every form is measured on the test reviews; nothing is chosen on them: sizes are given, and which
weights are left out is decided by the frequencies in the training reviews.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench_text import prepare
from common import data_folder, machine
from rosenblatt import data, load, train
from rosenblatt.jobs.evaluate import evaluate
from rosenblatt.models.compress import compress

SIZES = (2e6, 1e6, 500e3, 200e3, 100e3)
FASTTEXT = """
import sys, fasttext
train, test, out = sys.argv[1:]
model = fasttext.train_supervised(train, epoch=5, wordNgrams=2, lr=0.5, thread=2, verbose=0)
model.save_model(out + "/ft.bin")
print("ft.bin", model.test(test)[1])
for cutoff in (0, 100_000, 20_000):
    small = fasttext.load_model(out + "/ft.bin")
    options = dict(cutoff=cutoff, retrain=True) if cutoff else {}
    small.quantize(input=train, qnorm=True, verbose=0, **options)
    small.save_model(f"{out}/ft{cutoff}.ftz")
    print(f"ft{cutoff}.ftz", small.test(test)[1])
"""


def main() -> None:
    """Train both, compress both, print one table."""
    console = Console(width=110)
    console.print(machine("fasttext-numpy2-wheel"), "\n")
    folder = data_folder() / "text"
    paths = {part: folder / f"imdb_{part}.tsv.zst" for part in ("train", "test")}
    table = Table("IMDB", "size", "test accuracy", box=None)
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        model = train(paths["train"], label="label")
        forms = [*compress(model), *(compress(model, size=size)[-1] for size in SIZES)]
        for form in forms:
            form.model.save(scratch / "a.model")
            loaded = load(scratch / "a.model")
            rows = data.open(paths["test"], features=loaded.features, classes=loaded.classes)
            size = (scratch / "a.model").stat().st_size
            about = f"{form.weights:,} weights in {loaded.precision}"
            state = ", with what training needs" if loaded.state else ""
            accuracy = evaluate(loaded, rows).accuracy
            table.add_row(f"rosenblatt, {about}{state}", _mb(size), f"{100 * accuracy:.2f} %")
        files = {part: prepare(path, scratch, part)["ft"] for part, path in paths.items()}
        command = [sys.executable, "-c", FASTTEXT, str(files["train"]), str(files["test"]), name]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        for line in done.stdout.splitlines():
            file, accuracy_of = line.split()
            size = (scratch / file).stat().st_size
            table.add_row(f"fastText, {file}", _mb(size), f"{100 * float(accuracy_of):.2f} %")
    console.print(table)


def _mb(size: int) -> str:
    return f"{size / 1e6:.2f} MB"


if __name__ == "__main__":
    main()
