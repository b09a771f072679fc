"""The estimator: options, attributes, input of every kind, and what bad input gets."""

import math
import pickle
from itertools import combinations

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris
from sklearn.feature_selection import SelectFromModel
from sklearn.linear_model import Perceptron as TheirPerceptron
from sklearn.model_selection import GridSearchCV, train_test_split
from tests.members import offsets_of, weights_of

from rosenblatt import Perceptron, process, teaching_sets, theory
from rosenblatt.learners.linear import Linear

IRIS = load_iris(return_X_y=True)
DIGITS = load_digits(return_X_y=True)
SETOSA_VERSICOLOR = IRIS[0][:100, 2:], IRIS[1][:100]


def test_movie_reviews_of_the_notes():
    """Sentiment notes, example 1."""
    movies = teaching_sets.load("movies")
    weights, online = [], Perceptron.textbook(mistake="sign", fit_intercept=False)
    for row, label in zip([*movies.X] * 3, [*movies.y] * 3, strict=True):
        updates = getattr(online, "n_updates_", 0)
        online.partial_fit([row], [label], classes=np.unique(movies.y))
        if online.n_updates_ > updates:
            weights.append(tuple(online.coef_[0]))
    assert weights == [(1, 1, 0, 0), (0, 1, -1, 0), (0, 0, -1, -1), (1, 1, -1, -1)]
    model = Perceptron.textbook(mistake="sign", fit_intercept=False, shuffle=False)
    model.fit(movies.X, movies.y)
    assert (model.stop_reason_, model.n_iter_, model.n_updates_) == ("separated", 3, 4)


def test_not_good_needs_pairs_of_words():
    """Sentiment notes, example 2."""
    single, pairs = teaching_sets.load("not-good"), teaching_sets.load("not-good-bigrams")
    assert (
        Perceptron.textbook(shuffle=False, tol=None).fit(single.X, single.y).stop_reason_ == "cycle"
    )
    assert (
        Perceptron.textbook(shuffle=False, tol=None).fit(pairs.X, pairs.y).stop_reason_
        == "separated"
    )


def test_iris_figures():
    """THEORY.md: 4 mistakes, third pass, w = (0.5, 0.8), b = -2."""
    X, y = SETOSA_VERSICOLOR
    model = Perceptron.textbook(shuffle=False).fit(X, y)
    assert (model.n_updates_, model.n_iter_, model.stop_reason_) == (4, 3, "separated")
    assert np.allclose(weights_of(model), [[0.5, 0.8]])
    assert offsets_of(model) == [-2.0]
    assert (model.t_, model.n_features_in_) == (300, 2)
    assert model.classes_.tolist() == [0, 1]


@pytest.mark.parametrize("multiclass", ["ovr", "ovo", "joint"])
@pytest.mark.parametrize("keep", ["last", "average", "best"])
def test_ten_classes_are_learned(multiclass, keep):
    X, y = DIGITS
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    model = Perceptron.textbook(multiclass=multiclass, keep=keep, random_state=0, max_iter=15)
    assert model.fit(X_train, y_train).score(X_test, y_test) > 0.9
    assert model.decision_function(X_test).shape == (len(X_test), 10)


def test_in_file_order_the_weights_are_those_of_scikit_learn():
    X, y = DIGITS
    ours = Perceptron.textbook(shuffle=False, max_iter=5, tol=None).fit(X, y)
    theirs = TheirPerceptron(shuffle=False, max_iter=5, tol=None).fit(X, y)
    assert np.array_equal(ours.coef_, theirs.coef_)
    assert np.array_equal(ours.intercept_, theirs.intercept_)


