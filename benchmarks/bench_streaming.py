"""A file larger than memory should be no slower, epoch by epoch, than one that fits.

    python benchmarks/bench_streaming.py [gigabytes]

The file is made of the IMDB reviews, each time in another order and with some words replaced. It
is trained on with the default 128 MB for rows, so that they go to disk; the small file that fits
into memory is trained on in the same way. Peak resident memory is that of the whole process, the
operating system's own count.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
from rich.console import Console
from rich.table import Table

from common import data_folder, machine

PROGRAM = """
import json, os, resource, sys
from time import perf_counter
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as the command line does
from rosenblatt import train

ends, facts = [perf_counter()], []
def report(run):
    if len(run.history) > len(ends) - 1:
        ends.append(perf_counter())
    facts[:] = [len(run.rows.store), run.rows.bytes, run.rows.store.on_disk]
train(sys.argv[1], label="label", epochs=3, report=report)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
rows, read, on_disk = facts
rates = [rows / (b - a) for a, b in zip(ends, ends[1:])]
print(json.dumps([rows, read, rates, peak, on_disk]))
"""


def perturbed(target: Path, size: int) -> None:
    """Write reviews until the file has `size` bytes: reordered, with a twentieth of words new."""
    options = pyarrow.csv.ParseOptions(delimiter="\t", quote_char=False)
    table = pyarrow.csv.read_csv(
        data_folder() / "text" / "imdb_train.tsv.zst", parse_options=options
    )
    rows = list(zip(table["label"].to_pylist(), table["text"].to_pylist(), strict=True))
    generator = np.random.default_rng(0)
    with target.open("w", encoding="utf-8") as file:
        file.write("label\ttext\n")
        while file.tell() < size:
            for i in generator.permutation(len(rows)):
                label, text = rows[i]
                words = text.split(" ")
                for at in generator.integers(0, len(words), max(1, len(words) // 20)):
                    words[at] = f"w{generator.integers(1 << 20)}"
                file.write(f"{label}\t{' '.join(words)}\n")
            file.flush()


def train(path: Path) -> list:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(path)], capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    size = float(sys.argv[1]) if len(sys.argv) > 1 else 3.0
    console = Console(width=120)
    console.print(machine("pyarrow"), "\n")
    table = Table(
        "file", "rows", "rows kept", "first pass MB/s", "later epochs, rows/s", "peak resident MB",
        box=None,
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as scratch:
        big = Path(scratch) / "big.tsv"
        perturbed(big, int(size * 1e9))
        small = Path(scratch) / "small.tsv"
        with pa.input_stream(data_folder() / "text" / "imdb_train.tsv.zst", "zstd") as stream:
            small.write_bytes(stream.read())
        for path in (small, big):
            rows, read, rates, peak, on_disk = train(path)
            table.add_row(
                f"{path.stat().st_size / 1e9:.2f} GB", f"{rows:,}",
                "on disk" if on_disk else "in memory", f"{read * rates[0] / rows / 1e6:.0f}",
                f"{np.mean(rates[1:]):,.0f}", f"{peak / 1024:.0f}",
            )  # fmt: skip
    console.print(table)


if __name__ == "__main__":
    main()
