"""The errors of the package, and how messages spell counts, values and names."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Any

_LONGEST = 500
# Control and format characters, which move the cursor, hide or reorder what a terminal shows, and
# halves of surrogate pairs. The two joiners of scripts and emojis (U+200C and U+200D) may stay.
_INVISIBLE = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f"
    "\ud800-\udfff\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)


def visible(text: str) -> str:
    r"""One line of text with control characters escaped, as everything shown on a terminal is.

    Line breaks too: names from strangers' files must not begin a line.

    >>> print(visible("Gr\xfc\xdfe\x1b[2K\r\u202ePROVEN\n"))
    Grüße\x1b[2K\r\u202ePROVEN\n
    """
    return _INVISIBLE.sub(lambda match: repr(match[0])[1:-1], text)


def noun(count: int, one: str, many: str | None = None) -> str:
    """Singular or plural of a noun, by its count.

    >>> noun(1, "class", "classes"), noun(2, "row")
    ('class', 'rows')
    """
    return one if count == 1 else many or f"{one}s"


def counted(count: int, one: str, many: str | None = None) -> str:
    """A count with its noun.

    >>> counted(1, "epoch"), counted(25_000, "bad row"), counted(0, "class", "classes")
    ('1 epoch', '25,000 bad rows', '0 classes')
    """
    return f"{count:,} {noun(count, one, many)}"


def shown(value: Any, most: int = 60) -> str:
    """A value as a message shows it: long ones are cut.

    >>> shown("abc"), shown("ab" * 500, most=10)
    ("'abc'", "'abababab... (1,000 characters)")
    """
    if isinstance(value, bytes):
        value = value.decode(errors="replace")
    plain = repr(value)
    if len(plain) <= most + 2:
        return plain
    return f"{plain[: most - 1]}... ({len(plain) - 2:,} characters)"


def listed(names: Sequence[str], most: int = 20) -> str:
    """Names as a message lists them: only the first of many.

    >>> listed(["a", "b", "c"], most=2)
    'a, b and 1 more'
    """
    cut = [name if len(name) <= 40 else name[:37] + "..." for name in names[:most]]
    first = ", ".join(map(visible, cut))
    return first if len(names) <= most else f"{first} and {len(names) - most:,} more"


class DataError(ValueError):
    """An input file has an invalid value or structure.

    Parameters
    ----------
    message : str
        What was expected and what was found, as one sentence.
    path, line, column
        The place, as far as it is known. Lines count from 1.

    Examples
    --------
    >>> raise DataError("expected a number, found 'abc'", path="a.csv", line=3, column="age")
    Traceback (most recent call last):
    ...
    rosenblatt.errors.DataError: a.csv, line 3, column 'age': expected a number, found 'abc'
    """

    def __init__(
        self,
        message: str,
        *,
        path: str | os.PathLike[str] | None = None,
        line: int | None = None,
        column: str | int | None = None,
    ) -> None:
        place = [
            *([os.fspath(path)] if path is not None else []),
            *([f"line {line}"] if line is not None else []),
            *([f"column {shown(column)}"] if column is not None else []),
        ]
        if len(message) > _LONGEST:
            message = message[: _LONGEST - 3] + "..."
        super().__init__(f"{', '.join(place)}: {message}" if place else message)
        self.path, self.line, self.column = path, line, column


class NoRowsError(DataError):
    """A file or a stream has no rows at all."""


class ModelFormatError(ValueError):
    """A model file is damaged, foreign or of a version this release cannot read."""


class OptionError(ValueError):
    """An option has no meaning, or contradicts another one."""


class MissingExtraError(ImportError):
    """A feature needs optional packages that are not installed."""

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(
            f'{feature} needs an extra: pip install ".[{extra}]" in a clone of rosenblatt'
        )
