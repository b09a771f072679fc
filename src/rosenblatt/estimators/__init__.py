"""The scikit-learn face: check the input, train, show what came of it."""

from rosenblatt.estimators.kernel_perceptron import KernelPerceptron
from rosenblatt.estimators.lift import Attempt, Lift, find_lift
from rosenblatt.estimators.online import OneByOne, OnlineRun, learn_online
from rosenblatt.estimators.perceptron import Perceptron

__all__ = [
    "Attempt",
    "KernelPerceptron",
    "Lift",
    "OneByOne",
    "OnlineRun",
    "Perceptron",
    "find_lift",
    "learn_online",
]
