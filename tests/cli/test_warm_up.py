"""After `rosenblatt warm-up` nothing is left to compile."""

import os
import subprocess
import sys

from rosenblatt.cli.warm_up import tiny_jobs


def test_a_process_after_warming_up_compiles_nothing(tmp_path):
    program = (
        "from rosenblatt.cli import app; from rosenblatt.kernels.jit import compile_seconds; "
        "app(['warm-up', '--quiet'], standalone_mode=False); print(compile_seconds())"
    )
    settings = {**os.environ, "ROSENBLATT_QUIET": "1"}
    said = [
        subprocess.run(
            [sys.executable, "-c", program], env=settings, cwd=tmp_path, text=True,
            capture_output=True, check=True,
        ).stdout
        for _ in range(2)
    ]  # fmt: skip
    assert said[1] == "0.0\n"


def test_every_kind_of_job_is_there(tmp_path):
    names = [name for name, _ in tiny_jobs(tmp_path)]
    assert len(names) == len(set(names)) > 15
