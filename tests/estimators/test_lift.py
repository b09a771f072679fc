"""The smallest map that separates, and what is said when none does."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.preprocessing import PolynomialFeatures

from rosenblatt import Perceptron, certify, find_lift, teaching_sets, verify


def xor():
    example = teaching_sets.load("xor")
    return np.array(example.X), np.array(example.y)


def test_xor_needs_pairwise_products():
    X, y = xor()
    lift = find_lift(X, y)
    assert lift.separable
    assert lift.found.name == "pairwise products"
    assert [a.verdict for a in lift.attempts] == ["inseparable", "separable"]
    assert verify(lift.found.certificate, lift.transform(X), y)
    model = lift.pipeline().fit(X, y)
    assert model[-1].stop_reason_ == "separated"
    assert model[-1].n_updates_ <= lift.found.mistake_bound


def test_not_good_and_not_bad_need_pairs_of_words():
    notes = teaching_sets.load("not-good")
    lift = find_lift(list(notes.row_names), notes.y)
    assert lift.found.name == "words and pairs"
    assert lift.found.size == 5
    assert [a.size for a in lift.attempts] == [3, 5]
    by_hand = certify(teaching_sets.load("not-good-bigrams").X, notes.y)
    assert lift.found.mistake_bound == by_hand.mistake_bound
    assert lift.found.margin == pytest.approx(by_hand.augmented.lower, rel=1e-9)


def test_separable_data_need_no_map():
    iris = teaching_sets.load("iris")
    lift = find_lift(np.array(iris.X), np.array(iris.y))
    assert (lift.found.name, lift.found.size) == ("identity", 2)
    assert lift.found.mistake_bound == 410
    assert lift.found.validation_error < 0.05


def test_circles_need_squares():
    random = np.random.default_rng(0)
    angle, length = random.uniform(0, 2 * np.pi, 60), np.repeat([1.0, 2.0], 30)
    X = np.column_stack([length * np.cos(angle), length * np.sin(angle)])
    lift = find_lift(X, length)
    assert lift.found.name == "polynomials of degree 2"
    assert lift.found.validation_error < 0.1


def test_where_no_map_separates_all_errors_are_shown():
    X = np.array([[0.0], [0.0], [0.0], [0.0], [1.0], [1.0], [1.0], [1.0]])
    y = np.array([0, 0, 0, 1, 1, 1, 1, 0])  # the same point twice, with two labels
    lift = find_lift(X, y, maps=[PolynomialFeatures(2), PolynomialFeatures(3)])
    assert not lift.separable
    assert lift.found is None
    assert "None of these maps separates" in str(lift)
    assert len(lift.attempts) == 2
    assert all(0 < a.validation_error < 1 for a in lift.attempts)
    assert all(math.isnan(a.margin) and a.mistake_bound == math.inf for a in lift.attempts)
    assert lift.best.validation_error == min(a.validation_error for a in lift.attempts)
    assert lift.pipeline().fit(X, y).score(X, y) >= 0.5


def test_maps_are_tried_in_order_of_size_whatever_order_they_come_in():
    X, y = xor()
    maps = {"large": PolynomialFeatures(3), "small": PolynomialFeatures(1)}
    assert [a.name for a in find_lift(X, y, maps).attempts] == ["small", "large"]


def test_maps_that_are_too_large_are_left_out_and_said_so():
    X, y = xor()
    lift = find_lift(X, y, max_features=2)
    assert [a.verdict for a in lift.attempts] == ["inseparable", *["too large"] * 3]
    assert lift.best.name == "identity"
    assert "too large" in str(lift)
    wide = np.random.default_rng(0).normal(size=(6, 80))
    assert find_lift(wide, [0, 1] * 3, [PolynomialFeatures(3)]).best.verdict == "too large"
    assert find_lift(sparse.csr_array(wide), [0, 1] * 3, [PolynomialFeatures(2)]).separable


def test_of_millions_of_columns_no_products_are_made():
    rows = sparse.csr_array(([1.0, 2.0], ([0, 1], [5, 4_000_000])), shape=(4, 1 << 22))
    lift = find_lift(rows, [0, 1, 1, 0], folds=0)
    assert [(a.name, a.verdict) for a in lift.attempts] == [("identity", "too large")]
    tried = find_lift(rows[:2], [0, 1], max_features=1 << 22, folds=0)
    assert tried.found.name == "identity"


def test_several_classes_are_separated_each_from_the_rest():
    X, y = np.array([[0.0], [1.0], [2.0]]), ["a", "b", "c"]
    lift = find_lift(X, y)
    assert lift.found.name == "polynomials of degree 2"
    bounds = [c.mistake_bound for c in lift.found.certificates]
    assert lift.found.mistake_bound == sum(bounds)
    model = lift.pipeline(Perceptron.textbook(shuffle=False, tol=None, max_iter=10**6)).fit(X, y)
    assert model.score(X, y) == 1.0
    assert model[-1].n_updates_ <= sum(bounds)


def test_sparse_rows_and_pandas_text_work():
    import pandas as pd

    X, y = xor()
    assert find_lift(sparse.csr_array(X), y).found.name == "pairwise products"
    texts = pd.Series(["good", "bad", "not good", "not bad"])
    assert find_lift(texts, [1, 0, 0, 1]).found.size == 5
    vectors = [CountVectorizer(ngram_range=(1, 2))]
    assert find_lift(texts, [1, 0, 0, 1], vectors).separable


def test_rows_and_labels_must_match():
    with pytest.raises(ValueError, match="inconsistent"):
        find_lift([[0.0], [1.0]], [0, 1, 1])


@settings(max_examples=25)
@given(
    st.lists(st.tuples(st.integers(-2, 2), st.integers(-2, 2)), min_size=4, max_size=8), st.data()
)
def test_what_is_found_separates_and_nothing_smaller_did(points, draw):
    X = np.array(points, dtype=float)
    y = np.array(draw.draw(st.permutations(([0, 1] * 4)[: len(X)])))
    lift = find_lift(X, y, folds=0)
    for attempt in lift.attempts:
        features = attempt.transformer.transform(X)
        assert attempt.separable == certify(features, y).separable
        assert attempt.separable == (attempt is lift.found)


def test_a_few_rows_get_as_many_rbf_features_as_half_of_them():
    turn = np.linspace(0.5, 3, 40) * 2 * np.pi
    arm = np.column_stack([turn * np.cos(turn), turn * np.sin(turn)])
    lift = find_lift(np.vstack([arm, -arm]), np.repeat([0, 1], 40), folds=0)
    assert "40 RBF features" in [a.name for a in lift.attempts]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"maps": {}}, ValueError, "empty"),
        ({"maps": {"three": 3}}, TypeError, "'three' is not a transformer"),
        ({"folds": -1}, ValueError, "folds"),
    ],
)
def test_maps_that_are_none_are_refused_by_name(options, error, message):
    with pytest.raises(error, match=message):
        find_lift(*xor(), **options)
    with pytest.raises(ValueError, match=r"X\[1\] is not a string"):
        find_lift(["good", 3], [0, 1])
