"""The scikit-learn face: check the input, train, show what came of it."""

from rosenblatt.estimators.hashed_ngrams import HashedNgrams
from rosenblatt.estimators.online import OneByOne, OnlineRun, learn_online
from rosenblatt.estimators.perceptron import Perceptron

__all__ = ["HashedNgrams", "OneByOne", "OnlineRun", "Perceptron", "learn_online"]
