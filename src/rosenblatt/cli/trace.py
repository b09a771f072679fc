"""`rosenblatt trace`: a run with its arithmetic spelled out."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer

from rosenblatt.cli import options as o

_MOST_CELLS = 200_000


Format = StrEnum("Format", ["text", "markdown", "latex", "html"])
Style = StrEnum("Style", ["steps", "table"])


def trace(
    file: Annotated[
        str | None, typer.Argument(help="A small file of numbers with labels, such as CSV.")
    ] = None,
    example: o.Example = None,
    label: o.Label = None,
    header: o.Header = None,
    format: Annotated[Format, typer.Option(help="How to write it.")] = Format.text,
    style: Annotated[
        Style | None,
        typer.Option(help="Every sum, or one line a step. Long runs get a table unless told."),
    ] = None,
    proof: Annotated[
        bool, typer.Option("--proof", help="Follow the convergence proof along the run.")
    ] = False,
    update: Annotated[str, typer.Option(help="online or batch.")] = "online",
    mistake: Annotated[
        str | None, typer.Option(help="margin or sign; an example brings the rule of its source.")
    ] = None,
    threshold: Annotated[float, typer.Option(help="δ: a mistake is y·s <= δ.")] = 0,
    eta: Annotated[float, typer.Option(help="The learning rate η.")] = 1,
    bias: Annotated[
        bool | None, typer.Option("--bias/--no-bias", help="Whether to learn a bias.")
    ] = None,
    padding: Annotated[float, typer.Option(help="The padding constant c.")] = 1,
    max_epochs: Annotated[int, typer.Option(min=1, help="The budget.")] = 100,
    seed: Annotated[
        int | None, typer.Option(help="Visit the rows in a new random order each epoch.")
    ] = None,
) -> None:
    """Show every step of a run: the sums, the verdict, the update, and why it ended.

    Examples:

      rosenblatt trace --example movies

      rosenblatt trace points.csv --label class --proof --format latex
    """
    from rosenblatt import tracing

    if (file is None) == (example is None):
        raise typer.BadParameter("give either a FILE or --example NAME")
    rows = _example(example) if example is not None else _read(file, label, header)
    if mistake is not None:
        rows["mistake"] = mistake
    if bias is not None:
        rows["fit_intercept"] = bias
    run = tracing.trace(
        **rows, update=update, threshold=threshold, eta=eta, intercept_scaling=padding,
        order=seed is not None, seed=seed, max_epochs=max_epochs,
    )  # fmt: skip
    chosen = style or (Style.steps if len(run) <= 40 else Style.table)
    typer.echo(getattr(run, f"to_{format}")(chosen, proof=proof))


def _example(name: str) -> dict[str, Any]:
    """The rows of an example with the rule of its source."""
    from rosenblatt import examples

    found = examples.load(name)
    names = ("X", "y", "feature_names", "row_names", "mistake", "fit_intercept")
    return {name: getattr(found, name) for name in names}


def _read(file: str | None, label: str | None, header: bool | None) -> dict[str, Any]:
    """The rows of a file."""
    from scipy.sparse import issparse

    from rosenblatt.data import read_arrays

    table = read_arrays(file, label, header=header, row_names=True, most_cells=_MOST_CELLS)
    X, names = table.X.toarray() if issparse(table.X) else table.X, table.row_names
    return {
        "X": X.tolist(), "y": table.y.tolist(), "feature_names": table.columns, "row_names": names
    }  # fmt: skip
