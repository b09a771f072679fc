"""The scikit-learn estimators; imported lazily."""

from rosenblatt._lazy import lazily

_NAMES = {
    "family": (
        "ALMA", "AROW", "NAROW", "ROMMA", "SCW", "ConfidenceWeighted", "NormalHerd",
        "OnlineGradient", "PassiveAggressive", "SecondOrderPerceptron",
    ),
    "hashed_ngrams": ("HashedNgrams",),
    "kernel_perceptron": ("KernelPerceptron",),
    "lift": ("Attempt", "Lift", "find_lift"),
    "online": ("OneByOne", "OnlineRun", "learn_online"),
    "perceptron": ("Perceptron",),
}  # fmt: skip
_HOME = {name: f"{__name__}.{module}" for module, names in _NAMES.items() for name in names}

__all__ = sorted(_HOME)
__getattr__, __dir__ = lazily(__name__, _HOME, globals())