class TestStopping:
    X, y = np.random.default_rng(0).normal(size=(200, 5)), np.arange(200) % 2

    def reason(self, *data, **options):
        X, y = data or (self.X, self.y)
        return Perceptron.textbook(random_state=0, **options).fit(X, y).stop_reason_

    def test_an_epoch_without_a_mistake(self):
        assert self.reason(*SETOSA_VERSICOLOR) == "separated"

    def test_updates_that_stop_falling(self):
        assert self.reason() == "stalled"

    def test_epochs_used_up(self):
        assert self.reason(max_iter=3, tol=None) == "budget"

    def test_weights_that_hardly_move(self):
        rate = {"learning_rate": lambda t: 0.5**t}
        assert self.reason(tol=1e-6, **rate) == "stable"

    def test_a_validation_error_that_stops_falling(self):
        model = Perceptron.textbook(random_state=0, early_stopping=True, n_iter_no_change=3)
        model.fit(self.X, self.y)
        errors = model.history_["validation_error"]
        assert model.stop_reason_ == "validation"
        assert len(errors) - 1 - errors.argmin() >= 3
        assert model._progress.least_validation == errors.min()

    def test_weights_that_come_back(self):
        xor = [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0]
        model = Perceptron.textbook(shuffle=False, tol=None).fit(*xor)
        assert model.stop_reason_ == "cycle"
        assert not model.converged_
        assert model.history_.row_updates.sum() > 0

    def test_a_callback(self):
        seen = []

        def watch(epoch):
            seen.append(epoch.updates)
            return epoch.epoch == 2

        assert self.reason(callbacks=[watch], tol=None) == "callback"
        assert len(seen) == 2
        assert self.reason(callbacks=watch, max_iter=1, tol=None) == "budget"

    def test_the_sign_rule_is_content_with_scores_of_zero_in_any_order(self):
        movies = teaching_sets.load("movies")
        model = Perceptron.textbook(
            mistake="sign", fit_intercept=False, shuffle=True, tol=None, random_state=1
        )
        assert model.fit(movies.X, movies.y).converged_

    def test_a_given_order_that_leaves_rows_out_cannot_claim_to_have_separated_them(self):
        X = np.array([[1.0], [-1.0], [5.0]])
        model = Perceptron.textbook(shuffle=[0, 1], fit_intercept=False, tol=None).fit(X, [1, 0, 0])
        assert model.stop_reason_ == "stable"
        assert not model.converged_


def test_early_stopping_returns_the_weights_of_the_best_epoch():
    X, y = DIGITS
    X_train, X_val, y_train, y_val = train_test_split(X, y, random_state=0)
    for keep in ("last", "average", "best"):
        model = Perceptron.textbook(early_stopping=True, keep=keep, random_state=0)
        model.fit(X_train, y_train, X_val=X_val, y_val=y_val)
        best = model.history_["validation_error"].min()
        assert 1 - model.score(X_val, y_val) == pytest.approx(best)


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("multiclass", ["ovr", "ovo", "joint"])
def test_held_out_rows_may_have_columns_that_no_other_row_has(n_classes, multiclass):
    random = np.random.default_rng(0)
    many = sparse.random(400, 50_000, 1e-3, format="csr", dtype=np.float32, random_state=1)
    few = many[:40]
    start = random.normal(size=(n_classes, 50_000)) if n_classes > 2 else None
    if multiclass == "ovo" and n_classes == 4:
        start = random.normal(size=(6, 50_000))
    model = Perceptron(multiclass=multiclass, random_state=0, max_iter=3, tol=None)
    for coef_init in (None, start):
        codes = np.arange(40) % n_classes
        held = random.integers(0, n_classes, 400)
        model.fit(few, codes, coef_init=coef_init, X_val=many, y_val=held)
        assert model.history_["validation_error"][-1] == pytest.approx(1 - model.score(many, held))


def test_validation_rows_are_watched_without_early_stopping():
    X, y = DIGITS
    model = Perceptron.textbook(max_iter=3, random_state=0, tol=None).fit(
        X, y, X_val=X[:50], y_val=y[:50]
    )
    assert model.n_iter_ == 3
    error = 1 - model.score(X[:50], y[:50])
    assert model.history_[-1].validation_error == pytest.approx(error)


def test_the_held_out_tenth_is_not_learned_from():
    random = np.random.default_rng(0)
    X, y = random.normal(size=(300, 400)), random.integers(0, 2, 300)
    model = Perceptron.textbook(early_stopping=True, random_state=0, n_iter_no_change=30).fit(X, y)
    last = model.state_  # separates the others; which epoch was best is chance, as labels are
    right = (X @ last.weights[0] + last.bias > 0) == y
    assert 0.9 <= right.mean() < 0.98
    assert model.history_["validation_error"].min() > 0.2


