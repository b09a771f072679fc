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
    label: o.Label = None,
    header: o.Header = None,
    port: Annotated[int, typer.Option(help="The port; 0 picks a free one.")] = 0,
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

      rosenblatt lab flowers.csv --port 8080
    """
    from rosenblatt.lab import serve

    serve(
        file=file, label=label, header=header, example=example, port=port, address=address,
        origins=origin or [], show=show,
    )  # fmt: skip
