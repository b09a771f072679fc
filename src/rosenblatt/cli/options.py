"""Options that several commands share, and their translation for `rosenblatt.data.open`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

Label = Annotated[
    str | None,
    typer.Option(
        help="Label column: its name, or its position from 1 (-1 is the last). Default: label."
    ),
]
Text = Annotated[
    list[str] | None, typer.Option(help="Use only this text column (repeat for several).")
]
Columns = Annotated[
    list[str] | None,
    typer.Option(help="NAME=KIND: text, category, number, date or ignore. Others are detected."),
]
Format = Annotated[
    str | None,
    typer.Option(
        help="csv, tsv, jsonl, parquet, arrow, svmlight, fasttext or vw. Detected by default."
    ),
]
Header = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header", help="Whether the first row has column names. Detected by default."
    ),
]
Example = Annotated[
    str | None,
    typer.Option(
        help="Instead of a file: movies, not-good, not-good-bigrams, and, or, xor, iris, triangle."
    ),
]
Missing = Annotated[
    list[str] | None,
    typer.Option(
        metavar="WORD",
        help="Cells that count as missing, beside empty ones (repeat for several). "
        "Default: ? NA N/A NaN nan null NULL None. Labels are missing only where empty.",
    ),
]
SkipBadRows = Annotated[
    bool, typer.Option("--skip-bad-rows", help="Skip and count rows that cannot be read.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]


def reading(
    label: str | None,
    text: list[str] | None,
    column: list[str] | None,
    format: str | None,
    header: bool | None,
    skip_bad_rows: bool,
    missing: list[str] | None = None,
) -> dict[str, Any]:
    """The corresponding arguments of :func:`rosenblatt.data.open`."""
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
        "missing": missing or None,
    }


def class_weights(given: str | None) -> str | dict[str, float] | None:
    """The weights of classes.

    >>> class_weights("balanced"), class_weights("spam=5,ham=1")
    ('balanced', {'spam': 5.0, 'ham': 1.0})
    """
    if given is None or given == "balanced":
        return given
    weights = {}
    for entry in given.split(","):
        label, _, number = entry.rpartition("=")
        try:
            weights[label.strip()] = float(number)
        except ValueError:
            label = ""
        if not label:
            message = f"{given!r} is neither balanced nor LABEL=NUMBER,..."
            raise typer.BadParameter(message, param_hint="--class-weight")
    return weights


def stem(path: str) -> str:
    """The name of a file without its suffixes.

    >>> stem("data/reviews.tsv.zst"), stem("-")
    ('reviews', 'stdin')
    """
    name = Path(path).name
    return "stdin" if name == "-" else name.split(".")[0].strip("*?") or "model"