def test_the_pocket_of_the_notes_keeps_the_fewest_mistaken_rows():
    """Classifier notes, non-separable data: E, w* over batch iterations."""
    random = np.random.default_rng(3)
    X, y = random.normal(size=(60, 2)), random.integers(0, 2, 60)
    model = Perceptron.textbook(
        update="batch", keep="best", max_iter=40, tol=None, shuffle=False
    ).fit(X, y)
    signs, w, b, fewest = np.where(y == 1, 1, -1), np.zeros(2), 0.0, 60
    for _ in range(model.n_iter_ + 1):
        mistaken = signs * (X @ w + b) <= 0
        fewest = min(fewest, mistaken.sum())
        w, b = w + signs[mistaken] @ X[mistaken], b + signs[mistaken].sum()
    assert (signs * model.decision_function(X) <= 0).sum() == fewest


def test_initial_weights_are_where_the_run_starts():
    X, y = SETOSA_VERSICOLOR
    done = Perceptron.textbook(shuffle=False).fit(X, y)
    again = Perceptron.textbook(shuffle=False).fit(X, y, weights_of(done), offsets_of(done))
    assert (again.n_iter_, again.n_updates_) == (1, 0)
    warm = Perceptron.textbook(shuffle=False, warm_start=True).fit(X, y).fit(X, y)
    assert (warm.n_iter_, warm.n_updates_) == (1, 0)


def test_class_weights_are_weights_of_rows():
    X, y = IRIS
    by_class = Perceptron.textbook(class_weight={0: 1, 1: 3, 2: 1}, random_state=0, max_iter=9).fit(
        X, y
    )
    by_row = Perceptron.textbook(random_state=0, max_iter=9).fit(
        X, y, sample_weight=np.where(y == 1, 1.0, 1 / 3)
    )
    assert np.array_equal(weights_of(by_class), weights_of(by_row))
    balanced = Perceptron.textbook(class_weight="balanced", random_state=0).fit(X[:120], y[:120])
    named = Perceptron.textbook(class_weight={0: 0.8, 1: 0.8, 2: 2.0}, random_state=0).fit(
        X[:120], y[:120]
    )
    assert np.allclose(weights_of(balanced), weights_of(named))


@pytest.mark.parametrize("keep", ["last", "best"])
@pytest.mark.parametrize("multiclass", ["ovr", "ovo"])
def test_threads_change_nothing(multiclass, keep):
    X, y = DIGITS
    options = {"multiclass": multiclass, "keep": keep, "random_state": 0, "max_iter": 4}
    for data in (X, sparse.csr_array(X)):
        one = Perceptron.textbook(**options).fit(data, y)
        two = clone(one).set_params(n_jobs=2).fit(data, y)
        assert np.array_equal(weights_of(one), weights_of(two))
        assert np.array_equal(one.history_["progressive_error"], two.history_["progressive_error"],
                              equal_nan=True)  # fmt: skip


@pytest.mark.parametrize("rate", ["constant", "inverse", "sqrt", lambda t: 1 / t])
def test_learning_rates(rate):
    X, y = SETOSA_VERSICOLOR
    model = Perceptron.textbook(
        learning_rate=rate, eta0=2.0, shuffle=False, max_iter=1, tol=None
    ).fit(X, y)
    etas = {"constant": lambda t: 2.0, "inverse": lambda t: 2 / t, "sqrt": lambda t: 2 / t**0.5}
    eta = etas.get(rate, rate) if isinstance(rate, str) else rate
    w, b = np.zeros(2), 0.0
    for t, (x, label) in enumerate(zip(X, 2 * y - 1, strict=True), start=1):
        if label * (w @ x + b) <= 0:
            w, b = w + eta(t) * label * x, b + eta(t) * label
    assert np.allclose(weights_of(model), w)
    assert np.allclose(offsets_of(model), b)


