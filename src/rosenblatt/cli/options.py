"""Options that several commands share, and what they mean for reading files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

Label = Annotated[
    str | None,
    typer.Option(help="The label's column: its name, or its place from 1 (-1: last). Else: label."),
]
Text = Annotated[
    list[str] | None, typer.Option(help="A column of text; then only these are features.")
]
Columns = Annotated[
    list[str] | None,
    typer.Option(help="NAME=KIND: text, category, number or ignore. The others are detected."),
]
Format = Annotated[
    str | None,
    typer.Option(help="csv, tsv, jsonl, parquet, arrow, svmlight, fasttext or vw. Else detected."),
]
Header = Annotated[
    bool | None,
    typer.Option("--header/--no-header", help="Whether the first row holds names. Else detected."),
]
SkipBadRows = Annotated[
    bool, typer.Option("--skip-bad-rows", help="Leave out and count rows that cannot be read.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing unless it fails.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]


def reading(
    label: str | None,
    text: list[str] | None,
    column: list[str] | None,
    format: str | None,
    header: bool | None,
    skip_bad_rows: bool,
) -> dict[str, Any]:
    """The options of :func:`rosenblatt.data.open` that these stand for."""
    kinds = {}
    for entry in column or ():
        name, equals, kind = entry.rpartition("=")
        if not equals:
            raise typer.BadParameter(f"{entry!r} is not NAME=KIND", param_hint="--column")
        kinds[name] = kind
    return {
        "label": label,
        "text": text or None,
        "columns": kinds or None,
        "format": format,
        "header": header,
        "skip_bad_rows": skip_bad_rows,
    }


def stem(path: str) -> str:
    """The name of a file without its endings.

    >>> stem("data/reviews.tsv.zst"), stem("-")
    ('reviews', 'stdin')
    """
    name = Path(path).name
    return "stdin" if name == "-" else name.split(".")[0].strip("*?") or "model"
