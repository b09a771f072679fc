"""Pages that are completed when they are built: executed chapters, the list of commands."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import commands

from rosenblatt.cli import app as program
from rosenblatt.cli.browser import run_command
from rosenblatt.course.cells import execute
from rosenblatt.lab.recordings import write

COMMANDS = "<!-- commands -->"
FIGURES = "_figures"


def _complete(app: Any, docname: str, source: list[str]) -> None:
    if docname.startswith("course/"):
        figures = Path(app.srcdir) / "course" / FIGURES
        prefix = docname.partition("/")[2]
        source[0] = execute(source[0], figures, prefix=prefix, link=FIGURES, command=run_command)
    elif COMMANDS in source[0]:
        source[0] = source[0].replace(COMMANDS, commands.markdown(program))


def _write_scenes(app: Any, exception: Exception | None) -> None:
    if exception is None and app.builder.format == "html":
        write(Path(app.outdir) / "course" / "scenes")


def setup(app: Any) -> dict[str, Any]:
    """Complete each source before it is parsed."""
    app.connect("source-read", _complete)
    app.connect("build-finished", _write_scenes)
    return {"version": "1", "parallel_read_safe": False, "parallel_write_safe": True}