class TestBadInput:
    X, y = SETOSA_VERSICOLOR

    @pytest.mark.parametrize(
        ("X", "y", "match"),
        [
            (np.where(X > 4, np.nan, X), y, "NaN"),
            (np.where(X > 4, np.inf, X), y, "infinity"),
            (X, np.zeros(100), "one class, 0.0"),
            (X[:0], y[:0], "0 sample"),
            (X[0], y, "1D array"),
            (X, y[:50], "inconsistent numbers"),
            (X + 1j, y, "Complex"),
            (np.array([["a", "b"]] * 100), y, "convert string to float"),
            (X, X[:, 0] + 0.123, "continuous"),
        ],
    )
    def test_bad_data_are_refused_and_the_fitted_model_is_untouched(self, X, y, match):
        model = Perceptron.textbook(shuffle=False).fit(*SETOSA_VERSICOLOR)
        before = pickle.dumps(model)
        with pytest.raises(ValueError, match=match):
            model.fit(X, y)
        assert pickle.dumps(model) == before

    @pytest.mark.parametrize(
        ("options", "match"),
        [
            ({"eta0": 0}, "eta0"),
            ({"threshold": -1}, "threshold"),
            ({"keep": "first"}, "keep.*last"),
            ({"multiclass": "all"}, "multiclass"),
            ({"update": "lazy"}, "update"),
            ({"mistake": "sign", "threshold": 1.0}, "mistake='margin'"),
            ({"learning_rate": "fast"}, "learning_rate"),
            ({"max_iter": 0}, "max_iter"),
            ({"shuffle": [0, 100]}, r"outside 0 .. 99"),
            ({"shuffle": [0.5]}, "row numbers"),
            ({"class_weight": {0: -1}}, "not be negative"),
        ],
    )
    def test_bad_options_are_named(self, options, match):
        with pytest.raises(ValueError, match=match):
            Perceptron.textbook(**options).fit(self.X, self.y)

    @pytest.mark.parametrize(
        ("weights", "match"),
        [
            (np.full(100, -1.0), r"sample_weight\[0\] is -1.0"),
            (np.full(100, np.nan), "finite"),
            (np.ones(99), r"shape \(99,\)"),
            (np.zeros(100), "zero"),
            (np.arange(100) < 50, "one class"),
        ],
    )
    def test_bad_weights_are_named(self, weights, match):
        with pytest.raises(ValueError, match=match):
            Perceptron.textbook().fit(self.X, self.y, sample_weight=weights)

    def test_shapes_of_initial_weights_are_checked(self):
        with pytest.raises(ValueError, match=r"coef_init has shape \(3,\)"):
            Perceptron.textbook().fit(self.X, self.y, coef_init=[1, 2, 3])
        with pytest.raises(ValueError, match="fit_intercept"):
            Perceptron.textbook(fit_intercept=False).fit(self.X, self.y, intercept_init=[1.0])

    def test_validation_data_must_fit(self):
        with pytest.raises(ValueError, match="belong together"):
            Perceptron.textbook().fit(self.X, self.y, X_val=self.X)
        with pytest.raises(ValueError, match="labels that y does not"):
            Perceptron.textbook().fit(self.X, self.y, X_val=self.X[:1], y_val=[7])
        with pytest.raises(ValueError, match="larger validation_fraction"):
            Perceptron.textbook(early_stopping=True).fit(self.X[45:55], self.y[45:55])

    def test_weights_that_overflow_are_reported(self):
        X = np.array([[1e300, 1e300], [1e300, -1e300], [-1e300, 1e300], [0, 0]])
        with pytest.raises(ValueError, match="Scale the features"):
            Perceptron.textbook(tol=None, max_iter=10).fit(X * 1e8, [0, 1, 1, 0])

    def test_a_callback_that_fails_leaves_the_model_untouched(self):
        model = Perceptron.textbook().fit(self.X, self.y)
        before = pickle.dumps(weights_of(model))
        model.callbacks = lambda epoch: 1 / 0
        with pytest.raises(ZeroDivisionError):
            model.fit(self.X, self.y)
        assert pickle.dumps(weights_of(model)) == before


