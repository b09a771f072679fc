"""What classifiers share: parameters, and predict_proba from held-out rows, also of partial_fit."""

from __future__ import annotations

import pickle
import warnings
from dataclasses import is_dataclass

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.metrics import brier_score_loss
from sklearn.model_selection import cross_val_predict, cross_validate
from tests.members import weights_of

from rosenblatt import AROW, KernelPerceptron, Perceptron, load, save
from rosenblatt.errors import ModelFormatError
from rosenblatt.estimators import _unseen
from rosenblatt.estimators._unseen import MOST_RECENT, Unseen

ESTIMATORS = [
    Perceptron(keep="average", random_state=0),
    Perceptron(keep="average", multiclass="ovo", random_state=0),
    KernelPerceptron.textbook(kernel="linear", keep="average", random_state=0),
]


def rows(k=2, n=600, seed=0):
    return make_classification(
        n, 10, n_informative=6, n_classes=k, class_sep=0.7, flip_y=0.1, random_state=seed
    )


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_probabilities_add_up_and_agree_with_predictions(estimator, k, method):
    X, y = rows(k)
    model = clone(estimator).set_params(calibrate=method, max_iter=20).fit(X, y)
    P = model.predict_proba(X)
    assert P.shape == (len(y), k)
    assert P.sum(axis=1) == pytest.approx(1.0)
    assert P.min() >= 0
    if k > 2:
        assert np.mean(P.argmax(axis=1) == model.predict(X)) > 0.99
    assert model.calibration_.rows == 60


def test_rows_changed_after_the_fit_give_no_probabilities_rather_than_wrong_ones():
    X, y = make_classification(200, random_state=0)
    model = Perceptron(random_state=0).fit(X, y)
    X *= -3.0
    with pytest.raises(AttributeError, match="X was changed since"):
        model.predict_proba(X)
    assert pickle.loads(pickle.dumps(model)).predict(X).shape == (200,)


def test_without_calibration_there_is_no_predict_proba():
    for estimator in ESTIMATORS:
        plain = clone(estimator).set_params(calibrate=None)
        assert not hasattr(plain, "predict_proba")
        assert hasattr(clone(estimator), "predict_proba")


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_probabilities_beat_the_base_rate():
    X, y = rows(2, 2000)
    model = Perceptron(keep="average", calibrate="sigmoid", random_state=0, max_iter=20)
    P = cross_val_predict(model, X, y, method="predict_proba")
    assert brier_score_loss(y, P[:, 1]) < 0.8 * y.mean() * (1 - y.mean())


def test_given_validation_rows_are_the_ones_that_count():
    X, y = rows()
    model = Perceptron(calibrate="sigmoid", tol=None, max_iter=5, random_state=0)
    held = model.fit(X[:400], y[:400], X_val=X[400:], y_val=y[400:])
    plain = Perceptron(tol=None, max_iter=5, random_state=0).fit(X[:400], y[:400])
    assert np.array_equal(weights_of(held), weights_of(plain))
    assert held.calibration_.rows == 200


def test_partial_fit_goes_on_with_scores_of_rows_it_had_not_seen():
    X, y = rows(3, 900)
    model = Perceptron(keep="average", calibrate="sigmoid")
    model.partial_fit(X[:1], y[:1], classes=[0, 1, 2])
    with pytest.raises(AttributeError, match="no scores of held-out rows"):
        Perceptron(calibrate="sigmoid").partial_fit(X[:1], y[:1]).predict_proba(X)
    for start in range(1, 900, 50):
        model.partial_fit(X[start : start + 50], y[start : start + 50])
    assert model.calibration_.rows == 899  # all but the first, which nothing was known of
    plain = Perceptron(keep="average").partial_fit(X, y, classes=[0, 1, 2])
    assert np.array_equal(weights_of(model), weights_of(plain))
    assert model.predict_proba(X).shape == (900, 3)


def test_only_recent_scores_count_and_new_classes_begin_again():
    X, y = rows(2, 400)
    model = Perceptron(calibrate="sigmoid").partial_fit(X, y)
    for _ in range(30):
        model.partial_fit(X, y)
    assert model.calibration_.rows == MOST_RECENT
    model.partial_fit(X[:20], np.full(20, 7)).partial_fit(X[:30], y[:30])
    assert model.calibration_.rows == 30


@pytest.mark.parametrize("model", [Perceptron(), KernelPerceptron()])
def test_scores_by_fewer_classes_do_not_calibrate(model, tmp_path):
    X, y = rows(2, 200)
    model = clone(model).set_params(calibrate="sigmoid").partial_fit(X, y).partial_fit(X, y)
    assert model.predict_proba(X).shape == (200, 2)
    model.partial_fit(X[:20], np.full(20, 7))
    save(model, tmp_path / "a.model")
    for one in (model, load(tmp_path / "a.model")):
        with pytest.raises(AttributeError, match="a new class begins anew"):
            one.predict_proba(X)
        assert one.partial_fit(X[:100], y[:100]).predict_proba(X).shape == (200, 3)


def test_kernel_perceptron_goes_on_by_partial_fit():
    X, y = rows(2, 200)
    model = KernelPerceptron.textbook(kernel="linear", keep="last", calibrate="sigmoid")
    model.partial_fit(X[:50], y[:50]).partial_fit(X[50:], y[50:])
    assert model.calibration_.rows == 150


