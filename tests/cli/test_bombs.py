"""Files that never end, or unpack to gigabytes, take less than 600 MB in every command."""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import product
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

LIMIT = 600  # MB
# Runs commands and prints, for each, its exit code, the most memory, the error and its kind.
SCRIPT = """
import json, pathlib, sys, threading, time
from typer.testing import CliRunner
from rosenblatt.cli import app

def anonymous():
    lines = pathlib.Path("/proc/self/status").read_text().splitlines()
    return sum(int(line.split()[1]) >> 10 for line in lines if line.startswith("RssAnon"))

def watch():
    while True:
        most[0] = max(most[0], anonymous())
        time.sleep(0.005)

most = [0]
threading.Thread(target=watch, daemon=True).start()
for command in json.loads(sys.argv[1]):
    most[0] = 0
    done = CliRunner().invoke(app, command)
    fault = done.exception
    print(json.dumps([done.exit_code, max(most[0], anonymous()), str(fault), type(fault).__name__]))
"""
ROWS_OF_CSV = b"label,text\na,good\nb,bad\n"


def run(commands):
    """The exit code, the megabytes, the error and its kind, of commands one after the other."""
    call = [sys.executable, "-c", SCRIPT, json.dumps([list(map(str, c)) for c in commands])]
    done = subprocess.run(call, capture_output=True, text=True, timeout=300)
    results = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(results) == len(commands), done.stderr[-2000:]
    return results


def words(draw, size):
    return " ".join(f"w{number:x}" for number in draw.integers(0, 1 << 16, size))


def endless_line(path, head):
    with pa.CompressedOutputStream(path, "zstd") as out:
        out.write(head)
        for _ in range(2000):
            out.write(b"a" * 1_000_000)


def sparse(path, begin, end=b""):
    with Path(path).open("wb") as file:
        file.write(begin)
        file.truncate((1 << 40) - len(end))
        file.seek(0, 2)
        file.write(end)


@pytest.fixture(scope="module")
def bombs(tmp_path_factory):
    """Files of a few megabytes at most: those that are refused, and those that are read."""
    folder, draw = tmp_path_factory.mktemp("bombs"), np.random.default_rng(0)
    endless_line(folder / "line.csv.zst", ROWS_OF_CSV + b"a,")
    endless_line(folder / "line.jsonl.zst", b'{"label":"a","text":"good"}\n{"label":"b","text":"')
    endless_line(folder / "line.tsv.zst", b"label\ttext\na\tgood\nb\t")
    sparse(folder / "zeros.csv", b"")
    sparse(folder / "end.csv", ROWS_OF_CSV * 10_000)
    sparse(folder / "footer.parquet", b"PAR1", b"\xff\xff\xff\x7fPAR1")
    sparse(folder / "footer.arrow", b"ARROW1\0\0", b"\xff\xff\xff\x7fARROW1")
    stream = b"\xff\xff\xff\xff\xf0\xff\xff\x7f"  # a message of 2 GB
    sparse(folder / "stream.arrow", stream)
    refused = sorted(folder.iterdir())
    texts = pa.array([words(draw, 18_000) for _ in range(20)])
    rows = 1200
    table = pa.table(
        {
            "text": pa.DictionaryArray.from_arrays(draw.integers(0, 20, rows, np.int32), texts),
            "label": [f"c{i % 3}" for i in range(rows)],
        }
    )
    pa.parquet.write_table(table, folder / "texts.parquet", compression="zstd")
    with pa.ipc.new_file(folder / "texts.arrow", table.schema) as out:
        out.write_table(table)
    one = pa.table({"text": [words(draw, 1_600_000)] * 6, "label": ["a", "b", "c"] * 2})
    pa.parquet.write_table(one, folder / "rows.parquet", compression="zstd")
    return folder, refused


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="no /proc to measure memory by")
def test_files_that_unpack_to_much_take_less_than_600_mb(bombs, tmp_path):
    folder, _ = bombs
    model, out = tmp_path / "m.model", tmp_path / "x.model"
    small = tmp_path / "small.csv"
    small.write_text("label,text\n" + "c0,good\nc1,bad\nc2,so so\n" * 20)
    commands = [["train", small, "--label", "label", "--epochs", "1", "--out", model]]
    for name in ("texts.parquet", "rows.parquet"):
        assert (folder / name).stat().st_size < 25e6
        learn = ["train", folder / name, "--label", "label", "--epochs", "1", "--out", out]
        commands.append([*learn, "--analyzer", "word"])
    for name in ("texts.arrow", "rows.parquet"):
        commands.append(["predict", model, folder / name, "--out", tmp_path / "out.csv"])
    commands.append(["evaluate", model, folder / "texts.parquet"])
    for command in commands:  # in processes of their own
        [[code, most, fault, _]] = run([command])
        assert code == 0, (command, fault)
        assert most < LIMIT, command


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="no /proc to measure memory by")
def test_files_that_never_end_are_refused_below_600_mb(bombs, tmp_path):
    _, refused = bombs
    model, proof = tmp_path / "m.model", tmp_path / "proof.json"
    small, numbers = tmp_path / "small.csv", tmp_path / "numbers.csv"
    small.write_bytes(ROWS_OF_CSV * 20)
    numbers.write_text("x,label\n1,a\n2,b\n")
    begin = [
        ["train", small, "--label", "label", "--header", "--out", model],
        ["certify", numbers, "--label", "label", "--out", proof],
    ]
    on_file = {
        "train": lambda path: ["train", path, "--label", "label", "--out", tmp_path / "x.model"],
        "predict": lambda path: ["predict", model, path, "--out", tmp_path / "out.csv"],
        "evaluate": lambda path: ["evaluate", model, path],
        "certify": lambda path: ["certify", path, "--label", "label"],
        "verify": lambda path: ["verify", proof, path],
        "inspect": lambda path: ["inspect", path],
    }
    paths = [*refused, Path("/dev/zero")]
    commands = begin + [make(path) for path, make in product(paths, on_file.values())]
    commands += [["verify", path, numbers] for path in ("/dev/zero", refused[-1])]
    results = run(commands)
    assert [code for code, *_ in results[:2]] == [0, 0], results[:2]
    for command, (code, most, fault, kind) in zip(commands[2:], results[2:], strict=True):
        assert code == 1, (command, fault)
        assert kind in ("DataError", "ModelFormatError", "CertificateFormatError"), (command, fault)
        assert most < LIMIT, command


def test_rows_of_less_than_a_bit_are_refused(tmp_path):
    path = tmp_path / "rows.csv.zst"
    with pa.CompressedOutputStream(str(path), "zstd") as out:
        out.write(b"label,x\n")
        for name in (b"a,1\n", b"b,2\n"):
            for _ in range(30):
                out.write(name * 100_000)
    [[code, most, fault, _]] = run(
        [["train", path, "--label", "label", "--out", tmp_path / "x.model"]]
    )
    assert (code, most < LIMIT) == (1, True)
    assert "rows of less than a bit each" in fault
