"""Options that several commands share; those of training come from their record."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rosenblatt.errors import OptionError
from rosenblatt.jobs.options import INPUT, OUTPUT, TrainOptions, option_of

if TYPE_CHECKING:
    from rosenblatt.data import Source
    from rosenblatt.models.model import Model

_TYPES = {"int": int, "float": float, "bool": bool}
_TRAINING = {entry.name: entry for entry in fields(TrainOptions) if option_of(entry).panel}


def option(panel: str | None, help: str, *names: str, **more: Any) -> Any:
    """An option in a panel of the help page."""
    return typer.Option(*names, help=help, rich_help_panel=panel, **more)


def training_option(name: str) -> Any:
    """An option of training by its name in Python."""
    known, kind = option_of(_TRAINING[name]), _kind(name)
    return option(
        known.panel,
        known.help + (" Repeat for several." if kind == list[str] else ""),
        *(known.flags or ("--" + name.replace("_", "-"),)),
        metavar=known.metavar,
        **({"min": known.low, "max": known.high} if kind in (int, float) else {}),
    )


def _kind(name: str) -> Any:
    """The type of an option of training on the command line."""
    entry = _TRAINING[name]
    return option_of(entry).given_as or _TYPES.get(str(entry.type).partition(" | ")[0], str)


def with_training_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of training after its first argument; it gets them by name."""
    argument, *others = inspect.signature(command, eval_str=True).parameters.values()
    parameters = [argument]
    for name, entry in _TRAINING.items():
        kind, shown = _kind(name), option_of(entry).shown
        parameters.append(
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                default=entry.default if shown is None else shown,
                annotation=Annotated[kind | None, training_option(name)],
            )
        )
    parameters += [other for other in others if other.kind is inspect.Parameter.KEYWORD_ONLY]
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return command


def training_options(given: Mapping[str, Any]) -> TrainOptions:
    """The options of training from what the command line gives."""
    values = {name: value for name, value in given.items() if value not in (None, [])}
    try:
        for name in values:
            parse = option_of(_TRAINING[name]).parse
            values[name] = values[name] if parse is None else parse(values[name])
        return TrainOptions(**values)
    except OptionError as error:
        raise typer.BadParameter(str(error)) from None


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
Format = Annotated[str | None, training_option("format")]
Header = Annotated[bool | None, training_option("header")]
SkipBadRows = Annotated[bool, training_option("skip_bad_rows")]
Workers = Annotated[str | None, training_option("workers")]
Example = Annotated[
    str | None,
    option(
        None, "Instead of a file: movies, not-good, not-good-bigrams, and, or, xor, iris, triangle."
    ),
]
Quiet = Annotated[bool, option(OUTPUT, "Print nothing but errors.", "--quiet", "-q")]
Json = Annotated[bool, option(OUTPUT, "Print JSON instead of text.", "--json")]


def disable_blas_threads() -> None:
    """Keep NumPy from starting BLAS threads, which no kernel uses; call before importing NumPy."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def labelled_rows(model: Model, files: list[str], **reading: Any) -> Source:
    """The rows of labelled files, read as the model was trained to read them."""
    from rosenblatt import data

    return data.open(files, features=model.features, classes=model.classes, **reading)


def only(name: str, value: str | None, **switches: bool) -> str:
    """The value of an option that has switches beside it; an OptionError if several are given.

    >>> only("analyzer", None, char=True, word=False)
    'char'
    """
    values = {*filter(None, [value]), *(key for key, is_set in switches.items() if is_set)}
    if len(values) > 1:
        raise OptionError(f"several values of --{name} are given: {', '.join(sorted(values))}")
    return values.pop()


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
