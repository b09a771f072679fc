"""The perceptron, taken seriously: train it at memory speed, watch it learn, prove what it learned.

Names are imported when they are first used, so that ``import rosenblatt`` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_HOME = {
    "DataError": "rosenblatt.errors",
    "HashedNgrams": "rosenblatt.estimators",
    "ModelFormatError": "rosenblatt.errors",
    "OneByOne": "rosenblatt.estimators",
    "Perceptron": "rosenblatt.estimators",
    "certify": "rosenblatt.theory",
    "error_bracket": "rosenblatt.theory",
    "learn_online": "rosenblatt.estimators",
    "max_margin": "rosenblatt.theory",
    "mistake_bound": "rosenblatt.theory",
    "risk_report": "rosenblatt.theory",
    "verify": "rosenblatt.theory",
    "examples": None,
    "lab": None,
    "reference": None,
    "theory": None,
    "trace": "rosenblatt.tracing",
    "tracing": None,
    "viz": None,
}

__all__ = sorted([*_HOME, "__version__"])


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'rosenblatt' has no attribute {name!r}")
    home = _HOME[name]
    value = getattr(import_module(home), name) if home else import_module(f"rosenblatt.{name}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
