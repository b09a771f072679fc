"""A run as an animation."""

from __future__ import annotations

import base64
import html
import os
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from rosenblatt.atomic_files import atomic_write
from rosenblatt.errors import counted
from rosenblatt.tracing.words import arithmetic
from rosenblatt.viz.boundary import BoundaryDisplay
from rosenblatt.viz.style import INK, SOFT, foot, frame, pyplot


class Animation(type(Path())):  # type: ignore[misc]
    """The path of an animation file; notebooks play it."""

    def _repr_html_(self) -> str:
        source = f"data:image/gif;base64,{base64.b64encode(self.read_bytes()).decode()}"
        return f'<img alt="{html.escape(self.name)}" src="{source}">'


def animate(
    trace: Any,
    path: str | os.PathLike[str],
    *,
    fps: int = 2,
    max_frames: int = 200,
    dpi: int = 110,
    points: Any = None,
    lift: Any = None,
) -> Animation:
    """Write a trace of two features as a GIF.

    Every step is a frame, with the line before it dotted and the update written out; the last one
    rests for two seconds. Runs of more than `max_frames` steps show only steps with an update,
    evenly spaced.

    Parameters
    ----------
    trace : Trace
        A run over two features.
    path
        The file to write, ``.gif``.
    fps
        Frames per second.
    max_frames
        The most frames.
    dpi
        Dots per inch.
    points, lift
        For a run on lifted rows, as for :meth:`BoundaryDisplay.from_trace`.

    Returns
    -------
    Animation
        The path of the file; notebooks play it.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from rosenblatt import trace
    >>> from rosenblatt.viz import animate
    >>> target = pathlib.Path(tempfile.mkdtemp()) / "run.gif"
    >>> animate(trace([[2, 1], [-1, 1]], [1, -1]), target, dpi=40).read_bytes()[:3]
    b'GIF'
    """
    target = Animation(path)
    if target.suffix != ".gif":
        raise ValueError(f"the ending of {target.name!r} must be .gif")
    base = np.array(trace.problem.X if lift is None else points, dtype=float)
    animation = _animation(trace, base, lift, max_frames, rest=2 * fps)
    with tempfile.TemporaryDirectory() as folder:
        finished = Path(folder) / target.name
        animation.save(finished, writer="pillow", fps=fps, dpi=dpi)
        with atomic_write(target) as file:
            file.write(finished.read_bytes())
    return target


def _animation(trace: Any, points: Any, lift: Any, most: int, rest: int) -> Any:
    pyplot()
    from matplotlib.animation import FuncAnimation
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    # A figure without pyplot opens no window, so this also works in a server thread.
    figure = Figure(figsize=(6, 4.8))
    FigureCanvasAgg(figure)
    figure.subplots_adjust(top=0.86)
    ax, frames = figure.subplots(), _frames(trace, most)
    within = _with_lines(trace.path, points) if lift is None else points
    draw = partial(_draw, trace, ax, points=points, lift=lift, within=within)
    return FuncAnimation(figure, draw, frames=[*frames, *frames[-1:] * rest], repeat=False)


def _with_lines(path: Any, points: Any) -> Any:
    """The points, and the nearest point of each line unless it is many times as far away."""
    middle, reach = points.mean(axis=0), 3 * max(np.ptp(points, axis=0).max(), 1.0)
    feet = [foot(w, b, middle) for w, b in path if any(w)]
    near = [point for point in feet if np.linalg.norm(point - middle) < reach]
    return np.vstack([points, *near])


def _frames(trace: Any, most: int) -> list[int]:
    """The numbers of the steps to draw."""
    if len(trace) < most:
        return list(range(len(trace) + 1))
    updates = [0, *(step.number for step in trace if step.mistake)]
    chosen = np.linspace(0, len(updates) - 1, min(most - 1, len(updates))).astype(int)
    return [*(updates[i] for i in chosen), len(trace)]


def _draw(trace: Any, ax: Any, at: int, points: Any, lift: Any, within: Any) -> list[Any]:
    ax.clear()
    BoundaryDisplay.from_trace(
        trace, step=at, points=points, lift=lift, ax=ax, legend=False, grid=80, within=within
    )
    if at == 0:
        ax.set_title("start", loc="left")
        return []
    step = trace[at - 1]
    if step.row is not None:
        x, y = points[step.row]
        ax.scatter([x], [y], s=330, facecolors="none", edgecolors=INK, linewidths=2.4, zorder=5)
    if step.mistake and lift is None and any(step.weights_before):
        near = foot(step.weights_before, step.bias_before, points.mean(axis=0))
        across, up = map(float, step.weights_before)
        ax.axline(near, near + np.array([-up, across]), color=SOFT, linestyle=":")
    xlim, ylim = frame(within)
    ax.set(xlim=xlim, ylim=ylim)
    outcome = "update" if step.mistake else "no update"
    ax.set_title(f"epoch {step.epoch}, step {step.number}: {outcome}\n", loc="left")
    ax.set_title(f"{counted(step.updates, 'update')}\n", loc="right")
    if step.mistake:
        lines = map("".join, arithmetic(trace.problem, step))
        added = next(line for line in lines if line.startswith("w ←"))
        ax.text(0, 1.02, added, transform=ax.transAxes, fontsize="small")
    return []
