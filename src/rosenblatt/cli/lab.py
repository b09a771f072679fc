"""`rosenblatt lab`: the perceptron in the browser."""

from __future__ import annotations

from typing import Annotated

import typer

from rosenblatt.cli import options as o


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
    typer.echo("starting the lab; Ctrl-C ends it", err=True)
    from rosenblatt.lab import serve

    serve(
        file=file, label=label, header=header, example=example, scene=scene, port=port,
        address=address, origins=origin or [], show=show,
    )  # fmt: skip
