"""The lab under load: visits, steps and malformed requests for as long as asked.

    python -m benchmarks.torture lab --minutes 60

The lab runs in a process of its own. Visitors open sessions over the websocket as a browser does,
send requests of the page and malformed ones, and leave; others only fetch the page. Afterwards
there must be no traceback in what the lab wrote, each request must have been answered, and the
memory at the end must not be above that after a quarter of the time by more than a tenth.
"""

from __future__ import annotations

import argparse
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
    from rosenblatt.lab.component import Lab  # needs the extra "lab", the other commands do not

    Lab().get_root()  # defines the Bokeh class of the component, which a visitor's document needs
    generator, seen, port = random.Random(options.seed), Counter[str](), free_port()
    memory: list[tuple[float, float]] = []
    slowest = 0.0
    with tempfile.TemporaryFile() as log:
        command = [sys.executable, "-m", "rosenblatt", "lab", "--no-show", "--port", str(port)]
        with subprocess.Popen(command, stdout=log, stderr=log) as lab:
            try:
                _wait(port)
                began = time.monotonic()
                while (now := time.monotonic() - began) < 60 * options.minutes:
                    try:
                        slowest = max(slowest, _visit(port, generator, seen))
                    except OSError:  # a session that took longer to answer than the lab keeps it
                        seen["visits that lost their session"] += 1
                        if lab.poll() is not None:
                            raise SystemExit(f"the lab ended with {lab.poll()}") from None
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


def _visit(port: int, generator: random.Random, seen: Counter[str]) -> float:
    """One visit: a page alone, or a session with a few requests; the time of the slowest answer."""
    if generator.random() < 0.3:
        urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=60).read()
        seen["pages fetched"] += 1
        return 0.0
    from bokeh.client import pull_session
    from bokeh.document.events import MessageSentEvent
    from panel.models.esm import DataEvent

    def connected(name: str | None = None) -> Any:
        return pull_session(session_id=name, url=f"http://127.0.0.1:{port}/")

    slowest = 0.0
    # Each request comes over a connection of its own, which pulled the view that it answers.
    session = connected()
    for _ in range(generator.randrange(1, 12)):
        malformed = generator.random() < 0.3
        request = generator.choice(_MALFORMED if malformed else _REQUESTS)
        began, document = time.monotonic(), session.document
        before = _page(session).data.view["reply"]
        document.models.flush_synced()  # the server has all that was pulled from it
        event = DataEvent(_page(session), data=request)
        document.callbacks.trigger_on_change(MessageSentEvent(document, "bokeh_event", event))
        session.force_roundtrip()
        answered = False
        while not answered and time.monotonic() - began < 30:
            last, session = session, connected(session.id)
            last.close()
            answered = _page(session).data.view["reply"] != before
        seen["requests answered" if answered else "WRONG: not answered"] += 1
        seen["malformed among them"] += malformed
        slowest = max(slowest, time.monotonic() - began)
    session.close()
    seen["sessions"] += 1
    return slowest


def _page(session: Any) -> Any:
    from panel.models.esm import ReactiveESM

    return next(iter(session.document.select({"type": ReactiveESM})))


def _resident_megabytes(process: int) -> float:
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS"))
