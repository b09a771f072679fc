"""`rosenblatt serve` and `replay` as processes: signals, kills, and what they refuse."""

import json
import os
import signal
import socket
import subprocess
import sys
import time

import httpx
import pytest
from typer.testing import CliRunner

from rosenblatt import load, train
from rosenblatt.cli import app
from rosenblatt.lab.server import free_port
from rosenblatt.serve.log import open_log
from rosenblatt.serve.replay import replay


class Server:
    """A server as a process of its own."""

    def __init__(self, *options):
        port = free_port()
        command = [sys.executable, "-m", "rosenblatt", "serve", *options, "--port", str(port)]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        self.client = httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=20)
        said = []
        for line in self.process.stderr:
            if '"ready"' in line:
                return
            said.append(line)
        raise AssertionError(f"the server ended with {self.process.wait()}: {said}")

    def end(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        code = self.process.wait(30)
        self.process.stderr.close()
        self.client.close()
        return code


@pytest.fixture
def model(tmp_path):
    frame = {"text": ["good fun", "bad and dull"] * 20, "label": ["pos", "neg"] * 20}
    train(frame, text="text", epochs=2, out=tmp_path / "a.model")
    return tmp_path / "a.model"


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.mark.parametrize("store", ["sqlite", "postgresql"])
def test_kills_lose_no_acknowledged_label_and_apply_none_twice(store, request, tmp_path):
    log = str(tmp_path / "events.db")
    if store == "postgresql":
        log = request.getfixturevalue("database")
    acknowledged, words = {}, ["good", "bad", "dull", "fun", "long"]
    for kill in range(3):
        server = Server("--learn", "--log", log)
        version = server.client.get("/health").json()["version"]
        assert version >= len(acknowledged)
        end = time.monotonic() + 0.7
        while time.monotonic() < end or len(acknowledged) < 8 * (kill + 1):
            text = f"{words[len(acknowledged) % 5]} {words[len(acknowledged) % 3]}"
            id = server.client.post("/v1/predict", json=text).json()["id"]
            label = "pos" if len(acknowledged) % 5 in (0, 3) else "neg"
            answer = server.client.post("/v1/label", json={"id": id, "label": label})
            acknowledged[id] = answer.json() and label
        assert server.end(signal.SIGKILL if kill < 2 else signal.SIGTERM) is not None
    opened = open_log(log)
    events = opened.events(0, 100_000)
    online, note = opened.online()
    opened.close()
    assert note == ""
    assert {event.id: event.label for event in events} == acknowledged
    assert len(events) == len(acknowledged) > 20
    assert online.position == events[-1].position  # SIGTERM wrote a snapshot
    online.exported().save(tmp_path / "lived.model")
    replay(log).online.exported().save(tmp_path / "replayed.model")
    assert (tmp_path / "lived.model").read_bytes() == (tmp_path / "replayed.model").read_bytes()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_model_is_served_until_a_signal(model, number):
    server = Server(str(model))
    assert server.client.post("/v1/predict", json="good fun").json()["label"] == "pos"
    assert server.end(number) in (0, -number, 130)


def test_what_is_not_http_is_said_in_json(model):
    server = Server(str(model))
    address = "127.0.0.1", server.client.base_url.port
    with socket.create_connection(address, timeout=20) as connection:
        connection.sendall(b"no request\r\n\r\n")
        assert b" 400 " in connection.recv(1000)
    said = json.loads(server.process.stderr.readline())
    assert (said["event"], said["message"]) == ("warning", "Invalid HTTP request received.")
    server.end()


def test_sigterm_finishes_what_was_accepted(model, tmp_path):
    server = Server("--learn", "--log", str(tmp_path / "events.db"), "--from", str(model))
    rows = [{"id": f"id{i}", "label": "pos", "row": f"good {i}"} for i in range(5000)]
    address = server.client.base_url
    with httpx.Client(base_url=address, timeout=60) as client:
        request = client.build_request("POST", "/v1/label", json=rows)
        os.kill(server.process.pid, signal.SIGCONT)
        answer = client.send(request, stream=True)
        server.process.send_signal(signal.SIGTERM)
        assert len(json.loads(answer.read())) == 5000
    server.end()
    assert replay(str(tmp_path / "events.db")).labels == 5000


def test_a_log_is_replayed_into_a_model(tmp_path, model):
    log = tmp_path / "events.db"
    server = Server("--learn", "--log", str(log), "--from", str(model))
    for i, label in enumerate(["pos", "neg", "new"] * 5):
        body = {"id": f"id{i}", "label": label, "row": f"{label} words"}
        server.client.post("/v1/label", json=body)
    server.end()
    out = tmp_path / "out.model"
    ended = run("replay", log, "--without", "id0,id1", "--out", out)
    assert "13 labels learned, 2 labels left out" in ended.output
    assert load(out).classes == ("neg", "new", "pos")
    plain = json.loads(run("replay", log, "--rule", "pa1", "--json").output)
    assert (plain["labels"], plain["rule"]) == (15, "pa1")
    early = run("replay", log, "--until", "2001-01-01", "--json")
    assert json.loads(early.output)["labels"] == 0


def test_options_that_contradict_the_log_are_refused(tmp_path, model):
    log = tmp_path / "events.db"
    server = Server("--learn", "--log", str(log), "--rule", "arow:r=0.5")
    server.end()
    for options, message in (
        (["--rule", "pa1"], "begun with rule arow:r=0.5"),
        (["--from", model], "another model"),
        (["--ngrams", "3"], "other columns or n-grams"),
        ([model], "say --from"),
    ):
        ended = run("serve", "--learn", "--log", log, *options)
        assert ended.exit_code != 0
        assert message in str(ended.exception)
    for arguments, message in (
        (["--learn"], "name a model"),
        (["--log", tmp_path / "none.db"], "no such log"),
        (["--learn", "--log", tmp_path / "n.db", "--forget-after", "soon"], "not a time"),
        ([model, "--host", "0.0.0.0"], "--token-file"),
    ):
        ended = run("serve", *arguments)
        assert message in str(ended.exception)
