"""`rosenblatt explain`: the contribution of each word and column of a row to its score."""

from __future__ import annotations

import json as json_module
import os
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rosenblatt.cli import options as o
from rosenblatt.errors import counted

if TYPE_CHECKING:
    from rosenblatt.models.explanation import Explanation
    from rosenblatt.models.model import Model


def explain(
    model: o.ModelFile,
    row: Annotated[
        str,
        typer.Argument(
            help="A text; a JSON object with the value of each column; a line of features, for "
            "models of svmlight and Vowpal Wabbit files."
        ),
    ],
    label: Annotated[
        str | None,
        typer.Option(
            "--label", "-l", help="The class to explain; by default that of the largest score."
        ),
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="How many features to name.")] = 20,
    json: o.Json = False,
) -> None:
    """Explain the score of a row as the sum of the contributions of its features.

    With two classes there is one score, positive for the second.

    Examples:

      rosenblatt explain reviews.model "not bad at all, great fun"

      rosenblatt explain adult.model '{"age": 39, "job": "tech"}'

      rosenblatt explain news.model "the orbit of the moon" --label sci.space
    """
    from rosenblatt.models.model_file import read_model

    loaded = read_model(model)
    found = loaded.explain(_row(loaded, row))
    if json:
        typer.echo(json_module.dumps(found.to_json()))
        return
    for line in _lines(found, label, top):
        typer.echo(line)


def _row(model: Model, given: str) -> Any:
    """The row in the form that the model takes: a text, a line, or a dict of columns."""
    if os.path.isfile(given):  # noqa: PTH113 - a Path raises if the text is long
        raise ValueError(f"{given} is a file: give one row of it, in quotes")
    if model.features.origin == "svmlight":
        pairs = [word.partition(":") for word in given.split() if ":" in word]
        return {number: value for number, _, value in pairs}
    if given.lstrip().startswith("{") and model.features.origin == "table":
        try:
            return json_module.loads(given)
        except ValueError as error:
            raise ValueError(f"the row is not a JSON object: {error}") from None
    return given


def _lines(found: Explanation, label: str | None, top: int) -> list[str]:
    features, rest, bias, score = found.sum_of(top, label)
    own = found.explained if label is None or len(found.bias) == 1 else label
    lines = [f"predicted {found.predicted}; the score of {own} is made of"]
    lines += [f"{value:>+10.4f}  {name}"[:80] for name, value in features]
    others = sum(1 for _, value in found.top(None, label) if value) - len(features)
    if others > 0:
        lines.append(f"{rest:>+10.4f}  {counted(others, 'other feature')}")
    unknown = len(found.features) - int((found.contributions != 0).any(axis=1).sum())
    note = f"  ({counted(unknown, 'feature')} of the row without weight)" if unknown else ""
    return [*lines, f"{bias:>+10.4f}  bias", f"{score:>+10.4f}  score{note}"]
