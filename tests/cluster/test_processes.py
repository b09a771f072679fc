"""Local processes: tasks, errors and deaths."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from rosenblatt.cluster.processes import LocalProcesses, ProcessDied
from rosenblatt.errors import DataError


@pytest.fixture(scope="module")
def processes():
    with LocalProcesses(1) as pool:
        yield pool


def test_a_process_runs_one_task_after_the_other(processes):
    pids = {processes.submit(os.getpid).result() for _ in range(3)}
    assert pids == set(processes.pids)
    assert os.getpid() not in pids


def test_a_process_that_has_grown_is_not_replaced(processes):
    before = processes.submit(os.getpid).result()
    assert processes.submit(np.ones, 50_000_000).result().sum() == 50_000_000
    assert processes.submit(os.getpid).result() == before


def test_what_a_task_prints_does_not_mix_with_results(processes):
    assert processes.submit(print, "a line").result() is None
    assert processes.submit(abs, -3).result() == 3


def test_an_error_of_a_task_is_raised_here_and_the_process_goes_on(processes):
    before = processes.submit(os.getpid).result()
    with pytest.raises(ZeroDivisionError):
        processes.submit(divmod, 1, 0).result()
    code = "(_ for _ in ()).throw(__import__('rosenblatt.errors').errors.DataError('bad', line=3))"
    with pytest.raises(DataError, match="line 3: bad"):
        processes.submit(eval, code).result()
    assert processes.submit(os.getpid).result() == before


def test_what_cannot_be_pickled_is_an_error_of_that_task_alone(processes):
    with pytest.raises((AttributeError, pickle.PicklingError)):
        processes.submit(lambda: 1).result()
    with pytest.raises((AttributeError, TypeError, RuntimeError, pickle.PicklingError)):
        processes.submit(eval, "lambda: 1").result()
    code = "exec('class Odd(Exception): pass\\nraise Odd(7)')"
    with pytest.raises(RuntimeError, match="Odd: 7"):
        processes.submit(eval, code).result()
    assert processes.submit(abs, -3).result() == 3


def test_a_death_fails_the_task_that_ran_and_the_next_one_gets_a_new_process(processes):
    before = processes.submit(os.getpid).result()
    with pytest.raises(ProcessDied):
        processes.submit(os._exit, 1).result()
    after = processes.submit(os.getpid).result()
    assert after != before
    os.kill(after, signal.SIGKILL)
    while processes.pids:
        time.sleep(0.01)
    assert processes.submit(os.getpid).result() not in (before, after)


def test_shutting_down_at_once_kills_the_tasks():
    pool = LocalProcesses(2)
    futures = [pool.submit(time.sleep, 60) for _ in range(5)]
    while len(pool.pids) < 2:
        time.sleep(0.01)
    began, pids = time.monotonic(), pool.pids
    pool.shutdown(wait=False)
    assert time.monotonic() - began < 30
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)
    assert sum(future.cancelled() for future in futures) == 3
    assert all(isinstance(f.exception(), ProcessDied) for f in futures if not f.cancelled())


def test_processes_end_when_the_one_that_started_them_is_killed():
    code = """
import os, time
from rosenblatt.cluster.processes import LocalProcesses

processes = LocalProcesses(1)
print(processes.submit(os.getpid).result(), flush=True)
processes.submit(time.sleep, 1)
time.sleep(60)
"""
    command, pipe = [sys.executable, "-c", code], subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True) as starter:
        worker = int(starter.stdout.readline())
        starter.kill()
        assert starter.stderr.read() == ""  # of the worker, too, which ends in the end
    deadline = time.monotonic() + 20
    while Path(f"/proc/{worker}").exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not Path(f"/proc/{worker}").exists()


def test_a_script_needs_no_guard_of_its_main_module(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("""
import os
from rosenblatt.cluster.processes import LocalProcesses

print("once")
with LocalProcesses(2) as processes:
    assert processes.submit(abs, -3).result() == 3
""")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert done.stdout == "once\n"
