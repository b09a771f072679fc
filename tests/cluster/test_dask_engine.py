"""Runs on a real Dask cluster: workers die, come and lack things; the model stays the same."""

from __future__ import annotations

import logging
import os
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from rosenblatt import train
from rosenblatt.cluster.engines import WorkerError
from rosenblatt.errors import DataError

from .reviews import same_bits, write_reviews

distributed = pytest.importorskip("distributed", reason="the extra 'cluster' is not installed")

pytestmark = pytest.mark.filterwarnings("ignore:the .* shards have:UserWarning")
SHARDS = 9


def dask_process(*arguments, code=""):
    """A scheduler or a worker in a process of its own, in a group of its own."""
    run = f"{code}\nimport sys\nfrom distributed.cli.dask_{arguments[0]} import main\nmain()"
    return subprocess.Popen(
        [sys.executable, "-c", run, *arguments[1:]],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip


def end(process):
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


class Cluster:
    """A scheduler and workers that tests can kill."""

    def __init__(self, folder):
        self.folder, self.workers = folder, []
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.address = f"tcp://127.0.0.1:{self.port}"
        self.start_scheduler()

    def start_scheduler(self):
        self.scheduler = dask_process(
            "scheduler", "--host", "127.0.0.1", "--port", str(self.port), "--no-dashboard"
        )

    def add_worker(self, code=""):
        self.workers.append(
            dask_process(
                "worker", self.address, "--nthreads", "1", "--no-nanny", "--no-dashboard",
                "--local-directory", str(self.folder), code=code,
            )
        )  # fmt: skip

    def ready(self, count):
        deadline = time.monotonic() + 60
        while True:
            try:
                with distributed.Client(self.address, timeout=5, set_as_default=False) as client:
                    client.wait_for_workers(count, timeout=30)
                    return
            except (OSError, TimeoutError):
                assert time.monotonic() < deadline, "the cluster did not start"
                time.sleep(0.2)

    def close(self):
        for process in [*self.workers, self.scheduler]:
            end(process)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    made = Cluster(tmp_path_factory.mktemp("dask"))
    try:
        made.add_worker()
        made.add_worker()
        made.ready(2)
        yield made
    finally:
        made.close()


@pytest.fixture(scope="module")
def options(tmp_path_factory):
    path = write_reviews(tmp_path_factory.mktemp("reviews") / "reviews.csv", 2000)
    return {"source": path, "label": "sentiment", "max_epochs": 4, "shards": SHARDS}


@pytest.fixture(scope="module")
def expected(options):
    with ThreadPoolExecutor(1) as pool:
        return train(**options, workers=pool)


def test_the_model_is_that_of_local_workers_while_workers_are_killed_and_added(
    cluster, options, expected
):
    happened = []

    def disturb(run):
        if len(run.history) == 1 and run.done and not happened:
            happened.append("killed")
            os.kill(cluster.workers[0].pid, signal.SIGKILL)
            cluster.add_worker()
        if len(run.history) == 3 and happened == ["killed"]:
            happened.append("added")
            cluster.add_worker()

    assert same_bits(train(**options, workers=cluster.address), expected)
    assert same_bits(train(**options, workers=cluster.address, report=disturb), expected)
    assert happened == ["killed", "added"]
    cluster.add_worker()
    cluster.ready(4)
    with distributed.Client(cluster.address, set_as_default=False) as client:
        assert same_bits(train(**options, workers=client), expected)
        with client.get_executor() as executor:
            assert same_bits(train(**options, workers=executor), expected)


def test_a_run_whose_scheduler_died_is_resumed_on_the_next_one(
    cluster, options, expected, tmp_path
):
    def kill(run):
        if len(run.history) == 2:
            end(cluster.scheduler)

    run = {"checkpoint": tmp_path / "run", "workers": cluster.address}
    with pytest.raises(WorkerError, match="connection to the Dask scheduler was lost"):
        train(**options, **run, report=kill)
    assert not logging.getLogger("distributed.client").isEnabledFor(logging.ERROR)
    cluster.close()
    cluster.start_scheduler()
    cluster.add_worker()
    cluster.ready(1)
    assert same_bits(train(**options, **run, resume=True), expected)


def test_a_shard_that_cannot_be_read_is_named(cluster, tmp_path):
    for name in ("a", "b"):
        (tmp_path / f"{name}.csv").write_text("label,x\n" + "p,1\nq,2\n" * 40)
    with (tmp_path / "b.csv").open("a") as file:
        file.write("p,3,4\n")
    with pytest.raises(DataError, match=r"b\.csv, line 82: expected 2 values, found 3"):
        train(str(tmp_path / "*.csv"), workers=cluster.address, shards=4, out=tmp_path / "a.model")
    assert {path.name for path in tmp_path.iterdir()} == {"a.csv", "b.csv"}


def test_a_worker_that_lacks_the_package_is_named(cluster, options):
    cluster.add_worker(code="import sys; sys.modules['rosenblatt'] = None")
    cluster.ready(sum(process.poll() is None for process in cluster.workers))
    with pytest.raises(
        WorkerError, match=r"the worker at tcp://.* lacks a package .*install rosenblatt"
    ):
        train(**options, workers=cluster.address)
    end(cluster.workers.pop())


def test_no_scheduler_is_one_sentence(options, monkeypatch):
    monkeypatch.setattr("rosenblatt.cluster.engines._CONNECT", 1.0)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
    with pytest.raises(WorkerError, match=f"no Dask scheduler answers at {address}"):
        train(**options, workers=address)
    with pytest.raises(WorkerError, match="no Dask scheduler answers at what://ever"):
        train(**options, workers="what://ever")
