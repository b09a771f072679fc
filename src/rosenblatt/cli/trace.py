"""`rosenblatt trace`: a run with its arithmetic spelled out."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer

from rosenblatt.cli import options as o

_MOST_CELLS = 200_000


class Format(StrEnum):
    """How a trace can be written."""

    text = "text"
    markdown = "markdown"
    latex = "latex"
    html = "html"


class Style(StrEnum):
    """How much of a run is written out."""

    steps = "steps"
    table = "table"


def trace(
    file: Annotated[
        str | None, typer.Argument(help="A small file of numbers with labels, such as CSV.")
    ] = None,
    example: Annotated[
        str | None,
        typer.Option(
            help="Instead of a file: movies, not-good, not-good-bigrams, and, or, xor or iris."
        ),
    ] = None,
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
    """Show every step of a run: the sums, the verdict, the update, and why it ended."""
    from scipy.sparse import issparse

    from rosenblatt import examples, tracing
    from rosenblatt.data import read_arrays

    if (file is None) == (example is None):
        raise typer.BadParameter("give either a FILE or --example NAME")
    rule, intercept = "margin", True
    if example is not None:
        found = examples.load(example)
        data: Any = found.X, found.y, found.feature_names, found.row_names
        rule, intercept = found.mistake, found.fit_intercept
    else:
        table = read_arrays(file, label, header=header, row_names=True, most_cells=_MOST_CELLS)
        X = table.X.toarray() if issparse(table.X) else table.X
        data = X.tolist(), table.y.tolist(), table.columns, table.row_names
    rows, labels, feature_names, row_names = data
    run = tracing.trace(
        rows,
        labels,
        feature_names=feature_names,
        row_names=row_names,
        mistake=mistake or rule,
        fit_intercept=intercept if bias is None else bias,
        update=update,
        threshold=threshold,
        eta=eta,
        intercept_scaling=padding,
        order=seed is not None,
        seed=seed,
        max_epochs=max_epochs,
    )
    chosen = style or (Style.steps if len(run) <= 40 else Style.table)
    typer.echo(getattr(run, f"to_{format}")(chosen, proof=proof))
