"""`rosenblatt lab` and `course`: the perceptron, and the five chapters, in the browser."""

from __future__ import annotations

import shutil
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Annotated

import typer

from rosenblatt.cli import options as o
from rosenblatt.cli.lines import say
from rosenblatt.errors import OptionError


def lab(
    file: Annotated[
        str | None, typer.Argument(help="A small file of numbers with labels to start with.")
    ] = None,
    example: o.Example = None,
    scene: Annotated[
        str | None,
        typer.Option(
            help="Or a scene of the course: two-orders, pocket, start, offset, average, movies, "
            "not-good, lift, weight-space or one-vs-all."
        ),
    ] = None,
    label: o.Label = None,
    header: o.Header = None,
    port: Annotated[
        int | None,
        typer.Option(help="The port; 0 picks a free one. Default: 7673, or a free one."),
    ] = None,
    address: Annotated[
        str,
        typer.Option(help="The address to listen at; the default cannot be reached from outside."),
    ] = "127.0.0.1",
    origin: Annotated[
        list[str] | None,
        typer.Option(help="A further host whose pages may connect (repeat for several)."),
    ] = None,
    show: Annotated[bool, typer.Option("--show/--no-show", help="Open a browser.")] = True,
) -> None:
    """Open the perceptron lab, a local web page: add points, step, play, prove.

    Examples:

      rosenblatt lab

      rosenblatt lab --example xor

      rosenblatt lab --scene two-orders

      rosenblatt lab flowers.csv --port 8080
    """
    say("starting the lab; Ctrl-C ends it", err=True)
    from rosenblatt.lab import serve

    serve(
        file=file, label=label, header=header, example=example, scene=scene, port=port,
        address=address, origins=origin or [], show=show,
    )  # fmt: skip


def course(
    show: Annotated[bool, typer.Option("--show/--no-show", help="Open a browser.")] = True,
    rebuild: Annotated[
        bool, typer.Option("--rebuild", help="Build the chapters again, even if they are cached.")
    ] = False,
    out: Annotated[
        str | None,
        typer.Option(help="Write the pages into this new folder instead of serving them."),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(help="The port; 0 picks a free one. Default: 7673, or a free one."),
    ] = None,
) -> None:
    """Open the course: five chapters with pictures, code and exercises, and the lab inside.

    The first call runs the code of the chapters on this machine and caches the pages; later calls
    open them at once. No network is needed. With --out the pages stand alone: any web server or
    the file system will do, and the scenes of the lab are recordings.

    Examples:

      rosenblatt course

      rosenblatt course --out course-for-the-class
    """
    from rosenblatt.atomic_files import user_cache
    from rosenblatt.course import build, built
    from rosenblatt.lab.server import serve

    cache = user_cache()
    if cache is None:
        raise OSError("there is no folder to keep the course in; set ROSENBLATT_CACHE_DIR to one")
    folder = cache / "course"
    page = None if rebuild else built(folder)
    if page is None:
        page = build(folder, command=run_command, progress=lambda line: say(line, err=True))
    if out is not None:
        if Path(out).exists():
            raise OptionError(f"--out: there is already something called {out}; name a new folder")
        shutil.copytree(page.parent, out)
        say(str(Path(out) / page.name))
        return
    say("starting the course; Ctrl-C ends it", err=True)
    serve(port=port, show=show, pages=page.parent)


def run_command(arguments: list[str]) -> str:
    """Run a command of this program in this process and return what it prints."""
    from rosenblatt.cli import app

    printed = StringIO()
    with redirect_stdout(printed):
        app(arguments, standalone_mode=False)
    return printed.getvalue()
