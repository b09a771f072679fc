"""`rosenblatt course`: the five chapters in the browser."""

from __future__ import annotations

from contextlib import redirect_stdout
from io import StringIO
from typing import Annotated

import typer


def course(
    show: Annotated[bool, typer.Option("--show/--no-show", help="Open a browser.")] = True,
    rebuild: Annotated[
        bool, typer.Option("--rebuild", help="Build the chapters again, even if they are cached.")
    ] = False,
) -> None:
    """Open the course: five chapters with definitions, pictures, code and exercises.

    The first call runs the code of the chapters on this machine and caches the pages; later calls
    open them at once. No network is needed.

    Examples:

      rosenblatt course

      rosenblatt course --no-show
    """
    from rosenblatt.atomic_files import user_cache
    from rosenblatt.course import build, built

    cache = user_cache()
    if cache is None:
        raise OSError("there is no folder to keep the course in; set ROSENBLATT_CACHE_DIR to one")
    folder = cache / "course"
    page = None if rebuild else built(folder)
    if page is None:
        page = build(folder, command=run_command, progress=lambda line: typer.echo(line, err=True))
    typer.echo(page)
    if show:
        typer.launch(str(page))


def run_command(arguments: list[str]) -> str:
    """Run a command of this program in this process and return what it prints."""
    from rosenblatt.cli import app

    printed = StringIO()
    with redirect_stdout(printed):
        app(arguments, standalone_mode=False)
    return printed.getvalue()
