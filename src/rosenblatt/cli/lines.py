"""Lines and figures that several commands print."""

from __future__ import annotations

import math
import sys
import textwrap
from typing import TYPE_CHECKING, Any

import typer

from rosenblatt.counts import counted, noun

if TYPE_CHECKING:
    from rosenblatt.models.model import Model

WIDTH = 80  # of a terminal on which no line wraps


def say(text: str, err: bool = False) -> None:
    """Print sentences: broken between words on a terminal, one per line elsewhere."""
    if (sys.stderr if err else sys.stdout).isatty():
        text = "\n".join(_broken(line) for line in text.splitlines())
    typer.echo(text, err=err)


def _broken(line: str) -> str:
    """A line as several of at most 80 characters; what has no space stays whole.

    >>> print(_broken("Hyperplane: " + "petal length + " * 6 + "1 > 0 for class y."))
    Hyperplane: petal length + petal length + petal length + petal length + petal
      length + petal length + 1 > 0 for class y.
    """
    return textwrap.fill(
        line, WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    )


def readable_size(bytes: float) -> str:
    """A number of bytes for readers.

    >>> readable_size(740), readable_size(33_300), readable_size(22_100_000)
    ('740 bytes', '33.3 kB', '22.1 MB')
    """
    if bytes < 1000:
        return counted(int(bytes), "byte")
    return f"{bytes / 1e3:.1f} kB" if bytes < 1e6 else f"{bytes / 1e6:.1f} MB"


def percent(share: float) -> str:
    """A share as a percentage, or a dash.

    >>> percent(0.0925), percent(float("nan"))
    ('9.25 %', '-')
    """
    return "-" if math.isnan(share) else f"{100 * share:.2f} %"


def extent(model: Model) -> str:
    """How many classes and features a model has."""
    classes = counted(len(model.classes), "class", "classes")
    return f"{classes}, {counted(len(model.columns), 'feature')}"


def epoch_line(number: int, updates: int, record: dict[str, Any]) -> str:
    """An epoch in at most 80 characters."""
    progressive, validation = (
        percent(record.get(name, math.nan)) for name in ("progressive_error", "validation_error")
    )
    return (
        f"epoch {number:<3} {updates:>9,} {noun(updates, 'update'):<7}   "
        f"progressive error {progressive:>8}   validation {validation:>8}"
    )