class TestPartialFit:
    def test_new_labels_are_welcome_at_any_call(self):
        X, y = DIGITS
        model = Perceptron.textbook(keep="average")
        for label in range(10):
            model.partial_fit(X[y == label][:30], y[y == label][:30])
            assert model.classes_.tolist() == list(range(label + 1))
        model.partial_fit(X, y)
        assert model.score(X, y) > 0.8

    def test_a_single_class_is_predicted_until_another_comes(self):
        model = Perceptron.textbook().partial_fit([[1.0], [2.0]], ["b", "b"])
        assert model.predict([[5.0]]).tolist() == ["b"]
        assert model.t_ == 2
        model.partial_fit([[-1.0]], ["a"])
        assert model.predict([[-1.0]]).tolist() == ["a"]

    def test_classes_are_looked_at_in_the_first_call(self):
        model = Perceptron.textbook().partial_fit([[1.0]], [2], classes=[0, 1, 2])
        assert weights_of(model).shape == (3, 1)
        with pytest.raises(ValueError, match="first call"):
            model.partial_fit([[1.0]], [2], classes=[0, 9])

    def test_it_goes_on_after_fit(self):
        X, y = SETOSA_VERSICOLOR
        model = Perceptron.textbook(shuffle=False).fit(X, y)
        model.partial_fit(X, y)
        assert np.allclose(weights_of(model), [[0.5, 0.8]])
        assert model.t_ == 400

    @pytest.mark.parametrize(
        "option", [{"keep": "best"}, {"update": "batch"}, {"class_weight": "balanced"}]
    )
    def test_what_needs_all_examples_has_no_partial_fit(self, option):
        model = Perceptron.textbook(**option)
        assert not hasattr(model, "partial_fit")
        with pytest.raises(AttributeError) as caught:
            model.partial_fit([[1.0]], [1])
        assert "one by one" in str(caught.value.__cause__)

    def test_a_failed_call_changes_nothing(self):
        model = Perceptron.textbook().partial_fit([[1.0, 2.0]], [1], classes=[0, 1])
        before = pickle.dumps(model)
        for bad in ([[np.nan, 1.0]], [[1.0]]):
            with pytest.raises(ValueError, match=r"NaN|features"):
                model.partial_fit(bad, [0])
        assert pickle.dumps(model) == before


def test_verbose_shows_updates_and_validation_error(capsys):
    X, y = DIGITS
    Perceptron.textbook(verbose=1, max_iter=2, early_stopping=True).fit(X, y)
    shown = capsys.readouterr().out
    assert "updates" in shown
    assert "validation error" in shown


def test_models_can_be_pickled_cloned_and_searched():
    X, y = IRIS
    search = GridSearchCV(Perceptron.textbook(random_state=0), {"keep": ["last", "average"]}, cv=3)
    search.fit(X, y)
    again = pickle.loads(pickle.dumps(search.best_estimator_))
    assert np.array_equal(again.predict(X), search.predict(X))


@pytest.mark.parametrize("multiclass", ["auto", "ovr", "joint"])
def test_a_row_of_coef_is_the_weights_of_a_class_or_there_is_none(multiclass):
    X, y = load_iris(return_X_y=True)
    model = Perceptron(multiclass=multiclass, random_state=0).fit(X, y)
    if multiclass != "auto":
        scores = X @ model.coef_.T + model.intercept_
        assert np.array_equal(model.classes_[scores.argmax(axis=1)], model.predict(X))
        with pytest.raises(AttributeError, match="no pairs of classes vote"):
            model.pair_intercept_  # noqa: B018
        return
    with pytest.raises(AttributeError, match="their weights are pair_coef_"):
        model.coef_  # noqa: B018
    pairs = X @ model.pair_coef_.T + model.pair_intercept_
    votes = np.zeros((len(X), 3))
    for score, (first, second) in zip(pairs.T, combinations(range(3), 2), strict=True):
        votes[np.arange(len(X)), np.where(score > 0, second, first)] += 1
    clear = votes.max(axis=1) == 2
    assert clear.mean() > 0.9
    assert np.array_equal(votes.argmax(axis=1)[clear], model.predict(X)[clear])
    chosen = SelectFromModel(model, prefit=True, importance_getter="pair_coef_").transform(X)
    assert chosen.shape == (150, 2)


