"""Torture of the service: kills under load, learners that take over, malformed requests, faults.

    python -m benchmarks.torture serve --only kills --count 200 [--log postgresql://...]
    python -m benchmarks.torture serve --only servers --count 20 --log postgresql://...
    python -m benchmarks.torture serve --only malformed --count 100000

The log is a new file unless an address of an empty database is given. After each kill every label
that was acknowledged is in the log once, and the file of the model that the service answers has the
bytes of a replay that was never disturbed. Of two predicting servers, a learner and one that stands
by, all have the same model after the last label, though the learner is killed meanwhile. No
malformed request gets 500, leaves a traceback, or makes the service grow. Exits with 1 otherwise.
"""

from __future__ import annotations

import argparse
import http.client
import json
import random
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from operator import eq
from pathlib import Path
from typing import Any

from rosenblatt.serve.log import Log, open_log
from rosenblatt.serve.online import Online
from rosenblatt.serve.replay import replay

WORDS = ["good", "bad", "dull", "fun", "long", "a", "film", "of", "moving", "odd"]
# Snapshots are written after 300 labels, so that kills meet them too.
PROGRAM = """
import rosenblatt.serve.engine as engine
engine._SNAPSHOT_LABELS, engine._ASK_SECONDS = 300, 0.2
from rosenblatt.cli import app
app()
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of ``python -m benchmarks.torture serve``."""
    parser.add_argument("--only", choices=["kills", "servers", "malformed"], required=True)
    parser.add_argument("--count", type=int, default=20, help="Kills, rounds, or requests.")
    parser.add_argument("--log", help="The address of an empty database; a new file by default.")
    parser.add_argument("--seed", type=int, default=0)


def run(options: argparse.Namespace) -> int:
    """Torture, say what came of it, and return the exit code."""
    seen = Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        log = options.log or f"{folder}/events.db"
        kinds = {"kills": _kills, "servers": _servers, "malformed": _malformed}
        kinds[options.only](log, options.count, random.Random(options.seed), seen)
    for name, count in sorted(seen.items()):
        print(f"{name:<50}{count:>10,}")
    wrong = sum(count for name, count in seen.items() if "WRONG" in name)
    print("held" if not wrong else f"FAILED: {wrong}")
    return int(wrong > 0)


