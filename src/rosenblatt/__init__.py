"""The perceptron, taken seriously: train it at memory speed, watch it learn, prove what it learned.

Names are imported when they are first used, so that ``import rosenblatt`` costs nothing.
"""

from __future__ import annotations

from rosenblatt._lazy import lazily

__version__ = "0.1.0"

_HOME = {
    "DataError": "rosenblatt.errors",
    "KernelPerceptron": "rosenblatt.estimators",
    "ModelFormatError": "rosenblatt.errors",
    "OneByOne": "rosenblatt.estimators",
    "Perceptron": "rosenblatt.estimators",
    "certify": "rosenblatt.theory",
    "error_bracket": "rosenblatt.theory",
    "find_lift": "rosenblatt.estimators",
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
__getattr__, __dir__ = lazily(__name__, _HOME, globals())
