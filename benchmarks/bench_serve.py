"""Requests per second of the service, beside FastAPI with scikit-learn's SGDClassifier.

    python benchmarks/bench_serve.py [--peer-python PYTHON] [--seconds 5] [--rounds 3]

PYTHON has fastapi, uvicorn, scikit-learn and vowpalwabbit; without it no peer is measured. Both
services do the same work: hash a text, predict, write the prediction to an SQLite log (WAL, synced
at every commit) before the answer; take its label, write it too, and learn from it. The client
shares the machine. It holds some connections, each of which sends the next request when the last is
answered. Vowpal Wabbit's daemon, started from its Python package, answers lines of text over a
socket: it has no HTTP, no ids and no log, and a label comes with its text; it has one process per
connection. The processor time is that of the servers; other programs do not disturb it.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import itertools
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager, suppress
from pathlib import Path

CONNECTIONS = (1, 16, 64)
VW = """
from vowpalwabbit import Workspace
options = "--daemon --port {} --num_children {} --foreground --quiet -b 20 --ngram 2"
Workspace(options + " --loss_function logistic").run_parser()
"""


def peer(port: int, log: str) -> None:
    """Serve by FastAPI, HashingVectorizer and SGDClassifier."""
    import secrets
    import sqlite3

    import uvicorn
    from fastapi import FastAPI
    from pydantic import BaseModel
    from sklearn.feature_extraction.text import HashingVectorizer
    from sklearn.linear_model import SGDClassifier

    class Row(BaseModel):
        text: str

    class Label(BaseModel):
        id: str
        label: str

    globals().update(Row=Row, Label=Label)
    hashing = HashingVectorizer(ngram_range=(1, 2))
    model = SGDClassifier()
    model.partial_fit(hashing.transform(["good", "bad"]), ["pos", "neg"], classes=["neg", "pos"])
    table = None
    if log:
        table = sqlite3.connect(log, isolation_level=None, check_same_thread=False)
        for pragma in ("journal_mode = WAL", "synchronous = FULL"):
            table.execute(f"PRAGMA {pragma}")
        table.execute("CREATE TABLE predictions (id TEXT PRIMARY KEY, content TEXT, label TEXT)")
        table.execute("CREATE TABLE labels (id TEXT PRIMARY KEY, label TEXT)")
    recent: dict[str, str] = {}
    app = FastAPI()

    @app.post("/v1/predict")
    async def predict(row: Row):
        x = hashing.transform([row.text])
        score = float(model.decision_function(x)[0])
        id, label = secrets.token_hex(12), str(model.classes_[int(score > 0)])
        if table is None:
            recent[id] = row.text
        else:
            table.execute("INSERT INTO predictions VALUES (?, ?, ?)", (id, row.text, label))
        return {"id": id, "label": label, "score": score}

    @app.post("/v1/label")
    async def label(label: Label):
        if table is None:
            text = recent.pop(label.id)
        else:
            which = "SELECT content FROM predictions WHERE id = ?"
            [text] = table.execute(which, (label.id,)).fetchone()
            table.execute("INSERT OR IGNORE INTO labels VALUES (?, ?)", (label.id, label.label))
        model.partial_fit(hashing.transform([text]), [label.label])
        return {"id": label.id, "status": "accepted"}

    @app.get("/health")
    async def health():
        return {}

    uvicorn.run(app, port=port, log_level="warning", access_log=False)


async def load(
    port: int, texts: list, with_labels: bool, connections: int, seconds: float, vw: bool = False
):
    """The milliseconds of each answer, by path; and how many were not answered with 200."""
    times: dict[str, list[float]] = {"/v1/predict": [], "/v1/label": []}
    bad, end = 0, time.perf_counter() + seconds

    async def ask(reader, writer, path, content):
        nonlocal bad
        body = json.dumps(content).encode()
        head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        began = time.perf_counter()
        writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        answer = await reader.readexactly(int(head.split(b"content-length:")[1].split(b"\r")[0]))
        times[path].append(1e3 * (time.perf_counter() - began))
        bad += b" 200 " not in head[:20]
        return json.loads(answer)

    async def ask_vw(reader, writer, path, line):
        began = time.perf_counter()
        writer.write(line.encode() + b"\n")
        await reader.readline()
        times[path].append(1e3 * (time.perf_counter() - began))

    async def connection(first):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        at = first
        while time.perf_counter() < end:
            text, label = texts[at % len(texts)]
            at += connections
            if vw:
                plain = "| " + text.translate({ord("|"): " ", ord(":"): " "})
                await ask_vw(reader, writer, "/v1/predict", plain)
                if with_labels:
                    sign = "1 " if label == "pos" else "-1 "
                    await ask_vw(reader, writer, "/v1/label", sign + plain)
                continue
            answer = await ask(reader, writer, "/v1/predict", {"text": text})
            if with_labels:
                labelled = {"id": answer["id"], "label": label}
                await ask(reader, writer, "/v1/label", labelled)
        writer.close()

    await asyncio.gather(*(connection(first) for first in range(connections)))
    return times, bad


@contextmanager
def server(command: list[str], port: int):
    """A server as a process, once it answers; yields its id."""
    import urllib.request

    with subprocess.Popen(command, stderr=subprocess.DEVNULL, start_new_session=True) as process:
        try:
            for _ in range(600):
                try:
                    if "vowpalwabbit" in command[-1]:
                        socket.create_connection(("127.0.0.1", port)).close()
                    else:
                        urllib.request.urlopen(f"http://127.0.0.1:{port}/health").close()
                    break
                except OSError:
                    time.sleep(0.1)
            yield process.pid
        finally:
            os.killpg(process.pid, signal.SIGTERM)
            time.sleep(0.5)
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def seconds_of(group: int) -> float:
    """Processor seconds of a process and of those that it started."""
    ticks = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = path.read_text().rpartition(")")[2].split()
            if int(fields[2]) == group:
                ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def memory_of(process: int) -> float:
    """Megabytes of memory of a process."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS"))


