"""The perceptron, taken seriously: train it at memory speed, watch it learn, prove what it learned.

Names are imported when they are first used, so that ``import rosenblatt`` costs nothing.
"""

from __future__ import annotations

from rosenblatt._lazy import lazily

__version__ = "0.1.0"

_HOME = {
    "ALMA": "rosenblatt.estimators",
    "AROW": "rosenblatt.estimators",
    "NAROW": "rosenblatt.estimators",
    "ROMMA": "rosenblatt.estimators",
    "SCW": "rosenblatt.estimators",
    "ConfidenceWeighted": "rosenblatt.estimators",
    "NormalHerd": "rosenblatt.estimators",
    "OnlineGradient": "rosenblatt.estimators",
    "PassiveAggressive": "rosenblatt.estimators",
    "SecondOrderPerceptron": "rosenblatt.estimators",
    "DataError": "rosenblatt.errors",
    "HashedNgrams": "rosenblatt.estimators",
    "KernelPerceptron": "rosenblatt.estimators",
    "Model": "rosenblatt.models",
    "ModelFormatError": "rosenblatt.errors",
    "OneByOne": "rosenblatt.estimators",
    "Perceptron": "rosenblatt.estimators",
    "certify": "rosenblatt.theory",
    "cluster": None,
    "compare": "rosenblatt.comparison",
    "data": None,
    "error_bracket": "rosenblatt.theory",
    "examples": None,
    "find_lift": "rosenblatt.estimators",
    "fit_many": "rosenblatt.estimators",
    "lab": None,
    "learn_online": "rosenblatt.estimators",
    "load": "rosenblatt.persistence",
    "max_margin": "rosenblatt.theory",
    "mistake_bound": "rosenblatt.theory",
    "reference": None,
    "risk_report": "rosenblatt.theory",
    "save": "rosenblatt.persistence",
    "theory": None,
    "train": "rosenblatt.estimators",
    "trace": "rosenblatt.tracing",
    "tracing": None,
    "verify": "rosenblatt.theory",
    "viz": None,
}

__all__ = sorted([*_HOME, "__version__"])
__getattr__, __dir__ = lazily(__name__, _HOME, globals())
