"""`rosenblatt trace`: a run with its arithmetic spelled out."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer


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
        Path | None, typer.Argument(help="A small CSV file with a line of headings.")
    ] = None,
    example: Annotated[
        str | None,
        typer.Option(
            help="Instead of a file: movies, not-good, not-good-bigrams, and, or, xor or iris."
        ),
    ] = None,
    label: Annotated[
        str | None, typer.Option(help="The column of labels; the last unless named.")
    ] = None,
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
    from rosenblatt import examples, tracing

    if (file is None) == (example is None):
        raise typer.BadParameter("give either a FILE or --example NAME")
    if example is not None:
        source: Any = examples.load(example)
    else:
        assert file is not None
        source = tracing.read_csv(file, label=label)
    options: dict[str, Any] = {
        "mistake": mistake or getattr(source, "mistake", "margin"),
        "fit_intercept": getattr(source, "fit_intercept", True) if bias is None else bias,
    }
    run = tracing.trace(
        source.X,
        source.y,
        feature_names=source.feature_names,
        row_names=source.row_names,
        update=update,
        threshold=threshold,
        eta=eta,
        intercept_scaling=padding,
        order=seed is not None,
        seed=seed,
        max_epochs=max_epochs,
        **options,
    )
    chosen = style or (Style.steps if len(run) <= 40 else Style.table)
    typer.echo(getattr(run, f"to_{format}")(chosen, proof=proof))
