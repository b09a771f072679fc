"""`memory` bounds the whole process, weights aside."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

SCRIPT = """
import json, sys
from rosenblatt import train

def anonymous():
    lines = open("/proc/self/status").read().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("RssAnon"))

steps = []
def report(run):
    steps.append((anonymous(), run.rows.store.size, run.rows.store.on_disk))

path, memory = sys.argv[1:]
train(path, label="label", bits=16, max_epochs=2, memory=int(memory), report=report)
print(json.dumps([max(step[0] for step in steps), steps[-1][1], steps[-1][2]]))
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="no /proc to measure memory by")
def test_memory_is_that_of_the_process(tmp_path):
    def run(rows, memory):
        """The most memory of a run, the bytes of its rows, and whether they were on disk."""
        path, random = tmp_path / "rows.csv", np.random.default_rng(0)
        words = random.integers(0, 5000, (rows, 40))
        lines = (f"{i % 2},{' '.join(map('w{:x}'.format, row))}\n" for i, row in enumerate(words))
        path.write_text("label,text\n" + "".join(lines))
        command = [sys.executable, "-c", SCRIPT, str(path), str(memory)]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
        return json.loads(done.stdout)

    run(50, 1)  # compiles
    memory = 300 << 20
    most, size, on_disk = run(40_000, memory)
    assert on_disk
    assert size > 60 << 20
    assert most < memory
