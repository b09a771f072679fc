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
    "data": None,
    "error_bracket": "rosenblatt.theory",
    "examples": None,
    "lab": None,
    "learn_online": "rosenblatt.estimators",
    "load": "rosenblatt.models",
    "max_margin": "rosenblatt.theory",
    "mistake_bound": "rosenblatt.theory",
    "reference": None,
    "risk_report": "rosenblatt.theory",
    "save": "rosenblatt.models",
    "theory": None,
    "trace": "rosenblatt.tracing",
    "tracing": None,
    "verify": "rosenblatt.theory",
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
