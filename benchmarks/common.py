"""What the benchmarks share: the data, the clock, the machine."""

from __future__ import annotations

import gzip
import os
import platform
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from time import perf_counter

import numpy as np
import pyarrow as pa

from rosenblatt import __version__


def data_folder() -> Path:
    """Where the data sets are: ROSENBLATT_DATA, then ../shared/data."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("ROSENBLATT_DATA", beside))
    if not folder.is_dir():
        raise SystemExit(f"No data at {folder}: set ROSENBLATT_DATA to the folder of data sets.")
    return folder


def machine(*packages: str) -> str:
    """The machine and the versions, in a line."""
    model = next(
        (line.split(":")[1].strip() for line in _lines("/proc/cpuinfo") if "model name" in line),
        platform.processor(),
    )
    versions = ", ".join(f"{p} {version(p)}" for p in ("numpy", "numba", *packages))
    python = platform.python_version()
    return f"{model}, {os.cpu_count()} cores, Python {python}, rosenblatt {__version__}, {versions}"


def _lines(path: str) -> list[str]:
    return Path(path).read_text().splitlines() if Path(path).exists() else []


def seconds(work: Callable[[], object], clock: Callable[[], float] = perf_counter) -> float:
    """The time one call takes."""
    began = clock()
    work()
    return clock() - began


def best_of(
    times: int, *works: Callable[[], object], clock: Callable[[], float] = perf_counter
) -> list[float]:
    """The least time of each, taken in turn, so that a busy neighbour troubles all alike."""
    rounds = [[seconds(work, clock) for work in works] for _ in range(times)]
    return [min(column) for column in zip(*rounds, strict=True)]


def mnist(part: str = "train") -> tuple[np.ndarray, np.ndarray]:
    """MNIST as float32 rows in 0 .. 1 and digits; `part` is "train" or "t10k"."""
    folder = data_folder() / "mnist"
    with gzip.open(folder / f"{part}-images-idx3-ubyte.gz") as file:
        pixels = np.frombuffer(file.read(), np.uint8, offset=16).reshape(-1, 784)
    with gzip.open(folder / f"{part}-labels-idx1-ubyte.gz") as file:
        digits = np.frombuffer(file.read(), np.uint8, offset=8)
    return (pixels / np.float32(255)).astype(np.float32), digits.astype(np.int64)


def reviews() -> tuple[list[str], list[str]]:
    """The labels and texts of the IMDB reviews."""
    file = data_folder() / "text" / "imdb_train.tsv.zst"
    lines = pa.input_stream(str(file), compression="zstd").read().decode().split("\n")[1:]
    labels, texts = zip(*(line.split("\t", 1) for line in lines if line), strict=True)
    return list(labels), list(texts)
