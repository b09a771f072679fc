"""Tasks by workers of all kinds: results in order, whoever dies and whatever is lacking."""

from __future__ import annotations

import os
import signal
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from multiprocessing import get_context

import pytest

from rosenblatt.cluster.engines import (
    Engine,
    Task,
    WorkerError,
    engine_for,
    environment,
    run_checked,
)


def test_an_equal_environment_passes():
    assert run_checked(environment(), abs, -2) == 2


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("numpy", "a worker has numpy .*, this process 0: install the same versions"),
        ("sources", "other sources of rosenblatt"),
        ("processor", "another kind of processor"),
    ],
)
def test_a_process_with_another_environment_refuses_to_compute(name, message):
    expected = tuple((key, "0" if key == name else value) for key, value in environment())
    with pytest.raises(WorkerError, match=message):
        run_checked(expected, abs, -2)


def test_results_come_in_the_order_of_tasks(threads):
    engine = Engine(threads, 3)
    seen = []
    engine.tick = lambda done, total: seen.append((done, total))
    tasks = [Task(abs, (-i,)) for i in range(20)]
    assert list(engine.stream(tasks)) == list(engine.stream(tasks, ahead=2)) == list(range(20))
    assert seen[-1] == (20, 20)
    assert engine.reduce([Task(str, (i,)) for i in range(5)], lambda a, b: f"({a}{b})") == (
        "(((01)(23))4)"
    )


def test_tasks_of_processes_that_are_killed_run_again(tmp_path):
    with closing(engine_for(2, tmp_path)) as engine:
        killed = []

        def kill(done, total):
            if done >= 2 and not killed:
                killed.extend(engine.executor.pids)
                for pid in killed:
                    os.kill(pid, signal.SIGKILL)

        engine.tick = kill
        assert list(engine.stream([Task(abs, (-i,)) for i in range(40)])) == list(range(40))
        assert killed


def test_a_task_that_kills_every_process_ends_the_run_with_a_sentence(tmp_path):
    with (
        closing(engine_for(1, tmp_path)) as engine,
        pytest.raises(WorkerError, match="memory enough"),
    ):
        list(engine.stream([Task(abs, (-1,)), Task(os._exit, (1,))]))


def test_a_broken_executor_of_the_caller_ends_the_run_with_a_sentence():
    with (
        ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool,
        pytest.raises(WorkerError, match="memory enough"),
    ):
        list(Engine(pool, 1).stream([Task(os._exit, (1,))]))
