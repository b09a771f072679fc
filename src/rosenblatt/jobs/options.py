"""The options of :func:`rosenblatt.train`: how to read, and checks of the settings."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from rosenblatt import data
from rosenblatt.data import Source
from rosenblatt.data.files import is_stream
from rosenblatt.data.labels import joined_label
from rosenblatt.data.schema import refuse_unused_options
from rosenblatt.errors import OptionError
from rosenblatt.jobs.held_out import Target
from rosenblatt.jobs.run import Settings
from rosenblatt.kernels.text import Ngrams
from rosenblatt.models.calibration import METHODS
from rosenblatt.models.model import Model

_OF_NGRAMS = ("ngrams", "analyzer", "bits")
# Options that the features of a source or a model decide; the others are about parsing files.
_OF_FEATURES = ("label", "text", "columns", *_OF_NGRAMS, "missing", "label_separator")


def check_settings(settings: Settings, has_valid: bool, has_checkpoint: bool, resume: bool) -> None:
    """Refuse settings that are invalid or contradict each other."""
    s = settings
    if resume and not has_checkpoint:
        raise OptionError("resume needs checkpoint, the folder that the run was saved in")
    if s.epochs is not None and (s.max_epochs, s.patience) != (None, 3):
        raise OptionError("max_epochs and patience have no effect where epochs says how many")
    if has_valid and s.holdout:
        raise OptionError("valid and holdout exclude each other: both decide the number of epochs")
    for name, low in (("epochs", 1), ("max_epochs", 1), ("patience", 1), ("seed", 0)):
        value = getattr(s, name)
        if value is not None and value < low:
            raise OptionError(f"{name} must be at least {low}, got {value}")
    if any(value is not None and not value >= 0 for value in (s.threshold, s.padding)):
        raise OptionError("threshold and padding must not be negative")
    if s.multiclass not in (None, "ovr", "joint"):
        raise OptionError(f"multiclass is 'ovr' or 'joint', got {s.multiclass!r}")
    if s.holdout is not None and not 0 <= s.holdout < 1:
        raise OptionError(f"holdout is a share of the rows, from 0 to less than 1, got {s.holdout}")
    if s.calibrate not in (None, *METHODS):
        raise OptionError(f"calibrate is one of {', '.join(METHODS)} or None, got {s.calibrate!r}")
    if s.target is not None:
        Target.parse(s.target)
        if not has_valid and not s.held_out(has_valid) > 0:
            raise OptionError(
                "a target needs held-out rows: give holdout (--holdout 0.1) or valid (--valid)"
            )


def checked_class_weights(given: str | Mapping[str, float] | None) -> str | dict[str, float] | None:
    """Class weights, checked and as floats."""
    if given is None or given == "balanced":
        return given
    if not isinstance(given, Mapping):
        raise OptionError(f"class_weight is 'balanced' or a weight for each label, got {given!r}")
    weights = {str(label): float(weight) for label, weight in given.items()}
    for label, weight in weights.items():
        if not (math.isfinite(weight) and weight >= 0):
            raise OptionError(f"the weight of {label!r} is {weight:g}, but weights are from 0 on")
    return weights


def check_several_labels(source: Source, settings: Settings, tunes: bool) -> None:
    """Refuse settings that need exactly one label per row, if rows may have several."""
    if source.features.separator is None:
        return
    idle = {
        "class_weight": settings.class_weight is not None,
        "target": settings.target is not None,
        "multiclass": settings.multiclass not in (None, "ovr"),
        "tune": tunes,
    }
    for name, given in idle.items():
        if given:
            raise OptionError(f"{name} is for one label per row, and here a row may have several")


def check_tuning(source: Source, goes_on: bool, is_saved: bool) -> None:
    """Refuse to tune where that is impossible."""
    if goes_on:
        raise OptionError("tune begins anew: the model to go on from has its settings")
    if is_saved:
        raise OptionError("tune and checkpoint exclude each other: what is chosen depends on time")
    if any(map(is_stream, source.files)):
        raise OptionError(
            "tune reads the rows more than once: name files, not pipes or standard input"
        )


@dataclass(frozen=True)
class Reading:
    """The options of :func:`rosenblatt.train` about reading; see there."""

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
        """Open a source; with the features of `start`, or of `first` for validation files."""
        if isinstance(files, Source):
            if first is None:
                refuse_unused_options("opened", vars(self))
            return files
        if start is not None:
            self._check_start(start)
            of_files = self._of_files()
            return data.open(files, features=start.features, classes=start.classes, **of_files)
        if first is not None:
            return data.open(files, features=first.features, **self._of_files())
        source = data.open(files, **self.options())
        refuse_unused_options(source.format, vars(self))
        return source

    def open_again(self, files: Any, source: Source, ngrams: Ngrams) -> Source:
        """Open the files of a source again, with other n-grams."""
        if isinstance(files, Source):
            raise OptionError("tune opens the files itself: give their names, not an open source")
        features = replace(source.features, ngrams=ngrams)
        return data.open(files, features=features, **self._of_files())

    def options(self, start: Model | None = None) -> dict[str, Any]:
        """The options of :func:`rosenblatt.data.open`; without n-grams if a model decides them."""
        given = {name: value for name, value in vars(self).items() if name not in _OF_NGRAMS}
        if start is not None:
            self._check_start(start)
            return given
        expect_text = self.ngrams is not None or self.analyzer is not None
        return given | {"ngrams": self._hashing(), "expect_text": expect_text}

    @property
    def has_ngrams(self) -> bool:
        """Whether any option about n-grams was given."""
        return any(getattr(self, name) is not None for name in _OF_NGRAMS)

    def _check_start(self, start: Model) -> None:
        """Refuse options that the start model decides."""
        given = [name for name in _OF_FEATURES if getattr(self, name) is not None]
        if joined_label(self.label) == start.features.label and "label" in given:
            given.remove("label")
        if given:
            raise OptionError(f"the model to go on from decides about {', '.join(given)}")

    def _of_files(self) -> dict[str, Any]:
        """The options about parsing files."""
        return {name: value for name, value in vars(self).items() if name not in _OF_FEATURES}

    def _hashing(self) -> Ngrams:
        if self.analyzer not in (None, "word", "char"):
            raise OptionError(f"analyzer is 'word' or 'char', got {self.analyzer!r}")
        given = 2 if self.ngrams is None else self.ngrams
        low, high = given if isinstance(given, tuple) else (1, given)
        if not 1 <= low <= high:
            raise OptionError(f"ngrams must be n >= 1 or 1 <= low <= high, got {given!r}")
        return Ngrams(low, high, self.analyzer == "char", 22 if self.bits is None else self.bits)
