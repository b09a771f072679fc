"""A file larger than memory should hold: trained, killed halfway, resumed, evaluated.

    python -m benchmarks.torture large --gigabytes 5

Writes a TSV file of that size, trains on it once undisturbed and once with a kill in the middle,
and prints times and the peak of resident memory. Both models must be the same, byte for byte.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import signal
import string
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of ``python -m benchmarks.torture large``."""
    parser.add_argument("--gigabytes", type=float, default=5.0)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--folder", type=Path, default=None, help="Where to write; needs 4 times.")


def run(options: argparse.Namespace) -> int:
    """Train on the file, with and without a kill; the exit code."""
    folder = Path(tempfile.mkdtemp(dir=options.folder))
    environment = os.environ | {"ROSENBLATT_QUIET": "1", "TMPDIR": str(folder)}
    try:
        path = folder / "rows.tsv"
        rows = _write(path, options.gigabytes)
        print(f"{path.stat().st_size / 1e9:.2f} GB, {rows:,} rows", flush=True)

        def command(name: str) -> list[str]:
            return [
                *(sys.executable, "-m", "rosenblatt", "train", str(path), "--label", "label", "-q"),
                *("--epochs", str(options.epochs), "--out", str(folder / f"{name}.model")),
                *("--checkpoint", str(folder / name), "--every", "5", "--resume"),
            ]

        began = time.monotonic()
        subprocess.run(command("whole"), env=environment, check=True)
        whole = time.monotonic() - began
        print(f"trained in {whole:.0f} s", flush=True)
        process = subprocess.Popen(command("killed"), env=environment)
        time.sleep(whole / 2)
        process.send_signal(signal.SIGKILL)
        print(f"killed after {whole / 2:.0f} s, exit {process.wait()}", flush=True)
        began = time.monotonic()
        subprocess.run(command("killed"), env=environment, check=True)
        print(f"resumed and ended in {time.monotonic() - began:.0f} s", flush=True)
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        print(f"largest resident set of a process {peak:.0f} MB")
        same = (folder / "whole.model").read_bytes() == (folder / "killed.model").read_bytes()
        print("held: the same model" if same else "FAILED: another model")
        return int(not same)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _write(path: Path, gigabytes: float) -> int:
    """Rows of words that tell the label now and then; each part of the file has its own words."""
    generator = np.random.default_rng(0)
    labels = generator.integers(0, 2, 60_000)
    lines = []
    for label in labels.tolist():
        words = generator.zipf(1.2, 120) % 100_000
        words[:6] = 100_000 + 2 * generator.integers(0, 50, 6) + label
        lines.append(f"{'ab'[label]}\t" + " ".join(f"~{word}" for word in words))
    block, rows = ("\n".join(lines) + "\n").encode(), 0
    with path.open("wb") as file:
        file.write(b"label\ttext\n")
        part = 0
        while file.tell() < gigabytes * 1e9:
            letter = string.ascii_letters[part % 52].encode()
            file.write(block.replace(b"~", letter))
            rows, part = rows + len(lines), part + 1
    return rows
