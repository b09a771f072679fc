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


def test_rows_on_disk_say_the_same_of_classes_and_of_held_out_rows(tmp_path):
    from rosenblatt import train

    generator = np.random.default_rng(0)
    x = generator.normal(size=(20_000, 30)).round(3)
    frame = {f"x{i}": x[:, i].tolist() for i in range(30)}
    frame["label"] = ["no" if a > 1 else "yes" for a in x[:, 0]]
    errors, on_disk, options = [], [], {"label": "label", "lift": "none", "max_epochs": 2}
    for memory in (1 << 30, 256 << 20):
        steps = []

        def report(run, steps=steps):
            steps.append((run.rows, run.rows.store.on_disk))

        model = train(frame, memory=memory, report=report, **options)
        rows, was_on_disk = steps[-1]
        assert rows.class_shares()["yes"] == pytest.approx(0.84, abs=0.02)  # after the end
        errors.append(model.history[0]["validation_error"])
        on_disk.append(was_on_disk)
    assert on_disk == [False, True]
    assert errors[0] == pytest.approx(errors[1], abs=1e-9)
