"""`rosenblatt lab`: the perceptron in the browser."""

from __future__ import annotations

from typing import Annotated

import typer

from rosenblatt.cli import options as o


def lab(
    file: Annotated[
        str | None, typer.Argument(help="A small file of numbers with labels to begin with.")
    ] = None,
    example: Annotated[
        str | None,
        typer.Option(
            help="Or begin with movies, not-good, not-good-bigrams, and, or, xor or iris."
        ),
    ] = None,
    label: o.Label = None,
    header: o.Header = None,
    port: Annotated[int, typer.Option(help="The port; 0 takes a free one.")] = 0,
    address: Annotated[
        str, typer.Option(help="The address to listen at; loopback is reachable by you alone.")
    ] = "127.0.0.1",
    origin: Annotated[
        list[str] | None,
        typer.Option(help="A further host whose pages may talk to the lab; may be repeated."),
    ] = None,
    show: Annotated[bool, typer.Option("--show/--no-show", help="Open a browser.")] = True,
) -> None:
    """Open the perceptron lab: add points, step, play, prove, in a local web page."""
    from rosenblatt.lab import serve

    serve(
        file=file,
        label=label,
        header=header,
        example=example,
        port=port,
        address=address,
        origins=origin or [],
        show=show,
    )
