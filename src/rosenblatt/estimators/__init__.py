"""The scikit-learn estimators; imported lazily."""

from rosenblatt._lazy import lazily
from rosenblatt.rules.registry import estimators

_NAMES = {
    "hashed_ngrams": ("HashedNgrams",),
    "kernel_perceptron": ("KernelPerceptron",),
    "lift": ("Attempt", "LiftSearch", "find_lift"),
    "ordinal": ("Ordinal",),
    "online": ("OneByOne", "OnlineRun", "learn_online"),
    "perceptron": ("Perceptron",),
}
_HOME = {name: f"{__name__}.{module}" for module, names in _NAMES.items() for name in names}


def _of_rules() -> dict[str, str]:
    return dict.fromkeys(estimators(), f"{__name__}.family") | _HOME


__getattr__, __dir__ = lazily(__name__, _HOME, globals(), _of_rules)
