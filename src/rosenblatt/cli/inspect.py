"""`rosenblatt inspect`: what a model is and which words speak for each class."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rosenblatt.cli import options as o


def inspect(
    model: Annotated[Path, typer.Argument(help="The model file.")],
    top: Annotated[int, typer.Option(min=0, help="How many features of each class.")] = 10,
    json: o.Json = False,
) -> None:
    """What a model is, the features that speak most for each class by their words, its history.

    Examples:

      rosenblatt inspect reviews.model

      rosenblatt inspect reviews.model --top 25 --json
    """
    from rosenblatt.cli.display import show_model
    from rosenblatt.models import load

    show_model(load(model), model, top, json)