@pytest.mark.parametrize("method", ["auto", "sigmoid"])
@pytest.mark.parametrize("n", [12, 40, 150])
def test_few_rows_are_cross_fitted(method, n):
    X, y = rows(3, n)
    model = Perceptron(calibrate=method, random_state=0).fit(X, y)
    assert np.array_equal(
        weights_of(model), weights_of(Perceptron(calibrate=None, random_state=0).fit(X, y))
    )
    assert model.predict_proba(X).sum(axis=1) == pytest.approx(1.0)
    assert model.calibration_.rows == n


def test_held_out_rows_of_one_class_are_said_so():
    X, y = rows(2, 40)
    model = Perceptron().fit(X, y, X_val=X[y == 1], y_val=y[y == 1])
    with pytest.raises(ValueError, match="have one class"):
        model.predict_proba(X)


@pytest.mark.parametrize("estimator", [*ESTIMATORS, AROW(random_state=0)])
def test_every_scorer_of_probabilities_works_by_default(estimator):
    scorers = ["neg_log_loss", "roc_auc_ovr", "neg_brier_score"]
    X, y = rows(3, 240)
    scores = cross_validate(estimator, X, y, cv=3, scoring=scorers)
    assert scores["test_neg_log_loss"].min() > -np.log(3)
    assert scores["test_roc_auc_ovr"].min() > 0.5
    assert np.isfinite(scores["test_neg_brier_score"]).all()


def test_a_pickle_has_probabilities_and_no_rows():
    X, y = rows(2, 2000)
    model = Perceptron(random_state=0).fit(X, y)
    size = len(pickle.dumps(model))
    again = pickle.loads(pickle.dumps(model))
    assert size < X.nbytes / 2
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
    assert np.array_equal(model.predict_proba(X).argmax(axis=1), model.predict(X))


def test_probabilities_are_fitted_to_scores_of_unseen_rows():
    random = np.random.default_rng(0)
    X, y = random.normal(size=(300, 400)), random.integers(0, 2, 300)  # nothing to learn
    P = Perceptron(random_state=0).fit(X, y).predict_proba(X)
    assert np.abs(P - 0.5).max() < 0.2


def test_of_many_rows_per_weight_no_row_is_kept(monkeypatch):
    monkeypatch.setattr(_unseen, "_MOST_KEPT", 1000)
    X, y = rows(2, 3000)
    assert Perceptron(random_state=0).fit(X, y).calibration_.rows == 3000
    with pytest.raises(AttributeError, match="calibrate='sigmoid'"):
        Perceptron(random_state=0).fit(X[:300], y[:300]).predict_proba(X)


def test_partial_fit_alone_says_how_to_have_probabilities():
    X, y = rows(2, 100)
    model = Perceptron().partial_fit(X, y).partial_fit(X, y)
    with pytest.raises(AttributeError, match="calibrate='sigmoid'"):
        model.predict_proba(X)


@pytest.mark.parametrize("estimator", ESTIMATORS[::2])
def test_files_keep_the_calibration_and_it_goes_on(tmp_path, estimator):
    X, y = rows(3, 300)
    model = clone(estimator).set_params(calibrate="isotonic", tol=None, max_iter=5).fit(X, y)
    save(model, tmp_path / "a.model")
    other = load(tmp_path / "a.model")
    assert np.array_equal(other.predict_proba(X), model.predict_proba(X))
    again = [m.partial_fit(X[:100], y[:100]).predict_proba(X) for m in (model, other)]
    assert np.array_equal(*again)


def test_scores_that_do_not_fit_are_refused(tmp_path):
    X, y = rows(2, 200)
    model = Perceptron(calibrate="sigmoid", tol=None, max_iter=5).fit(X, y)
    for scores, codes in (
        (np.full(20, np.nan), np.zeros(20, np.int64)),
        (np.zeros((20, 3)), np.zeros(20, np.int64)),
        (np.zeros(20), np.full(20, 2)),
        (np.zeros(19), np.zeros(20, np.int64)),
    ):
        model._unseen = Unseen()
        model._unseen.scores, model._unseen.codes = scores, codes
        save(model, tmp_path / "bad.model")
        with pytest.raises(ModelFormatError, match="do not fit the classes"):
            load(tmp_path / "bad.model")


def test_names_of_columns_raise_no_warning():
    pandas = pytest.importorskip("pandas")
    X, y = rows()
    frame = pandas.DataFrame(X, columns=[f"x{i}" for i in range(10)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for estimator in ESTIMATORS[::2]:
            model = clone(estimator).set_params(calibrate="sigmoid", tol=None, max_iter=3)
            model.fit(frame, y).predict_proba(frame)


def test_a_fitted_model_is_more_than_its_parameters():
    tokenize = pytest.importorskip("dask.base").tokenize
    X = np.array([[0.0], [1.0], [2.0]])
    for make in (Perceptron, AROW, KernelPerceptron):
        one, other = make(random_state=0).fit(X, [0, 1, 1]), make(random_state=0).fit(X, [1, 0, 0])
        assert tokenize(one) != tokenize(other)
        assert not is_dataclass(one)


def test_a_subclass_may_have_parameters_of_its_own():
    class Tilted(Perceptron):
        def __init__(self, *, tilt=0.5, eta0=1.0, max_iter=10):
            super().__init__(eta0=eta0, max_iter=max_iter)
            self.tilt = tilt

    class Named(Perceptron):
        def __init__(self, name="x"):
            super().__init__(random_state=3)
            self.name = name

    expected = {"tilt": 2.0, "eta0": 0.1, "max_iter": 10}
    assert clone(Tilted(tilt=2.0, eta0=0.1)).get_params() == expected
    assert Tilted().fit([[0.0], [1.0]], [0, 1]).n_iter_ <= 10
    assert list(Named("y").get_params()) == ["name"]
    assert Named().random_state == 3
