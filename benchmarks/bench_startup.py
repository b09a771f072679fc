"""How long the programs take before and after the work: start-up, with kernels kept or not.

    python benchmarks/bench_startup.py [rounds]

Whole processes, from start to end, in milliseconds: the median and the least of several rounds,
taken in turn. *Compiling* is the first run ever, in a folder of its own, measured once. Bytecode is
kept between the rounds, as it is for any installed package.
"""

from __future__ import annotations

import os
import shlex
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

import pyarrow as pa
from rich.console import Console
from rich.table import Table

from common import data_folder, machine

ROWS = 200
FIT = (
    "from rosenblatt import Perceptron; import numpy as np; "
    "X = np.eye(3); Perceptron.textbook(random_state=0).fit(X, [0, 1, 1])"
)


def seconds(command: list[str], **settings: str) -> float:
    inherited = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    began = perf_counter()
    subprocess.run(command, env=inherited | settings, capture_output=True, check=True)
    return perf_counter() - began


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def program(arguments: str) -> list[str]:
    return [sys.executable, "-m", "rosenblatt", *shlex.split(arguments)]


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    console = Console(width=110)
    console.print(machine(), "\n")
    with tempfile.TemporaryDirectory() as scratch:
        small = Path(scratch) / "small.tsv"
        source = data_folder() / "text" / "imdb_train.tsv.zst"
        with pa.input_stream(source, compression="zstd") as stream:
            small.write_bytes(b"".join(stream.read(1 << 20).splitlines(True)[: ROWS + 1]))
        train = program(f"train {small} --label label --epochs 5 --quiet --out {small}.model")
        cases: dict[str, tuple[list[str], dict[str, str]]] = {
            "python, nothing else": (python("pass"), {}),
            "import numpy, llvmlite.binding": (python("import numpy, llvmlite.binding"), {}),
            "import numpy, pyarrow.compute": (python("import numpy, pyarrow.compute"), {}),
            "rosenblatt --help": (program("--help"), {}),
            f"rosenblatt train, {ROWS} rows": (train, {}),
            "import Perceptron, fit": (python(FIT), {}),
        }
        first = seconds(train, ROSENBLATT_CACHE_DIR=str(Path(scratch) / "empty"))
        for command, settings in cases.values():
            seconds(command, **settings)
        times = {name: [] for name in cases}
        for _ in range(rounds):
            for name, (command, settings) in cases.items():
                times[name].append(1000 * seconds(command, **settings))
    table = Table("whole process, ms", "median", "least", box=None)
    for name, found in times.items():
        table.add_row(name, f"{statistics.median(found):.0f}", f"{min(found):.0f}")
    table.add_row(f"rosenblatt train, {ROWS} rows, compiling", f"{1000 * first:.0f}", "")
    console.print(table)


if __name__ == "__main__":
    main()