class Server:
    """A service as a process, which answers when it is made."""

    def __init__(self, log: str, *options: str) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        command = [sys.executable, "-c", PROGRAM, "serve", "--log", log, "--port", str(self.port)]
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115  (closed when it ends)
        self.process = subprocess.Popen([*command, *options], stderr=self.errors)
        while self.ask("GET", "/health")[0] != 200:
            if self.process.poll() is not None:
                raise RuntimeError(f"the service ended: {self.said()[-2000:].decode()}")
            time.sleep(0.02)

    def ask(self, method: str, path: str, content: Any = None) -> tuple[int, bytes]:
        """The status, 0 if there is none, and the answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            return self.ask_by(connection, method, path, content)
        finally:
            connection.close()

    @staticmethod
    def ask_by(connection: Any, method: str, path: str, content: Any) -> tuple[int, bytes]:
        """The same by a connection that stays open."""
        body = None if content is None else json.dumps(content)
        try:
            connection.request(method, path, body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            return answer.status, answer.read()
        except (OSError, http.client.HTTPException):
            connection.close()
            return 0, b""

    def wait_for(self, version: int) -> None:
        """Wait until labels up to this one are learned."""
        while json.loads(self.ask("GET", "/health")[1])["version"] < version:
            time.sleep(0.05)

    def said(self) -> bytes:
        """What it wrote to its log."""
        self.errors.seek(0)
        return self.errors.read()

    def end(self, kill: bool = False) -> None:
        """End it with SIGKILL or SIGTERM."""
        (self.process.kill if kill else self.process.terminate)()
        self.process.wait()
        self.errors.close()


class Load:
    """Threads that predict, label, correct and repeat until they are stopped."""

    def __init__(self, server: Server, seed: int, threads: int = 3) -> None:
        self.server, self.stopping = server, threading.Event()
        self.acknowledged: dict[str, list[str]] = {}  # the labels of an id in their order
        self.threads = [
            threading.Thread(target=self._work, args=[random.Random(f"{seed} {thread}")])
            for thread in range(threads)
        ]
        for thread in self.threads:
            thread.start()

    def stop(self) -> dict[str, list[str]]:
        """What was acknowledged until now."""
        self.stopping.set()
        for thread in self.threads:
            thread.join()
        return self.acknowledged

    def _work(self, generator: random.Random) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=60)

        def post(path: str, content: Any) -> Any:
            status, answer = Server.ask_by(connection, "POST", path, content)
            return json.loads(answer) if status == 200 else None

        while not self.stopping.is_set():
            rows = [
                " ".join(generator.choices(WORDS, k=5)) for _ in range(generator.choice([1, 9]))
            ]
            answers = post("/v1/predict", rows) or []
            told = [
                {"id": a["id"], "label": "pos" if "good" in row or "fun" in row else "neg"}
                for a, row in zip(answers, rows, strict=False)
            ]
            if generator.random() < 0.1:  # a row that was never predicted, of a class that is rare
                own = f"own{generator.getrandbits(64):x}"
                told = [{"id": own, "label": f"class {generator.randrange(5)}", "row": rows[0]}]
            if told and post("/v1/label", told):
                for label in told:
                    self.acknowledged.setdefault(label["id"], []).append(label["label"])
            if told and generator.random() < 0.2:  # again, and then another one
                post("/v1/label", told)
                corrected = told[0] | {"label": "corrected"}
                if post("/v1/label", corrected):
                    self.acknowledged.setdefault(told[0]["id"], []).append("corrected")
        connection.close()


class Witness:
    """A replay that is never disturbed, beside the service."""

    def __init__(self, log: Log) -> None:
        self.log, self.online = log, Online(log.start())
        self.labels: dict[str, list[str]] = {}  # of each id, in the order of the log

    def follow(self, version: int) -> bytes:
        """The file of the model at a position."""
        while self.online.position < version:
            events = [
                e for e in self.log.events(self.online.position, 997) if e.position <= version
            ]
            self.online.learn(events)
            for event in events:
                self.labels.setdefault(event.id, []).append(event.label)
        return _file_of(self.online)

    def check(self, server: Server, acknowledged: dict[str, list[str]], seen: Counter[str]) -> None:
        """Compare with what the service answers and what clients were told."""
        server.wait_for(self.log.last_position())
        version = json.loads(server.ask("GET", "/health")[1])["version"]
        served = server.ask("GET", "/v1/model")[1]
        seen["the same model" if self.follow(version) == served else "WRONG: another model"] += 1
        for id, labels in acknowledged.items():
            # A request that was not answered may be in the log, after those that were.
            there = self.labels.get(id, [])
            seen["acknowledged labels"] += len(labels)
            seen["WRONG: labels lost"] += there[: len(labels)] != labels
            seen["WRONG: labels twice"] += any(map(eq, there, there[1:]))
            seen["labels in the log without an answer"] += len(there) - len(labels)


def _file_of(online: Online) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        if len(online.classes) > 1:
            online.exported().save(Path(folder) / "a.model")
            return (Path(folder) / "a.model").read_bytes()
    return b""


def _kills(name: str, count: int, generator: random.Random, seen: Counter[str]) -> None:
    """Kill the service under load, start it again, and look."""
    server = Server(name, "--learn")
    log = open_log(name)
    witness = Witness(log)
    for kill in range(count):
        load = Load(server, kill)
        time.sleep(generator.uniform(0.05, 1.0))
        server.end(kill=True)
        acknowledged = load.stop()
        seen["kills"] += 1
        server = Server(name, "--learn")
        seen["WRONG: snapshots of no use"] += b'"snapshot"' in server.said()
        witness.check(server, acknowledged, seen)
        if kill % 20 == 19:
            print(dict(seen), flush=True)
    server.end()
    whole = replay(log).online
    same = _file_of(whole) == witness.follow(log.last_position())
    seen["the same by a whole replay" if same else "WRONG: a whole replay"] += 1
    log.close()


def _servers(name: str, count: int, generator: random.Random, seen: Counter[str]) -> None:
    """Let two servers predict and two learn, of which the one that does is killed."""
    learners = [Server(name, "--learn"), Server(name, "--learn")]
    predicting = [Server(name), Server(name)]
    log = open_log(name)
    witness = Witness(log)
    for turn in range(count):
        loads = [Load(server, 2 * turn + i, 2) for i, server in enumerate(predicting)]
        time.sleep(generator.uniform(0.2, 1.0))
        is_learner = [json.loads(s.ask("GET", "/health")[1])["learner"] for s in learners]
        seen["WRONG: not one learner"] += sum(is_learner) != 1
        learners.sort(key=lambda s: not json.loads(s.ask("GET", "/health")[1])["learner"])
        learners.pop(0).end(kill=True)
        killed = time.monotonic()
        while not json.loads(learners[0].ask("GET", "/health")[1])["learner"]:
            time.sleep(0.02)
            if time.monotonic() - killed > 30:
                seen["WRONG: nobody took over"] += 1
                break
        seen["learners killed"] += 1
        seen["milliseconds until another took over, summed"] += round(
            1000 * (time.monotonic() - killed)
        )
        for acknowledged in [load.stop() for load in loads]:
            witness.check(learners[0], acknowledged, seen)
        last = log.last_position()
        models = set()
        for server in [*learners, *predicting]:
            server.wait_for(last)
            models.add(server.ask("GET", "/v1/model")[1])
        seen["all servers the same" if len(models) == 1 else "WRONG: servers differ"] += 1
        learners.append(Server(name, "--learn"))
    for server in [*predicting, *learners]:
        server.end()
    log.close()


SEEDS = [
    b'{"text": "a moving film"}', b'["good", {"text": "bad"}]', b'"good"', b"null", b"[]", b"{}",
    b'{"id": "a", "label": "pos", "row": "good", "weight": 2}', b'{"id": "nobody", "label": 1}',
    b'[{"label": true, "row": {"text": "x"}}]', b'"good"\n{"text": "bad"}\n', b"[" * 5000,
    b'{"text": "\\ud800"}', b"1e999", b"NaN", b'{"label": "' + b"x" * 300 + b'", "row": "a"}',
]  # fmt: skip
KINDS = [
    b"application/json", b"application/x-ndjson", b"application/vnd.apache.arrow.stream",
    b"text/plain", b"",
]  # fmt: skip
PATHS = [
    b"/v1/predict", b"/v1/label", b"/v1/predict?top=3&explain=true", b"/v1/predict?top=-1",
    b"/v1/history?mistakes=1e9", b"/v1/model", b"/metrics", b"/%00", b"/../etc/passwd", b"*",
    b"/v1/predict?keep=\xff",
]  # fmt: skip


def _mutated(body: bytes, generator: random.Random) -> bytes:
    """Some bytes changed, cut, or said twice."""
    changed = bytearray(body)
    for _ in range(generator.randrange(4)):
        at = generator.randrange(len(changed) + 1)
        changes: list[Callable[[], Any]] = [
            lambda at=at: changed.__setitem__(slice(at, at + 1), generator.randbytes(1)),
            lambda at=at: changed.__delitem__(slice(at, at + generator.randrange(9))),
            lambda at=at: changed.__setitem__(slice(at, at), changed[at : at + 9]),
            lambda at=at: changed.__setitem__(slice(at, at), generator.choice(b'"{}[],:\\09-')
                                              .to_bytes(1, "big")),
        ]  # fmt: skip
        generator.choice(changes)()
    return bytes(changed)


def _arrow() -> bytes:
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    table = pa.table({"text": ["good", "bad"], "number": [1.5, None]})
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue().to_pybytes())


def _request(generator: random.Random, arrow: bytes) -> tuple[bytes, bool]:
    """A request of which something is wrong, or nothing; and whether it may not end."""
    body, kind = generator.choice(SEEDS), generator.choice(KINDS[:2])
    if generator.random() < 0.2:
        body, kind = arrow, KINDS[2]
    body = _mutated(body, generator)
    path, length = generator.choice(PATHS[:2]), b"Content-Length: %d\r\n" % len(body)
    method, more = b"POST", b""
    if generator.random() < 0.2:
        kind, path = generator.choice(KINDS), generator.choice(PATHS)
        method = generator.choice([b"POST", b"GET", b"PUT", b"BREW"])
        more = generator.choice([b"", b"Origin: https://evil\r\n", b"Authorization: \xff\r\n"])
    wrong = generator.random()
    if wrong < 0.02:
        lengths = [b"-1", b"99999999999999999999", b"x", b"%d" % (len(body) + 5)]
        length = b"Content-Length: %s\r\n" % generator.choice(lengths)
    head = b"%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: %s\r\n%s%s\r\n"
    request = head % (method, path, kind, more, length) + body
    return (_mutated(request, generator) if wrong > 0.95 else request), not 0.02 <= wrong <= 0.95


def _malformed(name: str, count: int, generator: random.Random, seen: Counter[str]) -> None:
    """Send what no client should send."""
    server, arrow, memory = Server(name, "--learn"), _arrow(), []
    for number in range(count):
        if number % (count // 20 or 1) == 0:
            memory.append(_memory(server.process.pid))
        request, may_not_end = _request(generator, arrow)
        with socket.create_connection(("127.0.0.1", server.port), timeout=60) as connection:
            answer = b""
            try:
                connection.sendall(request)
                if may_not_end:  # the service hears that the client has gone
                    connection.shutdown(socket.SHUT_WR)
                while part := connection.recv(65536):
                    answer += part
            except OSError:
                pass
        status = answer[9:12].decode("latin-1") if answer.startswith(b"HTTP/") else "none"
        seen[f"answered {status}"] += 1
        seen["WRONG: 500"] += status == "500"
    said = server.said()
    seen["WRONG: tracebacks"] += said.count(b"Traceback") + said.count(b'"error"')
    seen["WRONG: it does not answer"] += server.ask("POST", "/v1/predict", "good")[0] != 200
    memory.append(_memory(server.process.pid))
    print("megabytes of memory, at equal distances:", *memory)
    # It learns what is well-formed, so that it may grow at first.
    seen["WRONG: it grew"] += memory[-1] > 1.05 * memory[len(memory) // 2]
    server.end()


def _memory(process: int) -> int:
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) >> 10 for line in lines if line.startswith("RssAnon"))
