"""The errors of the package: what was expected, what was found, and where."""

from __future__ import annotations

import os


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
            *([f"column {column!r}"] if column is not None else []),
        ]
        super().__init__(f"{', '.join(place)}: {message}" if place else message)
        self.path, self.line, self.column = path, line, column


class ModelFormatError(ValueError):
    """A model file is damaged, foreign or of a version this release cannot read."""


class MissingExtraError(ImportError):
    """A feature needs optional packages that are not installed."""

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(f'{feature} needs an extra: pip install "rosenblatt[{extra}]"')
