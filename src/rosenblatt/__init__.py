"""The perceptron, taken seriously: train it at memory speed, watch it learn, prove what it learned.

Names are imported when they are first used, so that ``import rosenblatt`` costs nothing.
"""

from __future__ import annotations

from rosenblatt._lazy import lazily

__version__ = "0.1.0"

_NAMES = {
    "errors": ("DataError", "ModelFormatError"),
    "estimators": (
        "HashedNgrams", "KernelPerceptron", "OneByOne", "Ordinal", "find_lift", "learn_online",
    ),
    "estimators.compare": ("compare",),
    "jobs.options": ("TrainOptions",),
    "jobs.table_classifier": ("TableClassifier",),
    "jobs.train": ("train",),
    "lifts": ("Lift",),
    "models": ("Model", "from_fasttext", "load", "save"),
    "theory": ("certify", "error_bracket", "max_margin", "mistake_bound", "risk_report", "verify"),
    "tracing": ("trace",),
}  # fmt: skip
_MODULES = (
    "cluster", "data", "gpu", "lab", "reference", "rules", "teaching_sets", "theory", "tracing",
    "viz",
)  # fmt: skip
_HOME: dict[str, str | None] = {
    name: f"{__name__}.{module}" for module, names in _NAMES.items() for name in names
} | dict.fromkeys(_MODULES)


def _of_rules() -> dict[str, str]:
    """The estimators of all learning rules, which are in their registry."""
    from rosenblatt.rules.registry import estimators

    return dict.fromkeys(estimators(), f"{__name__}.estimators")


# `__all__` is among the names that are made when they are asked for.
__getattr__, __dir__ = lazily(__name__, _HOME, globals(), _of_rules)
