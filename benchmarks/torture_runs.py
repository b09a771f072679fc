"""Torture of long runs: kills at random moments, and mutated checkpoints, stores and models.

    python -m benchmarks.torture runs --count 100

A killed run must end in the file that an undisturbed one writes, byte for byte, whatever the format
of its input. What is read back after a mutation must be refused by name, or be what was written;
mutations that carry a right checksum must be refused or lead nowhere outside. Exits with 1 if one
of these does not hold.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
import shutil
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.torture_certificates import _nudged, _places
from rosenblatt import (
    AROW,
    SCW,
    KernelPerceptron,
    NormalHerd,
    OnlineGradient,
    Perceptron,
    data,
    load,
    save,
    train,
)
from rosenblatt.data.store import DTYPES
from rosenblatt.errors import DataError, ModelFormatError
from rosenblatt.models import tensorfile

FORMATS = ("tsv", "tsv.gz", "csv", "jsonl", "jsonl.gz", "svm", "txt", "parquet", "arrow")


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of ``python -m benchmarks.torture runs``."""
    parser.add_argument(
        "--count",
        type=int,
        default=100,
        help="Kills; 3 times the mutated runs; 100 times the mutated models.",
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=["kills", "files", "models"], default=None)


def run(options: argparse.Namespace) -> int:
    """Kill and damage runs, count what came of it, and return the exit code."""
    seen: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        jobs = {"kills": (kills, 1), "files": (mutations, 3), "models": (models, 100)}
        for name, (job, times) in jobs.items():
            if options.only in (None, name):
                seen += job(Path(folder), times * options.count, options.seed)
    for name, count in sorted(seen.items()):
        print(f"{name:<50}{count:>8,}")
    wrong = sum(count for name, count in seen.items() if "WRONG" in name)
    print("held" if not wrong else f"FAILED: {wrong}")
    return int(wrong > 0)


