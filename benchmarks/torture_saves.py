"""Torture of saves and of calls: kills while files are written, two writers, Ctrl-C in `fit`.

    python -m benchmarks.torture saves --count 100

After a kill the file is one that a writer saved whole, and nothing else is left once the next run
has looked. After Ctrl-C an estimator is what it was before the call, or what it is after it. Exits
with 1 if one of these does not hold.
"""

from __future__ import annotations

import argparse
import random
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from rosenblatt import AROW, SCW, OnlineGradient, PassiveAggressive, Perceptron, load
from rosenblatt.atomic_files import remove_leftovers

KINDS = ("Perceptron", "KernelPerceptron", "text")
PROGRAM = """
import itertools, sys
import numpy as np
import rosenblatt
kind, out, seed = sys.argv[1:]
generator = np.random.default_rng(int(seed))
X, y = generator.normal(size=(400, 3000)), generator.integers(0, 6, 400)
if kind == "text":
    texts = [" ".join(f"w{i}" for i in generator.integers(0, 20000, 40)) for _ in range(600)]
    frame = {"label": ["a", "b", "c"] * 200, "text": texts}
    models = [rosenblatt.train(frame, text="text", epochs=epochs) for epochs in (1, 2)]
else:
    make = getattr(rosenblatt, kind)
    models = [make(random_state=s, max_iter=2, tol=None).fit(X, y) for s in (1, 2)]
for number, model in enumerate(models):
    rosenblatt.save(model, f"{out}.{seed}.{number}")
print("ready", flush=True)
for model in itertools.cycle(models):
    rosenblatt.save(model, out)
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of ``python -m benchmarks.torture saves``."""
    parser.add_argument("--count", type=int, default=30, help="Kills, and five times the Ctrl-Cs.")
    parser.add_argument("--seed", type=int, default=0)


def run(options: argparse.Namespace) -> int:
    """Kill and interrupt, count what came of it, and return the exit code."""
    warnings.simplefilter("ignore")
    generator, seen = random.Random(options.seed), Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        while seen["kills during a save"] < options.count:
            for kind in KINDS:
                for writers in (1, 2):
                    _save_and_kill(Path(folder), kind, writers, generator, seen)
    for number in range(5 * options.count):
        _interrupt(number, generator, seen)
    for name, count in sorted(seen.items()):
        print(f"{name:<50}{count:>8,}")
    wrong = sum(count for name, count in seen.items() if "WRONG" in name)
    print("held" if not wrong else f"FAILED: {wrong}")
    return int(wrong > 0)


def _save_and_kill(
    folder: Path, kind: str, writers: int, generator: random.Random, seen: Counter[str]
) -> None:
    """Let processes save to one file again and again, read it meanwhile, and kill them."""
    out = folder / f"{kind}.model"
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM, kind, str(out), str(seed)], stdout=subprocess.PIPE
        )
        for seed in range(writers)
    ]
    for process in processes:
        assert process.stdout is not None
        process.stdout.readline()
    whole = {path.read_bytes() for path in folder.glob(f"{kind}.model.*")}
    for _ in range(20):
        time.sleep(generator.uniform(0.0, 0.01))
        if out.exists():
            seen[
                "reads during saves" if out.read_bytes() in whole else "WRONG: a partial file"
            ] += 1
    for process in processes:
        time.sleep(generator.uniform(0.0, 0.01))
        process.kill()
        process.wait()
        seen["kills during a save"] += 1
    load(out)
    if out.read_bytes() not in whole:
        seen["WRONG: a file that nobody saved"] += 1
    seen["leftovers removed"] += remove_leftovers(out)
    seen["WRONG: leftovers that stay"] += len(list(folder.glob(".*.unfinished")))
    for path in folder.iterdir():
        path.unlink()


def _interrupt(number: int, generator: random.Random, seen: Counter[str]) -> None:
    """Send Ctrl-C at a random moment of a call, and compare with the states before and after."""
    rows = np.random.default_rng(number)
    X, y, others = (
        rows.normal(size=(4000, 30)),
        rows.integers(0, 4, 4000),
        rows.integers(0, 5, 4000),
    )
    make = [Perceptron, AROW, SCW, OnlineGradient, PassiveAggressive][number % 5]
    name = ("fit", "partial_fit")[number // 5 % 2]
    model, twin = (make(random_state=0, max_iter=9, tol=None).fit(X, y) for _ in range(2))
    before = _described(model, X)
    getattr(twin, name)(X, others)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
    try:
        signal.setitimer(signal.ITIMER_REAL, generator.uniform(0.0005, 0.03))
        getattr(model, name)(X, others)
        time.sleep(0.05)
    except KeyboardInterrupt:
        now = _described(model, X)
        whole = now == _described(twin, X)
        outcome = "as before" if now == before else "as after" if whole else "WRONG: in between"
        seen[f"Ctrl-C in {name}: {outcome}"] += 1


def _described(model: Any, X: np.ndarray) -> tuple[Any, ...]:
    scores = model.decision_function(X[:99])
    return scores.tobytes(), model.n_updates_, model.t_, model.n_iter_, model.classes_.tolist()
