"""Mutated input files of every format, read to their end.

    python -m benchmarks.torture readers --count 100000

Each try changes one to five places of a good file (bytes flipped, cut, repeated, swapped for tokens
that readers stumble over) and reads it whole, as `train` does. It must be read, with every index
inside the feature space, or be refused by a DataError. Anything else is a fault: another exception,
an index outside, a read that takes longer than half a minute. A crash ends the run itself.
"""

from __future__ import annotations

import argparse
import faulthandler
import gzip
import json
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np

from benchmarks.torture_runs import written
from rosenblatt import data
from rosenblatt.errors import DataError

FORMATS = ("tsv", "tsv.gz", "csv", "jsonl", "svm", "txt", "vw", "parquet", "arrow")
TOKENS = (
    b"\x00", b"\n", b"\r", b"\r\n", b"\n\n", b'"', b'""', b"'", b",", b"\t", b"|", b":", b"::",
    b" ", b"\\", b"{", b"}", b"[", b"]", b"null", b"NaN", b"-inf", b"1e400", b"1e-400", b"-0",
    b"9" * 40, b"0x10", b"\xff", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"__label__", b"label", b"#",
    b"-1:1", b"4294967296:1", b"1:nan", b"a" * 5000, "é٣漢".encode(), b"\x1f\x8b", b"PAR1",
)  # fmt: skip


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of ``python -m benchmarks.torture readers``."""
    parser.add_argument("--count", type=int, default=10_000, help="Mutated files.")
    parser.add_argument("--seed", type=int, default=0)


def run(options: argparse.Namespace) -> int:
    """Mutate and read, count what came of it, and return the exit code."""
    faulthandler.enable()
    seen: Counter[str] = Counter()
    generator = np.random.default_rng(options.seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        good = {kind: _content(folder, kind) for kind in FORMATS}
        for i in range(options.count):
            kind = FORMATS[i % len(FORMATS)]
            path = folder / f"mutated.{kind}"
            content = _mutated(good[kind], generator)
            path.write_bytes(gzip.compress(content, 1) if kind.endswith(".gz") else content)
            began = time.monotonic()
            outcome = _outcome(path, bool(generator.integers(2)))
            if time.monotonic() - began > 30:
                outcome = "WRONG: more than 30 s"
            if "WRONG" in outcome:
                print(f"{kind}, seed {options.seed}, number {i}: {outcome}", flush=True)
            seen[f"{kind}: {outcome}"] += 1
    for name, count in sorted(seen.items()):
        print(f"{name:<50}{count:>8,}")
    wrong = sum(count for name, count in seen.items() if "WRONG" in name)
    print("held" if not wrong else f"FAILED: {wrong}")
    return int(wrong > 0)


def _content(folder: Path, kind: str) -> bytes:
    """A good file with numbers and text; compressed formats are mutated inside."""
    if kind == "vw":
        lines = written(folder, "jsonl", 60).read_text().splitlines()
        rows = [json.loads(line) for line in lines]
        return "".join(f"{'abc'.index(r['label']) + 1} |t {r['text']}\n" for r in rows).encode()
    content = written(folder, kind, 60).read_bytes()
    return gzip.decompress(content) if kind.endswith(".gz") else content


def _mutated(content: bytes, generator: np.random.Generator) -> bytes:
    changed = bytearray(content)
    for _ in range(int(generator.integers(1, 6))):
        place = int(generator.integers(0, len(changed) + 1))
        length = int(generator.integers(0, 9))
        how = int(generator.integers(0, 5))
        if how == 0 and place < len(changed):
            changed[place] ^= 1 << int(generator.integers(0, 8))
        elif how == 1:
            changed[place : place + length] = TOKENS[int(generator.integers(len(TOKENS)))]
        elif how == 2:
            del changed[place : place + length * int(generator.integers(1, 40))]
        elif how == 3:
            other = int(generator.integers(0, len(changed) + 1))
            changed[place:place] = changed[other : other + 30 * length]
        else:
            changed[place : place + length] = generator.bytes(length)
    return bytes(changed)


def _outcome(path: Path, skip_bad_rows: bool) -> str:
    try:
        source = data.open(path, block_bytes=1 << 12, skip_bad_rows=skip_bad_rows)
        for batch in source:
            indices, indptr = batch.rows.indices, batch.rows.indptr
            inside = not len(indices) or 0 <= indices.min() <= indices.max() < 1 << 31
            rising = indptr[0] == 0 and indptr[-1] == len(indices) and (np.diff(indptr) >= 0).all()
            labelled = batch.labels is None or len(batch.labels) == len(batch)
            if not (inside and rising and labelled):
                return "WRONG: an index outside"
        return "read"
    except DataError:
        return "refused"
    except Exception as error:
        return f"WRONG: {type(error).__name__}: {error}"[:200]
