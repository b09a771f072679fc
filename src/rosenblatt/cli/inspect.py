"""`rosenblatt inspect`: a model's features, history and strongest weights."""

from __future__ import annotations

from typing import Annotated

import typer

from rosenblatt.cli import options as o


def inspect(
    model: o.ModelFile,
    top: Annotated[int, typer.Option(min=0, help="How many features per class.")] = 10,
    json: o.Json = False,
) -> None:
    """Show a model: its columns, its training history, the strongest features per class.

    Examples:

      rosenblatt inspect reviews.model

      rosenblatt inspect reviews.model --top 25 --json
    """
    from rosenblatt.cli.results import show_model
    from rosenblatt.models.model_file import read_model

    show_model(read_model(model), model, top, json)
