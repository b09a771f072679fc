"""Real servers for the tests: one in a thread, and PostgreSQL in a temporary folder."""

import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
import uvicorn

from rosenblatt import TrainOptions
from rosenblatt.data import Column
from rosenblatt.data.features import Features
from rosenblatt.lab.server import free_port
from rosenblatt.serve.app import make_app
from rosenblatt.serve.log import open_log
from rosenblatt.serve.online import Event, Start


def text_start(**settings):
    features = Features(columns=(Column("text", "text"),), label="label")
    return Start.of(TrainOptions(**settings), features)


def stream(n, classes=("neg", "pos"), first=1):
    """Labels 1 to n with their rows; the words of a row tell its class, later ones other words."""
    events = []
    for i in range(first, first + n):
        label = classes[(i * 7919) % 101 % len(classes)]
        text = f"{label}{i % 5} word{i % 11} and{i % 3} thing{(i * i) % 17}"
        events.append(Event(i, f"id{i}", float(i), label, 1.0, None, None, i - 1, {"text": text}))
    return events


def bits(online):
    """All that a model has learned, as bytes."""
    arrays, about = online.snapshot()
    return {name: array.tobytes() for name, array in arrays.items()}, about["classes"]


@pytest.fixture
def begun(tmp_path):
    """A function that begins a log in a file."""

    def begin(name="events.db", start=None):
        log = open_log(str(tmp_path / name))
        log.begin(start or text_start())
        return log

    return begin


@contextmanager
def running(engine, **options):
    """A client of a server in a thread."""
    config = uvicorn.Config(make_app(engine, **options), port=0, log_config=None, ws="none")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started and thread.is_alive():
        time.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=30) as client:
            yield client
    finally:
        server.should_exit = True
        thread.join()


def caught_up(client, version):
    """Wait until a server has learned a position."""
    end = time.monotonic() + 20
    while (seen := client.get("/health").json()["version"]) < version:
        assert time.monotonic() < end, f"still at {seen}"
        time.sleep(0.02)
    return seen


def _program(name):
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((f / name for f in folders if (f / name).exists()), None) or shutil.which(name)


@pytest.fixture(scope="session")
def cluster():
    """The address of a new PostgreSQL server, without a database."""
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    initdb, postgres = _program("initdb"), _program("postgres")
    if initdb is None or postgres is None:
        pytest.skip("no PostgreSQL on this machine: apt-get install postgresql")
    user = {"user": "nobody"} if os.geteuid() == 0 else {}  # the server refuses to be root
    # Not a folder of pytest: those are closed to other users.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        if user:
            shutil.chown(folder, "nobody")
        data, port = folder / "data", free_port()
        options = ["-A", "trust", "-U", "tester", "-N", "-E", "UTF8", "--locale=C"]
        subprocess.run(
            [initdb, "-D", data, *options],
            check=True,
            stdout=subprocess.DEVNULL,
            cwd=folder,
            **user,
        )
        listen = ["-c", "listen_addresses=127.0.0.1", "-c", f"unix_socket_directories={folder}"]
        listen += ["-c", "fsync=off"]  # these tests kill the service, not the machine
        with (folder / "log").open("w") as errors:
            server = subprocess.Popen(
                [postgres, "-D", data, "-p", str(port), *listen], stderr=errors, cwd=folder, **user
            )
        address = f"postgresql://tester@127.0.0.1:{port}"
        try:
            _wait(address)
            yield address
        finally:
            server.send_signal(signal.SIGINT)  # which ends connections
            server.wait(60)


def _wait(address):
    import psycopg

    end = time.monotonic() + 30
    while True:
        try:
            psycopg.connect(f"{address}/postgres", connect_timeout=2).close()
        except psycopg.OperationalError:
            assert time.monotonic() < end, "PostgreSQL did not start"
            time.sleep(0.1)
        else:
            return


@pytest.fixture
def database(cluster):
    """The address of a new database."""
    import psycopg

    name = f"d{time.monotonic_ns()}"
    with psycopg.connect(f"{cluster}/postgres", autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return f"{cluster}/{name}"
