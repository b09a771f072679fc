"""What "auto" stands for, and that it depends on the data only as it should."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.invariants.strategies import data_sets
from tests.members import offsets_of, weights_of

from rosenblatt import KernelPerceptron, OneByOne, Perceptron, load, save
from rosenblatt.learners.examples import examples_of
from rosenblatt.learners.rates import idf_rates
from rosenblatt.training.defaults import ROWS_THAT_DECIDE, multiclass_of

IRIS = load_iris(return_X_y=True)
DIGITS = load_digits(return_X_y=True)


@given(
    data=st.sampled_from([2, 3]).flatmap(data_sets),
    power=st.integers(-12, 12),
    keep=st.sampled_from(["average", "late_average", "last", "best"]),
    multiclass=st.sampled_from(["auto", "ovr", "ovo", "joint"]),
    update=st.sampled_from(["online", "batch"]),
    shuffle=st.sampled_from([True, False, "after_first"]),
    layout=st.sampled_from([np.asarray, np.float32, sparse.csr_array]),
)
def test_scaling_by_a_power_of_two_scales_the_weights_and_nothing_else(
    data, power, keep, multiclass, update, shuffle, layout
):
    (X, y), factor = data, 2.0**power
    options = {"keep": keep, "multiclass": multiclass, "update": update, "shuffle": shuffle}
    model = Perceptron(max_iter=30, tol=0.01, random_state=0, scale=None, **options)
    plain = clone(model).fit(layout(X), y)
    scaled = clone(model).fit(layout(X * factor), y)
    assert np.array_equal(weights_of(scaled), weights_of(plain) * factor)
    assert np.array_equal(offsets_of(scaled), offsets_of(plain) * factor**2)
    assert (scaled.n_iter_, scaled.stop_reason_) == (plain.n_iter_, plain.stop_reason_)
    assert np.array_equal(scaled.predict(X * factor), plain.predict(X))


@given(
    data=st.sampled_from([2, 3]).flatmap(data_sets),
    power=st.integers(-12, 12),
    shuffle=st.booleans(),
    multiclass=st.sampled_from(["ovr", "ovo", "joint"]),
    keep=st.sampled_from(["average", "last", "vote"]),
    layout=st.sampled_from([np.asarray, np.float32, sparse.csr_array]),
)
def test_scaling_by_a_power_of_two_changes_nothing_about_a_kernel_perceptron(
    data, power, shuffle, multiclass, keep, layout
):
    (X, y), factor = data, 2.0**power
    options = {"shuffle": shuffle, "multiclass": multiclass, "keep": keep, "random_state": 0}
    plain = KernelPerceptron(**options).fit(layout(X), y)
    scaled = KernelPerceptron(**options).fit(layout(X * factor), y)
    assert np.array_equal(scaled.dual_coef_, plain.dual_coef_)
    assert np.array_equal(scaled.support_, plain.support_)
    assert np.array_equal(
        scaled.decision_function(layout(X * factor)), plain.decision_function(layout(X))
    )


@pytest.mark.parametrize("power", [-40, 1, 30])
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("data", [IRIS, DIGITS, load_breast_cancer(return_X_y=True)])
def test_the_default_fit_does_not_see_a_power_of_two(data, n_jobs, power):
    (X, y), factor = data, 2.0**power
    model = Perceptron(random_state=0, n_jobs=n_jobs, scale=None)
    plain, scaled = clone(model).fit(X, y), clone(model).fit(X * factor, y)
    assert np.array_equal(weights_of(scaled), weights_of(plain) * factor)
    assert np.array_equal(offsets_of(scaled), offsets_of(plain) * factor**2)
    assert np.array_equal(scaled.predict(X * factor), plain.predict(X))


@pytest.mark.parametrize("factor", [1e-6, 1 / 3, 1000.0])
def test_scaling_by_any_number_hardly_changes_a_prediction(factor):
    X, y = IRIS
    model = Perceptron(shuffle=False, max_iter=20, tol=None, scale=None)
    plain, scaled = clone(model).fit(X, y), clone(model).fit(X * factor, y)
    # The mean squared length is rounded to eight binary digits.
    assert scaled.threshold_ == pytest.approx(plain.threshold_ * factor**2, rel=0.02)
    assert np.mean(scaled.predict(X * factor) != plain.predict(X)) < 0.02


def test_auto_is_two_updates_of_a_typical_row():
    X = np.array([[3.0, 4.0], [4.0, 3.0], [-3.0, 4.0]])
    model = Perceptron(scale=None).fit(X, [0, 1, 1])
    assert (model.intercept_scaling_, model.threshold_) == (2.5, 2 * (25 + 2.5**2))
    through_origin = Perceptron(fit_intercept=False, scale=None).fit(X, [0, 1, 1])
    assert (through_origin.intercept_scaling_, through_origin.threshold_) == (0.0, 50.0)
    options = {"multiclass": "joint", "fit_intercept": False, "scale": None}
    joint = Perceptron(**options).fit(X, [0, 1, 2])
    assert joint.threshold_ == 100.0  # an update moves two classes
    given_ = Perceptron(threshold=1, intercept_scaling=2).fit(X, [0, 1, 1])
    assert (given_.threshold_, given_.intercept_scaling_) == (1.0, 2.0)
    assert Perceptron(mistake="sign").fit(X, [0, 1, 1]).threshold_ == 0.0


def test_rows_of_zeros_have_a_length_of_one():
    model = Perceptron().fit(np.zeros((4, 2)), [0, 0, 0, 1])
    assert model.predict([[0.0, 0.0]]).tolist() == [0]


def test_rows_too_long_to_be_squared_are_refused_with_advice():
    with pytest.raises(ValueError, match="Scale the features"):
        Perceptron().fit([[1e200], [-1e200]], [0, 1])


def test_the_learning_rate_only_scales_the_weights():
    X, y = IRIS
    for rate in ("constant", "inverse"):
        model = Perceptron(random_state=0, learning_rate=rate, max_iter=9, tol=None)
        fast = clone(model).set_params(eta0=4.0).fit(X, y)
        assert np.array_equal(weights_of(fast), 4.0 * weights_of(model.fit(X, y)))


def test_rates_of_features_are_scales_of_features():
    X, y = DIGITS[0][:300], DIGITS[1][:300]
    scales = np.sqrt(idf_rates(examples_of(X, y))[:-1])
    rated = Perceptron(feature_rates="idf", shuffle=False, max_iter=9, tol=None).fit(X, y)
    scaled = Perceptron(shuffle=False, max_iter=9, tol=None, scale=None).fit(X * scales, y)
    assert np.isclose(rated.threshold_, scaled.threshold_, rtol=2**-8)
    assert np.allclose(weights_of(rated), weights_of(scaled) * scales)


def test_a_row_of_weight_two_is_the_row_twice():
    X, y = DIGITS[0][:300], DIGITS[1][:300]
    model = Perceptron(random_state=0, max_iter=5, tol=None)
    weighted = clone(model).fit(X, y, sample_weight=np.where(y == 3, 2.0, 1.0))
    repeated = clone(model).fit(np.vstack([X, X[y == 3]]), np.append(y, y[y == 3]))
    assert weighted.threshold_ == repeated.threshold_
    assert np.array_equal(weights_of(weighted), weights_of(repeated))


def test_dense_and_sparse_copies_give_the_same_model():
    X, y = DIGITS
    for dtype in (np.float64, np.float32):
        model = Perceptron(random_state=0, max_iter=3, tol=None, scale=None)
        dense, packed = model.fit(X.astype(dtype), y), clone(model)
        packed.fit(sparse.csr_array(X.astype(dtype)), y)
        assert packed.multiclass_ == dense.multiclass_ == "ovo"
        assert np.array_equal(weights_of(packed), weights_of(dense))


class TestOneByOne:
    X, y = DIGITS[0][:700].astype(np.float32) / 7, DIGITS[1][:700]

    @given(cuts=st.lists(st.integers(1, 699), max_size=8))
    def test_any_split_into_calls_gives_the_same_weights(self, cuts):
        whole = Perceptron().partial_fit(self.X, self.y)
        split = Perceptron()
        edges = [0, *sorted(cuts), 700]
        for start, end in pairwise(edges):
            if start < end:
                split.partial_fit(self.X[start:end], self.y[start:end])
        assert np.array_equal(weights_of(split), weights_of(whole))
        assert np.array_equal(offsets_of(split), offsets_of(whole))
        assert split.threshold_ == whole.threshold_

    def test_the_stream_of_single_rows_does_the_same(self):
        whole, single = Perceptron().partial_fit(self.X, self.y), Perceptron()
        with OneByOne(single) as learner:
            for x, label in zip(self.X, self.y.tolist(), strict=True):
                learner.learn(x, label)
        assert np.array_equal(weights_of(single), weights_of(whole))

    def test_a_model_saved_early_goes_on_to_the_same_weights(self, tmp_path):
        whole = Perceptron().partial_fit(self.X, self.y)
        save(Perceptron().partial_fit(self.X[:100], self.y[:100]), tmp_path / "a.model")
        model = load(tmp_path / "a.model").partial_fit(self.X[100:], self.y[100:])
        assert np.array_equal(weights_of(model), weights_of(whole))
        assert model.threshold_ == whole.threshold_

    def test_rows_after_the_first_256_change_nothing_but_weights(self):
        model = Perceptron(scale=None)
        model.partial_fit(self.X[:ROWS_THAT_DECIDE], self.y[:ROWS_THAT_DECIDE])
        before = model.threshold_
        assert model.partial_fit(self.X * 100, self.y).threshold_ == before

    def test_what_fit_decided_stays(self):
        model = Perceptron(max_iter=2, tol=None).fit(self.X, self.y)
        before = model.threshold_, model.multiclass_
        model.partial_fit(self.X[:50] * 100, self.y[:50])
        assert (model.threshold_, model.multiclass_) == before

    def test_the_threshold_is_near_that_of_fit(self):
        online = Perceptron(multiclass="joint").partial_fit(self.X, self.y)
        fitted = Perceptron(multiclass="joint", max_iter=1, tol=None).fit(self.X, self.y)
        assert online.threshold_ == pytest.approx(fitted.threshold_, rel=0.1)


def test_pairs_for_a_few_classes_and_rows_enough():
    assert multiclass_of("auto", 4, rows=100.0, n_features=50) == "ovo"
    assert multiclass_of("auto", 4, rows=100.0, n_features=51) == "joint"
    assert multiclass_of("auto", 16, rows=1e6, n_features=3) == "ovo"
    assert multiclass_of("auto", 17, rows=1e6, n_features=3) == "joint"
    assert multiclass_of("ovr", 3, rows=1e6, n_features=3) == "ovr"


def test_a_third_class_may_come_after_a_fit_with_two():
    X, y = IRIS
    model = Perceptron(random_state=0).fit(X[:100], y[:100])
    assert model.partial_fit(X, y).decision_function(X).shape == (150, 3)


def test_the_defaults_err_less_than_the_textbook():
    """On four small data sets together, five folds: 2.9 % against 5.4 %."""
    scores = {"default": [], "textbook": []}
    for data in (load_iris, load_wine, load_breast_cancer, load_digits):
        X, y = data(return_X_y=True)
        models = Perceptron(random_state=0), Perceptron.textbook(random_state=0)
        for name, model in zip(scores, models, strict=True):
            pipeline = make_pipeline(StandardScaler(), model)
            scores[name].append(cross_val_score(pipeline, X, y, cv=5).mean())
    assert np.mean(scores["default"]) > np.mean(scores["textbook"]) + 0.01


class TestTextbook:
    def test_it_is_the_algorithm_of_the_notes(self):
        model = Perceptron.textbook()
        found = model.threshold, model.keep, model.multiclass, model.intercept_scaling
        assert found == (0.0, "last", "ovr", 1.0)

    def test_options_replace_what_it_says(self):
        model = Perceptron.textbook(keep="average", shuffle=False)
        assert (model.keep, model.shuffle, model.threshold) == ("average", False, 0.0)


class TestCertificate:
    X, y = IRIS[0][:100, 2:], IRIS[1][:100]

    def test_bounds_hold_with_a_threshold_in_units_of_the_data(self):
        found = Perceptron(random_state=0, tol=None).fit(self.X, self.y).certificate(self.X, self.y)
        assert found.verdict == "separable"
        assert all(bound.holds for bound in found.bounds)

    def test_a_threshold_that_changed_on_the_way_has_no_bound(self):
        model = Perceptron().partial_fit(self.X, self.y)
        with pytest.raises(ValueError, match="as the rows came"):
            model.certificate(self.X, self.y)


def test_rows_without_weight_do_not_count_in_any_split():
    generator = np.random.default_rng(0)
    X, y, weights = generator.normal(size=(9, 3)), np.arange(9) % 2, np.ones(9)
    weights[[0, 4]] = 0.0
    whole, parts = (Perceptron() for _ in range(2))
    whole.partial_fit(X, y, classes=[0, 1], sample_weight=weights)
    for row in range(9):
        own = slice(row, row + 1)
        parts.partial_fit(X[own], y[own], classes=[0, 1], sample_weight=weights[own])
    left_out = Perceptron().partial_fit(X[weights > 0], y[weights > 0], classes=[0, 1])
    assert np.array_equal(weights_of(whole), weights_of(parts))
    assert np.array_equal(weights_of(whole), weights_of(left_out))
    assert whole.t_ == parts.t_ == left_out.t_ == 7


def test_auto_ends_a_run_early_unless_held_out_rows_or_the_textbook_decide():
    def rule(model):
        return model._plan().tol, model._plan().patience

    assert rule(Perceptron()) == (5e-3, 3)
    assert rule(Perceptron(early_stopping=True)) == rule(Perceptron.textbook()) == (1e-3, 5)
    assert rule(Perceptron(tol=0.25, n_iter_no_change=7)) == (0.25, 7)
    assert rule(Perceptron(tol=None)) == (None, 3)
    X, y = IRIS
    assert Perceptron(random_state=0).fit(X, y).n_iter_ < 25
    with pytest.raises(ValueError, match="'tol' parameter"):
        Perceptron(tol="never").fit(X, y)
    with pytest.raises(ValueError, match="'n_iter_no_change' parameter"):
        Perceptron(n_iter_no_change="never").fit(X, y)
