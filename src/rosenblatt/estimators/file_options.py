"""What :func:`rosenblatt.train` refuses: settings without a meaning, and contradictions."""

from __future__ import annotations

import math
from collections.abc import Mapping

from rosenblatt.data import Source
from rosenblatt.data.files import STDIN
from rosenblatt.errors import OptionError
from rosenblatt.estimators.file_run import Settings
from rosenblatt.estimators.held_out import Target
from rosenblatt.models.calibration import METHODS


def check_settings(settings: Settings, has_valid: bool, has_checkpoint: bool, resume: bool) -> None:
    """Refuse settings that have no meaning, or contradict each other."""
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
    """Weights of classes, checked."""
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
    """Refuse what has a meaning only where each row has one label."""
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
    """Refuse to tune where that has no meaning."""
    if goes_on:
        raise OptionError("tune begins anew: the model to go on from has its settings")
    if is_saved:
        raise OptionError("tune and checkpoint exclude each other: what is chosen depends on time")
    if STDIN in source.files:
        raise OptionError("tune reads the rows more than once, and standard input cannot be")
