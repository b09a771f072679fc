"""How long a step of the lab takes on the server, with as many points as it allows.

    python benchmarks/bench_lab.py

A step is what the server does for one press of the button: the step itself, and all that the page
shows of it, written as JSON. The lab promises less than 50 ms with 500 points.
"""

from __future__ import annotations

import json
from statistics import median

import numpy as np
from rich.console import Console
from rich.table import Table

from common import machine, seconds
from rosenblatt.lab.session import Session
from rosenblatt.lab.state import MOST_POINTS, Data, LabSettings
from rosenblatt.lab.view import frame_for, view


def cloud(noise: float) -> Data:
    generator = np.random.default_rng(0)
    X = generator.normal(size=(MOST_POINTS, 2)).round(2)
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


if __name__ == "__main__":
    main()
