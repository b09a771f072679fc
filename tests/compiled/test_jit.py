"""Compiled kernels are kept, found again, never stale, and never trusted without reason."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import rosenblatt
from rosenblatt.compiled import machine

WALK = """
import numpy as np, sys
from rosenblatt.kernels import walks
one, X = np.ones(1), np.ones((1, 2))
W, bias = np.zeros((1, 2)), np.zeros((3, 1))
walks.binary(X, np.ones(1, np.int8), one, np.zeros(1, np.uint64), (0, 1), one, W, W,
             np.zeros((1, 1)), bias, np.zeros(1), (0.0, 0.0, 1.0, False, True), (9, 9), 0,
             np.empty(1))
print(W[0, 0], "numba" in sys.modules)
"""

MEAN = """
import numpy as np, sys
from rosenblatt.kernels.averages import mean_weights
print(mean_weights(np.ones((2, 1)), np.ones((2, 1)), 2.0)[1, 0], "numba" in sys.modules)
"""

pytestmark = pytest.mark.skipif(
    not machine.is_supported(), reason="kernels are kept on x86-64 Linux only"
)


def copy_of(package, folder, *ignored):
    shutil.copytree(package, folder / "rosenblatt", ignore=shutil.ignore_patterns(*ignored))
    return folder


@pytest.fixture
def package(tmp_path):
    """A copy of the package whose sources can be edited."""
    return copy_of(Path(rosenblatt.__file__).parent, tmp_path, "__pycache__")


@pytest.fixture(scope="module")
def used(tmp_path_factory):
    """A copy of the package in which the kernel of `MEAN` was compiled."""
    folder = tmp_path_factory.mktemp("used")
    copy_of(Path(rosenblatt.__file__).parent, folder, "__pycache__")
    assert run(folder, MEAN) == (0.5, True)
    return folder


@pytest.fixture
def warm(used, tmp_path):
    """The same, for a test of its own; Numba's cache is left out, so that it has to compile."""
    return copy_of(used / "rosenblatt", tmp_path, "*.nb?")


def start(package, program, **settings):
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("NUMBA_")}
    return subprocess.Popen(
        [sys.executable, "-c", program],
        env={**inherited, "PYTHONPATH": str(package), **settings},
        stdout=subprocess.PIPE,
        text=True,
        cwd=package,
    )


def run(package, program=MEAN, **settings):
    """What the kernel computed, and whether Numba was imported for it."""
    process = start(package, program, **settings)
    number, compiled = process.communicate()[0].split()
    assert process.returncode == 0
    return float(number), compiled == "True"


def kept(package):
    (file,) = (package / "rosenblatt/compiled/__pycache__").glob(
        "engine.averages.mean_weights-*.kernel"
    )
    return file


def test_a_second_process_needs_no_compiler_unless_a_rule_was_edited(package):
    assert run(package, WALK) == (1.0, True)
    assert run(package, WALK) == (1.0, False)
    rules = package / "rosenblatt" / "rules.py"
    rules.write_text(rules.read_text().replace("return eta * weight", "return 7 * eta * weight"))
    assert run(package, WALK) == (7.0, True)
    assert run(package, WALK) == (7.0, False)


def test_a_cache_folder_that_cannot_be_made_costs_time_and_no_error(package, tmp_path):
    nowhere = tmp_path / "file"
    nowhere.write_text("not a folder")
    assert run(package, NUMBA_CACHE_DIR=str(nowhere / "cache")) == (0.5, True)


def test_what_numba_has_in_its_cache_is_kept_without_compiling_again(used, tmp_path):
    copy = copy_of(used / "rosenblatt", tmp_path, "*.kernel")
    program = MEAN + "assert sum(mean_weights.dispatcher.stats.cache_hits.values()) == 1\n"
    assert run(copy, program) == (0.5, True)
    assert run(copy) == (0.5, False)


@pytest.mark.parametrize("damage", ["cut short", "a bit flipped", "nonsense"])
def test_a_damaged_file_is_compiled_again_and_mended(warm, damage):
    whole = kept(warm).read_bytes()
    flipped = bytearray(whole)
    flipped[-9] ^= 4
    content = {"cut short": whole[:-100], "a bit flipped": bytes(flipped)}
    kept(warm).write_bytes(content.get(damage, b"\x90" * len(whole)))
    assert run(warm) == (0.5, True)
    assert kept(warm).read_bytes() == whole
    assert run(warm) == (0.5, False)


@pytest.mark.parametrize("place", ["the folder", "the file"])
def test_machine_code_is_not_taken_from_where_everyone_may_write(warm, place):
    path = kept(warm) if place == "the file" else kept(warm).parent
    path.chmod(path.stat().st_mode | 0o002)
    assert run(warm, HOME=str(warm), XDG_CACHE_HOME="") == (0.5, True)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_machine_code_is_not_taken_from_another_user(warm):
    os.chown(kept(warm), 12345, 12345)
    assert run(warm) == (0.5, True)


def test_a_package_that_cannot_be_written_to_keeps_its_kernels_with_the_user(package):
    pycache = package / "rosenblatt/compiled/__pycache__"
    pycache.write_text("not a folder")
    settings = {"HOME": str(package), "XDG_CACHE_HOME": ""}
    assert run(package, **settings) == (0.5, True)
    assert run(package, **settings) == (0.5, False)


def test_a_setting_of_numba_leaves_the_kernel_to_numba(warm):
    assert run(warm, NUMBA_OPT="1") == (0.5, True)
    assert run(warm, NUMBA_NUM_THREADS="1") == (0.5, False)


def test_another_version_of_numba_leaves_the_kernel_to_numba(warm):
    program = f"""
from rosenblatt.compiled import kept
kept._version = lambda package: b"another"
{MEAN}"""
    assert run(warm, program) == (0.5, True)
    assert run(warm) == (0.5, False)


def test_processes_that_compile_at_once_do_not_disturb_each_other(package):
    processes = [start(package, MEAN) for _ in range(3)]
    said = [process.communicate()[0] for process in processes]
    assert [line.split()[0] for line in said] == ["0.5"] * 3
    assert run(package) == (0.5, False)
