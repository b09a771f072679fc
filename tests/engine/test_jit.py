"""Compiled kernels are kept, found again, and never stale."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import rosenblatt

PROGRAM = """
import numpy as np, sys
from rosenblatt.engine import walks
one, X = np.ones(1), np.ones((1, 2))
W, bias = np.zeros((1, 2)), np.zeros((3, 1))
walks.binary(X, np.ones(1, np.int8), one, np.zeros(1, np.uint64), (0, 1), one, W, W,
             np.zeros((1, 1)), bias, np.zeros(1), (0.0, 0.0, 1.0, False, True), (9, 9), 0,
             np.empty(1))
hits = sum(walks.binary.stats.cache_hits.values())
print(W[0, 0], hits)
"""


@pytest.fixture
def package(tmp_path):
    """A copy of the package whose sources can be edited."""
    shutil.copytree(
        Path(rosenblatt.__file__).parent,
        tmp_path / "rosenblatt",
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    return tmp_path


def run(package, **environment):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "PYTHONPATH": str(package), **environment},
        capture_output=True,
        text=True,
        check=True,
        cwd=package,
    )
    weight, hits = done.stdout.split()
    return float(weight), int(hits)


def test_a_second_process_reuses_the_compiled_kernel_unless_a_rule_was_edited(package):
    assert run(package) == (1.0, 0)
    assert run(package) == (1.0, 1)
    rules = package / "rosenblatt" / "rules.py"
    rules.write_text(rules.read_text().replace("return eta * weight", "return 7 * eta * weight"))
    assert run(package) == (7.0, 0)


def test_an_unwritable_cache_folder_costs_time_and_no_error(package, tmp_path):
    nowhere = tmp_path / "file"
    nowhere.write_text("not a folder")
    weight, hits = run(package, NUMBA_CACHE_DIR=str(nowhere / "cache"))
    assert (weight, hits) == (1.0, 0)
