"""How long a step of the lab takes on the server, with as many points as it allows.

    python benchmarks/bench_lab.py

A step is what the server does for one press of the button: the step itself, and all that the page
shows of it, written as JSON. The lab promises less than 50 ms with 500 points. While one of 200
points is dragged, the run is repeated to its step and shown again: for 30 frames a second in less
than 33 ms of processor time.
"""

from __future__ import annotations

import json
from statistics import median
from time import process_time

import numpy as np
from rich.console import Console
from rich.table import Table

from common import machine, seconds
from rosenblatt.lab.session import Session
from rosenblatt.lab.state import MOST_POINTS, Data, LabSettings
from rosenblatt.lab.view import frame_for, view


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


def drag(session: Session, to: float) -> float:
    """Milliseconds of processor time from a move of the pointer to the view of it."""
    began = process_time()
    session.move(3, (to, 0.2), live=True)
    json.dumps(view(session, frame_for(session)), default=float)
    return 1000 * (process_time() - began)


if __name__ == "__main__":
    main()
