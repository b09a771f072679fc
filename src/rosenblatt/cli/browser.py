"""`rosenblatt lab` and `course`: the perceptron, and the five chapters, in the browser."""

from __future__ import annotations

from contextlib import redirect_stdout
from io import StringIO
from typing import Annotated

import typer

from rosenblatt.cli import options as o
from rosenblatt.cli.lines import say


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
        page = build(folder, command=run_command, progress=lambda line: say(line, err=True))
    say(str(page))
    if show:
        typer.launch(str(page))


def run_command(arguments: list[str]) -> str:
    """Run a command of this program in this process and return what it prints."""
    from rosenblatt.cli import app

    printed = StringIO()
    with redirect_stdout(printed):
        app(arguments, standalone_mode=False)
    return printed.getvalue()
