"""Sizes, shares and lines as several commands print them."""

from __future__ import annotations

import math
import sys
import textwrap
from typing import TYPE_CHECKING, Any

import typer

from rosenblatt.errors import counted, noun, visible

if TYPE_CHECKING:
    from rosenblatt.data.features import Features
    from rosenblatt.kernels.text import Ngrams
    from rosenblatt.models.model import Model

WIDTH = 80  # columns of a terminal


def say(*lines: str, err: bool = False, wrap: bool = True) -> None:
    """Print lines with their control characters escaped, wrapped on a terminal.

    All that a command prints for people goes through here, or is made `visible` by its printer.
    """
    wrap = wrap and (sys.stderr if err else sys.stdout).isatty()
    for line in map(visible, lines):
        typer.echo(_wrapped(line) if wrap and len(line) > WIDTH else line, err=err)


def _wrapped(line: str) -> str:
    """A line wrapped between words at 80 characters.

    >>> print(_wrapped("Hyperplane: " + "petal length + " * 6 + "1 > 0 for class y."))
    Hyperplane: petal length + petal length + petal length + petal length + petal
      length + petal length + 1 > 0 for class y.
    """
    return textwrap.fill(
        line, WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    )


def readable_size(bytes: float) -> str:
    """A number of bytes in bytes, kB or MB.

    >>> readable_size(740), readable_size(33_300), readable_size(22_100_000)
    ('740 bytes', '33.3 kB', '22.1 MB')
    """
    if bytes < 1000:
        return counted(int(bytes), "byte")
    return f"{bytes / 1e3:.1f} kB" if bytes < 1e6 else f"{bytes / 1e6:.1f} MB"


def percent(share: float) -> str:
    """A share as a percentage; a dash for NaN.

    >>> percent(0.0925), percent(float("nan"))
    ('9.25 %', '-')
    """
    return "-" if math.isnan(share) else f"{100 * share:.2f} %"


def extent(model: Model) -> str:
    """The numbers of classes and features of a model."""
    classes = counted(len(model.classes), "class", "classes")
    return f"{classes}, {counted(len(model.columns), 'feature')}"


def ngram_range(n: Ngrams) -> str:
    """How text is hashed."""
    what = {"char": "characters", "word": "words"}.get(n.analyzer, "words and marks")
    pieces = ", 2 to 5 characters" if n.analyzer == "both" else ""
    return f"of {n.low} to {n.high} {what}{pieces}, hashed to 2^{n.bits}"


def feature_line(features: Features, width: int = 0) -> str:
    """What the features of svmlight and Vowpal Wabbit files are."""
    parts = [f"as they stand in {features.origin} files"]
    longest, crosses = features.products
    parts += [f"n-grams of up to {longest}"] * (longest > 1)
    parts += [f"crosses {' '.join(crosses)}"] if crosses else []
    return f"{'features':<{width}}{'' if width else ' '}{', '.join(parts)}"


def epoch_line(number: int, updates: int, record: dict[str, Any]) -> str:
    """An epoch in at most 80 characters."""
    progressive, validation = (
        percent(record.get(name, math.nan)) for name in ("progressive_error", "validation_error")
    )
    return (
        f"epoch {number:<3} {updates:>9,} {noun(updates, 'update'):<7}   "
        f"progressive error {progressive:>8}   validation {validation:>8}"
    )
