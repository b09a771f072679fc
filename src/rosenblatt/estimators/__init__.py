"""The scikit-learn face: check the input, train, show what came of it."""

from rosenblatt._lazy import lazily

_HOME = {
    "ALMA": "rosenblatt.estimators.family",
    "AROW": "rosenblatt.estimators.family",
    "NAROW": "rosenblatt.estimators.family",
    "ROMMA": "rosenblatt.estimators.family",
    "SCW": "rosenblatt.estimators.family",
    "ConfidenceWeighted": "rosenblatt.estimators.family",
    "NormalHerd": "rosenblatt.estimators.family",
    "OnlineGradient": "rosenblatt.estimators.family",
    "PassiveAggressive": "rosenblatt.estimators.family",
    "SecondOrderPerceptron": "rosenblatt.estimators.family",
    "Attempt": "rosenblatt.estimators.lift",
    "HashedNgrams": "rosenblatt.estimators.hashed_ngrams",
    "KernelPerceptron": "rosenblatt.estimators.kernel_perceptron",
    "Lift": "rosenblatt.estimators.lift",
    "OneByOne": "rosenblatt.estimators.online",
    "OnlineRun": "rosenblatt.estimators.online",
    "Perceptron": "rosenblatt.estimators.perceptron",
    "find_lift": "rosenblatt.estimators.lift",
    "Fits": "rosenblatt.estimators.many",
    "fit_many": "rosenblatt.estimators.many",
    "learn_online": "rosenblatt.estimators.online",
    "train": "rosenblatt.estimators.files",
}

__all__ = sorted(_HOME)
__getattr__, __dir__ = lazily(__name__, _HOME, globals())