def texts_of(folder: Path) -> list[tuple[str, str]]:
    """Sentences of film reviews with their labels."""
    with gzip.open(folder / "text/rt_polarity.tsv.gz", "rt") as file:
        rows = [line.rstrip("\n").split("\t") for line in file][1:]
    return [(max(row, key=len), min(row, key=len)) for row in rows]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--peer-python")
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    from common import data_folder, machine  # not in the process of the peer

    texts = texts_of(data_folder())
    print(f"{machine('starlette', 'uvicorn')}, load {os.getloadavg()[0]:.1f}")
    names = ["rosenblatt", *(["peer", "peer without a log"] if arguments.peer_python else [])]
    names += ["vw"] if arguments.peer_python else []
    results: dict[tuple, list] = {}
    for round, name in itertools.product(range(arguments.rounds), names):
        # With 64 processes Vowpal Wabbit's daemon closes connections.
        for connections in CONNECTIONS[: 2 if name == "vw" else 3]:
            with tempfile.TemporaryDirectory() as folder, socket.create_server(("", 0)) as free:
                port, log, vw = free.getsockname()[1], f"{folder}/events.db", name == "vw"
                free.close()
                command = [arguments.peer_python, __file__, "--serve-peer", str(port)]
                command += [log] if name == "peer" else [""]
                if name == "rosenblatt":
                    command = [sys.executable, "-m", "rosenblatt", "serve", "--learn", "--log", log]
                    command += ["--port", str(port)]
                if vw:
                    command = [arguments.peer_python, "-c", VW.format(port, connections)]
                with server(command, port) as process:
                    # Both classes, all compiled.
                    asyncio.run(load(port, texts, True, min(8, connections), 2, vw))
                    for with_labels in (False, True):
                        before = seconds_of(process)
                        times, bad = asyncio.run(
                            load(port, texts, with_labels, connections, arguments.seconds, vw)
                        )
                        used = seconds_of(process) - before
                        key = name, connections, with_labels
                        results.setdefault(key, []).append((times, bad, used))
                    print(f"{round} {name} {connections}: {memory_of(process):.0f} MB", flush=True)
    print(f"{'service':20} {'connections':>11} {'requests':16} {'per second':>10} "
          f"{'p50 ms':>8} {'p99 ms':>8} {'CPU ms':>8} {'failed':>6}")  # fmt: skip
    for (name, connections, with_labels), rounds in sorted(results.items(), key=lambda r: r[0][1:]):
        all_times = sorted(t for times, _, _ in rounds for path in times.values() for t in path)
        rate = len(all_times) / (len(rounds) * arguments.seconds)
        p50, p99 = (all_times[int(share * len(all_times))] for share in (0.5, 0.99))
        what = "predict + label" if with_labels else "predict"
        print(f"{name:20} {connections:11} {what:16} {rate:10.0f} {p50:8.2f} {p99:8.2f} "
              f"{1e3 * sum(used for _, _, used in rounds) / len(all_times):8.3f} "
              f"{sum(bad for _, bad, _ in rounds):6}")  # fmt: skip


if __name__ == "__main__":
    if sys.argv[1] == "--serve-peer":
        peer(int(sys.argv[2]), sys.argv[3])
    else:
        main()
