"""Pages that are completed when they are built: executed code, scenes, charts, commands."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import charts
import commands

from rosenblatt.cli import app as program
from rosenblatt.cli.browser import run_command
from rosenblatt.course.cells import execute, with_scenes
from rosenblatt.lab.recordings import write

COMMANDS = "<!-- commands -->"
FIGURES = "_figures"
EXECUTED = ("course", "quick-start")


def _complete(app: Any, docname: str, source: list[str]) -> None:
    folder, _, name = docname.rpartition("/")
    figures = Path(app.srcdir) / folder / FIGURES
    if folder in EXECUTED:
        source[0] = execute(source[0], figures, prefix=name, link=FIGURES, command=run_command)
    elif COMMANDS in source[0]:
        source[0] = source[0].replace(COMMANDS, commands.markdown(program))
    else:
        source[0] = with_scenes(source[0], f"{'../' if folder else ''}course/scenes")
        source[0] = charts.with_charts(source[0], figures, name, FIGURES)


def _write_scenes(app: Any, exception: Exception | None) -> None:
    if exception is None and app.builder.format == "html":
        write(Path(app.outdir) / "course" / "scenes")


def setup(app: Any) -> dict[str, Any]:
    """Complete each source before it is parsed."""
    app.connect("source-read", _complete)
    app.connect("build-finished", _write_scenes)
    return {"version": "1", "parallel_read_safe": False, "parallel_write_safe": True}
