"""After `rosenblatt warm-up` nothing is left to compile."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from rosenblatt.cli.warm_up import tiny_jobs

# Jobs of other shapes than those of warm-up, and last a rule that was not compiled.
JOBS = """
import sys, warnings
import numpy as np
from scipy import sparse
from rosenblatt import AROW, NormalHerd, Perceptron, train
from rosenblatt.kernels.jit import compile_seconds

warnings.simplefilter("ignore")
generator = np.random.default_rng(1)
X, y = generator.normal(size=(90, 11)), generator.integers(0, 4, 90)
table = {"label": [f"c{c}" for c in y], "text": [f"word{c} {i}" for i, c in enumerate(y)]}
for options in ({}, {"epochs": 2, "class_weight": "balanced"}, {"multiclass": "joint"},
                {"rule": "arow"}, {"rule": "arow:r=0.1", "multiclass": "joint", "average": False}):
    train(table, text="text", **options).predict(["word1"])
train({"label": list("ab") * 45, "x": X[:, 0], "z": X[:, 1]}, rule="arow")
for estimator in (Perceptron, AROW):
    for dtype, labels in (("f4", y), ("f8", y > 1)):
        for rows in (X.astype(dtype), sparse.csr_array(X.astype(dtype))):
            for multiclass in ("ovr", "joint"):
                estimator(multiclass=multiclass, max_iter=4).fit(rows, labels).predict(rows)
                estimator(multiclass=multiclass).partial_fit(rows, labels)
Perceptron(calibrate="sigmoid").fit(X, generator.integers(0, 2, (90, 5)))
compiled = compile_seconds()
NormalHerd().fit(X, y)
print(compiled, compile_seconds() > compiled)
"""


def run(arguments, cache):
    environment = os.environ | {
        "ROSENBLATT_QUIET": "1",
        "ROSENBLATT_CACHE_DIR": str(cache),
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
    }
    command = [sys.executable, "-W", "ignore", *arguments]
    done = subprocess.run(command, env=environment, text=True, capture_output=True, check=True)
    return done.stdout


@pytest.fixture(scope="module")
def warm(tmp_path_factory):
    """A new cache with the kernels of two rules."""
    cache = tmp_path_factory.mktemp("kernels")
    cache.chmod(0o700)
    rules = ["--rule", "perceptron", "--rule", "arow"]
    return cache, run(["-m", "rosenblatt", "warm-up", *rules], cache)


def test_a_process_after_warming_up_compiles_nothing_but_what_was_left_out(warm):
    cache, printed = warm
    assert f"kernels in {cache}" in printed
    assert run(["-c", JOBS], cache) == "0.0 True\n"


def test_warming_up_again_finds_everything_compiled(warm):
    cache, _ = warm
    printed = run(["-m", "rosenblatt", "warm-up", "--rule", "perceptron", "--rule", "arow"], cache)
    assert printed.startswith("0.0 s, ")


def test_every_rule_has_its_jobs(tmp_path):
    names = [name for name, _ in tiny_jobs(tmp_path, ["perceptron", "arow"])]
    for layout in ("dense float64", "dense float32", "sparse float64", "sparse float32"):
        assert f"arow, {layout}" in names