def written(folder: Path, kind: str, rows: int = 1500) -> Path:
    """A file of some format, whose third class turns up late."""
    generator = np.random.default_rng(0)
    labels = [int(generator.integers(0, 3 if row > rows // 2 else 2)) for row in range(rows)]
    words = [[f"w{w}" for w in generator.zipf(1.3, 12) % 390 + 3 * label] for label in labels]
    table = {"label": ["abc"[i] for i in labels], "text": [" ".join(w) for w in words]}
    pairs = list(zip(*table.values(), strict=True))
    path = folder / f"rows.{kind}"
    if kind in ("parquet", "arrow"):
        import pyarrow as pa
        import pyarrow.feather
        import pyarrow.parquet

        if kind == "parquet":
            pyarrow.parquet.write_table(pa.table(table), path, row_group_size=100)
        else:
            pyarrow.feather.write_feather(pa.table(table), path, chunksize=100)
    else:
        of_line = {
            "tsv": lambda label, text: f"{label}\t{text}",
            "csv": lambda label, text: f"{label},{text}",
            "jsonl": lambda label, text: json.dumps({"label": label, "text": text}),
            "svm": lambda label, text: " ".join(
                [str("abc".index(label)), *(f"{c}:1" for c in _columns(text))]
            ),
            "txt": lambda label, text: f"__label__{label} {text}",
        }[kind.removesuffix(".gz")]
        lines = [of_line(*pair) for pair in pairs]
        if kind.startswith(("tsv", "csv")):
            lines.insert(0, of_line("label", "text"))
        content = ("\n".join(lines) + "\n").encode()
        path.write_bytes(gzip.compress(content) if kind.endswith(".gz") else content)
    return path


def _columns(text: str) -> list[int]:
    return sorted({int(word[1:]) + 1 for word in text.split()})


def kills(folder: Path, count: int, seed: int) -> Counter[str]:
    """Kill running trainings and let each end; compare the models with undisturbed ones."""
    seen: Counter[str] = Counter()
    generator = random.Random(seed)
    files = {kind: written(folder, kind) for kind in FORMATS}
    expected: dict[str, bytes] = {}
    while seen["kills"] < count:
        for kind, path in files.items():
            out, run = folder / "out.model", folder / "run"
            if kind not in expected:
                _resumed(
                    path, run, out, lambda run: None
                )  # here, so that others find kernels loaded
                expected[kind] = out.read_bytes()
                out.unlink()
                shutil.rmtree(run)
            for stop in range(4):
                code = _forked(path, run, out, generator.uniform(0.0, 0.15) if stop < 3 else None)
                seen["kills"] += code == -signal.SIGKILL
                if code not in (0, -signal.SIGKILL):
                    seen[f"WRONG: exit {code} ({kind})"] += 1
                if out.exists():
                    break
            same = out.exists() and out.read_bytes() == expected[kind]
            seen["runs with the same model" if same else f"WRONG: another model ({kind})"] += 1
            leftovers = [*folder.glob(".*.unfinished"), *run.glob(".*.unfinished")]
            seen["leftovers found after the last run"] += len(leftovers)
            out.unlink(missing_ok=True)
            shutil.rmtree(run, ignore_errors=True)
            if seen["kills"] >= count:
                return seen
    return seen


def _resumed(path: Path, folder: Path, out: Path, report: Callable[[Any], Any]) -> None:
    """Train from a checkpoint if there is one."""
    source = data.open(path, block_bytes=1 << 13)
    options = {"memory": 1 << 16, "checkpoint": folder, "checkpoint_rows": 300}
    train(source, max_epochs=5, resume=True, out=out, report=report, **options)


def _forked(path: Path, folder: Path, out: Path, after: float | None) -> int:
    """Train in a process of its own, resuming; kill it some seconds after its first report.

    Returns its exit code. A forked process has everything imported: it costs a tenth of a new one.
    """
    ready, begun = os.pipe()
    process = os.fork()
    if process == 0:
        code = 1
        try:
            _resumed(path, folder, out, lambda run: os.write(begun, b"."))
            code = 0
        finally:
            os._exit(code)
    os.close(begun)
    os.read(ready, 1)
    if after is not None:
        time.sleep(after)
        os.kill(process, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    os.close(ready)
    return code


class _GivenUpError(Exception):
    """A run that is given up."""


def _saved_run(folder: Path, path: Path, stop: int) -> Path:
    """A checkpoint folder of a run that was given up after some steps."""
    left = [stop]

    def give_up(run: object) -> None:
        left[0] -= 1
        if not left[0]:
            raise _GivenUpError

    try:
        _train(path, folder, resume=False, report=give_up)
    except _GivenUpError:
        return folder
    raise AssertionError("the run was over before it was given up")


def _train(path: Path, folder: Path, **options: object) -> bytes:
    source = data.open(path, block_bytes=1 << 13)
    model = train(
        source, max_epochs=4, memory=1 << 12, checkpoint=folder, checkpoint_rows=1, **options
    )  # type: ignore[arg-type]
    save(model, folder.parent / "end.model")
    return (folder.parent / "end.model").read_bytes()


def mutations(folder: Path, count: int, seed: int) -> Counter[str]:
    """Mutate checkpoints, stores and models; count what comes of it."""
    seen: Counter[str] = Counter()
    generator = np.random.default_rng(seed)
    path = written(folder, "csv")
    expected = _train(path, folder / "whole")
    saved = [_saved_run(folder / f"saved{i}", path, stop) for i, stop in enumerate((4, 14))]
    for i in range(count):
        which = ["checkpoint", *(f"rows/{name}" for name in DTYPES)][i % 9]
        shutil.copytree(saved[i % 2], run := folder / "run")
        if not (run / which).stat().st_size:
            shutil.rmtree(run)
            continue
        kind = _mutate(run / which, generator)
        outcome = _outcome(lambda: _train(path, run, resume=True) == expected)
        seen[f"{'checkpoint' if which == 'checkpoint' else 'store'} {kind}: {outcome}"] += 1
        shutil.rmtree(run, ignore_errors=True)
    return seen


def _mutate(path: Path, generator: np.random.Generator) -> str:
    """Cut, pad or flip a file; which of these."""
    content = bytearray(path.read_bytes())
    kind = str(generator.choice(["cut", "padded", "flipped", "flipped", "overwritten"]))
    place = int(generator.integers(0, len(content)))
    if kind == "cut":
        content = content[:place]
    elif kind == "padded":
        content += bytes(int(generator.integers(1, 999)))
    elif kind == "flipped":
        content[place] ^= 1 << int(generator.integers(0, 8))
    else:
        content[place : place + 8] = bytes(generator.integers(0, 256, 8, dtype=np.uint8))
    path.write_bytes(content)
    return kind


def _outcome(attempt: object) -> str:
    """Refused, the same as before, or wrong."""
    try:
        return "the same" if attempt() else "WRONG: another result"  # type: ignore[operator]
    except (ModelFormatError, DataError):
        return "refused"
    except ValueError as error:  # where a model is used: as of other columns than the rows have
        return "refused when it is used" if str(error) else "WRONG: no sentence"
    except Exception as error:
        return f"WRONG: {type(error).__name__}: {error}"[:90]


def models(folder: Path, count: int, seed: int) -> Counter[str]:
    """Damage model files of every kind, load them and use what was loaded."""
    seen: Counter[str] = Counter()
    generator = np.random.default_rng(seed)
    X = np.random.default_rng(0).normal(size=(60, 5))
    y, texts = np.arange(60) % 3, ["w3 w5 w9"] * 2
    short = {"max_iter": 3, "tol": None, "random_state": 0}
    made = [
        *(cls(**short).fit(X, y) for cls in (Perceptron, AROW, SCW, NormalHerd, OnlineGradient)),
        OnlineGradient(**short, method="adagrad", scale=None).fit(X, y),
        Perceptron(**short, multiclass="ovo", keep="average", calibrate=None).fit(X, y),
        *(KernelPerceptron(**short, keep=keep).fit(X, y) for keep in ("last", "vote")),
        train(written(folder, "csv", 300), epochs=2),
        train({"x": X[:, 0], "z": X[:, 1], "label": y}, epochs=1),
    ]
    rows = [X] * 9 + [texts, [{"x": 1.0, "z": 2.0}]]
    target = folder / "a.model"

    def used(which: int) -> list[object]:
        model = load(target)
        answer = model.predict(rows[which]).tolist()
        if hasattr(model, "partial_fit"):
            model.partial_fit(X[:6], y[:6])
        return answer

    files, expected = [], []
    for which, model in enumerate(made):
        save(model, target)
        files.append((target.read_bytes(), *tensorfile.read(target)))
        expected.append(used(which))
    for i in range(count):
        which = i % len(made)
        content, arrays, about = files[which]
        if generator.random() < 0.25:
            target.write_bytes(content)
            kind = _mutate(target, generator)
            outcome = _outcome(lambda: used(which) == expected[which])  # noqa: B023
        else:
            kind, arrays, about = "resealed", dict(arrays), json.loads(json.dumps(about))
            if generator.random() < 0.5:
                name = sorted(arrays)[int(generator.integers(0, len(arrays)))]
                arrays[name] = _changed(arrays[name], generator)
            else:
                places = [(box, key) for box, key, _ in _places(about)]
                box, key = places[int(generator.integers(len(places)))]
                box[key] = _nudged(box[key], generator)
            try:
                tensorfile.write(target, arrays, about)
            except ValueError:  # a number that JSON does not have
                continue
            outcome = _outcome(lambda: bool(used(which)))  # noqa: B023
            outcome = outcome.replace("the same", "read as a model")
        if "WRONG" in outcome:
            outcome += f" [{type(made[which]).__name__}]"
        seen[f"model {kind}: {outcome}"] += 1
    return seen


def _changed(array: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """An array with another number, length or type."""
    array, how = array.copy(), int(generator.integers(0, 4))
    if how == 0 and array.size:
        array.flat[int(generator.integers(0, array.size))] = generator.choice([0, 1, 77, 2**30])
    elif how == 1:
        array = array[: int(generator.integers(0, len(array) + 1))]
    elif how == 2:
        array = np.concatenate([array, array])
    else:
        array = array.astype(np.float64 if array.dtype != np.float64 else np.int64)
    return np.ascontiguousarray(array)
