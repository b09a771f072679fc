"""How long a step of the lab takes on the server, with as many points as it allows.

    python benchmarks/bench_lab.py

A step is what the server does for one press of the button: the step itself, and all that the page
shows of it, written as JSON. The lab promises less than 50 ms with 500 points. While one of 200
points is dragged, the run is repeated to its step and shown again: for 30 frames a second in less
than 33 ms of processor time. Then the same in Chromium, where there is one: the pointer drags one
of 200 points around for some seconds, and of all frames that the browser paints, those are counted
in which the server's answer is new.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import pairwise
from math import cos, sin
from statistics import median
from time import perf_counter, process_time, sleep
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from common import machine, seconds
from rosenblatt.lab.plane import frame_for
from rosenblatt.lab.server import free_port
from rosenblatt.lab.session import Session
from rosenblatt.lab.state import MOST_POINTS, Data, LabSettings
from rosenblatt.lab.view import view


def cloud(noise: float, count: int = MOST_POINTS) -> Data:
    generator = np.random.default_rng(0)
    X = generator.normal(size=(count, 2)).round(2)
    signs = np.where(X @ [1, 0.3] + noise * generator.normal(size=len(X)) > 0, 1, -1)
    return Data(X=tuple(map(tuple, X.tolist())), signs=tuple(signs.tolist()))


def main() -> None:
    console = Console(width=110)
    console.print(machine("panel"), "\n")
    table = Table(
        "points", "lift", "edit ms", "step ms", "slowest of 60", "to the end ms", box=None
    )
    for kind, noise in [("separable", 0.0), ("noisy", 0.4)]:
        for lift in ("none", "products", "polynomial", "rbf"):
            session = Session(cloud(noise), LabSettings(lift=lift, keep="average"))
            frame = frame_for(session)

            def show(session=session, frame=frame) -> None:
                json.dumps(view(session, frame))

            def step(session=session, show=show) -> None:
                session.step()
                show()

            def edit(session=session, show=show) -> None:
                session.move(0, (0.1, 0.2))
                show()

            show()
            edits = [1000 * seconds(edit) for _ in range(10)]
            steps = [1000 * seconds(step) for _ in range(60)]
            end = 1000 * seconds(session.finish)
            table.add_row(
                kind,
                lift,
                f"{median(edits):.1f}",
                f"{median(steps):.1f}",
                f"{max(steps):.1f}",
                f"{end:.0f}",
            )
    console.print(table)
    for noise, name in ((0.0, "separable"), (0.4, "noisy")):
        for steps in (100, 1000):
            session = Session(cloud(noise, 200))
            session.step(steps)
            times = sorted(drag(session, 0.5 + 0.01 * k) for k in range(40))
            console.print(
                f"drag, 200 points, {name}, at step {session.position}: "
                f"median {times[20]:.1f} ms, 36 of 40 under {times[36]:.1f} ms"
            )
    with suppress(ImportError):
        console.print("\n".join(frames_in_the_browser()))


def drag(session: Session, to: float) -> float:
    """Milliseconds of processor time from a move of the pointer to the view of it."""
    began = process_time()
    session.move(3, (to, 0.2), live=True)
    json.dumps(view(session, frame_for(session)), default=float)
    return 1000 * (process_time() - began)


# Runs in the page: the time of every frame, and the number of the answer that it shows.
FRAMES = """() => {
  const find = (r) => { for (const e of r.querySelectorAll('*')) {
    if (e.matches('.lab-page')) return e
    const inside = e.shadowRoot && find(e.shadowRoot); if (inside) return inside } }
  const page = find(document)
  window.frames_seen = []
  const note = (t) => {
    window.frames_seen.push([t, page.dataset.reply])
    requestAnimationFrame(note)
  }
  requestAnimationFrame(note)
}"""
SECONDS_DRAGGED = 4.0


def frames_in_the_browser() -> Iterator[str]:
    """Pictures per second while a point is dragged in Chromium, at a step and to the end."""
    from playwright.sync_api import sync_playwright

    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        return
    with served() as (address, server), sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        for noise, name in ((0.0, "separable"), (0.4, "noisy")):
            for steps in (100, 1000):
                session = Session(cloud(noise, 200))
                session.step(steps)
                page = browser.new_page(viewport={"width": 1280, "height": 900})
                page.goto(f"{address}#s={session.link()}")
                page.locator(".counts", has_text=f"step {session.position}").wait_for()
                before = processor_seconds(server)
                pictures, frames, gap = dragged_in(page)
                used = [b - a for a, b in zip(before, processor_seconds(server), strict=True)]
                page.close()
                each = [1000 * seconds / max(pictures, 1) for seconds in used]
                yield (
                    f"in Chromium, 200 points, {name}, at step {session.position}: "
                    f"{pictures / SECONDS_DRAGGED:.0f} pictures and {frames / SECONDS_DRAGGED:.0f} "
                    f"frames a second, longest wait {gap:.0f} ms; processor time of a picture: "
                    f"server {each[0]:.1f} ms, browser {each[1]:.1f} ms; "
                    f"load {os.getloadavg()[0]:.1f}"
                )
        browser.close()


def dragged_in(page: Any) -> tuple[int, int, float]:
    """New pictures, painted frames, and the longest wait in ms for a picture, during one drag."""
    page.locator('.lab-page[aria-busy="false"]').wait_for()
    box = page.locator('.point[data-row="3"] .grip').bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 10, y + 10)
    page.evaluate(FRAMES)
    began = perf_counter()
    while (now := perf_counter() - began) < SECONDS_DRAGGED:
        page.mouse.move(x + 60 * sin(3 * now), y + 60 * (1 - cos(3 * now)))
        sleep(0.004)
    frames = page.evaluate("() => window.frames_seen")
    page.mouse.up()
    times = [t for (t, reply), (_, last) in zip(frames[1:], frames, strict=False) if reply != last]
    return len(times), len(frames), max(b - a for a, b in pairwise(times))


@contextmanager
def served() -> Iterator[tuple[str, int]]:
    """The lab in a process of its own: its address and its process id."""
    port = free_port()
    command = [sys.executable, "-m", "rosenblatt", "lab", "--port", str(port), "--no-show"]
    program = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while program.poll() is None:
            with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
                break
            sleep(0.1)
        yield f"http://127.0.0.1:{port}/", program.pid
    finally:
        program.kill()
        program.wait()


def processor_seconds(server: int) -> tuple[float, float]:
    """The processor time that the server has used, and that all processes of the browser have."""
    from psutil import Process

    times = {p.pid: sum(p.cpu_times()[:2]) for p in Process().children(recursive=True)}
    return times[server], sum(times.values()) - times[server]


if __name__ == "__main__":
    main()
