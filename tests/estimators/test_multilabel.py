"""Indicator matrices: every column is a problem of its own, and all are trained in one run."""

import pickle
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics import accuracy_score, f1_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.preprocessing import MultiLabelBinarizer
from sklearn.utils.estimator_checks import check_classifier_multioutput

from rosenblatt import (
    AROW,
    SCW,
    OneByOne,
    OnlineGradient,
    PassiveAggressive,
    Perceptron,
    learn_online,
    load,
    save,
)
from rosenblatt.estimators._input import Targets

FAMILY = [
    PassiveAggressive, AROW, SCW, OnlineGradient,
    lambda **options: OnlineGradient(method="adagrad", **options),
]  # fmt: skip
FIXED = {"shuffle": False, "max_iter": 6, "tol": None}
LAYOUTS = [
    np.asarray, sparse.csr_array, sparse.csr_matrix, sparse.coo_array, np.ndarray.tolist,
    pd.DataFrame, list, lambda Y: Y.astype(bool), lambda Y: Y.astype(float),
    lambda Y: Y.astype(object),
]  # fmt: skip


def problem(n=240, k=3, seed=0):
    """Rows of which each has some of k labels, with noise, so that no column is separable."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    Y = (X[:, :k] + 0.4 * rng.normal(size=(n, k)) > 0.3).astype(int)
    flipped = rng.random((n, k)) < 0.05
    return X, np.where(flipped, 1 - Y, Y)


def same(model, other):
    return np.array_equal(model.coef_, other.coef_) and np.array_equal(
        model.intercept_, other.intercept_
    )


def columns_of(model, X, Y, **given):
    """The models of each column alone."""
    return [clone(model).fit(X, column, **given) for column in Y.T]


def equals_its_columns(model, alone):
    return all(
        np.array_equal(model.coef_[c], one.coef_[0]) and model.intercept_[c] == one.intercept_[0]
        for c, one in enumerate(alone)
    )


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("keep", ["last", "average", "late_average"])
@pytest.mark.parametrize("shuffle", [False, "after_first"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_each_column_is_learned_as_if_it_were_alone(layout, keep, shuffle, dtype):
    X, Y = problem()
    X = layout(X.astype(dtype))
    weights = np.linspace(0.5, 3.0, len(Y))
    options = FIXED | {"shuffle": shuffle, "keep": keep, "random_state": 7}
    model = Perceptron(**options).fit(X, Y, sample_weight=weights)
    alone = columns_of(model, X, Y, sample_weight=weights)
    assert equals_its_columns(model, alone)
    assert model.n_updates_ == sum(one.n_updates_ for one in alone)
    assert model.threshold_ == alone[0].threshold_


@pytest.mark.parametrize("kind", FAMILY)
@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
def test_each_column_of_the_family_is_learned_as_if_it_were_alone(kind, layout):
    X, Y = problem()
    X = layout(X.astype(np.float32))
    model = kind(**FIXED, keep="average").fit(X, Y)
    assert equals_its_columns(model, columns_of(model, X, Y))
    assert model.score(X, Y) > 0.3


@pytest.mark.parametrize(
    "options",
    [{}, {"update": "batch"}, {"keep": "best"}, {"mistake": "sign", "threshold": 0}, {"n_jobs": 2},
     {"early_stopping": True}, {"learning_rate": "sqrt"}, {"fit_intercept": False},
     {"feature_rates": "idf"}],
)  # fmt: skip
def test_every_option_of_one_class_per_row_goes_with_labels(options):
    X, Y = problem()
    model = Perceptron(random_state=0, max_iter=20, tol=None, **options).fit(X, Y)
    assert f1_score(Y, model.predict(X), average="micro") > 0.75
    assert model.coef_.shape == (3, 6)
    assert model.multiclass_ == "labels"


def test_threads_change_nothing():
    X, Y = problem()
    assert same(*(Perceptron(random_state=0, n_jobs=n).fit(X, Y) for n in (1, 3)))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_way_to_write_an_indicator_matrix_is_understood(layout):
    X, Y = problem()
    model = Perceptron(random_state=0).fit(X, layout(Y))
    expected = Perceptron(random_state=0).fit(X, Y)
    assert same(model, expected)
    assert model.classes_.tolist() == [0, 1, 2]
    assert model.score(X, Y) == accuracy_score(Y, expected.predict(X))


def test_predictions_are_an_indicator_matrix_by_the_signs_of_the_scores():
    X, Y = problem()
    model = Perceptron(random_state=0).fit(X, Y)
    scores, said = model.decision_function(X), model.predict(X)
    assert scores.shape == said.shape == Y.shape
    assert said.dtype == np.int64
    assert np.array_equal(said, scores > 0)
    assert model.predict(X[0][None]).shape == (1, 3)


def test_two_labels_are_two_problems():
    X, Y = problem(k=2)
    model = Perceptron(random_state=0, calibrate="sigmoid").fit(X, Y)
    assert model.coef_.shape == (2, 6)
    assert model.decision_function(X).shape == model.predict_proba(X).shape == (240, 2)
    with pytest.raises(ValueError, match="two classes"):
        model.certificate(X, Y[:, 0])


def test_a_column_of_one_value_is_learned():
    X, Y = problem()
    Y[:, 1], Y[:, 2] = 0, 1
    said = Perceptron(random_state=0).fit(X, Y).predict(X)
    assert not said[:, 1].any()
    assert said[:, 2].all()


def test_the_order_of_the_rows_does_not_matter():
    X, Y = problem(60)
    order = np.random.default_rng(1).permutation(60)
    assert same(*(Perceptron(random_state=3).fit(X[o], Y[o]) for o in (np.arange(60), order)))


def test_a_weight_is_so_many_copies():
    X, Y = problem(40)
    copies = np.random.default_rng(1).integers(0, 4, 40)
    weighted = Perceptron.textbook(random_state=3, max_iter=9).fit(X, Y, sample_weight=copies)
    copied = Perceptron.textbook(random_state=3, max_iter=9).fit(
        X.repeat(copies, 0), Y.repeat(copies, 0)
    )
    assert same(weighted, copied)


@given(st.lists(st.integers(0, 60), max_size=5), st.sampled_from(["average", "last"]))
def test_any_split_into_calls_gives_the_same_weights(cuts, keep):
    X, Y = problem(60)
    weights = np.linspace(0.0, 2.0, 60)
    whole = Perceptron(keep=keep).partial_fit(X, Y, sample_weight=weights)
    parts, edges = Perceptron(keep=keep), sorted({0, 60, *cuts})
    for start, end in pairwise(edges):
        parts.partial_fit(
            X[start:end], Y[start:end], classes=range(3), sample_weight=weights[start:end]
        )
    assert same(whole, parts)
    assert whole.t_ == parts.t_
    assert equals_its_columns(
        whole,
        [
            Perceptron(keep=keep).partial_fit(X, column, classes=[0, 1], sample_weight=weights)
            for column in Y.T
        ],
    )


@pytest.mark.parametrize("kind", FAMILY)
@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
def test_the_family_goes_on_from_a_fit_as_each_column_does(kind, layout):
    X, Y = problem()
    X = layout(X.astype(np.float32))
    model = kind(**FIXED).fit(X[:150], Y[:150]).partial_fit(X[150:], Y[150:])
    alone = columns_of(kind(**FIXED), X[:150], Y[:150])
    for one, column in zip(alone, Y[150:].T, strict=True):
        one.partial_fit(X[150:], column)
    assert equals_its_columns(model, alone)


@pytest.mark.parametrize("calibrate", ["sigmoid", "isotonic"])
def test_each_label_has_a_probability_of_its_own(calibrate):
    X, Y = problem(1000)
    model = Perceptron(random_state=0, calibrate=calibrate).fit(X[:800], Y[:800])
    found = model.predict_proba(X[800:])
    assert found.shape == (200, 3)
    assert ((found >= 0) & (found <= 1)).all()
    assert abs(found.mean() - Y[800:].mean()) < 0.1
    held = Perceptron(random_state=0, calibrate=calibrate).fit(
        X[:800], Y[:800], X_val=X[800:], y_val=sparse.csr_array(Y[800:])
    )
    assert held.calibration_.rows == 200
    online = Perceptron(calibrate=calibrate)
    for start in range(0, 1000, 100):
        online.partial_fit(X[start : start + 100], Y[start : start + 100])
    assert online.calibration_.rows == 900
    assert online.predict_proba(X).shape == (1000, 3)


@pytest.mark.parametrize("kind", [Perceptron, *FAMILY])
def test_a_model_comes_back_from_its_file_and_goes_on(kind, tmp_path):
    X, Y = problem()
    model = kind(random_state=0, max_iter=9, tol=None, calibrate="sigmoid").fit(X, Y)
    save(model, tmp_path / "a.model")
    found = load(tmp_path / "a.model")
    copied = pickle.loads(pickle.dumps(model))
    for other in (found, copied):
        assert same(model, other)
        assert np.array_equal(model.predict(X), other.predict(X))
        assert np.array_equal(model.predict_proba(X), other.predict_proba(X))
    for other in (model, found, copied):
        other.partial_fit(X[:50], Y[:50])
    assert same(model, found)
    assert same(model, copied)
    assert np.array_equal(model.predict_proba(X), found.predict_proba(X))


def test_a_fit_goes_on_from_given_weights_and_from_its_own():
    X, Y = problem()
    start = np.ones((3, 6)), np.ones(3)
    model = Perceptron(**FIXED).fit(X, Y, *start)
    alone = [
        Perceptron(**FIXED).fit(X, column, start[0][:1], start[1][:1]) for column in Y.T
    ]  # fmt: skip
    assert equals_its_columns(model, alone)
    warm = Perceptron(**FIXED, warm_start=True).fit(X, Y)
    before = warm.coef_.copy()
    assert not np.array_equal(warm.fit(X, Y).coef_, before)


def test_held_out_rows_of_labels_stop_a_fit():
    X, Y = problem()
    model = Perceptron(random_state=0, early_stopping=True).fit(X, Y)
    assert model.stop_reason_ == "validation"
    errors = [epoch.validation_error for epoch in model.history_]
    given = Perceptron(random_state=0, early_stopping=True).fit(X, Y, X_val=X, y_val=Y)
    best = min(epoch.validation_error for epoch in given.history_)
    assert 0 < min(errors) < 0.5
    assert 1 - f1_score(Y, given.predict(X), average="micro") == pytest.approx(best)


@pytest.mark.parametrize("kind", [Perceptron, Perceptron.textbook, PassiveAggressive, AROW])
def test_scikit_learns_check_of_several_outputs_passes(kind):
    check_classifier_multioutput(type(kind()).__name__, kind(random_state=0))


def test_searches_and_cross_validation_take_labels():
    X, Y = problem()
    model = Perceptron(random_state=0, max_iter=20, tol=None)
    assert cross_val_score(model, X, Y, cv=3).mean() > 0.3
    search = GridSearchCV(model, {"threshold": [0.0, "auto"]}, cv=2, scoring="f1_micro").fit(X, Y)
    assert search.best_score_ > 0.7


def test_lists_of_labels_go_through_scikit_learns_binarizer():
    X, Y = problem()
    names = [[("a", "b", "c")[c] for c in np.flatnonzero(row)] for row in Y]
    with pytest.raises(ValueError, match="MultiLabelBinarizer"):
        Perceptron().fit(X, names)
    binarizer = MultiLabelBinarizer()
    model = Perceptron(random_state=0).fit(X, binarizer.fit_transform(names))
    assert same(model, Perceptron(random_state=0).fit(X, Y))
    assert len(binarizer.inverse_transform(model.predict(X))) == len(X)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"multiclass": "ovo"}, ValueError, "multiclass='ovo' is for one class per row"),
        ({"multiclass": "joint"}, ValueError, "multiclass='joint' is for one class per row"),
        ({"class_weight": "balanced"}, ValueError, "class_weight='balanced' is for one class"),
    ],
)
def test_options_that_mean_nothing_with_labels_are_refused(options, error, message):
    X, Y = problem()
    model = Perceptron(**options)
    with pytest.raises(error, match=message):
        model.fit(X, Y)
    assert not hasattr(model, "classes_")


@pytest.mark.parametrize(
    ("Y", "message"),
    [
        ([[0, 2], [1, 0]], "holds 2, but several columns are an indicator matrix"),
        ([[0, -1], [1, 1]], "holds -1"),
        ([[0.0, np.nan], [1, 1]], "holds nan"),
        (np.array([["a", "b"], ["b", "a"]]), "holds 'a'"),
        (np.zeros((3, 2)), "inconsistent numbers of samples"),
        (np.zeros((2, 2, 2)), "1d|dim"),
    ],
)
def test_what_is_not_an_indicator_matrix_is_refused_and_leaves_the_model_alone(Y, message):
    X = np.eye(2)
    for model in (Perceptron(), Perceptron().fit(X, [[0, 1], [1, 0]])):
        before = dict(vars(model))
        for call in (model.fit, model.partial_fit):
            with pytest.raises(ValueError, match=message):
                call(X, Y)
            assert vars(model) == before


def test_labels_and_classes_do_not_mix():
    X, Y = problem()
    several, one = Perceptron().partial_fit(X, Y), Perceptron().partial_fit(X, Y[:, 0])
    with pytest.raises(ValueError, match="indicator matrices of 3 columns"):
        several.partial_fit(X, Y[:, 0])
    with pytest.raises(ValueError, match="indicator matrices of 3 columns"):
        several.partial_fit(X, Y[:, :2])
    with pytest.raises(ValueError, match="one label per row"):
        one.partial_fit(X, Y)
    with pytest.raises(ValueError, match="classes names 4 labels, but y has 3 columns"):
        Perceptron().partial_fit(X, Y, classes=range(4))
    with pytest.raises(ValueError, match=r"y_val has shape \(240, 2\), but y has 3 columns"):
        Perceptron().fit(X, Y, X_val=X, y_val=Y[:, :2])
    with pytest.raises(ValueError, match="one label per row"):
        Perceptron().fit(X, Y[:, 0], X_val=X, y_val=Y)


def test_predictions_on_the_way_are_for_one_label_per_row():
    X, Y = problem()
    with pytest.raises(ValueError, match="use partial_fit"):
        learn_online(Perceptron(), X, Y)
    model = Perceptron().fit(X, Y)
    with pytest.raises(ValueError, match="use partial_fit"), OneByOne(model):
        pass


def test_rows_of_equal_labels_share_a_set():
    Y = np.array([[1, 0, 1], [0, 0, 0], [1, 0, 1], [1, 1, 1]], bool)
    targets = Targets.of(Y)
    assert np.array_equal(targets.sets[targets.codes], Y)
    assert len(targets.sets) == 3
    wide = np.random.default_rng(0).random((50, 70)) < 0.5
    assert np.array_equal(Targets.of(wide).truth(), wide)
