"""The lab under load: visits, steps and malformed requests for as long as asked.

    python -m benchmarks.torture lab --minutes 60

The lab runs in a process of its own. Visitors open sessions over the websocket as a browser does,
send requests of the page and malformed ones, and leave; others only fetch the page. Afterwards
there must be no traceback in what the lab wrote, each request must have been answered, and the
memory at the end must not be above that after a quarter of the time by more than a tenth.
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from pathlib import Path
from typing import Any

from rosenblatt.lab.server import free_port

_REQUESTS: list[Any] = [
    {"do": "step"}, {"do": "step", "count": 5}, {"do": "back"}, {"do": "restart"},
    {"do": "finish"}, {"do": "example", "name": "xor"}, {"do": "example", "name": "two-features"},
    {"do": "add", "at": [0.5, 1.5], "sign": 1}, {"do": "add", "at": [2.5, 0.5], "sign": -1},
    {"do": "move", "row": 0, "to": [0.1, 0.2]}, {"do": "flip", "row": 1},
    {"do": "delete", "row": 0},
    {"do": "configure", "changes": {"eta": 0.5}}, {"do": "configure", "changes": {"lift": "rbf"}},
    {"do": "csv", "text": "x1,x2,label\n0,1,a\n1,0,b\n2,2,a\n", "name": "t.csv"},
]  # fmt: skip
_MALFORMED: list[Any] = [
    None, 7, "step", [], {}, {"do": "sudo"}, {"do": "move"}, {"do": "configure", "changes": 5},
    {"do": "step", "count": "many"}, {"do": "export"}, {"do": "csv"}, {"do": []},
    {"do": "restore", "link": "[" * 5000}, {"do": "add", "at": [None, 1], "sign": 1},
    {"do": "csv", "text": "\x00" * 100, "name": "x" * 500}, {"do": "delete", "row": -5},
]  # fmt: skip


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of ``python -m benchmarks.torture lab``."""
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--pause", type=float, default=0.0, help="Seconds between two visits.")


def run(options: argparse.Namespace) -> int:
    """Visit the lab until the time is over; the exit code."""
    generator, seen, port = random.Random(options.seed), Counter[str](), free_port()
    memory: list[tuple[float, float]] = []
    slowest = 0.0
    with tempfile.TemporaryFile() as log:
        command = [sys.executable, "-m", "rosenblatt", "lab", "--no-show", "--port", str(port)]
        # Bokeh's client keeps the descriptors of a closed session: visitors live for 50 visits.
        context = multiprocessing.get_context("spawn")
        with (
            context.Pool(1, initializer=_begin, maxtasksperchild=50) as pool,
            subprocess.Popen(command, stdout=log, stderr=log) as lab,
        ):
            try:
                _wait(port)
                began = time.monotonic()
                while (now := time.monotonic() - began) < 60 * options.minutes:
                    answer = pool.apply(_visit, (port, generator.randrange(2**32)))
                    slowest = max(slowest, answer.pop("slowest"))
                    seen.update(answer)
                    if lab.poll() is not None:
                        raise SystemExit(f"the lab ended with {lab.poll()}")
                    memory.append((now, _resident_megabytes(lab.pid)))
                    time.sleep(options.pause)
            finally:
                lab.terminate()
        log.seek(0)
        written = log.read().decode(errors="replace")
    tracebacks = written.count("Traceback")
    quarter = max(m for t, m in memory if t <= 15 * options.minutes)
    end = max(m for t, m in memory if t >= 57 * options.minutes)
    for name, count in sorted(seen.items()):
        print(f"{name:<50}{count:>8,}")
    print(f"tracebacks written by the lab{tracebacks:>29,}")
    print(
        f"slowest answer {slowest:.2f} s; memory {memory[0][1]:.0f} MB at the first visit, ", end=""
    )
    print(f"at most {quarter:.0f} MB in the first quarter and {end:.0f} MB at the end")
    wrong = tracebacks + seen["WRONG: not answered"] + (end > 1.1 * quarter)
    if tracebacks:
        print(written[written.index("Traceback") :][:3000])
    print("held" if not wrong else f"FAILED: {wrong}")
    return int(wrong > 0)


def _wait(port: int) -> None:
    for _ in range(300):
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=30).read()
            return
        except OSError:
            time.sleep(0.2)
    raise SystemExit("the lab did not start")


def _begin() -> None:
    """Define the Bokeh class of the component, which a visitor's document needs."""
    from rosenblatt.lab.component import Lab  # needs the extra "lab", the other commands do not

    Lab().get_root()


def _visit(port: int, seed: int) -> dict[str, Any]:
    """One visit: a page alone, or a session with a few requests; counts and the slowest answer."""
    from bokeh.client import pull_session

    generator, seen, slowest = random.Random(seed), Counter[str](), 0.0
    if generator.random() < 0.3:
        urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=60).read()
        return {"pages fetched": 1, "slowest": 0.0}
    try:
        # Each request comes over a connection of its own, which pulled the view that it answers.
        session = pull_session(url=f"http://127.0.0.1:{port}/")
        for _ in range(generator.randrange(1, 12)):
            malformed = generator.random() < 0.3
            began, before = time.monotonic(), _page(session).data.view["reply"]
            _send(session, generator.choice(_MALFORMED if malformed else _REQUESTS))
            answered = False
            while not answered and time.monotonic() - began < 30:
                session.close()
                session = pull_session(session_id=session.id, url=f"http://127.0.0.1:{port}/")
                answered = _page(session).data.view["reply"] != before
            seen["requests answered" if answered else "WRONG: not answered"] += 1
            seen["malformed among them"] += malformed
            slowest = max(slowest, time.monotonic() - began)
        session.close()
        seen["sessions"] += 1
    except OSError:  # a session that took longer to answer than the lab keeps it
        seen["visits that lost their session"] += 1
    return {**seen, "slowest": slowest}


def _send(session: Any, request: Any) -> None:
    from bokeh.document.events import MessageSentEvent
    from panel.models.esm import DataEvent

    document = session.document
    document.models.flush_synced()  # the server has all that was pulled from it
    event = DataEvent(_page(session), data=request)
    document.callbacks.trigger_on_change(MessageSentEvent(document, "bokeh_event", event))
    session.force_roundtrip()


def _page(session: Any) -> Any:
    from panel.models.esm import ReactiveESM

    return next(iter(session.document.select({"type": ReactiveESM})))


def _resident_megabytes(process: int) -> float:
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS"))
