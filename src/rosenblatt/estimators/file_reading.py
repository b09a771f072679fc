"""How :func:`rosenblatt.train` reads: its options of reading, and the sources they open."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from rosenblatt import data
from rosenblatt.data import Source
from rosenblatt.data.labels import joined_name
from rosenblatt.data.schema import refuse_idle
from rosenblatt.errors import OptionError
from rosenblatt.kernels.text import Ngrams
from rosenblatt.models import Model

_OF_NGRAMS = ("ngrams", "analyzer", "bits")
# What the features of a source or a model hold; the other options say how a file is taken apart.
_OF_FEATURES = ("label", "text", "columns", *_OF_NGRAMS, "missing", "label_separator")


@dataclass(frozen=True)
class Reading:
    """What :func:`rosenblatt.train` is told about reading; see there.

    >>> frame = {"label": ["a", "b"], "text": ["so good", "so bad"]}
    >>> Reading(ngrams=3).open(frame).features.ngrams.high
    3
    """

    label: str | int | Iterable[str] | None = None
    text: str | Iterable[str] | None = None
    columns: Iterable[str] | Mapping[str, str] | None = None
    ngrams: int | tuple[int, int] | None = None
    analyzer: str | None = None
    bits: int | None = None
    format: str | None = None
    header: bool | None = None
    missing: Iterable[str] | None = None
    label_separator: str | None = None
    skip_bad_rows: bool = False

    def open(self, files: Any, start: Model | None = None, first: Source | None = None) -> Source:
        """A source; one for validation reads as `first` does, one to go on as `start` does."""
        if isinstance(files, Source):
            if first is None:
                refuse_idle("opened", self._given())
            return files
        if start is not None:
            self._check_start(start)
            of_files = self._of_files()
            return data.open(files, features=start.features, classes=start.classes, **of_files)
        if first is not None:
            return data.open(files, features=first.features, **self._of_files())
        source = data.open(files, **self.options())
        refuse_idle(source.format, self._given())
        return source

    def open_again(self, files: Any, source: Source, ngrams: Ngrams) -> Source:
        """The files of a source with other n-grams."""
        if isinstance(files, Source):
            raise OptionError("tune opens the files itself: give their names, not an open source")
        features = replace(source.features, ngrams=ngrams)
        return data.open(files, features=features, **self._of_files())

    def options(self, start: Model | None = None) -> dict[str, Any]:
        """The options of :func:`rosenblatt.data.open`; without n-grams for a model to go on."""
        given = {name: value for name, value in self._given().items() if name not in _OF_NGRAMS}
        if start is not None:
            self._check_start(start)
            return given
        expect_text = self.ngrams is not None or self.analyzer is not None
        return given | {"ngrams": self._hashing(), "expect_text": expect_text}

    @property
    def has_ngrams(self) -> bool:
        """Whether something was asked for about n-grams."""
        return any(getattr(self, name) is not None for name in _OF_NGRAMS)

    def _given(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def _check_start(self, start: Model) -> None:
        """Refuse options that the model to go on from decides about."""
        given = [name for name in _OF_FEATURES if getattr(self, name) is not None]
        if joined_name(self.label) == start.features.label and "label" in given:
            given.remove("label")
        if given:
            raise OptionError(f"the model to go on from decides about {', '.join(given)}")

    def _of_files(self) -> dict[str, Any]:
        """The options that do not speak of features."""
        return {name: value for name, value in self._given().items() if name not in _OF_FEATURES}

    def _hashing(self) -> Ngrams:
        if self.analyzer not in (None, "word", "char"):
            raise OptionError(f"analyzer is 'word' or 'char', got {self.analyzer!r}")
        given = 2 if self.ngrams is None else self.ngrams
        low, high = given if isinstance(given, tuple) else (1, given)
        if not 1 <= low <= high:
            raise OptionError(f"ngrams must be n >= 1 or 1 <= low <= high, got {given!r}")
        return Ngrams(low, high, self.analyzer == "char", 22 if self.bits is None else self.bits)
