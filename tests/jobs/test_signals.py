"""SIGTERM and SIGHUP end a run as Ctrl-C does; what a kill leaves is removed by the next run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from rosenblatt import load
from rosenblatt.atomic_files import atomic_write, remove_leftovers, temporary_folder

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has no such signals")

PROGRAM = """
import sys
from pathlib import Path
from rosenblatt.cli import main
import rosenblatt.jobs.train as files

train = files.train

def slowed(*arguments, report, **options):
    def slow(run):
        report(run)
        if run.progress.visits > 500:
            Path(sys.argv[0]).touch()
            import time; time.sleep(0.2)
    return train(*arguments, report=slow, **options)

files.train = slowed
sys.argv[:] = sys.argv[1:]
main()
"""


@pytest.fixture
def rows(tmp_path):
    path = tmp_path / "x.tsv"
    path.write_text(
        "".join(f"{'ab'[i % 3 == 0]}\tword{i % 97} w{i % 3} more\n" for i in range(9000))
    )
    return path


def _ignores_nothing():
    """Undo what nohup does to the processes of its command."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def started(tmp_path, *arguments, temporary=None):
    """The program, once it has learned from some rows; from then on it takes its time."""
    sign = tmp_path / "begun"
    sign.unlink(missing_ok=True)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    if temporary is not None:
        environment["TMPDIR"] = str(temporary)
    command = [sys.executable, "-c", PROGRAM, sign, "train", *arguments, "--label", "1"]
    process = subprocess.Popen(
        command, env=environment, stderr=subprocess.PIPE, text=True, preexec_fn=_ignores_nothing
    )
    deadline = time.monotonic() + 60
    while not sign.exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    return process


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
@pytest.mark.parametrize("is_saved", [False, True])
def test_a_signal_saves_the_run_or_the_model_and_says_so(rows, tmp_path, number, is_saved):
    out, run = tmp_path / "m.model", tmp_path / "run"
    more = ["--checkpoint", run] if is_saved else []
    process = started(tmp_path, rows, "--out", out, "--epochs", "500", "-q", *more)
    process.send_signal(number)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert ("--resume" if is_saved else "--from") in said
    assert (run / "checkpoint").exists() == is_saved
    assert is_saved or load(out).classes == ("a", "b")


def test_the_next_run_removes_what_a_killed_one_left(rows, tmp_path):
    temporary, out = tmp_path / "tmp", tmp_path / "m.model"
    temporary.mkdir()
    small = [rows, "--out", out, "--epochs", "500", "-q", "--memory", "1", "--bits", "22"]
    rows.write_text(rows.read_text() * 8)
    process = started(tmp_path, *small, temporary=temporary)
    [spilled] = temporary.glob("rosenblatt-*")
    with atomic_write(out) as file:  # as of another run that is alive
        file.write(b"mine")
        living = started(tmp_path, rows, "--out", tmp_path / "b", "-q", temporary=temporary)
        assert spilled.exists()
        living.kill()
        living.communicate()
        process.kill()
        process.communicate()
        (tmp_path / ".m.model.abcdefgh.unfinished").write_bytes(b"half")
        (tmp_path / ".m.model.settings").write_bytes(b"not of this package")
        last = started(tmp_path, *small, temporary=temporary)
        assert not spilled.exists()
        last.kill()
        last.communicate()
        assert not (tmp_path / ".m.model.abcdefgh.unfinished").exists()
        assert (tmp_path / ".m.model.settings").exists()
    assert out.read_bytes() == b"mine"


def test_what_a_living_process_holds_is_not_a_leftover(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    folder, lock = temporary_folder()
    (tmp_path / "rosenblatt-of-somebody").mkdir()
    assert remove_leftovers() == 0
    assert folder.exists()
    lock.close()
    assert remove_leftovers() == 1
    assert [path.name for path in Path(tmp_path).iterdir()] == ["rosenblatt-of-somebody"]
