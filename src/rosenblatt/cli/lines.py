"""Sizes, shares and lines as several commands print them."""

from __future__ import annotations

import math
import os
import shutil
import sys
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import typer

from rosenblatt.errors import counted, noun, visible

if TYPE_CHECKING:
    from rosenblatt.data.features import Features
    from rosenblatt.kernels.text import Ngrams
    from rosenblatt.models.model import Model

WIDTH = 80  # columns of a terminal, unless it says otherwise
_WIDEST = 120
_CODES = {"strong": "1", "good": "32", "bad": "31", "quiet": "2", "name": "36"}


class Styled(str):
    """A piece of a line in a style, which terminals with colours show."""

    style: str

    def __new__(cls, text: str, style: str) -> Styled:
        """A piece that is the text everywhere but in :func:`painted`."""
        piece = super().__new__(cls, text)
        piece.style = style
        return piece


Line = str | Sequence[str]


def say(*lines: Line, err: bool = False, wrap: bool = True) -> None:
    """Print lines with their control characters escaped, wrapped on a terminal.

    All that a command prints for people goes through here, or is made `visible` by its printer.
    A line may be a list of pieces, some of them :class:`Styled`.
    """
    wrap = wrap and (sys.stderr if err else sys.stdout).isatty()
    for line in lines:
        plain = visible(line if isinstance(line, str) else "".join(line))
        is_long = wrap and len(plain) > width()
        typer.echo(_wrapped(plain, width()) if is_long else painted(line, err), err=err)


def painted(line: Line, err: bool = False) -> str:
    """A line with its control characters escaped, and its styles if the terminal has colours.

    The environment variable NO_COLOR switches them off.
    """
    stream = sys.stderr if err else sys.stdout
    coloured = stream.isatty() and not os.environ.get("NO_COLOR")
    coloured = coloured and os.environ.get("TERM") != "dumb"
    shown = ""
    for piece in [line] if isinstance(line, str) else line:
        style = _CODES.get(getattr(piece, "style", ""))
        text = visible(piece)
        shown += f"\x1b[{style}m{text}\x1b[0m" if coloured and style and text else text
    return shown


def width() -> int:
    """The columns of the terminal, between 60 and 120; 80 without one."""
    return min(max(shutil.get_terminal_size((WIDTH, 24)).columns, 60), _WIDEST)


def bar(share: float, style: str, columns: int = 20) -> Styled:
    """A bar of blocks for a share between 0 and 1, on a terminal; nothing elsewhere."""
    eighths = round(8 * columns * min(abs(share), 1)) if sys.stdout.isatty() else 0
    return Styled("█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip(), style)


def _wrapped(line: str, columns: int) -> str:
    """A line wrapped between words.

    >>> print(_wrapped("Hyperplane: " + "petal length + " * 6 + "1 > 0 for class y.", 80))
    Hyperplane: petal length + petal length + petal length + petal length + petal
      length + petal length + 1 > 0 for class y.
    """
    return textwrap.fill(
        line, columns, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
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
    pieces = ", 1 to 5 characters" if n.analyzer == "pieces" else ""
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
