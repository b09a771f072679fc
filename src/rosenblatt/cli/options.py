"""Options that several commands share, and the parsing of their values."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rosenblatt.errors import OptionError

if TYPE_CHECKING:
    from rosenblatt.data import Source
    from rosenblatt.models.model import Model

# Panels of the help pages.
INPUT, FEATURES, LEARNING, OUTPUT = "Input", "Features", "Learning", "Output"
LONG_RUNS = "Long runs"


def option(panel: str | None, help: str, *names: str, **more: Any) -> Any:
    """An option in a panel of the help page."""
    return typer.Option(*names, help=help, rich_help_panel=panel, **more)


ModelFile = Annotated[Path, typer.Argument(help="The model file.")]
Label = Annotated[
    str | None,
    option(
        INPUT,
        "Label column: its name, or its position from 1 (-1 is the last). Default: label.",
        "--label",
        "-l",
    ),
]
Text = Annotated[
    list[str] | None, option(FEATURES, "Use only this text column (repeat for several).")
]
Columns = Annotated[
    list[str] | None,
    option(
        FEATURES,
        "Kind of a column: text, category, number, date or ignore. Others are detected.",
        metavar="NAME=KIND",
    ),
]
Format = Annotated[
    str | None,
    option(
        INPUT,
        "csv, tsv, jsonl, parquet, arrow, svmlight, fasttext, vw, folder or text. "
        "Detected by default.",
    ),
]
Header = Annotated[
    bool | None,
    option(
        INPUT,
        "Whether the first row has column names. Detected by default.",
        "--header/--no-header",
    ),
]
Example = Annotated[
    str | None,
    option(
        None, "Instead of a file: movies, not-good, not-good-bigrams, and, or, xor, iris, triangle."
    ),
]
Missing = Annotated[
    list[str] | None,
    option(
        INPUT,
        "Values that count as missing, besides empty cells (repeat for several). "
        "Default: ? NA N/A NaN nan null NULL None. Labels are missing only where empty.",
        metavar="WORD",
    ),
]
SkipBadRows = Annotated[
    bool, option(INPUT, "Skip and count rows that cannot be read.", "--skip-bad-rows")
]
Quiet = Annotated[bool, option(OUTPUT, "Print nothing but errors.", "--quiet", "-q")]
Json = Annotated[bool, option(OUTPUT, "Print JSON instead of text.", "--json")]
Workers = Annotated[
    str | None,
    option(
        LONG_RUNS,
        "Distribute the work: N processes, or a Dask scheduler such as tcp://host:8786.",
    ),
]
Shards = Annotated[
    int | None,
    option(
        LONG_RUNS, "With --workers: approximate number of shards; at least 16 by default.", min=1
    ),
]


def disable_blas_threads() -> None:
    """Keep NumPy from starting BLAS threads, which no kernel uses; call before importing NumPy."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def reading(
    label: str | None,
    text: list[str] | None,
    column: list[str] | None,
    format: str | None,
    header: bool | None,
    skip_bad_rows: bool,
    missing: list[str] | None = None,
) -> dict[str, Any]:
    """These options as arguments of :func:`rosenblatt.data.open`."""
    from rosenblatt.data.column_kinds import KINDS

    kinds = {}
    for entry in column or ():
        name, equals, kind = entry.rpartition("=")
        if not equals:
            raise typer.BadParameter(f"{entry!r} is not NAME=KIND", param_hint="--column")
        if kind not in KINDS:
            message = f"{kind!r} is not a kind of column; the kinds are {', '.join(KINDS)}"
            raise typer.BadParameter(message, param_hint="--column")
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


def labelled_rows(model: Model, files: list[str], **reading: Any) -> Source:
    """The rows of labelled files, read as the model was trained to read them."""
    from rosenblatt import data

    return data.open(files, features=model.features, classes=model.classes, **reading)


def required_workers(workers: str | None, shards: int | None) -> str:
    """The value of --workers; an OptionError if only --shards was given."""
    if workers is None:
        raise OptionError(f"--shards {shards} is for --workers: give both, or neither")
    return workers


def ngrams(given: str | None, chars: bool) -> tuple[int, int] | None:
    """The shortest and the longest n-gram, parsed from N or N-M; None for the default.

    >>> ngrams("3", False), ngrams("2-4", True), ngrams("6", True), ngrams(None, True)
    ((1, 3), (2, 4), (3, 6), (3, 5))
    """
    if given is None:
        return (3, 5) if chars else None
    low, dash, high = given.partition("-")
    try:
        longest = int(high if dash else low)
        shortest = int(low) if dash else min(3 if chars else 1, longest)
    except ValueError:
        longest = shortest = 0
    if not 1 <= shortest <= longest <= 20:
        raise typer.BadParameter(
            f"{given!r} is not N or N-M with 1 <= N <= M <= 20", param_hint="--ngrams"
        )
    return shortest, longest


def class_weights(given: str | None) -> str | dict[str, float] | None:
    """Class weights parsed from "balanced" or LABEL=NUMBER,...

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


def model_first(model: Path, files: list[str]) -> None:
    """Raise an OptionError if model and data files were given in the wrong order."""
    if model.suffix != ".model" and len(files) == 1 and files[0].endswith(".model"):
        raise OptionError(f"the model comes first: {files[0]} {model}")


def stem(path: str) -> str:
    """The name of a file without its suffixes, for the name of the model file.

    >>> stem("data/reviews.tsv.zst"), stem("-")
    ('reviews', 'stdin')
    """
    name = Path(path).name
    return "stdin" if name == "-" else name.split(".")[0].strip("*?") or "model"
