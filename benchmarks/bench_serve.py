"""Requests per second of the service, beside FastAPI with scikit-learn's SGDClassifier.

    python benchmarks/bench_serve.py [--peer-python PYTHON] [--seconds 5] [--rounds 3]

PYTHON has fastapi, uvicorn and scikit-learn; without it the peer is not measured. Both services do
the same work: hash a text, predict, write the prediction to an SQLite log (WAL, synced at every
commit) before the answer; take its label, write it too, and learn from it. The client shares the
machine. It holds some connections, each of which sends the next request when the last is answered.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

CONNECTIONS = (1, 16, 64)


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


async def load(port: int, texts: list, with_labels: bool, connections: int, seconds: float):
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

    async def connection(first):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        at = first
        while time.perf_counter() < end:
            text, label = texts[at % len(texts)]
            at += connections
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

    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        try:
            for _ in range(600):
                try:
                    urllib.request.urlopen(f"http://127.0.0.1:{port}/health").close()
                    break
                except OSError:
                    time.sleep(0.1)
            yield process.pid
        finally:
            process.terminate()


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
    results: dict[tuple, list] = {}
    for round in range(arguments.rounds):
        for name in names:
            with tempfile.TemporaryDirectory() as folder:
                port, log = 7800 + 3 * round + len(name) % 3, f"{folder}/events.db"
                command = [arguments.peer_python, __file__, "--serve-peer", str(port)]
                command += [log] if name == "peer" else [""]
                if name == "rosenblatt":
                    command = [sys.executable, "-m", "rosenblatt", "serve", "--learn", "--log", log]
                    command += ["--port", str(port)]
                with server(command, port) as process:
                    asyncio.run(load(port, texts, True, 8, 2))  # both classes, all compiled
                    for connections in CONNECTIONS:
                        for with_labels in (False, True):
                            times, bad = asyncio.run(
                                load(port, texts, with_labels, connections, arguments.seconds)
                            )
                            key = name, connections, with_labels
                            results.setdefault(key, []).append((times, bad))
                    print(f"{name}: {memory_of(process):.0f} MB", flush=True)
    print(f"{'service':20} {'connections':>11} {'requests':16} {'per second':>10} "
          f"{'p50 ms':>8} {'p99 ms':>8} {'failed':>6}")  # fmt: skip
    for (name, connections, with_labels), rounds in sorted(results.items(), key=lambda r: r[0][1:]):
        all_times = sorted(t for times, _ in rounds for path in times.values() for t in path)
        rate = len(all_times) / (len(rounds) * arguments.seconds)
        p50, p99 = (all_times[int(share * len(all_times))] for share in (0.5, 0.99))
        what = "predict + label" if with_labels else "predict"
        print(f"{name:20} {connections:11} {what:16} {rate:10.0f} {p50:8.2f} {p99:8.2f} "
              f"{sum(bad for _, bad in rounds):6}")  # fmt: skip


if __name__ == "__main__":
    if sys.argv[1] == "--serve-peer":
        peer(int(sys.argv[2]), sys.argv[3])
    else:
        main()
