"""Pages that are completed when they are built: executed code, scenes, charts, commands."""

from __future__ import annotations

import re
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
LONGEST_SIGNATURE = 150  # characters, two lines on a page
_BACK_LINK = re.compile(r'<a class="viewcode-back" href="([^"#]+)#([^"]+)">\[docs\]</a>')
# The blank line that ends a session of the prompt for its test is not shown.
_PROMPTS = re.compile(r"(^```python\n>>>(?:(?!^```).)*?\S)\n\n```", re.DOTALL | re.MULTILINE)
EXECUTED = ("course", "quick-start")


def _complete(app: Any, docname: str, source: list[str]) -> None:
    folder, _, name = docname.rpartition("/")
    figures = Path(app.srcdir) / folder / FIGURES
    if folder in EXECUTED:
        source[0] = execute(source[0], figures, prefix=name, link=FIGURES, command=run_command)
    elif COMMANDS in source[0]:
        source[0] = source[0].replace(COMMANDS, commands.markdown(program))
    else:
        source[0] = _PROMPTS.sub(r"\1\n```", source[0])
        source[0] = with_scenes(source[0], f"{'../' if folder else ''}course/scenes")
        source[0] = charts.with_charts(source[0], figures, name, FIGURES)


def _write_scenes(app: Any, exception: Exception | None) -> None:
    if exception is None and app.builder.format == "html":
        write(Path(app.outdir) / "course" / "scenes")


def _drop_lost_links(app: Any, exception: Exception | None) -> None:
    """Drop links from source code to objects that the reference has under another name."""
    if exception is not None or app.builder.format != "html":
        return
    for page in (Path(app.outdir) / "_modules").rglob("*.html"):

        def checked(link: re.Match[str], page: Path = page) -> str:
            file = page.parent / link[1]
            is_there = file.is_file() and f'id="{link[2]}"' in file.read_text("utf-8")
            return link[0] if is_there else ""

        text = page.read_text("utf-8")
        page.write_text(_BACK_LINK.sub(checked, text), "utf-8")


def _short_signature(app: Any, what: str, name: str, *rest: Any) -> tuple[str, Any] | None:
    """The first parameters of a long signature: all of them are listed below it."""
    signature, returned = rest[2:]
    if not signature or len(signature) <= LONGEST_SIGNATURE:
        return None
    shown = signature[:LONGEST_SIGNATURE].rpartition(",")[0]
    return f"{shown}, ...)", returned


def setup(app: Any) -> dict[str, Any]:
    """Complete each source before it is parsed."""
    app.connect("source-read", _complete)
    app.connect("autodoc-process-signature", _short_signature)
    app.connect("build-finished", _write_scenes)
    app.connect("build-finished", _drop_lost_links)
    return {"version": "1", "parallel_read_safe": False, "parallel_write_safe": True}
