"""Every estimator of the package, found by introspection, keeps scikit-learn's conventions."""

import inspect

import pytest
from sklearn.base import BaseEstimator
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

import rosenblatt
from rosenblatt import Perceptron, estimators

FOUND = [
    value()
    for name, value in inspect.getmembers(estimators, inspect.isclass)
    # scikit-learn has no checks for estimators that take texts, one a row.
    if issubclass(value, BaseEstimator) and get_tags(value()).input_tags.two_d_array
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks(
    [
        *FOUND,
        Perceptron.textbook(),
        Perceptron(multiclass="joint", keep="best"),
        Perceptron.textbook(multiclass="ovo"),
    ],
)
def test_scikit_learns_own_checks_pass(estimator, check):
    check(estimator)


def test_every_public_name_is_there_and_documented():
    for name in set(rosenblatt.__all__) - {"__version__"}:
        assert inspect.getdoc(getattr(rosenblatt, name)), name
    assert set(dir(rosenblatt)) == set(rosenblatt.__all__) - {"__version__"}
    with pytest.raises(AttributeError, match="has no attribute 'perceptron'"):
        rosenblatt.perceptron  # noqa: B018