def test_nan_marks_what_is_not_known():
    X, y = SETOSA_VERSICOLOR
    first, *_, last = Perceptron.textbook(shuffle=False).fit(X, y).history_
    assert math.isnan(first.train_error)
    assert math.isnan(first.validation_error)
    assert last.train_error == 0.0


class TestCertificate:
    def test_a_separating_run_is_held_against_its_bound(self):
        X, y = SETOSA_VERSICOLOR
        found = Perceptron.textbook(shuffle=False).fit(X, y).certificate(X, y)
        assert (found.verdict, found.updates) == ("separable", 4)
        assert found.margin_lower <= 0.2685 <= found.margin_upper
        assert all(bound.holds for bound in found.bounds)

    def test_a_cycle_proves_that_no_line_exists(self):
        X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0]
        model = Perceptron.textbook(shuffle=False, tol=None).fit(X, y)
        assert model.certificate(X, y).verdict == "inseparable"
        proof = theory.cycle_certificate(X, y, model.history_.row_updates)
        assert theory.verify(proof, X, y).proven
        run = model.certificate(X, y)
        assert "no hyperplane separates" in str(run)
        assert "margin" not in str(run)

    def test_a_run_cut_short_decides_nothing(self):
        X, y = SETOSA_VERSICOLOR
        model = Perceptron.textbook(shuffle=False, max_iter=1, tol=None).fit(X, y)
        assert model.certificate(X, y).verdict == "undecided"

    def test_bounds_that_do_not_apply_are_refused(self):
        X, y = IRIS
        with pytest.raises(ValueError, match="two classes"):
            Perceptron.textbook().fit(X, y).certificate(X, y)


def test_partial_fit_after_a_fit_on_sparse_rows_keeps_the_rates_of_the_columns():
    generator = np.random.default_rng(4)
    X = np.zeros((60, 9), np.float32)
    X[:, [1, 4, 6, 7]] = generator.integers(-3, 4, (60, 4))  # columns that no row has come before
    y = (X @ generator.normal(size=9) > 0).astype(int)
    settings = {"max_iter": 3, "tol": None, "shuffle": False, "feature_rates": "idf"}
    later = generator.integers(-3, 4, (40, 9)).astype(np.float32), generator.integers(0, 2, 40)
    dense = Perceptron.textbook(**settings).fit(X, y).set_params(feature_rates=None)
    dense.partial_fit(*later)
    packed = Perceptron.textbook(**settings).fit(sparse.csr_matrix(X), y)
    packed.set_params(feature_rates=None)
    again = pickle.loads(pickle.dumps(packed)).partial_fit(*later)
    packed.partial_fit(sparse.csr_matrix(later[0]), later[1])
    assert np.array_equal(weights_of(packed), weights_of(dense))
    assert np.array_equal(weights_of(again), weights_of(dense))
    assert np.array_equal(offsets_of(packed), offsets_of(dense))


@pytest.mark.parametrize("multiclass", ["ovr", "joint", "ovo"])
def test_the_best_of_several_classes_is_looked_for_at_the_ends_of_epochs(multiclass, monkeypatch):
    looks, look = [], Linear.misclassified

    def counted(learner, *arguments):
        looks.append(look(learner, *arguments))
        return looks[-1]

    monkeypatch.setattr(Linear, "misclassified", counted)
    X, y = load_digits(return_X_y=True)
    model = Perceptron.textbook(
        keep="best", multiclass=multiclass, max_iter=4, tol=None, random_state=0
    ).fit(X, y)
    assert len(looks) == 5  # and at the start
    assert 1 - model.score(X, y) == pytest.approx(min(looks) / len(y))


def test_all_cores_are_those_that_the_process_may_use(monkeypatch):
    monkeypatch.setattr(process.os, "sched_getaffinity", lambda _: {0, 3, 5}, raising=False)
    assert [process.threads_of(n) for n in (-1, -2, -9, 2)] == [3, 2, 1, 2]
